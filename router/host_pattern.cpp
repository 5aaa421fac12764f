#include "router/host_pattern.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

#include "base/text.h"

namespace hedge::router {
namespace {

constexpr std::size_t kLongestHost = 253;
constexpr std::size_t kLongestLabel = 63;

Error host_error(std::string_view text, std::string_view what) {
  return Error(ErrorKind::invalid_input, "host \"" + printable(text) + "\": " + std::string(what))
      .with_id("host_invalid");
}

Error host_error_at(std::string_view text, std::size_t position, std::string_view what) {
  return host_error(text, std::string(what) + " at character " + std::to_string(position + 1));
}

// WHATWG URL: browsers read a name whose last label is a number as an IPv4 address, whatever its length.
bool ends_in_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  return !last.empty() && std::all_of(last.begin(), last.end(), is_ascii_digit);
}

Result<void> check_label(std::string_view text, std::size_t start, std::string_view label) {
  if (label.empty()) return host_error_at(text, start, "empty label");
  for (std::size_t i = 0; i < label.size(); ++i) {
    const char c = label[i];
    if (is_ascii_alnum(c) || c == '-') continue;
    if (static_cast<unsigned char>(c) >= 0x80) {
      return host_error_at(text, start + i, "non-ASCII character")
          .with_hint("write the xn-- form of the name");
    }
    return host_error_at(text, start + i,
                         "only letters, digits, hyphens and dots are allowed, not what stands");
  }
  if (label.size() > kLongestLabel)
    return host_error_at(text, start + kLongestLabel, "label longer than 63 bytes");
  if (label.front() == '-') return host_error_at(text, start, "label begins with a hyphen");
  if (label.back() == '-') return host_error_at(text, start + label.size() - 1, "label ends with a hyphen");
  return {};
}

bool is_ipv4(std::string_view text) {
  std::array<char, INET_ADDRSTRLEN> copy{};
  if (text.size() >= copy.size()) return false;
  std::copy(text.begin(), text.end(), copy.begin());
  in_addr address{};
  return ::inet_pton(AF_INET, copy.data(), &address) == 1;
}

bool is_ipv6(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> copy{};
  if (text.size() >= copy.size()) return false;
  std::copy(text.begin(), text.end(), copy.begin());
  in6_addr address{};
  return ::inet_pton(AF_INET6, copy.data(), &address) == 1;
}

// Unreserved characters of RFC 3986. Its sub-delims and percent escapes never stand in a name that resolves,
// but they are what header injection and log forging are made of.
bool is_name_character(char c) {
  return is_ascii_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

bool is_well_formed_name(std::string_view host) {
  if (host.empty() || host.size() > kLongestHost || host.front() == '.' || host.back() == '.') return false;
  char previous = '.';
  for (const char c : host) {
    if (!is_name_character(c) || (c == '.' && previous == '.')) return false;
    previous = c;
  }
  return true;
}

}  // namespace

Result<std::string> canonical_host(std::string_view text) {
  std::string_view host = text;
  if (host.empty()) return host_error(text, "is empty");
  if (host.starts_with("*.")) {
    return host_error(text, "patterns are not written into the name")
        .with_hint("name the parent and mark the route as a wildcard");
  }
  if (host.ends_with('.') && host.size() > 1) host.remove_suffix(1);
  if (host.size() > kLongestHost) return host_error_at(text, kLongestHost, "longer than 253 bytes");
  std::size_t start = 0;
  for (const std::string_view label : split(host, '.')) {
    if (auto checked = check_label(text, start, label); !checked) return checked.error();
    start += label.size() + 1;
  }
  if (ends_in_number(host))
    return host_error_at(text, host.rfind('.') + 1, "an address is not a name: number");
  return ascii_lower(host);
}

std::optional<Authority> parse_authority(std::string_view text) {
  Authority authority;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto bracket = text.find(']');
    if (bracket == std::string_view::npos || !is_ipv6(text.substr(1, bracket - 1))) return std::nullopt;
    authority.host = text.substr(0, bracket + 1);
    authority.is_ip_literal = true;
    rest = text.substr(bracket + 1);
    if (!rest.empty() && rest.front() != ':') return std::nullopt;
  } else {
    const auto colon = text.find(':');
    authority.host = text.substr(0, colon);
    if (colon != std::string_view::npos) rest = text.substr(colon);
    if (authority.host.ends_with('.')) authority.host.remove_suffix(1);
    if (!is_well_formed_name(authority.host)) return std::nullopt;
    authority.is_ip_literal = is_ipv4(authority.host);
  }
  // RFC 3986, 3.2.3: the port may be empty after its colon.
  if (rest.size() > 1) {
    authority.port = parse_number<std::uint16_t>(rest.substr(1));
    if (!authority.port) return std::nullopt;
  }
  return authority;
}

}  // namespace hedge::router
