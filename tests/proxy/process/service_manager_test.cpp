#include "proxy/process/service_manager.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "proxy/process/socket_activation.h"
#include "tests/support/temporary_directory.h"

namespace hedge::proxy {
namespace {

class Listener {
 public:
  // "@name" is in the abstract namespace.
  explicit Listener(const std::string& address) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    address.copy(name.sun_path, sizeof name.sun_path - 1);
    if (name.sun_path[0] == '@') name.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name), length), 0);
  }
  std::string receive() {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (::poll(&wait, 1, 5000) != 1) return "nothing";
    std::array<char, 200> text{};
    const ssize_t got = ::recv(socket_.get(), text.data(), text.size(), 0);
    return std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }

 private:
  UniqueFd socket_;
};

TEST(ServiceManager, IsToldThatTheEdgeServesAndThatItEnds) {
  const test::TemporaryDirectory directory;
  for (const std::string& address :
       {(directory / "notify").string(), "@hedge-test-" + std::to_string(::getpid())}) {
    Listener listener(address);
    const ServiceManager manager(Environment{{"NOTIFY_SOCKET", address}});
    EXPECT_TRUE(manager.is_there());
    manager.ready();
    EXPECT_TRUE(listener.receive().starts_with("READY=1\n")) << address;
    manager.stopping();
    EXPECT_TRUE(listener.receive().starts_with("STOPPING=1\n"));
  }
}

TEST(ServiceManager, ThatIsNotThereIsNoObstacle) {
  for (const Environment& environment :
       {Environment{}, Environment{{"NOTIFY_SOCKET", ""}}, Environment{{"NOTIFY_SOCKET", "relative"}},
        Environment{{"NOTIFY_SOCKET", "/" + std::string(200, 'x')}}}) {
    const ServiceManager manager(environment);
    EXPECT_FALSE(manager.is_there());
    manager.ready();
  }
  const ServiceManager gone(Environment{{"NOTIFY_SOCKET", "/nonexistent/notify"}});
  EXPECT_TRUE(gone.is_there());
  gone.ready();
}

TEST(SocketActivation, IsForTheProcessThatLISTEN_PIDNames) {
  const std::string own = std::to_string(::getpid());
  EXPECT_TRUE(take_activated_sockets({})->empty());
  EXPECT_TRUE(take_activated_sockets({{"LISTEN_PID", "1"}, {"LISTEN_FDS", "1"}})->empty());
  EXPECT_TRUE(take_activated_sockets({{"LISTEN_PID", own}, {"LISTEN_FDS", "0"}})->empty());
  EXPECT_EQ(take_activated_sockets({{"LISTEN_PID", own}, {"LISTEN_FDS", "1000"}}).error().id(),
            "activation_invalid");
}

}  // namespace
}  // namespace hedge::proxy
