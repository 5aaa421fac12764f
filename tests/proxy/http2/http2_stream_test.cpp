// Streams of a connection whose output fills up.
#include "proxy/http2/http2_stream.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/task_group.h"
#include "proxy/http2/http2_connection.h"
#include "tests/support/http2_frames.h"
#include "tests/support/reactor_loop.h"

namespace hedge::proxy::http {
namespace {

namespace h2 = test::h2;

// Gives what the test puts in and keeps what it is given.
class Wire final : public ByteStream {
 public:
  IoResult try_read(std::span<char> into) override {
    if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
    const std::size_t bytes = std::min(into.size(), incoming.size());
    if (bytes == 0) return IoResult::blocked();
    std::memcpy(into.data(), incoming.data(), bytes);
    incoming.erase(0, bytes);
    return IoResult::moved(bytes);
  }
  IoResult try_write(std::string_view first, std::string_view second) override {
    written.append(first).append(second);
    return IoResult::moved(first.size() + second.size());
  }
  IoResult try_shutdown_write() override { return IoResult::moved(0); }
  bool is_readable() const override { return !incoming.empty() || waiters_.interrupted() != IoStatus::ok; }
  bool has_buffered() const override { return !incoming.empty(); }
  void cancel() override { waiters_.mark_interrupted(IoStatus::cancelled); }
  void close() override {}
  void reset() override {}
  const StreamIdentity& identity() const override { return identity_; }
  void watch_peer(PeerWatcher* /*watcher*/) override {}
  StreamWaiters& waiters() override { return waiters_; }

  std::string incoming;
  std::string written;

 private:
  StreamIdentity identity_;
  StreamWaiters waiters_{nullptr};
};

struct NoHeads final : Http2HeadEvents {
  void head_began() override {}
  void field_received(std::string_view /*name*/, std::string_view /*value*/) override {}
  void bad_field_received() override {}
  void head_received(bool /*last*/) override {}
};

class Http2Streams : public testing::Test, private Http2ConnectionEvents {
 protected:
  Http2Streams() {
    wire_.incoming = std::string(h2::kPreface) +
                     h2::frame(h2::kSettings, 0, 0, h2::setting(h2::kInitialWindowSize, 1U << 20)) +
                     h2::frame(h2::kWindowUpdate, 0, 0, h2::number32(1U << 20));
    for (const std::uint32_t id : {1U, 3U})
      wire_.incoming +=
          h2::frame(h2::kHeaders, h2::kEndHeaders | h2::kEndStream, id, h2::header_block(h2::get("a")));
    tasks_.spawn(connection_.run({}));
  }
  // Lets everything out that waits.
  void finish() { loop_.run(finish_task()); }
  // The last head on the stream that has been written.
  h2::Fields last_head(std::uint32_t id) const {
    h2::HeaderDecoder decoder;
    h2::Fields last;
    std::string_view rest = wire_.written;
    while (rest.size() >= 9) {
      const std::size_t bytes = h2::number32_of(std::string(1, '\0') + std::string(rest.substr(0, 3)));
      if (rest[3] == h2::kHeaders) {
        const h2::Fields fields = decoder.decode(rest.substr(9, bytes));
        if (h2::number32_of(rest.substr(5, 4)) == id) last = fields;
      }
      rest.remove_prefix(std::min(rest.size(), 9 + bytes));
    }
    return last;
  }
  static constexpr Http2Field kContinue[] = {{":status", "100"}};
  static constexpr Http2Field kOk[] = {{":status", "200"}};

  test::ReactorLoop loop_;
  BufferPool buffers_;
  Wire wire_;
  NoHeads heads_;
  Http2Connection connection_{Http2Role::server, wire_, loop_.reactor(), buffers_, *this};
  std::map<std::int32_t, std::unique_ptr<Http2Stream>> streams_;
  TaskGroup tasks_;

 private:
  Http2StreamEvents* stream_began(std::int32_t id) override {
    return &(streams_[id] = std::make_unique<Http2Stream>(connection_, id, heads_))->events();
  }
  void received() override {}
  void shutdown_acknowledged() override {}
  void goaway_received() override {}
  void about_to_wait() override {}
  Task<void> finish_task() {
    co_await test::pause_for(loop_.reactor(), std::chrono::milliseconds(1));
    wire_.cancel();
    wire_.waiters().wake();
    co_await tasks_.join();
    streams_.clear();
    co_await connection_.finish();
  }
};

class Http2FullOutput : public Http2Streams, public testing::WithParamInterface<std::size_t> {};

// The edge's own 100 waits for room when the final head is handed over; then there is room for one of the two.
// The head's texts lie in a buffer that is used again as soon as the head counts as sent.
TEST_P(Http2FullOutput, AHeadDoesNotCountAsSentBecauseAnEarlierOneWas) {
  Http2Stream& other = *streams_.at(1);
  Http2Stream& stream = *streams_.at(3);
  connection_.produce();
  ASSERT_TRUE(other.submit_response(kOk, true));
  const std::string filling(GetParam(), 'f');
  std::string_view rest = filling;
  static_cast<void>(other.try_send(rest, Http2End::none));
  ASSERT_TRUE(rest.empty());
  std::string value = "of the response";
  const Http2Field fields[] = {{":status", "200"}, {"x-value", value}};
  ASSERT_TRUE(stream.submit_interim(kContinue));
  ASSERT_TRUE(stream.submit_response(fields, true));
  std::string_view nothing;
  if (stream.try_send(nothing, Http2End::none).ok()) value.assign(value.size(), '?');
  finish();
  const h2::Fields written = last_head(3);
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[1].second, "of the response");
}

// Around the place where the room ends between the two.
INSTANTIATE_TEST_SUITE_P(Fillings, Http2FullOutput, testing::Range<std::size_t>(49'000, 49'080, 4));

}  // namespace
}  // namespace hedge::proxy::http
