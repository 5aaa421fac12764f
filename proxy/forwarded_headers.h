// What the edge tells an upstream about the client, and what it keeps from it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/message.h"
#include "proxy/proxy_error.h"
#include "proxy/stream/byte_stream.h"
#include "router/host_pattern.h"

namespace hedge::proxy {

// Our own hops that a request may have behind it; one more is a loop.
inline constexpr int kMaxOwnHops = 5;

// Values that live as long as the exchange, so that fields can refer to them.
using ScratchTexts = std::deque<std::string>;

struct ForwardedFacts {
  const StreamIdentity& peer;
  const router::Authority& authority;  // of the request
  bool trusted_peer = false;           // a configured proxy in front of the edge: its X-Forwarded-* are kept
  std::string_view fresh_request_id;   // used where the client brings none that is sane
};

// Marks the hop-by-hop and spoofed fields and appends X-Forwarded-For, -Proto, -Host, -Port, X-Request-Id and
// Via. Returns the request's id. Lifetime: the fields refer to `facts` and `texts`.
std::string_view prepare_request_fields(http::RequestHead& request, const ForwardedFacts& facts,
                                        ScratchTexts& texts);

// How many of our own hops the request's Via fields name.
int count_own_hops(const http::RequestHead& request);

// 1 to 128 letters, digits and "._~+/=:-".
bool is_sane_request_id(std::string_view id);

// Matches peers against `edge.trusted_proxies`: addresses, or blocks as in 10.0.0.0/8.
class TrustedProxies {
 public:
  explicit TrustedProxies(const std::vector<std::string>& blocks);
  bool contains(std::string_view ip) const;

 private:
  struct Block {
    std::string bytes;  // 4 or 16
    int prefix_bits = 0;
  };
  std::vector<Block> blocks_;
};

}  // namespace hedge::proxy
