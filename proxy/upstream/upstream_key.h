// What connections may be exchanged for one another: the same upstream, spoken to in the same way.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "router/route.h"

namespace hedge::proxy {

// A route's upstream and its protocol, which says whether the connection is TLS, too. A view: what is looked up
// for every request is not copied.
struct UpstreamKeyView {
  const router::Upstream& upstream;
  router::Protocol protocol;
};

struct UpstreamKey {
  router::Upstream upstream;
  router::Protocol protocol = router::Protocol::http1;
  operator UpstreamKeyView() const noexcept { return {upstream, protocol}; }  // NOLINT: to be looked up by
};

// By the upstream's parts and without making a text of them.
struct UpstreamKeyHash {
  using is_transparent = void;
  std::size_t operator()(const UpstreamKeyView& key) const noexcept;
};
struct UpstreamKeyEqual {
  using is_transparent = void;
  bool operator()(const UpstreamKeyView& a, const UpstreamKeyView& b) const noexcept;
};

// The pool of one identity for one protocol: bytes of HTTP/1 never meet a connection that speaks TLS or HTTP/2.
struct PoolKeyView {
  std::string_view identity;
  router::Protocol protocol;
  auto operator<=>(const PoolKeyView&) const = default;
};

struct PoolKey {
  std::string identity;
  router::Protocol protocol = router::Protocol::http1;
  operator PoolKeyView() const noexcept { return {identity, protocol}; }  // NOLINT: to be looked up by
};

// Pools of one identity are neighbours.
struct PoolKeyLess {
  using is_transparent = void;
  bool operator()(const PoolKeyView& a, const PoolKeyView& b) const noexcept { return a < b; }
};

}  // namespace hedge::proxy
