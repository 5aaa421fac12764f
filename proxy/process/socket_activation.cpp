#include "proxy/process/socket_activation.h"

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "proxy/stream/socket_address.h"

namespace hedge::proxy {
namespace {

constexpr int kFirstDescriptor = 3;
constexpr int kMostSockets = 64;

std::string_view variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string_view() : std::string_view(found->second);
}

ListenerKind kind_of(std::string_view name, std::uint16_t port) {
  if (name == "http") return ListenerKind::plain;
  if (name == "https") return ListenerKind::tls;
  return port == 80 || port == 8080 ? ListenerKind::plain : ListenerKind::tls;
}

bool is_listening_stream(int socket) {
  int listens = 0;
  int type = 0;
  socklen_t length = sizeof listens;
  if (::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) return false;
  length = sizeof type;
  return ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

bool is_internet_socket(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
         (address.ss_family == AF_INET || address.ss_family == AF_INET6);
}

Result<void> prepare(int socket) {
  const int flags = ::fcntl(socket, F_GETFL);
  if (flags < 0 || ::fcntl(socket, F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0) {
    return Error::from_errno(errno, "take an activated socket");
  }
  return {};
}

}  // namespace

Result<std::vector<BoundAddress>> take_activated_sockets(const Environment& environment) {
  std::vector<BoundAddress> addresses;
  if (parse_number<pid_t>(variable(environment, "LISTEN_PID")) != ::getpid()) return addresses;
  const int count = parse_number<int>(variable(environment, "LISTEN_FDS")).value_or(0);
  const auto names = split(variable(environment, "LISTEN_FDNAMES"), ':');
  if (count < 0 || count > kMostSockets)
    return Error(ErrorKind::invalid_input, "LISTEN_FDS must be at most " + std::to_string(kMostSockets))
        .with_id("activation_invalid");
  for (int i = 0; i < count; ++i) {
    UniqueFd socket(kFirstDescriptor + i);
    if (!is_listening_stream(socket.get()) || !is_internet_socket(socket.get())) {
      return Error(ErrorKind::invalid_input, "descriptor " + std::to_string(socket.release()) +
                                                 " of the service manager is no listening TCP socket")
          .with_id("activation_invalid")
          .with_hint("the socket unit's ListenStream= must be an address and a port");
    }
    if (Result<void> prepared = prepare(socket.get()); !prepared) return std::move(prepared).error();
    const SocketAddress local = SocketAddress::of_local(socket.get());
    const auto place = static_cast<std::size_t>(i);
    BoundAddress bound;
    bound.kind = kind_of(place < names.size() ? names[place] : std::string_view(), local.port);
    bound.address = bound.asked = {local.ip, local.port};
    bound.sockets.push_back(std::move(socket));
    addresses.push_back(std::move(bound));
  }
  return addresses;
}

}  // namespace hedge::proxy
