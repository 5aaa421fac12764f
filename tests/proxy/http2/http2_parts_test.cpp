// The small parts of an HTTP/2 connection.
#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "proxy/http2/http2_flood_guard.h"
#include "proxy/http2/http2_frame_tracker.h"
#include "proxy/http2/http2_inbox.h"
#include "proxy/http2/http2_session.h"
#include "proxy/http2/websocket_key.h"
#include "tests/support/http2_frames.h"

namespace hedge::proxy::http {
namespace {

namespace h2 = test::h2;

TEST(Http2FloodGuard, AllowsABurstAndThenARate) {
  Http2FloodGuard guard({10, 5});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(guard.allow(1)) << i;
  EXPECT_FALSE(guard.allow(1));
  EXPECT_TRUE(guard.allow(201)) << "one token in 200 ms";
  EXPECT_FALSE(guard.allow(201));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(guard.allow(1'000'000)) << "never more than a burst";
  EXPECT_FALSE(guard.allow(1'000'000));
}

TEST(Http2FrameTracker, KnowsAtEveryByteWhetherSomethingIsUnfinished) {
  const std::string ping = h2::frame(h2::kPing, 0, 0, "12345678");
  const std::string wire = std::string(h2::kPreface) + ping + ping;
  Http2FrameTracker tracker(Http2Role::server);
  EXPECT_TRUE(tracker.is_within_frame()) << "the preface is due";
  for (std::size_t i = 1; i <= wire.size(); ++i) {
    tracker.feed(std::string_view(wire).substr(i - 1, 1));
    const bool at_boundary = i >= h2::kPreface.size() && (i - h2::kPreface.size()) % ping.size() == 0;
    EXPECT_EQ(tracker.is_within_frame(), !at_boundary) << i;
    EXPECT_FALSE(tracker.is_within_head());
  }
  EXPECT_EQ(tracker.take_idle_frames(), 2U);
  EXPECT_EQ(tracker.take_idle_frames(), 0U);
}

TEST(Http2FrameTracker, AHeadIsOpenUntilItsLastContinuationIsComplete) {
  Http2FrameTracker tracker(Http2Role::client);
  tracker.feed(h2::frame(h2::kHeaders, h2::kEndStream, 1, "abc"));
  EXPECT_FALSE(tracker.is_within_frame());
  EXPECT_TRUE(tracker.is_within_head());
  const std::string last = h2::frame(h2::kContinuation, h2::kEndHeaders, 1, "def");
  tracker.feed(std::string_view(last).substr(0, last.size() - 1));
  EXPECT_TRUE(tracker.is_within_head());
  tracker.feed("f");
  EXPECT_FALSE(tracker.is_within_head());
  tracker.feed(h2::frame(h2::kHeaders, h2::kEndHeaders, 1, {}));
  EXPECT_FALSE(tracker.is_within_head()) << "an empty one is complete with its frame header";
}

TEST(Http2FrameTracker, FindsStreamsThatAClientHasSkippedBefore) {
  Http2FrameTracker tracker(Http2Role::server);
  tracker.feed(h2::kPreface);
  for (const std::uint32_t stream : {1U, 3U, 9U, 3U})
    tracker.feed(h2::frame(h2::kHeaders, h2::kEndHeaders, stream, {}));
  EXPECT_FALSE(tracker.is_at_fault()) << "trailers come on a stream that was open";
  tracker.feed(h2::frame(h2::kHeaders, h2::kEndHeaders, 5, {}));
  EXPECT_TRUE(tracker.is_at_fault());
}

TEST(Http2Inbox, GrowsToOneWindowAndGivesItsBlocksBack) {
  BufferPool pool;
  {
    Http2Inbox inbox(pool);
    std::string all;
    while (all.size() < kHttp2StreamWindow) {
      const std::string piece(std::min<std::size_t>(1'000, kHttp2StreamWindow - all.size()),
                              static_cast<char>('a' + all.size() / 1'000 % 26));
      inbox.append(piece);
      all += piece;
    }
    Http2Inbox::Piece piece = inbox.take();
    EXPECT_TRUE(std::string(piece.block.data(), piece.bytes) == all);
    EXPECT_TRUE(inbox.empty());
  }
  EXPECT_EQ(pool.leased(), 0U);
}

TEST(Http2Inbox, ReadsInPiecesWhileMoreArrives) {
  BufferPool pool;
  Http2Inbox inbox(pool);
  std::string sent;
  std::string got;
  for (int i = 0; i < 1'000; ++i) {
    const std::string piece = std::to_string(i) + std::string(200, 'x');
    inbox.append(piece);
    sent += piece;
    char bytes[150];
    got.append(bytes, inbox.read(bytes));
    char more[100];
    got.append(more, inbox.read(more));
  }
  char rest[4'096];
  for (std::size_t bytes = inbox.read(rest); bytes > 0; bytes = inbox.read(rest)) got.append(rest, bytes);
  EXPECT_TRUE(got == sent);
  EXPECT_EQ(pool.leased(), 0U) << "an empty inbox holds nothing";
}

TEST(WebSocketKey, IsAnsweredAsTheStandardsExampleSays) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(make_websocket_key().size(), 24U);
  EXPECT_NE(make_websocket_key(), make_websocket_key());
}

TEST(WebSocketKey, MustBeAnsweredExactlyOnce) {
  const std::string key = make_websocket_key();
  const std::string accept = websocket_accept(key);
  ResponseHead head;
  EXPECT_FALSE(is_websocket_accept(key, head));
  head.fields.push_back({"SEC-WebSocket-Accept", accept, FieldId::other, false});
  EXPECT_TRUE(is_websocket_accept(key, head));
  head.fields.push_back({"sec-websocket-accept", "x", FieldId::other, false});
  EXPECT_FALSE(is_websocket_accept(key, head));
}

}  // namespace
}  // namespace hedge::proxy::http
