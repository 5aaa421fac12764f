// The limits of an HTTP/2 connection: sizes, counts, rates and times.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/http2_peer.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

constexpr const char* kAlpha = "alpha.dev.localhost";

struct LimitsWorld {
  explicit LimitsWorld(EdgeOptions options = {})
      : upstream(answer_always(ok_response("ok"))),
        edge({route_to(kAlpha, upstream.route())}, std::move(options)),
        client(edge.plain_port()) {
    client.start();
  }
  ScriptedUpstream upstream;
  EdgeFixture edge;
  Http2Peer client;
};

TEST(Http2Limits, E19_ACookieOf60KiBPassesAndOneOf300KiBIsNamed) {
  LimitsWorld world;
  for (const std::size_t size : {std::size_t{15} << 10, std::size_t{60} << 10}) {
    const std::uint32_t stream = size > 20'000 ? 3 : 1;
    world.client.send_long_headers(stream, h2::with(h2::get(kAlpha), "cookie", std::string(size, 'c')));
    ASSERT_EQ(world.client.answer(stream).status(), 200) << size;
  }
  h2::Fields fields = h2::get(kAlpha);
  for (int i = 0; i < 75; ++i) fields.emplace_back("cookie", std::string(4U << 10, 'c'));
  world.client.send_long_headers(5, fields);
  EXPECT_EQ(world.client.answer(5).status(), 431);
  EXPECT_EQ(world.client.so_far(5).field("hedge-error"), "headers_too_large");
  EXPECT_NE(world.client.so_far(5).body.find("'cookie'"), std::string::npos) << world.client.so_far(5).body;
  world.client.send_headers(7, h2::get(kAlpha));
  EXPECT_EQ(world.client.answer(7).status(), 200) << "the connection stays usable";
}

TEST(Http2Limits, ManySmallFieldsAreTooMuchToo) {
  LimitsWorld world;
  h2::Fields fields = h2::get(kAlpha);
  for (int i = 0; i < 1000; ++i) fields.emplace_back("x-field-" + std::to_string(i), std::string(80, 'v'));
  world.client.send_long_headers(1, fields);
  EXPECT_EQ(world.client.answer(1).status(), 431);
  fields = h2::get(kAlpha);
  for (int i = 0; i < 1100; ++i) fields.emplace_back("x", "v");
  world.client.send_long_headers(3, fields);
  EXPECT_EQ(world.client.answer(3).status(), 431);
  EXPECT_NE(world.client.so_far(3).body.find("more than 1000 fields"), std::string::npos);
}

TEST(Http2Limits, APathOver16KiBIsTooLong) {
  LimitsWorld world;
  world.client.send_headers(1, h2::get(kAlpha, "/" + std::string(16'000, 'p')));
  EXPECT_EQ(world.client.answer(1).status(), 200);
  world.client.send_long_headers(3, h2::get(kAlpha, "/" + std::string(17'000, 'p')));
  EXPECT_EQ(world.client.answer(3).status(), 414);
}

TEST(Http2Limits, TheNumberOfStreamsIsAnnouncedAndKept) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.wait_for_end();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  ASSERT_TRUE(client.read_until([&client] { return client.settings_acknowledged(); }));
  const auto most = client.settings().find(h2::kMaxConcurrentStreams);
  ASSERT_NE(most, client.settings().end());
  EXPECT_EQ(most->second, 128U);
  for (std::uint32_t i = 0; i <= most->second; ++i) client.send_headers(2 * i + 1, h2::get(kAlpha));
  // A client that knows the limit and passes it is at fault.
  EXPECT_TRUE(client.wait_for_end());
  EXPECT_EQ(client.goaway_code(), h2::kProtocolError);
}

TEST(Http2Limits, ABurstOfResetsIsNormalAndAFloodClosesThatConnectionOnly) {
  LimitsWorld world;
  Http2Peer other(world.edge.plain_port());
  other.start();
  const auto open_and_reset = [&world](std::uint32_t from, std::uint32_t count) {
    std::string bytes;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t stream = from + 2 * i;
      bytes += h2::frame(h2::kHeaders, h2::kEndHeaders | h2::kEndStream, stream,
                         h2::header_block(h2::get(kAlpha)));
      bytes += h2::frame(h2::kRstStream, 0, stream, h2::number32(h2::kCancel));
    }
    return world.client.send(bytes);
  };
  open_and_reset(1, 500);
  ASSERT_TRUE(world.client.ping()) << "hundreds of resets are what a reload does";
  open_and_reset(1001, 3000);
  EXPECT_TRUE(world.client.wait_for_end());
  EXPECT_NE(world.client.goaway_code().value_or(0), h2::kNoError);
  other.send_headers(1, h2::get(kAlpha));
  EXPECT_EQ(other.answer(1).status(), 200);
}

class Http2Flood : public testing::TestWithParam<std::pair<const char*, std::string>> {};

TEST_P(Http2Flood, ClosesTheConnection) {
  LimitsWorld world;
  ASSERT_TRUE(world.client.ping());
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += GetParam().second;
  world.client.send(bytes);
  EXPECT_TRUE(world.client.wait_for_end());
  EXPECT_EQ(world.client.goaway_code(), h2::kEnhanceYourCalm);
  EXPECT_EQ(status_of(get(world.edge.plain_port(), kAlpha)), 200);
}

INSTANTIATE_TEST_SUITE_P(Frames, Http2Flood,
                         testing::Values(std::pair("Ping", h2::frame(h2::kPing, 0, 0, "12345678")),
                                         std::pair("Settings", h2::frame(h2::kSettings, 0, 0, {})),
                                         std::pair("Priority", h2::frame(h2::kPriority, 0, 1,
                                                                         std::string("\0\0\0\0\x10", 5))),
                                         std::pair("UnknownType", h2::frame(0xee, 0, 0, "x"))),
                         [](const auto& row) { return std::string(row.param.first); });

TEST(Http2Limits, EmptyDataFramesAreAFloodToo) {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_head();
    connection.wait_for_end();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::post(kAlpha), h2::kNone);
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += h2::frame(h2::kData, 0, 1, {});
  client.send(bytes);
  EXPECT_TRUE(client.wait_for_end());
  EXPECT_EQ(client.goaway_code(), h2::kEnhanceYourCalm);
}

TEST(Http2Limits, EndlessContinuationsCloseTheConnection) {
  LimitsWorld world;
  std::string bytes = h2::frame(h2::kHeaders, h2::kEndStream, 1, h2::header_block(h2::get(kAlpha)));
  for (int i = 0; i < 200; ++i)
    bytes += h2::frame(h2::kContinuation, 0, 1, h2::header_block({{"x-more", std::string(100, 'x')}}));
  world.client.send(bytes);
  EXPECT_TRUE(world.client.wait_for_end());
  EXPECT_EQ(status_of(get(world.edge.plain_port(), kAlpha)), 200);
}

EdgeOptions short_times() {
  EdgeOptions options;
  options.settings.limits.sweep = std::chrono::milliseconds(20);
  return options;
}

TEST(Http2Limits, AnIdleConnectionEndsAfterItsTime) {
  EdgeOptions options = short_times();
  options.settings.limits.idle_keep_alive = std::chrono::milliseconds(200);
  LimitsWorld world(std::move(options));
  world.client.send_headers(1, h2::get(kAlpha));
  EXPECT_EQ(world.client.answer(1).status(), 200);
  EXPECT_TRUE(world.client.wait_for_end());
  EXPECT_EQ(world.client.goaway_code(), h2::kNoError);
}

// Each answer comes within the turn: the connection is silent before and after it.
TEST(Http2Limits, AConnectionIsNotIdleWhileQuickRequestsCome) {
  EdgeOptions options = short_times();
  options.settings.limits.idle_keep_alive = std::chrono::milliseconds(1'000);
  EdgeFixture edge({}, std::move(options));
  Http2Peer client(edge.plain_port());
  client.start();
  Http2Peer idle(edge.plain_port());
  idle.start();
  ASSERT_TRUE(idle.ping());
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2'500);
  for (std::uint32_t stream = 1; std::chrono::steady_clock::now() < until; stream += 2) {
    client.send_headers(stream, h2::get("nobody.dev.localhost"));
    ASSERT_EQ(client.answer(stream).status(), 404) << stream;
  }
  EXPECT_TRUE(idle.wait_for_end());
}

TEST(Http2Limits, AHeadMustBeCompleteInTime) {
  EdgeOptions options = short_times();
  options.settings.limits.request_head = std::chrono::milliseconds(200);
  LimitsWorld world(std::move(options));
  ASSERT_TRUE(world.client.ping());
  world.client.send_frame(h2::kHeaders, h2::kEndStream, 1, h2::header_block(h2::get(kAlpha)));
  EXPECT_TRUE(world.client.wait_for_end());
}

TEST(Http2Limits, APrefaceMustBeCompleteInTime) {
  EdgeOptions options = short_times();
  options.settings.limits.request_head = std::chrono::milliseconds(200);
  EdgeFixture edge({}, std::move(options));
  PeerConnection client = PeerConnection::to(edge.plain_port());
  client.send("PRI * HTTP/2.0\r\n\r\nSM");
  EXPECT_TRUE(client.wait_for_end());
}

TEST(Http2Limits, ABodyMayTakeAsLongAsItWants) {
  EdgeOptions options = short_times();
  options.settings.limits.request_head = std::chrono::milliseconds(100);
  options.settings.limits.idle_keep_alive = std::chrono::milliseconds(100);
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    connection.read_until("0\r\n\r\n");
    connection.send(ok_response("done"));
    connection.read_all();
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())}, std::move(options));
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::post(kAlpha), h2::kNone);
  // An idle connection beside it shows that the limits' time has passed.
  Http2Peer idle(edge.plain_port());
  idle.start();
  EXPECT_TRUE(idle.wait_for_end());
  client.send_body(1, "late");
  EXPECT_EQ(client.answer(1).body, "done");
}

}  // namespace
}  // namespace hedge::test
