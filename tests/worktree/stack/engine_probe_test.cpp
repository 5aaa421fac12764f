#include "worktree/stack/engine_probe.h"

#include <cstring>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

using ::testing::HasSubstr;

// A listening socket that answers one request with `answer`, or never.
class FakeEngine {
 public:
  FakeEngine(const std::filesystem::path& path, std::optional<std::string> answer)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const auto* any = reinterpret_cast<const sockaddr*>(&address);  // NOLINT: the sockets API
    EXPECT_EQ(::bind(socket_.get(), any, sizeof address), 0);
    EXPECT_EQ(::listen(socket_.get(), 4), 0);
    if (answer) server_ = std::thread([this, text = *answer] { serve(text); });
  }
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;
  ~FakeEngine() {
    if (server_.joinable()) server_.join();
  }

 private:
  void serve(const std::string& answer) {
    const UniqueFd peer(::accept(socket_.get(), nullptr, nullptr));
    char request[4096];
    EXPECT_GT(::recv(peer.get(), request, sizeof request, 0), 0);
    EXPECT_EQ(::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
  }
  UniqueFd socket_;
  std::thread server_;
};

class EngineProbeTest : public ::testing::Test {
 protected:
  std::string socket() const { return directory_ / "d.sock"; }
  Environment at(const std::string& host) const { return {{"DOCKER_HOST", host}, {"PATH", "/usr/bin"}}; }
  std::string id_of(const Environment& environment) const {
    const auto facts = probe_engine(environment, std::chrono::milliseconds(300));
    return facts ? "answers" : std::string(facts.error().id());
  }
  test::TemporaryDirectory directory_;
};

TEST_F(EngineProbeTest, an_engine_that_answers_tells_its_version) {
  const FakeEngine engine(socket(), "HTTP/1.1 200 OK\r\nApi-Version: 1.43\r\nContent-Length: 2\r\n\r\nOK");
  const auto facts = probe_engine(at("unix://" + socket()));
  ASSERT_TRUE(facts) << facts.error().to_string();
  EXPECT_EQ(facts->api_version, "1.43");
  EXPECT_EQ(facts->address.origin, EngineOrigin::host_variable);
}

TEST_F(EngineProbeTest, K05_one_that_never_answers_is_unresponsive) {
  const FakeEngine engine(socket(), std::nullopt);
  EXPECT_EQ(id_of(at("unix://" + socket())), "engine_unresponsive");
}

TEST_F(EngineProbeTest, K05_an_address_of_the_users_that_nobody_answers_is_told_apart) {
  EXPECT_EQ(id_of(at("unix://" + socket())), "engine_host_unreachable");
  EXPECT_EQ(id_of(at("tcp://127.0.0.1:1")), "engine_host_unreachable");
}

TEST_F(EngineProbeTest, K05_what_is_no_address_is_invalid_and_what_cannot_be_spoken_unsupported) {
  EXPECT_EQ(id_of(at("127.0.0.1:2375")), "engine_address_invalid");
  EXPECT_EQ(id_of(at("tcp://:2375")), "engine_address_invalid");
  EXPECT_EQ(id_of(at("tcp://host:99999")), "engine_address_invalid");
  EXPECT_EQ(id_of(at("unix://")), "engine_address_invalid");
  EXPECT_EQ(id_of(at("ssh://build@host")), "engine_unsupported");
}

TEST_F(EngineProbeTest, K05_an_engine_that_answers_with_an_error_does_not_run) {
  const FakeEngine engine(socket(), "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(id_of(at("unix://" + socket())), "engine_host_unreachable");
}

// The default socket cannot be moved; without an engine on the machine both remaining causes can be told by
// the docker command.
TEST_F(EngineProbeTest, K05_not_installed_and_not_running_differ_by_the_docker_command) {
  if (path_exists("/var/run/docker.sock")) GTEST_SKIP() << "this machine has an engine of its own";
  EXPECT_EQ(id_of({{"PATH", directory_.path().string()}}), "engine_not_installed");
  ASSERT_TRUE(write_file_atomically(directory_ / "docker", "#!/bin/sh\n", 0755));
  EXPECT_EQ(id_of({{"PATH", directory_.path().string()}}), "engine_not_running");
}

TEST_F(EngineProbeTest, K05_a_socket_that_this_user_may_not_use_is_a_matter_of_permission) {
  const FakeEngine engine(socket(), std::nullopt);
  ASSERT_EQ(::chmod(socket().c_str(), 0600), 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0700), 0);
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become a user without rights";
  // Another thread must not lose its rights: the child asks and tells by its exit code.
  const pid_t child = ::fork();
  if (child == 0) {
    const bool dropped = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    ::_exit(dropped && id_of(at("unix://" + socket())) == "engine_permission" ? 0 : 1);
  }
  EXPECT_EQ(wait_for_child(child).value(), 0);
}

TEST_F(EngineProbeTest, K05_a_context_of_the_docker_command_is_followed) {
  const auto meta = directory_ / ("contexts/meta/" + to_hex(sha256("rootless")));
  ASSERT_TRUE(ensure_directory(meta));
  ASSERT_TRUE(write_file_atomically(
      meta / "meta.json", R"({"Endpoints":{"docker":{"Host":"unix:///run/user/7/d.sock"}}})", 0644));
  ASSERT_TRUE(write_file_atomically(directory_ / "config.json", R"({"currentContext":"rootless"})", 0644));
  Environment environment{{"DOCKER_CONFIG", directory_.path().string()}};
  const auto address = find_engine_address(environment);
  ASSERT_TRUE(address) << address.error().to_string();
  EXPECT_EQ(address->text, "unix:///run/user/7/d.sock");
  EXPECT_EQ(address->origin, EngineOrigin::context);
  environment["DOCKER_CONTEXT"] = "default";
  EXPECT_EQ(find_engine_address(environment)->origin, EngineOrigin::default_socket);
  environment["DOCKER_CONTEXT"] = "gone";
  EXPECT_EQ(find_engine_address(environment).error().id(), "engine_address_invalid");
  environment["DOCKER_HOST"] = "unix:///run/d.sock";
  EXPECT_EQ(find_engine_address(environment)->origin, EngineOrigin::host_variable)
      << "DOCKER_HOST outranks contexts";
}

}  // namespace
}  // namespace hedge::worktree
