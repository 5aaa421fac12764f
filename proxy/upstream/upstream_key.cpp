#include "proxy/upstream/upstream_key.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <variant>

namespace hedge::proxy {
namespace {

// The part of an upstream that differs within its kind.
std::pair<std::string_view, std::uint16_t> parts(const router::Upstream& upstream) noexcept {
  if (const auto* tcp = std::get_if<router::TcpUpstream>(&upstream)) return {tcp->ip, tcp->port};
  if (const auto* dns = std::get_if<router::DnsUpstream>(&upstream)) return {dns->name, dns->port};
  if (const auto* docker = std::get_if<router::DockerUpstream>(&upstream))
    return {docker->selector, docker->port};
  if (const auto* local = std::get_if<router::UnixUpstream>(&upstream))
    return {local->path, std::uint16_t{0}};
  return {};
}

}  // namespace

std::size_t UpstreamKeyHash::operator()(const UpstreamKeyView& key) const noexcept {
  const auto [text, port] = parts(key.upstream);
  const std::size_t kind = key.upstream.index() | (static_cast<std::size_t>(key.protocol) << 20U);
  return std::hash<std::string_view>()(text) ^ (std::size_t{port} << 3U) ^ kind;
}

bool UpstreamKeyEqual::operator()(const UpstreamKeyView& a, const UpstreamKeyView& b) const noexcept {
  return a.protocol == b.protocol && a.upstream.index() == b.upstream.index() &&
         parts(a.upstream) == parts(b.upstream);
}

}  // namespace hedge::proxy
