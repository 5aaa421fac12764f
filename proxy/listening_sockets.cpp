#include "proxy/listening_sockets.h"

#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

#include "proxy/port_holder.h"
#include "proxy/stream/socket_address.h"
#include "proxy/upstream/endpoint.h"

namespace hedge::proxy {
namespace {

constexpr int kBacklog = 4096;  // the kernel takes less where somaxconn is smaller

enum class Sharing { alone, with_workers };

struct Opened {
  UniqueFd socket;
  int error = 0;
};

Opened open_one(const Endpoint& endpoint, Sharing sharing) {
  UniqueFd socket(::socket(endpoint.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {UniqueFd(), errno};
  const int on = 1;
  const auto set = [&socket, &on](int level, int option) {
    return ::setsockopt(socket.get(), level, option, &on, sizeof on) == 0;
  };
  if (!set(SOL_SOCKET, SO_REUSEADDR)) return {UniqueFd(), errno};
  if (sharing == Sharing::with_workers && !set(SOL_SOCKET, SO_REUSEPORT)) return {UniqueFd(), errno};
  if (endpoint.family() == AF_INET6 && !set(IPPROTO_IPV6, IPV6_V6ONLY)) return {UniqueFd(), errno};
  if (::bind(socket.get(), endpoint.address(), endpoint.length()) != 0) return {UniqueFd(), errno};
  if (::listen(socket.get(), kBacklog) != 0) return {UniqueFd(), errno};
  return {std::move(socket), 0};
}

// Zero, and the sockets; or the errno.
int open_all(const config::SocketAddress& address, const ListenPlan& plan, BoundAddress& bound) {
  std::optional<Endpoint> endpoint = Endpoint::from_ip(address.ip, address.port);
  if (!endpoint) return EADDRNOTAVAIL;
  bound.address = bound.asked = address;
  if (address.port != 0) {
    // SO_REUSEPORT would quietly share the port with another edge of this user; alone, that is refused.
    const Opened probe = open_one(*endpoint, Sharing::alone);
    const bool is_own =
        probe.error == EADDRINUSE && plan.beside_own && is_held_by_this_process(address.ip, address.port);
    if (probe.error != 0 && !is_own) return probe.error;
  }
  for (std::size_t i = 0; i < plan.workers; ++i) {
    Opened opened = open_one(*endpoint, Sharing::with_workers);
    if (opened.error != 0) return opened.error;
    if (bound.address.port == 0) {
      bound.address.port = SocketAddress::of_local(opened.socket.get()).port;
      endpoint = Endpoint::from_ip(address.ip, bound.address.port);
    }
    bound.sockets.push_back(std::move(opened.socket));
  }
  return 0;
}

Error bind_error(int number, const config::SocketAddress& address) {
  const std::string where = config::to_string(address);
  const std::string port = std::to_string(address.port);
  if (number == EADDRINUSE) {
    const std::optional<PortHolder> holder = find_port_holder(address.port);
    const std::string who = holder ? holder->command + " (process " + std::to_string(holder->pid) + ")"
                                   : std::string("another process, perhaps of another user");
    return Error(ErrorKind::already_exists, "listen on " + where + ": the port is held by " + who)
        .with_id("port_in_use")
        .with_hint("stop it, or choose other ports with --http and --https");
  }
  if (number == EACCES || number == EPERM) {
    return Error(ErrorKind::permission, "listen on " + where + ": this user may not take port " + port)
        .with_id("port_forbidden")
        .with_hint("choose a port above 1023 with --http and --https");
  }
  return Error::from_errno(number, "listen on " + where);
}

bool is_missing_family(int number) {
  return number == EADDRNOTAVAIL || number == EAFNOSUPPORT;
}

std::string fallback_notice(const ListenPlan::Ports& ports, std::uint16_t taken) {
  const std::string standard = std::to_string(ports.standard);
  return "this user may not take port " + standard + ", so port " + std::to_string(taken) +
         " is used; three ways to get " + standard +
         ": socket activation (a systemd socket unit for hedge), `sudo setcap cap_net_bind_service=+ep` on "
         "the hedge "
         "binary, or `sudo sysctl net.ipv4.ip_unprivileged_port_start=" +
         standard + "`";
}

class Opener {
 public:
  Opener(const ListenPlan& plan, BoundAddresses& bound) : plan_(plan), bound_(bound) {}

  Result<void> open_given(ListenerKind kind, const std::vector<config::SocketAddress>& addresses) {
    for (const config::SocketAddress& address : addresses) {
      BoundAddress bound;
      bound.kind = kind;
      if (const int error = open_all(address, plan_, bound); error != 0) return bind_error(error, address);
      bound_.addresses.push_back(std::move(bound));
    }
    return {};
  }

  // `other`: what stands for the other kind, which opens its own.
  Result<void> open_standard(ListenerKind kind, const ListenPlan::Ports& ports,
                             const ListenPlan::Ports& other) {
    const int error = open_loopback(kind, ports.standard);
    if (error == 0) return {};
    if (error != EACCES && error != EPERM) return bind_error(error, {"127.0.0.1", ports.standard});
    const std::size_t before = bound_.addresses.size();
    // URLs that were handed out stay true from start to start, as long as nobody else has taken the port.
    const bool remembers = ports.remembered != 0 && ports.remembered != ports.standard &&
                           ports.remembered != other.standard && ports.remembered != other.fallback;
    if (!remembers || open_loopback(kind, ports.remembered) != 0) {
      const int second = open_loopback(kind, ports.fallback);
      if (second != 0) return bind_error(second, {"127.0.0.1", ports.fallback});
    }
    for (std::size_t i = before; i < bound_.addresses.size(); ++i)
      bound_.addresses[i].asked.port = ports.standard;
    bound_.notices.push_back(fallback_notice(ports, bound_.addresses.back().address.port));
    return {};
  }

 private:
  // Both families on one port, or none. A machine without IPv6 has the first alone.
  int open_loopback(ListenerKind kind, std::uint16_t port) {
    BoundAddress ipv4;
    BoundAddress ipv6;
    ipv4.kind = ipv6.kind = kind;
    if (const int error = open_all({"127.0.0.1", port}, plan_, ipv4); error != 0) return error;
    const int error = open_all({"::1", port}, plan_, ipv6);
    if (error != 0 && !is_missing_family(error)) return error;
    bound_.addresses.push_back(std::move(ipv4));
    if (error == 0) bound_.addresses.push_back(std::move(ipv6));
    return 0;
  }

  const ListenPlan& plan_;
  BoundAddresses& bound_;
};

}  // namespace

Result<BoundAddresses> open_listening_sockets(const ListenPlan& plan) {
  BoundAddresses bound;
  Opener opener(plan, bound);
  Result<void> opened = plan.plain
                            ? opener.open_given(ListenerKind::plain, *plan.plain)
                            : opener.open_standard(ListenerKind::plain, plan.plain_ports, plan.tls_ports);
  if (!opened) return std::move(opened).error();
  opened = plan.tls ? opener.open_given(ListenerKind::tls, *plan.tls)
                    : opener.open_standard(ListenerKind::tls, plan.tls_ports, plan.plain_ports);
  if (!opened) return std::move(opened).error();
  return bound;
}

std::vector<config::SocketAddress> asked_addresses(const ListenPlan& plan, ListenerKind kind) {
  const auto& given = kind == ListenerKind::tls ? plan.tls : plan.plain;
  if (given) return *given;
  const std::uint16_t port = (kind == ListenerKind::tls ? plan.tls_ports : plan.plain_ports).standard;
  return {{"127.0.0.1", port}, {"::1", port}};
}

}  // namespace hedge::proxy
