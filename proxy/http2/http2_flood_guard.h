// Bounds how often a peer may make the edge work for nothing: a bucket of tokens that fills up again with
// time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "proxy/stream/deadline_list.h"

namespace hedge::proxy::http {

class Http2FloodGuard {
 public:
  struct Rate {
    std::int64_t burst;
    std::int64_t per_second;
  };

  explicit Http2FloodGuard(Rate rate) : rate_(rate), millitokens_(rate.burst * 1000) {}

  // False: too many.
  bool allow(Millis now) noexcept {
    if (now > last_) {
      const Millis passed = std::min<Millis>(now - last_, 3'600'000);
      millitokens_ = std::min(rate_.burst * 1000, millitokens_ + passed * rate_.per_second);
      last_ = now;
    }
    if (millitokens_ < 1000) return false;
    millitokens_ -= 1000;
    return true;
  }

 private:
  Rate rate_;
  std::int64_t millitokens_;
  Millis last_ = 0;
};

}  // namespace hedge::proxy::http
