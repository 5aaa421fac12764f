#include "proxy/http2/http2_connection.h"

#include <algorithm>
#include <utility>

#include "proxy/http2/http2_stream.h"

namespace hedge::proxy::http {

Http2Connection::Http2Connection(Http2Role role, ByteStream& transport, Reactor& reactor, BufferPool& buffers,
                                 Http2ConnectionEvents& events)
    : transport_(transport), reactor_(reactor), buffers_(buffers), events_(events), session_(role, *this) {
  schedule();  // the settings
}

Http2Connection::~Http2Connection() {
  if (scheduled_) reactor_.forget_wake(*this);
}

Task<void> Http2Connection::run(std::string_view early) {
  if (!early.empty()) take_in(early);
  bool goes_on = true;
  while (goes_on && !dead_) goes_on = co_await read_once();
  die();
  wake_ready();
}

Task<bool> Http2Connection::read_once() {
  if (!closing_ && !faulty_) events_.about_to_wait();
  const IoResult waited = co_await transport_.readable();
  if (!waited.ok()) {
    if (waited.status == IoStatus::timed_out && !closing_ && !faulty_) say_goodbye();
    co_return false;
  }
  // Nothing is leased while the peer is silent.
  const Block block = transport_.identity().tls ? buffers_.lease_head() : buffers_.lease_body();
  const IoResult got = co_await transport_.read_some(block.bytes());
  if (!got.ok()) co_return false;
  // What comes after the end is read all the same: unread bytes would turn our last frames into a RST.
  if (!closing_ && !faulty_) take_in({block.data(), got.bytes});
  co_return true;
}

void Http2Connection::take_in(std::string_view bytes) {
  if (!session_.receive(bytes, reactor_.now())) {
    faulty_ = true;
    transport_.set_deadline(kCloseLimit);
  }
  deliver();
  schedule();
}

// Best effort: the connection ends in any case.
void Http2Connection::say_goodbye() {
  transport_.clear_deadline();
  session_.terminate(Http2Error::no_error);
  produce();
  flush();
}

void Http2Connection::deliver() {
  serve_waiting_for_window();
  events_.received();
  wake_ready();
}

void Http2Connection::wake_ready() {
  // By index: whoever is resumed may add to the list.
  for (std::size_t i = 0; i < ready_.size(); ++i) {
    Http2Stream* stream = std::exchange(ready_[i], nullptr);
    if (stream == nullptr) continue;
    stream->queued_to_wake = false;
    stream->waiters().wake();
  }
  ready_.clear();
}

void Http2Connection::on_events(std::uint32_t /*events*/) {
  scheduled_ = false;
  for (int round = 0; round < kMostRoundsATurn; ++round) {
    wake_ready();
    produce();
    flush();
    const bool served = serve_waiting_for_room();
    if (!served && ready_.empty()) break;
  }
  // The rest after the other connections; while the socket is full, the writer comes back by itself.
  if (!ready_.empty() || (!waiting_for_room_.empty() && !lacks_room())) schedule();
  end_if_over();
  if (!closing_ && !faulty_ && !dead_) events_.about_to_wait();
}

// They go on one after the other and a frame at a time, as with room: what one is given, all share.
void Http2Connection::serve_waiting_for_window() {
  const bool all = std::exchange(all_windows_grew_, false);
  if (!std::exchange(a_window_grew_, false) && !all) return;
  std::erase_if(waiting_for_window_, [this, all](Http2Stream* stream) {
    if (!all && !stream->window_opened) return false;
    stream->queued_for_window = stream->window_opened = false;
    wait_for_room(*stream);
    return true;
  });
}

bool Http2Connection::serve_waiting_for_room() {
  if (waiting_for_room_.empty() || lacks_room() || dead_) return false;
  serving_.swap(waiting_for_room_);
  fair_shares_ = serving_.size() > 1;
  for (std::size_t i = 0; i < serving_.size(); ++i) {
    Http2Stream* stream = std::exchange(serving_[i], nullptr);
    if (stream == nullptr) continue;
    stream->queued_for_room = false;
    turn_of_ = stream;
    stream->waiters().wake();
  }
  serving_.clear();
  turn_of_ = nullptr;
  fair_shares_ = false;
  return true;
}

void Http2Connection::schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  reactor_.wake_later(*this);
}

void Http2Connection::wake(Http2Stream& stream) {
  if (!std::exchange(stream.queued_to_wake, true)) ready_.push_back(&stream);
  schedule();
}

void Http2Connection::wait_for_room(Http2Stream& stream) {
  if (!std::exchange(stream.queued_for_room, true)) waiting_for_room_.push_back(&stream);
  schedule();
}

void Http2Connection::wait_for_window(Http2Stream& stream) {
  if (!std::exchange(stream.queued_for_window, true)) waiting_for_window_.push_back(&stream);
}

void Http2Connection::window_opened(Http2Stream& stream) noexcept {
  stream.window_opened = true;
  a_window_grew_ = true;
}

bool Http2Connection::take_turn(const Http2Stream& stream) noexcept {
  if (turn_of_ != &stream) return false;
  turn_of_ = nullptr;
  return true;
}

void Http2Connection::enter(Http2Stream& stream) {
  stream.position = streams_.size();
  streams_.push_back(&stream);
}

void Http2Connection::leave(Http2Stream& stream) noexcept {
  streams_.back()->position = stream.position;
  streams_[stream.position] = streams_.back();
  streams_.pop_back();
  if (stream.queued_to_wake)
    std::replace(ready_.begin(), ready_.end(), &stream, static_cast<Http2Stream*>(nullptr));
  if (stream.queued_for_room) {
    std::erase(waiting_for_room_, &stream);
    std::replace(serving_.begin(), serving_.end(), &stream, static_cast<Http2Stream*>(nullptr));
  }
  if (stream.queued_for_window) std::erase(waiting_for_window_, &stream);
  if (turn_of_ == &stream) turn_of_ = nullptr;
  // An owner that has had its last stream may want to set a deadline, or to end.
  if (streams_.empty() && !dead_) schedule();
}

std::size_t Http2Connection::room() const noexcept {
  return kBodyBlockBytes - output_end_;
}

void Http2Connection::produce() {
  if (dead_ || lacks_room()) return;
  if (!output_) output_ = buffers_.lease_body();
  const std::size_t bytes = session_.produce(output_.bytes().subspan(output_end_));
  output_end_ += bytes;
  if (bytes > 0) schedule();
  if (output_end_ == 0) output_.release();
  if (session_.is_broken()) die();
}

void Http2Connection::flush() {
  if (dead_ || !writer_.empty()) return;
  while (output_begin_ < output_end_) {
    const std::string_view waiting(output_.data() + output_begin_, output_end_ - output_begin_);
    const IoResult sent = transport_.try_write(waiting, {});
    if (sent.would_block()) {
      writer_.spawn(finish_write());
      return;
    }
    if (!sent.ok()) return die();
    output_begin_ += sent.bytes;
  }
  output_begin_ = output_end_ = 0;
  output_.release();
}

// The socket is full. More may be added behind what waits meanwhile.
Task<void> Http2Connection::finish_write() {
  while (output_begin_ < output_end_ && !dead_) {
    const std::string_view waiting(output_.data() + output_begin_, output_end_ - output_begin_);
    const IoResult sent = co_await transport_.write(waiting);
    output_begin_ += sent.bytes;
    if (!sent.ok()) die();
  }
  if (dead_) co_return;
  output_begin_ = output_end_ = 0;
  output_.release();
  schedule();
}

void Http2Connection::end_if_over() {
  if (dead_ || closing_ || output_begin_ < output_end_ || !session_.is_over()) return;
  closing_ = true;
  // Best effort; the deadline ends it in any case.
  static_cast<void>(transport_.try_shutdown_write());
  transport_.set_deadline(kCloseLimit);
}

void Http2Connection::die() {
  if (std::exchange(dead_, true)) return;
  for (Http2Stream* stream : streams_) stream->connection_lost();
  transport_.cancel();
  schedule();
}

Task<void> Http2Connection::finish() {
  die();
  co_await writer_.join();
}

}  // namespace hedge::proxy::http
