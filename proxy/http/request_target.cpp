#include "proxy/http/request_target.h"

#include <string>

#include "base/text.h"

namespace hedge::proxy::http {
namespace {

ProxyError bad(std::string_view detail) {
  return ProxyError{ProxyReason::bad_request, std::string(detail), {}};
}

std::optional<ProxyError> parse_absolute(std::string_view method, std::string_view text, RequestTarget& out) {
  const std::size_t colon = text.find("://");
  const std::string_view scheme = text.substr(0, colon);
  if (colon == std::string_view::npos ||
      !(equals_ignoring_case(scheme, "http") || equals_ignoring_case(scheme, "https")))
    return bad("the request target is neither a path nor an http URL");
  const std::string_view rest = text.substr(colon + 3);
  const std::size_t end = rest.find_first_of("/?#");
  out.authority = rest.substr(0, end);
  out.target = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  if (out.authority.empty()) return bad("the request target has no host");
  if (out.authority.find('@') != std::string_view::npos)
    return bad("the request target has user information");
  // RFC 9112, section 3.2.4: an OPTIONS without path and query asks for the server as a whole.
  if (out.target.empty()) out.prefix = method == "OPTIONS" ? "*" : "/";
  if (out.target.starts_with('?')) out.prefix = "/";
  if (out.target.starts_with('#')) return bad("the request target has a fragment");
  return std::nullopt;
}

}  // namespace

std::optional<ProxyError> parse_request_target(std::string_view method, std::string_view text,
                                               RequestTarget& out) {
  out = RequestTarget();
  if (method == "CONNECT") return bad("CONNECT is for forward proxies; this edge serves its own hosts");
  if (text.starts_with('/')) {
    out.target = text;
    return std::nullopt;
  }
  if (text == "*") {
    if (method != "OPTIONS") return bad("the request target '*' is for OPTIONS only");
    out.target = text;
    return std::nullopt;
  }
  return parse_absolute(method, text, out);
}

}  // namespace hedge::proxy::http
