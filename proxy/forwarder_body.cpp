// The part of forward() that moves the response's body.
#include "proxy/forwarding.h"
#include "proxy/stream/splice.h"

namespace hedge::proxy {

using http::BodyRead;
using http::BodyStatus;

Task<bool> Forwarding::relay_body() {
  http::BodySource& body = call_->body();
  bool may_splice = true;
  while (!body.finished()) {
    const http::RawBody raw = body.raw();
    ByteStream* client = may_splice && raw.bytes >= kLeastSplice ? exchange_.raw_client() : nullptr;
    bool sent = true;
    bool failed = false;
    if (client != nullptr) {
      exchange_.begin_raw();
      const SpliceResult moved = co_await splice_piece(*raw.stream, *client, raw.bytes, worker_.pipes());
      body.took_raw(moved.bytes, moved.read);
      exchange_.sent_raw(moved.bytes, body.finished(), moved.write);
      may_splice = !moved.no_pipe;
      sent = moved.write.ok();
      failed = !moved.read.ok();
    } else {
      const BodyRead piece = co_await body.read();
      failed = piece.status == BodyStatus::failed;
      if (!failed) sent = co_await exchange_.send_body(piece.chunk, body.trailers());
    }
    if (failed) {
      note_body_failure();
      exchange_.abort();
      co_return true;
    }
    if (!sent) co_return false;
  }
  co_return true;
}

// A cancelled read is the client's doing, not the upstream's.
void Forwarding::note_body_failure() {
  if (upload_failure_) {
    state_.record.error_id = upload_failure_->id();
  } else {
    state_.record.error_id =
        exchange_.client_gone() ? facts(ProxyReason::client_gone).id : call_->body().failure().id();
  }
}

}  // namespace hedge::proxy
