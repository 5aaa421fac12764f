// The session between two of its own kind: a client's and a server's, without a wire.
#include "proxy/http2/http2_session.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/http2_frames.h"

namespace hedge::proxy::http {
namespace {

class Stream final : public Http2StreamEvents {
 public:
  void head_began() override { heads.emplace_back(); }
  void field_received(std::string_view name, std::string_view value) override {
    heads.back().append(name).append("=").append(value).append(";");
  }
  void bad_field_received() override { bad_field = true; }
  void head_received(bool last) override { ended = last; }
  void data_received(std::string_view data) override { body += data; }
  void end_received() override { ended = true; }
  void closed(std::uint32_t error) override { close_error = static_cast<int>(error); }
  void head_sent(bool last) override {
    head_was_sent = true;
    out.end_sent = out.end_sent || last;
  }
  void window_grew() override { ++grown; }
  Http2Outgoing& outgoing() override { return out; }

  std::vector<std::string> heads;
  std::string body;
  Http2Outgoing out;
  int close_error = -1;
  int grown = 0;
  bool bad_field = false;
  bool ended = false;
  bool head_was_sent = false;
};

struct End final : Http2SessionEvents {
  explicit End(Http2Role role) : session(role, *this) {}
  Http2StreamEvents* stream_began(std::int32_t id) override {
    last_id = id;
    streams.push_back(std::make_unique<Stream>());
    return streams.back().get();
  }
  void windows_grew() override { ++grown; }
  void shutdown_acknowledged() override { acknowledged = true; }
  void goaway_received() override { ++goaways; }

  std::string take() {
    std::string bytes;
    std::vector<char> room(64U << 10);
    for (std::size_t got = session.produce(room); got > 0; got = session.produce(room))
      bytes.append(room.data(), got);
    return bytes;
  }

  std::vector<std::unique_ptr<Stream>> streams;
  std::int32_t last_id = 0;
  int grown = 0;
  int goaways = 0;
  bool acknowledged = false;
  Http2Session session;
};

class Http2Sessions : public testing::Test {
 protected:
  void exchange() {
    for (int round = 0; round < 4; ++round) {
      const std::string to_server = client_.take();
      EXPECT_TRUE(to_server.empty() || server_.session.receive(to_server, 1));
      const std::string to_client = server_.take();
      EXPECT_TRUE(to_client.empty() || client_.session.receive(to_client, 1));
    }
  }
  std::int32_t ask(bool has_body) {
    static constexpr Http2Field kFields[] = {
        {":method", "POST"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/"}};
    const auto id = client_.session.submit_request(kFields, request_, has_body);
    EXPECT_TRUE(id.has_value());
    return id.value_or(0);
  }
  static constexpr Http2Field kOk[] = {{":status", "200"}};

  Stream request_;
  End server_{Http2Role::server};
  End client_{Http2Role::client};
};

TEST_F(Http2Sessions, CarryARequestAndItsAnswer) {
  const std::int32_t id = ask(false);
  exchange();
  ASSERT_EQ(server_.streams.size(), 1U);
  Stream& stream = *server_.streams[0];
  EXPECT_EQ(stream.heads[0], ":method=POST;:scheme=http;:authority=a;:path=/;");
  EXPECT_TRUE(stream.ended);
  EXPECT_TRUE(request_.head_was_sent);
  stream.out.data = "hello";
  stream.out.end = Http2End::stream;
  ASSERT_TRUE(server_.session.submit_response(id, kOk, stream, true));
  exchange();
  EXPECT_TRUE(stream.out.data.empty());
  EXPECT_TRUE(stream.out.end_sent);
  EXPECT_EQ(request_.body, "hello");
  EXPECT_TRUE(request_.ended);
  EXPECT_EQ(request_.close_error, 0);
  EXPECT_EQ(stream.close_error, 0);
}

TEST_F(Http2Sessions, TakeDataOnlyWhileTheWindowIsOpenAndTellWhenItOpens) {
  const std::int32_t id = ask(true);
  const std::string large(200'000, 'd');
  request_.out.data = large;
  exchange();
  EXPECT_EQ(server_.streams[0]->body.size(), kHttp2StreamWindow);
  EXPECT_EQ(request_.out.data.size(), large.size() - kHttp2StreamWindow);
  EXPECT_EQ(client_.session.send_window(id), 0U);
  const int before = request_.grown;
  server_.session.consume(id, kHttp2StreamWindow);
  exchange();
  EXPECT_GT(request_.grown, before);
  EXPECT_EQ(server_.streams[0]->body.size(), 2 * kHttp2StreamWindow)
      << "the rest waited for the window alone";
}

TEST_F(Http2Sessions, NeverFillMoreThanTheRoom) {
  ask(true);
  const std::string large(60'000, 'd');
  request_.out.data = large;
  std::vector<char> room(Http2Session::kLeastRoom);
  std::string all;
  for (std::size_t got = client_.session.produce(room); got > 0; got = client_.session.produce(room)) {
    ASSERT_LE(got, room.size());
    all.append(room.data(), got);
  }
  EXPECT_TRUE(server_.session.receive(all, 1));
  EXPECT_EQ(server_.streams[0]->body.size(), large.size());
  std::vector<char> small(Http2Session::kLeastRoom - 1);
  EXPECT_EQ(client_.session.produce(small), 0U);
}

// A stream offers its bytes for one call only: what was announced and not taken would be read from nowhere.
TEST_F(Http2Sessions, ADataFrameThatFoundNoRoomIsNotBegun) {
  const std::int32_t id = ask(true);
  const std::string large(65'520, 'd');
  request_.out.data = large;
  request_.out.end = Http2End::stream;
  std::vector<char> room(64U << 10);
  std::string all(room.data(), client_.session.produce(room));
  std::string_view rest = request_.out.data;
  EXPECT_FALSE(rest.empty());
  EXPECT_FALSE(request_.out.end_sent) << "the end comes with the last byte";
  request_.out.data = {};
  request_.out.end = Http2End::none;
  EXPECT_EQ(client_.session.produce(room), 0U) << "nothing is on offer";
  request_.out.data = rest;
  request_.out.end = Http2End::stream;
  client_.session.resume(id);
  all += client_.take();
  EXPECT_TRUE(request_.out.end_sent);
  ASSERT_TRUE(server_.session.receive(all, 1));
  EXPECT_EQ(server_.streams[0]->body.size(), large.size());
  EXPECT_TRUE(server_.streams[0]->ended);
}

TEST_F(Http2Sessions, AStreamThatIsGivenUpForWantOfRoomStopsNoOther) {
  const std::int32_t id = ask(true);
  const std::string large(65'520, 'd');
  request_.out.data = large;
  std::vector<char> room(64U << 10);
  std::string all(room.data(), client_.session.produce(room));
  request_.out.data = {};
  client_.session.reset(id, Http2Error::cancel);
  client_.session.forget(id);
  ask(false);
  all += client_.take();
  ASSERT_TRUE(server_.session.receive(all, 1));
  ASSERT_EQ(server_.streams.size(), 2U);
  EXPECT_EQ(server_.streams[0]->close_error, static_cast<int>(Http2Error::cancel));
  EXPECT_TRUE(server_.streams[1]->ended);
}

// The end of one stream lets the head of another follow, which the peer's limit had held back.
TEST_F(Http2Sessions, AHeadThatFollowsTheEndOfAnotherStreamStaysWithinTheRoom) {
  namespace h2 = test::h2;
  ASSERT_TRUE(
      client_.session.receive(h2::frame(h2::kSettings, 0, 0, h2::setting(h2::kMaxConcurrentStreams, 1)), 1));
  const std::int32_t first = ask(true);
  client_.take();
  const std::string answer =
      h2::frame(h2::kHeaders, h2::kEndHeaders | h2::kEndStream, static_cast<std::uint32_t>(first),
                h2::header_block({{":status", "200"}}));
  ASSERT_TRUE(client_.session.receive(answer, 1));
  const std::string large_value(15'000, 'v');
  const Http2Field fields[] = {
      {":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/"}, {"x", large_value}};
  Stream second;
  ASSERT_TRUE(client_.session.submit_request(fields, second, false));
  const std::string data(16'384, 'd');
  request_.out.data = data;
  request_.out.end = Http2End::stream;
  client_.session.resume(first);
  std::vector<char> room(Http2Session::kLeastRoom + 64);
  std::size_t got = client_.session.produce(std::span<char>(room).first(Http2Session::kLeastRoom));
  EXPECT_LE(got, Http2Session::kLeastRoom);
  EXPECT_TRUE(request_.out.end_sent);
  EXPECT_FALSE(second.head_was_sent);
  client_.take();
  EXPECT_TRUE(second.head_was_sent);
}

TEST_F(Http2Sessions, SendTrailersAfterTheData) {
  const std::int32_t id = ask(false);
  exchange();
  Stream& stream = *server_.streams[0];
  stream.out.data = "x";
  stream.out.end = Http2End::trailers;
  ASSERT_TRUE(server_.session.submit_response(id, kOk, stream, true));
  exchange();
  EXPECT_TRUE(stream.out.end_sent);
  EXPECT_FALSE(request_.ended);
  static constexpr Http2Field kTrailers[] = {{"grpc-status", "0"}};
  ASSERT_TRUE(server_.session.submit_trailers(id, kTrailers));
  exchange();
  EXPECT_TRUE(request_.ended);
  EXPECT_EQ(request_.heads.back(), "grpc-status=0;");
}

TEST_F(Http2Sessions, TrailersNeedNoDataBeforeThem) {
  const std::int32_t id = ask(false);
  exchange();
  Stream& stream = *server_.streams[0];
  stream.out.end = Http2End::trailers;
  ASSERT_TRUE(server_.session.submit_response(id, kOk, stream, true));
  exchange();
  EXPECT_TRUE(stream.out.end_sent);
  static constexpr Http2Field kTrailers[] = {{"grpc-status", "0"}};
  ASSERT_TRUE(server_.session.submit_trailers(id, kTrailers));
  exchange();
  EXPECT_TRUE(request_.ended);
  EXPECT_EQ(request_.heads.back(), "grpc-status=0;");
}

TEST_F(Http2Sessions, AResetReachesTheOtherSide) {
  const std::int32_t id = ask(true);
  exchange();
  client_.session.reset(id, Http2Error::cancel);
  exchange();
  EXPECT_EQ(server_.streams[0]->close_error, static_cast<int>(Http2Error::cancel));
}

TEST_F(Http2Sessions, AShutdownIsAnnouncedAcknowledgedAndThenFinal) {
  const std::int32_t id = ask(false);
  exchange();
  server_.session.begin_shutdown();
  exchange();
  EXPECT_EQ(client_.goaways, 1);
  EXPECT_TRUE(server_.acknowledged);
  server_.session.finish_shutdown();
  Stream& stream = *server_.streams[0];
  ASSERT_TRUE(server_.session.submit_response(id, kOk, stream, false));
  exchange();
  EXPECT_EQ(client_.goaways, 2);
  EXPECT_EQ(request_.close_error, 0) << "what was under way is finished";
  EXPECT_TRUE(server_.session.is_over());
}

TEST_F(Http2Sessions, TheNoticeOfAShutdownComesBeforeThePingThatAsksWhetherItWasRead) {
  exchange();
  server_.session.begin_shutdown();
  const std::string bytes = server_.take();
  ASSERT_GT(bytes.size(), 17U);
  EXPECT_EQ(bytes[3], test::h2::kGoaway);
  EXPECT_EQ(bytes[9 + 8 + 3], test::h2::kPing);
}

// A client that does not know the limit yet, and never reads what it is told.
class Http2RefusedStreams : public Http2Sessions {
 protected:
  std::string heads(std::uint32_t count) {
    namespace h2 = test::h2;
    std::string wire;
    for (; count > 0; --count, next_ += 2)
      wire += h2::frame(h2::kHeaders, h2::kEndHeaders, next_, h2::header_block(h2::post("a")));
    return wire;
  }
  std::uint32_t next_ = 1;
};

TEST_F(Http2RefusedStreams, AreAnsweredOneByOneWhereTheyAreFew) {
  namespace h2 = test::h2;
  ASSERT_TRUE(server_.session.receive(
      std::string(h2::kPreface) + h2::frame(h2::kSettings, 0, 0, {}) + heads(kHttp2MostStreams), 1));
  ASSERT_TRUE(server_.session.receive(heads(1'000), 1));
  EXPECT_EQ(server_.streams.size(), kHttp2MostStreams);
  EXPECT_GT(server_.take().size(), 1'000 * 13U);
}

TEST_F(Http2RefusedStreams, EndTheConnectionWhereTheyAreAFlood) {
  namespace h2 = test::h2;
  ASSERT_TRUE(server_.session.receive(
      std::string(h2::kPreface) + h2::frame(h2::kSettings, 0, 0, {}) + heads(kHttp2MostStreams), 1));
  int batches = 0;
  while (batches < 100 && server_.session.receive(heads(100), 1)) ++batches;
  EXPECT_LT(batches, 50);
}

// Slowly, so that nothing but what waits gives it away.
TEST_F(Http2RefusedStreams, EndTheConnectionWhereNobodyReadsTheAnswers) {
  namespace h2 = test::h2;
  ASSERT_TRUE(server_.session.receive(
      std::string(h2::kPreface) + h2::frame(h2::kSettings, 0, 0, {}) + heads(kHttp2MostStreams), 1));
  int batches = 0;
  while (batches < 100 && server_.session.receive(heads(100), 1'000 * (batches + 1))) ++batches;
  EXPECT_LT(batches, 50);
}

TEST_F(Http2Sessions, ABadFieldIsToldAndNotPassedOn) {
  namespace h2 = test::h2;
  std::string wire(h2::kPreface);
  wire += h2::frame(h2::kSettings, 0, 0, {});
  wire += h2::frame(h2::kHeaders, h2::kEndHeaders | h2::kEndStream, 1,
                    h2::header_block(h2::with(h2::get("a"), "x", "a\r\nb")));
  EXPECT_TRUE(server_.session.receive(wire, 1));
  EXPECT_TRUE(server_.streams[0]->bad_field);
  EXPECT_EQ(server_.streams[0]->heads[0].find("x="), std::string::npos);
}

TEST_F(Http2Sessions, WhatIsNoPrefaceIsAnErrorThatIsTold) {
  EXPECT_FALSE(server_.session.receive("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1));
  EXPECT_NE(server_.take().find(std::string("\x07\0", 2)), std::string::npos) << "a GOAWAY";
  EXPECT_TRUE(server_.session.is_over());
}

}  // namespace
}  // namespace hedge::proxy::http
