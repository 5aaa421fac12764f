#include "router/route.h"

#include <algorithm>
#include <array>
#include <optional>

#include <arpa/inet.h>

#include "base/text.h"

namespace hedge::router {
namespace {

constexpr std::size_t kLongestUnixPath = 107;  // sun_path less its NUL
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestSelector = 1024;
constexpr std::string_view kForms =
    "docker:CONTAINER:PORT, dns:NAME:PORT, tcp:IP:PORT, unix:/PATH, or just HOST:PORT or PORT";

// Parses one upstream and remembers the whole text, so that every error can say where in it the fault is.
class UpstreamParser {
 public:
  explicit UpstreamParser(std::string_view whole) : whole_(whole) {}

  Result<Upstream> parse() const {
    if (whole_.empty()) return error_at(0, "is empty");
    for (std::size_t i = 0; i < whole_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(whole_[i]);
      if (byte <= 0x20 || byte == 0x7f) return error_at(i, "space or control character");
    }
    const auto colon = whole_.find(':');
    const std::string_view scheme = whole_.substr(0, colon);
    const std::size_t body = scheme.size() + 1;
    if (colon != std::string_view::npos) {
      if (scheme == "unix") return parse_unix(body);
      if (scheme == "docker") return parse_docker(body);
      if (scheme == "dns") return parse_dns(body);
      if (scheme == "tcp") return parse_tcp(body);
    }
    if (whole_.find("://") != std::string_view::npos)
      return error_at(whole_.find("://"), "a URL is not an upstream");
    return parse_bare();
  }

 private:
  struct HostPort {
    std::string_view host;
    std::size_t at = 0;  // position of host in the whole text
    std::uint16_t port = 0;
  };

  Error error_at(std::size_t position, std::string_view what) const {
    return Error(ErrorKind::invalid_input, "upstream \"" + printable(whole_) + "\": " + std::string(what) +
                                               " at character " + std::to_string(position + 1))
        .with_id("upstream_invalid")
        .with_hint("accepted: " + std::string(kForms));
  }

  Result<std::uint16_t> parse_port(std::size_t at) const {
    const auto port = parse_number<std::uint16_t>(whole_.substr(at));
    if (!port || *port == 0) return error_at(at, "a port is a number from 1 to 65535: no port");
    return *port;
  }

  // The port stands after the last colon: a label's value may have colons of its own.
  Result<HostPort> split_port(std::size_t at) const {
    const auto colon = whole_.rfind(':');
    if (colon == std::string_view::npos || colon < at) return error_at(whole_.size(), "the port is missing");
    auto port = parse_port(colon + 1);
    if (!port) return port.error();
    HostPort out{whole_.substr(at, colon - at), at, *port};
    if (out.host.empty()) return error_at(at, "the host is missing");
    return out;
  }

  Result<Upstream> parse_unix(std::size_t at) const {
    const std::string_view path = whole_.substr(at);
    if (!path.starts_with('/')) return error_at(at, "a socket's path must be absolute: no slash");
    if (path.size() > kLongestUnixPath) return error_at(at + kLongestUnixPath, "path longer than 107 bytes");
    return Upstream(UnixUpstream{std::string(path)});
  }

  Result<Upstream> parse_docker(std::size_t at) const {
    auto parts = split_port(at);
    if (!parts) return parts.error();
    if (parts->host.size() > kLongestSelector)
      return error_at(at + kLongestSelector, "selector longer than 1024 bytes");
    auto checked =
        parts->host.find('=') == std::string_view::npos ? check_container(*parts) : check_labels(*parts);
    if (!checked) return checked.error();
    return Upstream(DockerUpstream{std::string(parts->host), parts->port});
  }

  // Source: the engine's own rule for names, [a-zA-Z0-9][a-zA-Z0-9_.-]*.
  Result<void> check_container(const HostPort& parts) const {
    for (std::size_t i = 0; i < parts.host.size(); ++i) {
      const char c = parts.host[i];
      const bool fits = is_ascii_alnum(c) || (i > 0 && (c == '_' || c == '.' || c == '-'));
      if (!fits) return error_at(parts.at + i, "not a character of a container's name");
    }
    return {};
  }

  Result<void> check_labels(const HostPort& parts) const {
    // The engine is asked in JSON, which has no other text.
    const std::size_t readable = utf8_prefix(parts.host);
    if (readable < parts.host.size()) return error_at(parts.at + readable, "labels are UTF-8: another byte");
    std::size_t at = parts.at;
    for (const std::string_view label : split(parts.host, ',')) {
      const auto equals = label.find('=');
      if (equals == std::string_view::npos) return error_at(at, "a label is written as name=value: no value");
      if (equals == 0) return error_at(at, "a label's name is missing");
      at += label.size() + 1;
    }
    return {};
  }

  Result<Upstream> parse_dns(std::size_t at) const {
    auto parts = split_port(at);
    if (!parts) return parts.error();
    return dns_upstream(*parts);
  }

  Result<Upstream> dns_upstream(const HostPort& parts) const {
    std::string_view name = parts.host;
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.empty()) return error_at(parts.at, "the host is missing");
    if (name.size() > kLongestName) return error_at(parts.at + kLongestName, "name longer than 253 bytes");
    if (auto checked = check_name(parts.at, name); !checked) return checked.error();
    std::string lower = ascii_lower(name);
    if (lower == "localhost" || lower.ends_with(".localhost")) {
      return error_at(
                 parts.at,
                 "every resolver answers a name below .localhost with this machine, which is the edge: name")
          .with_hint("name the container (docker:CONTAINER:PORT) or the address (tcp:127.0.0.1:PORT)");
    }
    return Upstream(DnsUpstream{std::move(lower), parts.port});
  }

  // Service and container names may have underscores, which a route's own host may not.
  Result<void> check_name(std::size_t at, std::string_view name) const {
    const std::string_view last = name.substr(name.rfind('.') + 1);
    if (std::all_of(last.begin(), last.end(), is_ascii_digit) && !last.empty()) {
      return error_at(at, "an address belongs into tcp:IP:PORT: address");
    }
    for (const std::string_view label : split(name, '.')) {
      if (label.empty()) return error_at(at, "empty label");
      if (label.size() > 63) return error_at(at, "label longer than 63 bytes");
      for (std::size_t i = 0; i < label.size(); ++i) {
        const char c = label[i];
        const bool inside = i > 0 && i + 1 < label.size();
        if (is_ascii_alnum(c) || c == '_' || (c == '-' && inside)) continue;
        return error_at(at + i, "not a character of a name");
      }
      at += label.size() + 1;
    }
    return {};
  }

  Result<Upstream> parse_tcp(std::size_t at) const {
    auto parts = split_port(at);
    if (!parts) return parts.error();
    auto address = literal(*parts);
    if (!address) return error_at(at, "not an IP address (IPv6 stands in brackets)");
    return tcp_upstream(*parts, std::move(*address));
  }

  Result<Upstream> tcp_upstream(const HostPort& parts, std::string ip) const {
    if (ip == "0.0.0.0" || ip == "::")
      return error_at(parts.at, "an address to listen on, not one to connect to");
    return Upstream(TcpUpstream{std::move(ip), parts.port});
  }

  // The address in its canonical spelling. Absent: not a literal.
  static std::optional<std::string> literal(const HostPort& parts) {
    const bool bracketed = parts.host.starts_with('[') && parts.host.ends_with(']');
    const int family = bracketed ? AF_INET6 : AF_INET;
    const std::string text(bracketed ? parts.host.substr(1, parts.host.size() - 2) : parts.host);
    std::array<unsigned char, sizeof(in6_addr)> address{};
    if (::inet_pton(family, text.c_str(), address.data()) != 1) return std::nullopt;
    std::array<char, INET6_ADDRSTRLEN> out{};
    return std::string(::inet_ntop(family, address.data(), out.data(), out.size()));
  }

  Result<Upstream> parse_bare() const {
    if (std::all_of(whole_.begin(), whole_.end(), is_ascii_digit)) {
      auto port = parse_port(0);
      if (!port) return port.error();
      return Upstream(TcpUpstream{"127.0.0.1", *port});
    }
    auto parts = split_port(0);
    if (!parts) return parts.error();
    if (auto address = literal(*parts)) return tcp_upstream(*parts, std::move(*address));
    if (parts->host.find(':') != std::string_view::npos)
      return error_at(0, "an IPv6 address stands in brackets: colon");
    if (equals_ignoring_case(parts->host, "localhost"))
      return Upstream(TcpUpstream{"127.0.0.1", parts->port});
    return dns_upstream(*parts);
  }

  std::string_view whole_;
};

struct ToText {
  std::string operator()(const DockerUpstream& u) const {
    return "docker:" + u.selector + ":" + std::to_string(u.port);
  }
  std::string operator()(const DnsUpstream& u) const {
    return "dns:" + u.name + ":" + std::to_string(u.port);
  }
  std::string operator()(const TcpUpstream& u) const {
    const bool v6 = u.ip.find(':') != std::string::npos;
    return "tcp:" + (v6 ? "[" + u.ip + "]" : u.ip) + ":" + std::to_string(u.port);
  }
  std::string operator()(const UnixUpstream& u) const { return "unix:" + u.path; }
};

}  // namespace

Result<Upstream> parse_upstream(std::string_view text) {
  return UpstreamParser(text).parse();
}
std::string to_string(const Upstream& upstream) {
  return std::visit(ToText{}, upstream);
}

Result<Protocol> parse_protocol(std::string_view text) {
  for (const Protocol protocol : {Protocol::http1, Protocol::h2c, Protocol::https}) {
    if (text == to_string(protocol)) return protocol;
  }
  return Error(ErrorKind::invalid_input, "protocol \"" + printable(text) + "\" is not http1, h2c or https")
      .with_id("upstream_invalid");
}

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::http1:
      return "http1";
    case Protocol::h2c:
      return "h2c";
    case Protocol::https:
      return "https";
  }
  return "http1";
}

Result<RouteState> parse_route_state(std::string_view text) {
  for (const RouteState state : {RouteState::live, RouteState::starting, RouteState::stopped}) {
    if (text == to_string(state)) return state;
  }
  return Error(ErrorKind::invalid_input,
               "state \"" + printable(text) + "\" is not live, starting or stopped");
}

std::string_view to_string(RouteState state) {
  switch (state) {
    case RouteState::live:
      return "live";
    case RouteState::starting:
      return "starting";
    case RouteState::stopped:
      return "stopped";
  }
  return "live";
}

}  // namespace hedge::router
