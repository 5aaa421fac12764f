#include "proxy/http/framing.h"

#include "base/text.h"

namespace hedge::proxy::http {
namespace {

// One element of a Content-Length: digits only. parse_number() would take a minus sign for signed types only.
std::optional<std::uint64_t> parse_length(std::string_view text) {
  for (const char c : text) {
    if (!is_ascii_digit(c)) return std::nullopt;
  }
  const auto value = parse_number<std::uint64_t>(text);
  // The upper half would overflow somebody's signed arithmetic further on.
  if (!value || *value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return value;
}

ProxyError bad(std::string_view detail) {
  return ProxyError{ProxyReason::bad_request, std::string(detail), {}};
}

}  // namespace

void FramingFields::add_content_length(std::string_view value) {
  // "5, 5" is one length said twice (a proxy joined two fields); an empty element is nobody's number.
  for (;;) {
    const std::size_t comma = value.find(',');
    const auto length = parse_length(trim(value.substr(0, comma)));
    if (!length) {
      bad_length_ = true;
      return;
    }
    if (length_ && *length_ != *length) differing_lengths_ = true;
    length_ = length;
    if (comma == std::string_view::npos) return;
    value.remove_prefix(comma + 1);
  }
}

void FramingFields::add_transfer_encoding(std::string_view value) {
  ++transfer_encodings_;
  if (equals_ignoring_case(value, "chunked")) {
    chunked_ = true;
    return;
  }
  for_each_list_element(value, [this](std::string_view coding) {
    if (!equals_ignoring_case(coding, "chunked")) unknown_coding_ = true;
  });
}

std::optional<ProxyError> FramingFields::check() const {
  if (bad_length_) return bad("content-length is not one decimal number");
  if (differing_lengths_) return bad("content-length is given twice with different values");
  if (transfer_encodings_ == 0) return std::nullopt;
  if (length_) return bad("both content-length and transfer-encoding are given");
  if (transfer_encodings_ > 1) return bad("transfer-encoding is given twice");
  if (chunked_) return std::nullopt;
  if (unknown_coding_)
    return ProxyError{
        ProxyReason::coding_unsupported, "transfer-encoding has a coding other than chunked", {}};
  return bad("transfer-encoding is not exactly 'chunked'");
}

std::optional<ProxyError> FramingFields::request_shape(Version version, BodyShape& shape) const {
  if (auto error = check()) return error;
  if (chunked_ && version == Version::http10) return bad("transfer-encoding in an HTTP/1.0 request");
  if (chunked_) {
    shape = BodyShape{Framing::chunked, 0};
  } else if (length_) {
    shape = BodyShape{Framing::length, *length_};
  } else {
    shape = BodyShape{Framing::none, 0};
  }
  return std::nullopt;
}

std::optional<ProxyError> FramingFields::response_shape(unsigned status, bool head_request,
                                                        BodyShape& shape) const {
  if (auto error = check()) {
    error->reason = ProxyReason::upstream_bad_response;
    return error;
  }
  if (is_bodyless(status) || head_request) {
    shape = BodyShape{Framing::none, 0};
  } else if (chunked_) {
    shape = BodyShape{Framing::chunked, 0};
  } else if (length_) {
    shape = BodyShape{Framing::length, *length_};
  } else {
    shape = BodyShape{Framing::until_close, 0};
  }
  return std::nullopt;
}

}  // namespace hedge::proxy::http
