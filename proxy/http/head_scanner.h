// Finds the end of a message head, line by line, and refuses what must not even be parsed: bare LF, folded
// lines, too much.
#pragma once

#include <cstddef>
#include <string_view>

#include "proxy/proxy_error.h"

namespace hedge::proxy::http {

enum class MessageKind { request, response };

// One head after another, resumable at every byte; a head that arrives byte by byte is looked at once a byte.
class HeadScanner {
 public:
  enum class State { need_more, complete, failed };

  explicit HeadScanner(MessageKind kind) : kind_(kind) {}

  // `bytes`: everything received since the head began, also what earlier calls have seen. May lie elsewhere
  // than before.
  State scan(std::string_view bytes);

  // The start line is complete.
  bool in_fields() const { return fields_ != 0; }
  // After `complete`: the head's size with the empty line.
  std::size_t head_bytes() const { return line_; }
  // After `failed`.
  const ProxyError& error() const { return error_; }
  void reset();

 private:
  // In a response every reason is upstream_bad_response.
  State fail(ProxyReason reason, std::string detail);
  State check_limits(std::string_view bytes, std::size_t line_end);
  State count_field();

  MessageKind kind_;
  std::size_t line_ = 0;      // where the current line begins
  std::size_t searched_ = 0;  // no LF between line_ and here
  std::size_t fields_ = 0;    // where the first field line begins; 0 while in the start line
  std::size_t field_count_ = 0;
  ProxyError error_;
};

// Empty lines that a client may put before its request line (RFC 9112, section 2.2): how many bytes to skip,
// at most 8.
std::size_t count_leading_empty_lines(std::string_view bytes);

}  // namespace hedge::proxy::http
