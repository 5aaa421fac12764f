#include "proxy/http/http1_codec.h"

#include <algorithm>
#include <string>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/text.h"
#include "proxy/http/field_id.h"
#include "proxy/http/framing.h"
#include "proxy/http/request_target.h"

namespace hedge::proxy::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

// What both kinds of message have in common: fields into views, and what the Connection and framing fields
// say.
class HeadCollector {
 public:
  HeadCollector(std::vector<Field>& fields, ConnectionOptions& connection)
      : fields_(fields), connection_(connection) {}

  void add(beast::http::field number, std::string_view name, std::string_view value) {
    const FieldId id = identify_field(name, static_cast<unsigned short>(number));
    fields_.push_back(Field{name, value, id, false});
    switch (id) {
      case FieldId::connection:
        add_connection(value);
        break;
      case FieldId::content_length:
        framing_.add_content_length(value);
        break;
      case FieldId::transfer_encoding:
        framing_.add_transfer_encoding(value);
        break;
      default:
        break;
    }
  }

  // After the last field: marks those that the Connection field names (RFC 9110, section 7.6.1). False: it
  // lists too many.
  bool mark_hop_by_hop() {
    if (options_ > kMaxConnectionOptions) return false;
    if (!names_fields_) return true;
    for (const Field& field : fields_) {
      if (field.id == FieldId::connection)
        for_each_list_element(field.value, [this](auto name) { mark(name); });
    }
    return true;
  }

  const FramingFields& framing() const { return framing_; }

 private:
  void add_connection(std::string_view value) {
    for_each_list_element(value, [this](std::string_view option) {
      ++options_;
      if (equals_ignoring_case(option, "close")) {
        connection_.close = true;
      } else if (equals_ignoring_case(option, "keep-alive")) {
        connection_.keep_alive = true;
      } else if (equals_ignoring_case(option, "upgrade")) {
        connection_.upgrade = true;
      } else {
        names_fields_ = true;
      }
    });
  }

  void mark(std::string_view name) {
    for (Field& field : fields_) {
      // Host is the one field that a client must not be able to take away from the upstream.
      if (field.id != FieldId::host && equals_ignoring_case(field.name, name)) field.omit = true;
    }
  }

  std::vector<Field>& fields_;
  ConnectionOptions& connection_;
  FramingFields framing_;
  std::size_t options_ = 0;    // elements of all Connection fields
  bool names_fields_ = false;  // one of them names a field
};

// Feeds Beast's parser exactly one head. Bodies never pass through it.
template <bool is_request>
class Parser final : public beast::http::basic_parser<is_request> {
 public:
  Parser(HeadCollector& collector, RequestHead* request, ResponseHead* response)
      : collector_(collector), request_(request), response_(response) {
    this->header_limit(kMaxStartLineBytes + kMaxFieldBytes + 4);
    this->body_limit(boost::none);
  }

  bool parse(std::string_view head, error_code& error) {
    const std::size_t used = this->put(boost::asio::const_buffer(head.data(), head.size()), error);
    return !error && used == head.size() && this->is_header_done();
  }

 private:
  void on_request_impl(beast::http::verb /*verb*/, beast::string_view method, beast::string_view target,
                       int version, error_code& /*error*/) override {
    request_->method = view(method);
    request_->target = view(target);
    request_->version = version == 10 ? Version::http10 : Version::http11;
  }
  void on_response_impl(int status, beast::string_view reason, int version, error_code& /*error*/) override {
    response_->status = static_cast<unsigned>(status);
    response_->reason = view(reason);
    response_->version = version == 10 ? Version::http10 : Version::http11;
  }
  void on_field_impl(beast::http::field number, beast::string_view name, beast::string_view value,
                     error_code& /*error*/) override {
    collector_.add(number, view(name), view(value));
  }
  void on_header_impl(error_code& /*error*/) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/, error_code& /*error*/) override {}
  std::size_t on_body_impl(beast::string_view body, error_code& /*error*/) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t /*size*/, beast::string_view /*extensions*/,
                            error_code& /*error*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, beast::string_view body,
                                 error_code& /*error*/) override {
    return body.size();
  }
  void on_finish_impl(error_code& /*error*/) override {}

  HeadCollector& collector_;
  RequestHead* request_;
  ResponseHead* response_;
};

ProxyError bad(std::string detail) {
  return ProxyError{ProxyReason::bad_request, std::move(detail), {}};
}

ProxyError too_many_options(ProxyReason reason) {
  return ProxyError{
      reason, "the connection field lists more than " + std::to_string(kMaxConnectionOptions) + " options", {}};
}

ProxyError describe(const error_code& code) {
  using beast::http::error;
  if (code == error::bad_version) return bad("this is not HTTP/1.0 or HTTP/1.1");
  if (code == error::bad_field) return bad("a header line has a malformed name, or a space before its colon");
  if (code == error::bad_value) return bad("a header value has a forbidden character");
  if (code == error::bad_line_ending) return bad("a line ends in CR without LF");
  if (code == error::bad_content_length || code == error::multiple_content_length)
    return bad("content-length is malformed, differs or stands beside transfer-encoding");
  if (code == error::bad_transfer_encoding)
    return bad("transfer-encoding is given twice or beside content-length");
  if (code == error::bad_method) return bad("the request line has a malformed method");
  if (code == error::bad_target) return bad("the request line has a malformed target");
  return bad("the message is malformed");
}

// What the request's own fields say, besides framing and connection.
std::optional<ProxyError> read_request_fields(RequestHead& out) {
  int hosts = 0;
  std::string_view upgrade;
  for (const Field& field : out.fields) {
    switch (field.id) {
      case FieldId::host:
        ++hosts;
        out.authority = field.value;
        break;
      case FieldId::expect:
        if (equals_ignoring_case(field.value, "100-continue")) out.expects_continue = true;
        break;
      case FieldId::te:
        for_each_list_element(field.value, [&out](std::string_view coding) {
          if (equals_ignoring_case(coding, "trailers")) out.accepts_trailers = true;
        });
        break;
      case FieldId::upgrade:
        upgrade = field.value;
        break;
      default:
        break;
    }
  }
  if (hosts == 0) return bad("there is no host field");
  if (hosts > 1) return bad("there is more than one host field");
  if (out.version == Version::http11 && out.connection.upgrade) out.upgrade = upgrade;
  // RFC 9110, section 10.1.1: an expectation in an HTTP/1.0 request is ignored.
  if (out.version == Version::http10) out.expects_continue = false;
  return std::nullopt;
}

}  // namespace

std::optional<ProxyError> parse_request_head(std::string_view head, RequestHead& out) {
  out.clear();
  HeadCollector collector(out.fields, out.connection);
  Parser<true> parser(collector, &out, nullptr);
  error_code error;
  if (!parser.parse(head, error)) return describe(error);
  if (!collector.mark_hop_by_hop()) return too_many_options(ProxyReason::bad_request);
  if (auto wrong = collector.framing().request_shape(out.version, out.body)) return wrong;
  if (auto wrong = read_request_fields(out)) return wrong;
  RequestTarget target;
  if (auto wrong = parse_request_target(out.method, out.target, target)) return wrong;
  out.target = target.target;
  out.target_prefix = target.prefix;
  if (!target.authority.empty()) out.authority = target.authority;
  return std::nullopt;
}

std::optional<ProxyError> parse_response_head(std::string_view head, bool head_request, ResponseHead& out) {
  out.clear();
  HeadCollector collector(out.fields, out.connection);
  Parser<false> parser(collector, nullptr, &out);
  error_code error;
  if (!parser.parse(head, error)) {
    ProxyError wrong = describe(error);
    return ProxyError{ProxyReason::upstream_bad_response, std::move(wrong.detail), {}};
  }
  if (out.status < 100 || out.status > 599)
    return ProxyError{ProxyReason::upstream_bad_response, "the status is not between 100 and 599", {}};
  if (!collector.mark_hop_by_hop()) return too_many_options(ProxyReason::upstream_bad_response);
  out.content_length = collector.framing().length();
  return collector.framing().response_shape(out.status, head_request, out.body);
}

}  // namespace hedge::proxy::http
