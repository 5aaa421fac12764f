// Real processes under a real supervisor.
#include "worktree/stack/process_stack.h"

#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/http_client.h"
#include "tests/support/temporary_directory.h"
#include "worktree/stack/process_identity.h"

namespace hedge::worktree {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool eventually(const std::function<bool()>& condition, std::chrono::seconds limit = 10s) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

// A listening socket on a port of its own, closed with the object.
class BoundPort {
 public:
  BoundPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the sockets API
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), any, size), 0);
    EXPECT_EQ(::listen(socket_.get(), 1), 0);
    EXPECT_EQ(::getsockname(socket_.get(), any, &size), 0);
    number_ = ntohs(address.sin_port);
  }
  std::uint16_t number() const { return number_; }

 private:
  UniqueFd socket_;
  std::uint16_t number_ = 0;
};

std::uint16_t free_port() {
  return BoundPort().number();
}

// Answers every request with the value of one variable of its environment.
constexpr const char* kServer = R"(
import http.server, os, signal, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = os.environ.get(self.path[1:], 'unset').encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
print('listening', flush=True)
http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Answer).serve_forever()
)";

class ProcessStackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ensure_directory(checkout()));
    spec_.name = "login-fix";
    spec_.checkout = checkout();
    spec_.files = StackFiles{directory_ / "stack"};
    spec_.environment = {{"HEDGE_SLUG", "login-fix"}};
    spec_.inherited = current_environment();
    spec_.supervisor = {HEDGE_TEST_SUPERVISOR};
  }
  void TearDown() override { EXPECT_TRUE(stack().remove()); }

  std::filesystem::path checkout() const { return directory_ / "checkout"; }
  ProcessStack stack() const { return ProcessStack(spec_); }

  ProcessSpec& add(const std::string& name, std::vector<std::string> argv) {
    ProcessSpec process;
    process.name = name;
    process.argv = std::move(argv);
    process.directory = checkout();
    process.ready_limit = 15s;
    process.stop_limit = 500ms;
    return spec_.processes.emplace_back(std::move(process));
  }
  ProcessSpec& add_server(const std::string& name) {
    ProcessSpec& process = add(name, {"python3", "-c", kServer});
    process.port = free_port();
    process.port_variable = "PORT";
    process.ready_path = "/";
    return process;
  }
  ProcessSpec& add_script(const std::string& name, const std::string& script) {
    return add(name, {"sh", "-c", script});
  }

  std::string ask(const ProcessSpec& process, const std::string& path) const {
    HttpRequest request;
    request.target = path;
    const auto response = http_fetch(TcpAddress{"127.0.0.1", process.port}, request, 5s);
    return response ? response->body : response.error().to_string();
  }
  std::vector<std::string> instances() const {
    std::vector<std::string> out;
    const auto all = stack().load_status();
    for (const ServiceStatus& status : *all) out.push_back(status.instance);
    return out;
  }
  SupervisorState state() const { return load_state(spec_.files).value().value(); }
  std::vector<ProcessIdentity> remains(const std::string& mark) const {
    return find_marked(kStackMark, mark + "/");
  }
  std::string log_of(const std::string& name) const {
    return read_file(spec_.files.log(name)).value_or(std::string());
  }

  test::TemporaryDirectory directory_;
  ProcessStackSpec spec_;
};

TEST_F(ProcessStackTest, is_missing_until_it_is_made_and_present_afterwards) {
  add_server("web");
  EXPECT_EQ(stack().check()->presence, Presence::missing);
  const auto change = stack().converge();
  ASSERT_TRUE(change) << change.error().to_string();
  EXPECT_EQ(change->action, Action::created);
  EXPECT_EQ(change->resource, "stack");
  EXPECT_EQ(stack().check()->presence, Presence::present);
}

TEST_F(ProcessStackTest, D19_a_process_has_the_environment_of_its_worktree_and_not_of_the_shell) {
  spec_.inherited["HEDGE_SLUG"] = "somebody-else";
  spec_.inherited["DATABASE_URL"] = "postgresql://main";
  spec_.inherited["GIT_DIR"] = "/elsewhere";
  const ProcessSpec web = add_server("web");
  ASSERT_TRUE(stack().converge());
  EXPECT_EQ(ask(web, "/HEDGE_SLUG"), "login-fix");
  EXPECT_EQ(ask(web, "/DATABASE_URL"), "unset");
  EXPECT_EQ(ask(web, "/GIT_DIR"), "unset");
  EXPECT_EQ(ask(web, "/PORT"), std::to_string(web.port));
}

TEST_F(ProcessStackTest, K11_a_second_run_restarts_nothing_whatever_the_shell_holds) {
  add_server("web");
  add_script("worker", "exec sleep 600");
  ASSERT_TRUE(stack().converge());
  const auto before = instances();
  spec_.inherited["TERM_SESSION"] = "another";
  EXPECT_EQ(stack().converge()->action, Action::none);
  EXPECT_EQ(instances(), before);
}

TEST_F(ProcessStackTest, K11_a_changed_value_restarts_that_process_alone) {
  add_server("web");
  add_script("worker", "exec sleep 600");
  ASSERT_TRUE(stack().converge());
  const auto before = instances();
  spec_.processes[1].environment["LEVEL"] = "2";
  EXPECT_EQ(stack().check()->presence, Presence::differs);
  ASSERT_TRUE(stack().converge());
  EXPECT_EQ(instances()[0], before[0]);
  EXPECT_NE(instances()[1], before[1]);
}

TEST_F(ProcessStackTest, several_processes_write_logs_of_their_own_that_nobody_else_may_read) {
  add_script("one", "echo from one; exec sleep 600");
  add_script("two", "echo from two >&2; exec sleep 600");
  ASSERT_TRUE(stack().converge());
  EXPECT_TRUE(eventually([&] { return log_of("one") == "from one\n" && log_of("two") == "from two\n"; }));
  EXPECT_EQ(std::filesystem::status(spec_.files.log("one")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(std::filesystem::status(spec_.files.plan()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(ProcessStackTest, a_log_that_grows_without_end_is_cut_while_its_process_runs) {
  add_script("chatty", "head -c 17000000 /dev/zero; exec sleep 1000");
  ASSERT_TRUE(stack().converge());
  const auto log = spec_.files.log("chatty");
  EXPECT_TRUE(eventually([&log] { return path_exists(log.string() + ".1") && std::filesystem::file_size(log) < 1000; }, 60s));
}

TEST_F(ProcessStackTest, K07_a_process_that_never_listens_is_not_ready) {
  add_script("web", "exec sleep 600").port = free_port();
  spec_.processes[0].ready_limit = 300ms;
  const auto change = stack().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "process_not_ready");
  EXPECT_EQ(stack().check()->presence, Presence::differs);
}

TEST_F(ProcessStackTest, K07_a_process_that_answers_with_errors_is_not_ready) {
  add("web", {"python3", "-c", std::string(kServer).replace(std::string(kServer).find("200"), 3, "503")});
  spec_.processes[0].port = free_port();
  spec_.processes[0].port_variable = "PORT";
  spec_.processes[0].ready_path = "/";
  spec_.processes[0].ready_limit = 8s;
  const auto change = stack().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "process_not_ready");
  EXPECT_THAT(change.error().to_string(), HasSubstr("503"));
}

TEST_F(ProcessStackTest, K09_a_process_that_ends_tells_its_code_and_the_end_of_its_log) {
  add_script("web", "echo the configuration is wrong; exit 3").port = free_port();
  const auto change = stack().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "process_exited");
  EXPECT_THAT(change.error().to_string(), HasSubstr("ended with 3"));
  EXPECT_THAT(change.error().to_string(), HasSubstr("the configuration is wrong"));
}

TEST_F(ProcessStackTest, a_command_that_does_not_exist_is_named) {
  add("web", {"no-such-program-here"});
  const auto change = stack().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "process_exited");
  EXPECT_THAT(change.error().to_string(), HasSubstr("no-such-program-here"));
}

TEST_F(ProcessStackTest, a_port_that_somebody_else_uses_is_refused_before_anything_starts) {
  const BoundPort other;
  add_server("web").port = other.number();
  const auto change = stack().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "port_taken");
  EXPECT_FALSE(path_exists(spec_.files.state()));
}

TEST_F(ProcessStackTest, nothing_starts_in_a_checkout_that_is_gone) {
  add_script("web", "exec sleep 600");
  ASSERT_TRUE(remove_tree(checkout()));
  EXPECT_EQ(stack().converge().error().id(), "path_missing");
}

TEST_F(ProcessStackTest, what_ended_by_itself_is_reported_and_not_restarted_until_somebody_asks) {
  add_script("steady", "exec sleep 600");
  add_script("brief", "exec sleep 600");
  ASSERT_TRUE(stack().converge());
  const pid_t victim = state().processes[1].identity.pid;
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return state().processes[1].exit_code.has_value(); }));
  EXPECT_EQ(state().processes[1].exit_code, 128 + SIGKILL);
  const auto finding = stack().check();
  EXPECT_EQ(finding->presence, Presence::differs);
  ASSERT_THAT(finding->problems, SizeIs(1));
  EXPECT_EQ(finding->problems[0].id(), "process_exited");
  EXPECT_EQ(stack().load_status()->at(1).state, ServiceState::failed);
  const auto steady = instances()[0];
  EXPECT_EQ(stack().converge()->action, Action::started);
  EXPECT_EQ(instances()[0], steady);
  EXPECT_EQ(stack().check()->presence, Presence::present);
}

TEST_F(ProcessStackTest, stop_ends_the_whole_group_and_converge_starts_the_same_again) {
  add_script("web", "sleep 600 & sleep 601 & wait");
  ASSERT_TRUE(stack().converge());
  const std::string mark = state().mark;
  EXPECT_EQ(stack().stop()->action, Action::stopped);
  EXPECT_THAT(remains(mark), IsEmpty());
  EXPECT_EQ(stack().load_status()->at(0).state, ServiceState::stopped);
  EXPECT_EQ(stack().stop()->action, Action::none);
  EXPECT_EQ(stack().converge()->action, Action::started);
  EXPECT_EQ(stack().check()->presence, Presence::present);
}

TEST_F(ProcessStackTest, a_process_has_time_to_end_cleanly) {
  add_script("web", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
  ASSERT_TRUE(stack().converge());
  ASSERT_TRUE(eventually([&] { return log_of("web") == "ready\n"; }));
  ASSERT_TRUE(stack().stop());
  EXPECT_THAT(log_of("web"), HasSubstr("bye\n"));
}

TEST_F(ProcessStackTest, one_that_ignores_the_request_to_end_is_killed) {
  add_script("web", "trap '' TERM; echo ready; while :; do sleep 0.05; done").stop_limit = 200ms;
  ASSERT_TRUE(stack().converge());
  ASSERT_TRUE(eventually([&] { return log_of("web") == "ready\n"; }));
  const std::string mark = state().mark;
  ASSERT_TRUE(stack().stop());
  EXPECT_THAT(remains(mark), IsEmpty());
}

TEST_F(ProcessStackTest, what_left_its_session_is_ended_too) {
  add_script("web", "setsid sh -c 'echo away; exec sleep 600' & exec sleep 600");
  ASSERT_TRUE(stack().converge());
  ASSERT_TRUE(eventually([&] { return log_of("web") == "away\n"; }));
  const std::string mark = state().mark;
  ASSERT_TRUE(stack().stop());
  EXPECT_THAT(remains(mark), IsEmpty());
}

TEST_F(ProcessStackTest, a_killed_supervisor_leaves_no_orphans_after_the_next_verb) {
  add_script("obedient", "exec sleep 600");
  add_script("stubborn", "trap '' TERM; sleep 600 & while :; do sleep 0.05; done").stop_limit = 200ms;
  ASSERT_TRUE(stack().converge());
  const SupervisorState before = state();
  ASSERT_TRUE(signal_process(before.supervisor, SIGKILL));
  // The obedient one is told by the kernel.
  ASSERT_TRUE(eventually([&] { return !is_alive(before.processes[0].identity); }));
  EXPECT_EQ(stack().check()->presence, Presence::differs);
  EXPECT_EQ(stack().stop()->action, Action::stopped);
  EXPECT_THAT(remains(before.mark), IsEmpty());
}

TEST_F(ProcessStackTest, W19_after_a_killed_supervisor_converge_makes_one_whole_stack) {
  add_server("web");
  add_script("stubborn", "trap '' TERM; while :; do sleep 0.05; done").stop_limit = 200ms;
  ASSERT_TRUE(stack().converge());
  const SupervisorState before = state();
  ASSERT_TRUE(signal_process(before.supervisor, SIGKILL));
  ASSERT_TRUE(eventually([&] { return !is_alive(before.supervisor); }));
  EXPECT_EQ(stack().converge()->action, Action::started);
  EXPECT_EQ(stack().check()->presence, Presence::present);
  for (const SupervisedProcess& process : before.processes)
    EXPECT_FALSE(is_alive(process.identity)) << process.name;
}

TEST_F(ProcessStackTest, W19_a_run_that_was_killed_before_anything_was_recorded_is_cleaned_up) {
  add_script("web", "exec sleep 600");
  ASSERT_TRUE(stack().converge());
  const std::string mark = state().mark;
  ASSERT_TRUE(remove_file(spec_.files.state()));
  EXPECT_EQ(stack().check()->presence, Presence::missing);
  ASSERT_TRUE(stack().converge());
  EXPECT_EQ(stack().check()->presence, Presence::present);
  EXPECT_EQ(state().mark, mark);
  EXPECT_THAT(remains(mark), SizeIs(2)) << "the supervisor and its one process";
}

TEST_F(ProcessStackTest, a_recycled_process_number_is_never_signalled) {
  add_script("web", "exec sleep 600");
  ASSERT_TRUE(stack().converge());
  ASSERT_TRUE(stack().stop());
  const pid_t stranger = ::fork();
  ASSERT_GE(stranger, 0);
  if (stranger == 0) {
    ::pause();
    ::_exit(0);
  }
  SupervisorState forged = state();
  forged.supervisor.pid = stranger;
  forged.processes[0].identity.pid = stranger;
  forged.processes[0].exit_code.reset();
  ASSERT_TRUE(store_state(spec_.files, forged));
  EXPECT_EQ(stack().stop()->action, Action::none);
  EXPECT_EQ(stack().check()->presence, Presence::differs);
  EXPECT_TRUE(find_process(stranger).has_value());
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

TEST_F(ProcessStackTest, remove_leaves_no_process_and_no_file_and_is_done_after_the_first_time) {
  add_server("web");
  ASSERT_TRUE(stack().converge());
  const std::string mark = state().mark;
  EXPECT_EQ(stack().remove()->action, Action::removed);
  EXPECT_THAT(remains(mark), IsEmpty());
  EXPECT_FALSE(path_exists(spec_.files.directory));
  EXPECT_EQ(stack().remove()->action, Action::none);
}

TEST_F(ProcessStackTest, damaged_state_is_said_and_never_taken_for_empty) {
  add_script("web", "exec sleep 600");
  ASSERT_TRUE(stack().converge());
  const auto good = read_file(spec_.files.state()).value();
  ASSERT_TRUE(write_file_atomically(spec_.files.state(), "{\"supervisor\": 3}", 0600));
  EXPECT_EQ(stack().check().error().id(), "state_unreadable");
  EXPECT_EQ(stack().converge().error().id(), "state_unreadable");
  ASSERT_TRUE(write_file_atomically(spec_.files.state(), good, 0600));
}

TEST_F(ProcessStackTest, a_supervisor_that_cannot_run_is_reported) {
  add_script("web", "exec sleep 600");
  spec_.supervisor = {"/bin/false"};
  EXPECT_EQ(stack().converge().error().id(), "stack_supervisor_failed");
}

}  // namespace
}  // namespace hedge::worktree
