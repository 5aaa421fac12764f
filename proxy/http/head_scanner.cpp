#include "proxy/http/head_scanner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "proxy/http/message.h"

namespace hedge::proxy::http {
namespace {

// For the message of a 431: "cookie (61440 bytes)".
std::string describe_largest_field(std::string_view fields) {
  std::string_view largest;
  while (!fields.empty()) {
    const std::size_t end = fields.find('\n');
    const std::string_view line = fields.substr(0, end);
    if (line.size() > largest.size()) largest = line;
    fields = end == std::string_view::npos ? std::string_view() : fields.substr(end + 1);
  }
  const std::string name = ascii_lower(printable(largest.substr(0, largest.find(':')), 100));
  return "'" + name + "' (" + std::to_string(largest.size()) + " bytes so far)";
}

}  // namespace

HeadScanner::State HeadScanner::scan(std::string_view bytes) {
  // Another protocol's first byte is refused at once, not after the head's deadline.
  if (!bytes.empty() && (bytes[0] < '!' || bytes[0] == '\x7f') && bytes[0] != '\r' && bytes[0] != '\n')
    return fail(ProxyReason::bad_request, "these bytes are not HTTP");
  for (;;) {
    const bool in_fields = fields_ != 0;
    if (in_fields && line_ < bytes.size() && (bytes[line_] == ' ' || bytes[line_] == '\t'))
      return fail(ProxyReason::bad_request, "a header line is folded or begins with white space");
    const std::size_t from = std::max(line_, searched_);
    const void* found =
        from < bytes.size() ? std::memchr(bytes.data() + from, '\n', bytes.size() - from) : nullptr;
    if (found == nullptr) {
      searched_ = bytes.size();
      return check_limits(bytes, bytes.size());
    }
    const std::size_t line_feed = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
    if (line_feed == line_ || bytes[line_feed - 1] != '\r')
      return fail(ProxyReason::bad_request, "a line ends in LF without CR");
    const bool empty = line_feed - line_ == 1;
    if (check_limits(bytes, line_feed + 1) == State::failed) return State::failed;
    if (!in_fields) {
      fields_ = line_feed + 1;
    } else if (!empty && count_field() == State::failed) {
      return State::failed;
    }
    line_ = line_feed + 1;
    if (empty) return State::complete;
  }
}

HeadScanner::State HeadScanner::check_limits(std::string_view bytes, std::size_t line_end) {
  if (fields_ == 0) {
    if (line_end <= kMaxStartLineBytes) return State::need_more;
    return fail(ProxyReason::uri_too_long, "the first line is longer than 16 KiB");
  }
  if (line_end - fields_ <= kMaxFieldBytes) return State::need_more;
  std::string detail = "the header is larger than 64 KiB; its largest field is " +
                       describe_largest_field(bytes.substr(fields_, bytes.size() - fields_));
  return fail(ProxyReason::headers_too_large, std::move(detail));
}

HeadScanner::State HeadScanner::count_field() {
  if (++field_count_ <= kMaxFields) return State::need_more;
  return fail(ProxyReason::headers_too_large,
              "the header has more than " + std::to_string(kMaxFields) + " fields");
}

HeadScanner::State HeadScanner::fail(ProxyReason reason, std::string detail) {
  if (kind_ == MessageKind::response) reason = ProxyReason::upstream_bad_response;
  error_ = ProxyError{reason, std::move(detail), {}};
  return State::failed;
}

void HeadScanner::reset() {
  line_ = 0;
  searched_ = 0;
  fields_ = 0;
  field_count_ = 0;
}

std::size_t count_leading_empty_lines(std::string_view bytes) {
  std::size_t skipped = 0;
  while (skipped < 8 && bytes.substr(skipped, 2) == "\r\n") skipped += 2;
  return skipped;
}

}  // namespace hedge::proxy::http
