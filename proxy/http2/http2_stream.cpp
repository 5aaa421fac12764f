#include "proxy/http2/http2_stream.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "proxy/http2/http2_connection.h"

namespace hedge::proxy::http {
namespace {

// What a stream may take of the connection's room at a time while others wait for some.
constexpr std::size_t kFairShare = 16U << 10;

}  // namespace

Http2Stream::Http2Stream(Http2Connection& connection, std::int32_t id, Http2HeadEvents& heads)
    : connection_(connection), heads_(heads), id_(id), waiters_(nullptr), inbox_(connection.buffers()) {
  connection_.enter(*this);
  broken_ = connection_.is_dead();
}

Http2Stream::~Http2Stream() {
  if (id_ != 0 && !closed_) {
    if (!remote_ended_ || !outgoing_.end_sent) reset_with(Http2Error::cancel);
    connection_.session().forget(id_);
  }
  connection_.leave(*this);
}

bool Http2Stream::submit_response(std::span<const Http2Field> fields, bool has_body) {
  if (closed_ || broken_) return false;
  return begin_head(connection_.session().submit_response(id_, fields, *this, has_body));
}

bool Http2Stream::submit_interim(std::span<const Http2Field> fields) {
  if (closed_ || broken_) return false;
  return begin_head(connection_.session().submit_interim(id_, fields));
}

bool Http2Stream::submit_trailers(std::span<const Http2Field> fields) {
  if (closed_ || broken_) return false;
  outgoing_.end_sent = false;
  return begin_head(connection_.session().submit_trailers(id_, fields));
}

bool Http2Stream::submit_request(std::span<const Http2Field> fields, bool has_body) {
  std::optional<std::int32_t> id;
  if (!connection_.is_dead()) id = connection_.session().submit_request(fields, *this, has_body);
  if (id) {
    id_ = *id;
  } else {
    broke();
  }
  return begin_head(id.has_value());
}

bool Http2Stream::begin_head(bool submitted) noexcept {
  if (submitted) ++heads_due_;
  return submitted;
}

IoResult Http2Stream::try_send(std::string_view& data, Http2End end) {
  for (;;) {
    const bool all_sent = heads_due_ == 0 && data.empty() && (end == Http2End::none || outgoing_.end_sent);
    if (all_sent) return IoResult::moved(0);
    if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
    if (closed_ || broken_) return IoResult::failure(ECONNRESET);
    if (connection_.others_wait_for_room() && !connection_.take_turn(*this)) {
      connection_.wait_for_room(*this);
      return IoResult::blocked();
    }
    const std::string_view offered = connection_.others_wait_for_room() ? data.substr(0, kFairShare) : data;
    const int heads_before = heads_due_;
    const bool end_before = outgoing_.end_sent;
    outgoing_.data = offered;
    outgoing_.end = offered.size() == data.size() ? end : Http2End::none;
    connection_.session().resume(id_);
    connection_.produce();
    const std::size_t taken = offered.size() - outgoing_.data.size();
    data.remove_prefix(taken);
    outgoing_.data = {};
    outgoing_.end = Http2End::none;
    const bool moved = taken > 0 || outgoing_.end_sent != end_before || heads_due_ != heads_before;
    if (moved && !connection_.others_wait_for_room()) continue;
    if (moved && heads_due_ == 0 && data.empty() && (end == Http2End::none || outgoing_.end_sent)) continue;
    if (connection_.lacks_room() || moved) {
      connection_.wait_for_room(*this);
    } else {
      connection_.wait_for_window(*this);
    }
    return IoResult::blocked();
  }
}

void Http2Stream::pass_on(std::size_t bytes) {
  if (bytes == 0 || closed_ || connection_.is_dead()) return;
  connection_.session().consume(id_, bytes);
  connection_.schedule();
}

void Http2Stream::reset_with(Http2Error error) {
  if (id_ == 0 || closed_ || connection_.is_dead() || std::exchange(reset_, true)) return;
  connection_.session().reset(id_, error);
  connection_.schedule();
}

IoResult Http2Stream::try_read(std::span<char> into) {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  const std::size_t bytes = inbox_.read(into);
  if (bytes > 0) {
    pass_on(bytes);
    return IoResult::moved(bytes);
  }
  if (broken_) return IoResult::failure(ECONNRESET);
  if (remote_ended_) return IoResult::ended();
  return IoResult::blocked();
}

IoResult Http2Stream::try_write(std::string_view first, std::string_view second) {
  const std::string_view offered = first.empty() ? second : first;
  std::string_view left = offered;
  const IoResult sent = try_send(left, Http2End::none);
  const std::size_t taken = offered.size() - left.size();
  if (taken > 0) return IoResult::moved(taken);
  return sent;
}

IoResult Http2Stream::try_shutdown_write() {
  std::string_view nothing;
  return try_send(nothing, Http2End::stream);
}

void Http2Stream::cancel() {
  waiters_.mark_interrupted(IoStatus::cancelled);
  reset_with(Http2Error::cancel);
  connection_.wake(*this);
}

void Http2Stream::close() {
  waiters_.mark_interrupted(IoStatus::cancelled);
  reset_with(Http2Error::cancel);
}

const StreamIdentity& Http2Stream::identity() const {
  return connection_.transport().identity();
}

void Http2Stream::head_received(bool last) {
  if (last) remote_ended_ = true;
  heads_.head_received(last);
  connection_.wake(*this);
}

void Http2Stream::data_received(std::string_view data) {
  inbox_.append(data);
  connection_.wake(*this);
}

void Http2Stream::end_received() {
  remote_ended_ = true;
  connection_.wake(*this);
}

void Http2Stream::closed(std::uint32_t error) {
  closed_ = true;
  close_error_ = error;
  if (error != 0 || !remote_ended_ || !outgoing_.end_sent) broke();
  connection_.wake(*this);
}

void Http2Stream::head_sent(bool last) {
  --heads_due_;
  if (last) outgoing_.end_sent = true;
  if (waits_to_write()) connection_.wake(*this);
}

void Http2Stream::window_grew() {
  if (queued_for_window) connection_.window_opened(*this);
}

void Http2Stream::connection_lost() {
  if (!closed_) broke();
  connection_.wake(*this);
}

void Http2Stream::broke() {
  if (std::exchange(broken_, true)) return;
  if (watcher_ != nullptr) watcher_->peer_gone();
}

bool Http2SendAwaiter::attempt_send(PendingIo& pending) {
  auto& self = static_cast<Http2SendAwaiter&>(pending);
  self.result_ = self.stream_.try_send(self.data_, self.end_);
  return !self.result_.would_block();
}

}  // namespace hedge::proxy::http
