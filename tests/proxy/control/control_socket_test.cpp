#include "proxy/control/control_socket.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/unique_fd.h"
#include "tests/support/temporary_directory.h"

namespace hedge::proxy {
namespace {

class ControlSocketTest : public testing::Test {
 protected:
  std::filesystem::path path() const { return directory_ / "run/edge.sock"; }
  mode_t mode_of(const std::filesystem::path& file) const {
    struct stat info {};
    EXPECT_EQ(::lstat(file.c_str(), &info), 0);
    return info.st_mode;
  }
  bool accepts() const {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().string().copy(address.sun_path, sizeof address.sun_path - 1);
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  test::TemporaryDirectory directory_;
};

TEST_F(ControlSocketTest, IsPrivateWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const auto socket = ControlSocket::bind(path());
  ::umask(before);
  ASSERT_TRUE(socket) << socket.error().to_string();
  EXPECT_TRUE(S_ISSOCK(mode_of(path())));
  EXPECT_EQ(mode_of(path()) & 0777U, 0600U);
  EXPECT_EQ(mode_of(path().parent_path()) & 0777U, 0700U);
  EXPECT_TRUE(accepts());
}

TEST_F(ControlSocketTest, ASecondEdgeIsTurnedAway) {
  const auto first = ControlSocket::bind(path());
  ASSERT_TRUE(first);
  const auto second = ControlSocket::bind(path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::already_exists);
  EXPECT_EQ(second.error().id(), "edge_already_running");
  EXPECT_TRUE(accepts()) << "the first one's socket is untouched";
}

TEST_F(ControlSocketTest, GoesWithItsOwner) {
  { ASSERT_TRUE(ControlSocket::bind(path())); }
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_TRUE(ControlSocket::bind(path()));
}

TEST_F(ControlSocketTest, TheSocketOfADeadEdgeIsReplaced) {
  std::filesystem::create_directory(path().parent_path());
  {
    const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().string().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ASSERT_FALSE(accepts());
  const auto socket = ControlSocket::bind(path());
  ASSERT_TRUE(socket) << socket.error().to_string();
  EXPECT_TRUE(accepts());
}

TEST_F(ControlSocketTest, AFileInTheWayIsNotRemoved) {
  std::filesystem::create_directory(path().parent_path());
  std::ofstream(path()) << "precious";
  const auto socket = ControlSocket::bind(path());
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().kind(), ErrorKind::already_exists);
  EXPECT_TRUE(socket.error().id().empty()) << "not to be taken for a running edge";
  EXPECT_TRUE(std::filesystem::is_regular_file(path()));
}

TEST_F(ControlSocketTest, APathThatTheSystemCannotHoldIsRefused) {
  const auto socket = ControlSocket::bind(directory_ / std::string(108, 'x'));
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().kind(), ErrorKind::invalid_input);
}

}  // namespace
}  // namespace hedge::proxy
