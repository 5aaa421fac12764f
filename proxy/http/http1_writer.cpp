#include "proxy/http/http1_writer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "proxy/http/field_id.h"

namespace hedge::proxy::http {
namespace {

void append_number(std::string& out, std::uint64_t number, int base) {
  char digits[20];
  const auto written = std::to_chars(digits, digits + sizeof digits, number, base);
  out.append(digits, written.ptr);
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

void append_fields(std::string& out, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (!field.omit && !is_made_anew(field.id)) append_field(out, field.name, field.value);
  }
}

void append_framing(std::string& out, BodyShape shape) {
  if (shape.framing == Framing::chunked) {
    out.append("Transfer-Encoding: chunked\r\n");
  } else if (shape.framing == Framing::length) {
    out.append("Content-Length: ");
    append_number(out, shape.length, 10);
    out.append("\r\n");
  }
}

void append_connection(std::string& out, ConnectionHeader connection, std::string_view upgrade) {
  switch (connection) {
    case ConnectionHeader::none:
      return;
    case ConnectionHeader::close:
      out.append("Connection: close\r\n");
      return;
    case ConnectionHeader::keep_alive:
      out.append("Connection: keep-alive\r\n");
      return;
    case ConnectionHeader::upgrade:
      out.append("Connection: Upgrade\r\n");
      append_field(out, "Upgrade", upgrade);
      return;
  }
}

}  // namespace

void append_request_head(std::string& out, const RequestHead& head, ConnectionHeader connection) {
  out.append(head.method)
      .append(" ")
      .append(head.target_prefix)
      .append(head.target)
      .append(" HTTP/1.1\r\nHost: ");
  out.append(head.authority).append("\r\n");
  for (const Field& field : head.fields) {
    if (!field.omit && field.id != FieldId::host && !is_made_anew(field.id))
      append_field(out, field.name, field.value);
  }
  append_framing(out, head.body);
  // RFC 9110, section 10.1.4: TE concerns this connection and is therefore named by Connection.
  if (head.accepts_trailers && connection != ConnectionHeader::upgrade) {
    out.append("TE: trailers\r\n");
    if (connection == ConnectionHeader::none) out.append("Connection: TE\r\n");
  }
  append_connection(out, connection, head.upgrade);
  out.append("\r\n");
}

void append_response_head(std::string& out, const ResponseHead& head, BodyShape shape,
                          ConnectionHeader connection) {
  out.append("HTTP/1.1 ");
  append_number(out, head.status, 10);
  out.append(" ").append(head.reason).append("\r\n");
  append_fields(out, head.fields);
  append_framing(out, shape);
  // RFC 9110, section 8.6: a length is allowed without a body here, and nowhere else.
  if (shape.framing == Framing::none && head.status >= 200 && head.status != 204) {
    if (head.content_length) append_framing(out, BodyShape{Framing::length, *head.content_length});
  }
  append_connection(out, connection, head.first(FieldId::upgrade));
  out.append("\r\n");
}

BodyFramer::Pieces BodyFramer::frame(std::string& front, const BodyChunk& chunk,
                                     const std::vector<Field>& trailers) {
  const std::string_view data(chunk.data.data(), chunk.data.size());
  if (framing_ != Framing::chunked) return Pieces{front, data, {}};
  tail_.clear();
  if (!data.empty()) {
    append_number(front, data.size(), 16);
    front.append("\r\n");
    tail_.append("\r\n");
  }
  if (chunk.last) {
    tail_.append("0\r\n");
    for (const Field& field : trailers) append_field(tail_, field.name, field.value);
    tail_.append("\r\n");
  }
  if (data.empty()) {
    front.append(tail_);
    return Pieces{front, {}, {}};
  }
  if (tail_.size() > chunk.tail_room) return Pieces{front, data, tail_};
  std::memcpy(chunk.data.data() + data.size(), tail_.data(), tail_.size());
  return Pieces{front, {data.data(), data.size() + tail_.size()}, {}};
}

}  // namespace hedge::proxy::http
