// RFC 9113, sections 3 and 5: what an endpoint MUST do about connections and streams.
#include "tests/integration/http2/rfc9113_rows.h"

namespace hedge::test {
namespace {

const std::vector<Row> kStreams = {
    {"S5_1_DataOnAnIdleStream", frame_of(kData, kEndStream, 1, "x"), goes_away(kProtocolError)},
    {"S5_1_DataAfterTheEndOfTheRequest",
     [](Http2Peer& peer) {
       peer.send_headers(1, get(kAlpha, "/sink"));
       peer.send_frame(kData, kEndStream, 1, "x");
     },
     fails(kStreamClosed)},
    {"S5_1_HeadersAfterTheEndOfTheRequest",
     [](Http2Peer& peer) {
       peer.send_headers(1, get(kAlpha, "/sink"));
       peer.send_headers(1, get(kAlpha));
     },
     fails(kStreamClosed, kProtocolError)},
    {"S5_1_DataOnAClosedStreamAfterReset",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.send_frame(kRstStream, 0, 1, number32(kCancel));
       peer.send_frame(kData, kEndStream, 1, "x");
     },
     goes_on()},
    {"S5_1_HeadersOnAClosedStreamAreNotAnswered",
     [](Http2Peer& peer) {
       finish_get(peer);
       // They may have crossed a reset of ours, so the connection goes on.
       peer.send_headers(1, get(kAlpha));
       EXPECT_TRUE(peer.ping());
       EXPECT_EQ(peer.so_far(1).heads.size(), 1U);
     },
     goes_on()},
    {"S5_1_WindowUpdateOnAClosedStreamIsIgnored",
     [](Http2Peer& peer) {
       finish_get(peer);
       peer.give_credit(1, 100);
     },
     goes_on()},
    {"S5_1_RstStreamOnAClosedStreamIsIgnored",
     [](Http2Peer& peer) {
       finish_get(peer);
       peer.send_frame(kRstStream, 0, 1, number32(kCancel));
     },
     goes_on()},
    {"S5_1_1_EvenNumbersAreTheServers", frame_of(kHeaders, kEndHeaders | kEndStream, 2, block(get(kAlpha))),
     goes_away(kProtocolError)},
    {"S5_1_1_NumbersOnlyGrow",
     [](Http2Peer& peer) {
       peer.send_headers(5, get(kAlpha, "/sink"));
       peer.send_headers(3, get(kAlpha));
     },
     goes_away(kProtocolError, kStreamClosed)},
    {"S5_1_1_NumbersMayBeSkipped",
     [](Http2Peer& peer) {
       peer.send_headers(101, get(kAlpha));
       EXPECT_EQ(peer.answer(101).status(), 200);
     },
     goes_on()},
    {"S5_1_2_MoreStreamsThanAllowed",
     [](Http2Peer& peer) {
       peer.ping();
       for (std::uint32_t i = 0; i <= 128; ++i) peer.send_headers(2 * i + 1, get(kAlpha, "/sink"));
       peer.read_until([&peer] { return peer.goaways() > 0 || peer.so_far(257).reset.has_value(); });
       const auto code = peer.goaways() > 0 ? peer.goaway_code() : peer.so_far(257).reset;
       EXPECT_TRUE(code == kProtocolError || code == kRefusedStream) << code.value_or(999);
     },
     {Wanted::either_error, kProtocolError, kRefusedStream, 0}},
    {"S5_3_2_AStreamThatDependsOnItself",
     frame_of(kHeaders, kEndHeaders | kEndStream | kWithPriority, 1,
              number32(1) + "\x10" + block(get(kAlpha))),
     {Wanted::either_error, kProtocolError, 0, 0}},
    {"S5_5_UnknownFramesWithinAHeaderBlockAreAnError",
     [](Http2Peer& peer) {
       peer.send_frame(kHeaders, kEndStream, 1, block(get(kAlpha)));
       peer.send_frame(0xfa, 0, 0, "x");
     },
     goes_away(kProtocolError)},
    {"S5_4_1_AGoawayNamesTheLastStream",
     [](Http2Peer& peer) {
       finish_get(peer);
       peer.send_frame(kPing, 0, 1, "12345678");
       peer.wait_for_end();
       EXPECT_EQ(peer.goaway_last_stream(), 1U);
     },
     goes_away(kProtocolError)},
};

class Rfc9113Streams : public Rfc9113 {};
TEST_P(Rfc9113Streams, Holds) {
  run();
}
INSTANTIATE_TEST_SUITE_P(Rows, Rfc9113Streams, testing::ValuesIn(kStreams), name_of);

// Section 3.4: what is no preface is no HTTP/2; over ALPN that is an error.
TEST(Rfc9113Preface, ABadPrefaceEndsTheConnection) {
  EdgeOptions options;
  options.tls = true;
  EdgeFixture edge({route_to(kAlpha, "tcp:127.0.0.1:9")}, std::move(options));
  TlsPeer peer(edge.tls_port(), kAlpha, edge.root_certificate(), "h2");
  peer.send("GET / HTTP/1.1\r\nHost: alpha.dev.localhost\r\n\r\n");
  const std::string got = peer.read_all();
  EXPECT_EQ(got.find("HTTP/1.1"), std::string::npos);
}

TEST(Rfc9113Preface, SomethingOtherThanSettingsAfterThePrefaceIsAnError) {
  EdgeFixture edge({});
  Http2Peer peer(edge.plain_port());
  peer.send(std::string(kPreface) + frame(kPing, 0, 0, "12345678"));
  EXPECT_TRUE(peer.wait_for_end());
  EXPECT_EQ(peer.goaway_code(), kProtocolError);
}

}  // namespace
}  // namespace hedge::test
