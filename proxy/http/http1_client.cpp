#include "proxy/http/http1_client.h"

#include <utility>

#include "proxy/http/http1_codec.h"

namespace hedge::proxy::http {

Task<IoResult> Http1Client::send_head(const RequestHead& head, ConnectionHeader connection, BodyChunk first,
                                      const std::vector<Field>& trailers) {
  text_.clear();
  append_request_head(text_, head, connection);
  framer_.start(connection == ConnectionHeader::upgrade ? Framing::none : head.body.framing);
  return send_pieces(first, trailers);
}

Task<IoResult> Http1Client::send_body(BodyChunk chunk, const std::vector<Field>& trailers) {
  text_.clear();
  return send_pieces(chunk, trailers);
}

Task<IoResult> Http1Client::send_pieces(BodyChunk chunk, const std::vector<Field>& trailers) {
  const BodyFramer::Pieces pieces = framer_.frame(text_, chunk, trailers);
  IoResult sent = co_await stream_.write(pieces.first, pieces.second);
  if (!sent.ok() || pieces.third.empty()) co_return sent;
  const std::size_t before = sent.bytes;
  sent = co_await stream_.write(pieces.third);
  sent.bytes += before;
  co_return sent;
}

Task<std::optional<ProxyError>> Http1Client::read_head(bool head_request, ResponseHead& out) {
  input_.begin_message();
  scanner_.reset();
  for (;;) {
    switch (scanner_.scan(input_.text())) {
      case HeadScanner::State::complete:
        co_return take_head(head_request, out);
      case HeadScanner::State::failed:
        co_return scanner_.error();
      case HeadScanner::State::need_more:
        break;
    }
    // An upstream may think for hours; meanwhile no buffer is held.
    if (input_.empty()) {
      const IoResult waited = co_await stream_.readable();
      if (!waited.ok()) co_return closed(waited);
    }
    if (!input_.make_space())
      co_return ProxyError{ProxyReason::upstream_bad_response, "the response's header is too large", {}};
    const IoResult got = co_await stream_.read_some(input_.space());
    if (!got.ok()) co_return closed(got);
    input_.received(got.bytes);
    response_started_ = true;
  }
}

std::optional<ProxyError> Http1Client::take_head(bool head_request, ResponseHead& out) {
  const std::size_t head_bytes = scanner_.head_bytes();
  auto wrong = parse_response_head(input_.text().substr(0, head_bytes), head_request, out);
  input_.consume(head_bytes);
  scanner_.reset();
  if (!wrong && !is_interim(out.status)) body_.start(out.body);
  return wrong;
}

ProxyError Http1Client::closed(const IoResult& result) const {
  const std::string_view when = response_started_ ? "within the head of its response" : "before it answered";
  std::string detail = "the upstream closed the connection " + std::string(when);
  if (result.status != IoStatus::end) detail += " (" + to_error(result, "reading").to_string() + ")";
  return ProxyError{ProxyReason::upstream_closed, std::move(detail), {}};
}

bool Http1Client::reusable(const ResponseHead& response) const {
  if (!body_.finished() || !input_.empty() || response.body.framing == Framing::until_close) return false;
  if (response.status == 101 || response.connection.close) return false;
  return response.version == Version::http11 || response.connection.keep_alive;
}

}  // namespace hedge::proxy::http
