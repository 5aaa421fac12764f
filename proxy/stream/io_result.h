// What one non-blocking step on a stream came to. Sixteen bytes, because every read and write of a request
// returns one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace hedge::proxy {

enum class IoStatus : std::uint8_t {
  ok,           // `bytes` were moved
  end,          // read only: the peer has finished sending
  would_block,  // only from the try_ calls; an awaited call never returns it
  timed_out,    // the stream's deadline passed while it waited
  cancelled,    // somebody of ours gave the stream up
  failed,       // `error` holds the errno; EPROTO stands for a TLS failure
};

struct [[nodiscard]] IoResult {
  IoStatus status = IoStatus::ok;
  int error = 0;
  std::size_t bytes = 0;

  bool ok() const noexcept { return status == IoStatus::ok; }
  bool would_block() const noexcept { return status == IoStatus::would_block; }

  static IoResult moved(std::size_t bytes) noexcept { return {IoStatus::ok, 0, bytes}; }
  static IoResult ended() noexcept { return {IoStatus::end, 0, 0}; }
  static IoResult blocked() noexcept { return {IoStatus::would_block, 0, 0}; }
  static IoResult failure(int number) noexcept { return {IoStatus::failed, number, 0}; }
  static IoResult interrupted(IoStatus why) noexcept { return {why, 0, 0}; }
};

// For messages and logs.
// Requires: !result.ok().
Error to_error(const IoResult& result, std::string_view doing);

}  // namespace hedge::proxy
