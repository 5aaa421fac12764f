// RFC 9113, sections 4 and 6: what an endpoint MUST do about frames.
#include "tests/integration/http2/rfc9113_rows.h"

namespace hedge::test {
namespace {

const std::string kFive(5, '\0');

const std::vector<Row> kFrames = {
    {"S3_4_TheServerPrefaceIsASettingsFrame",
     [](Http2Peer& peer) {
       peer.ping();
       ASSERT_FALSE(peer.frames().empty());
       EXPECT_EQ(peer.frames()[0].type, kSettings);
       EXPECT_FALSE(peer.frames()[0].has(kAck));
     },
     goes_on()},
    {"S4_1_AFrameOfUnknownTypeIsIgnored", frame_of(0xfa, 0xff, 0, "whatever"), goes_on()},
    {"S4_1_UndefinedFlagsAreIgnored",
     [](Http2Peer& peer) {
       peer.send_frame(kHeaders, kEndHeaders | kEndStream | 0xc2, 1, block(get(kAlpha)));
     },
     ok()},
    {"S4_1_TheReservedBitIsIgnored",
     frame_of(kHeaders, kEndHeaders | kEndStream, 0x80000001U, block(get(kAlpha))), ok()},
    {"S4_2_AFrameOfTheLargestSizeIsTaken",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.send_frame(kData, 0, 1, std::string(16'384, 'x'));
     },
     goes_on()},
    {"S4_2_ALargerDataFrameIsAFrameSizeError",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.send_frame(kData, 0, 1, std::string(16'385, 'x'));
     },
     fails(kFrameSizeError)},
    {"S4_2_ALargerHeadersFrameIsAFrameSizeErrorOfTheConnection",
     frame_of(kHeaders, kEndHeaders | kEndStream, 1, std::string(16'385, '\0')), goes_away(kFrameSizeError)},
    {"S4_3_ABrokenHeaderBlockIsACompressionError",
     frame_of(kHeaders, kEndHeaders | kEndStream, 1, "\xff\xff\xff\xff\xff\xff"),
     goes_away(kCompressionError)},
    {"S4_3_AnIndexOutsideTheTableIsACompressionError",
     frame_of(kHeaders, kEndHeaders | kEndStream, 1, "\xfe"), goes_away(kCompressionError)},
    {"S4_3_ATableSizeAboveTheLimitIsACompressionError",
     frame_of(kHeaders, kEndHeaders | kEndStream, 1, "\x3f\xe1\xff\x03"), goes_away(kCompressionError)},
    {"S4_3_AHeaderBlockMayBeCutAnywhere",
     [](Http2Peer& peer) {
       const std::string whole = block(get(kAlpha));
       peer.send_frame(kHeaders, kEndStream, 1, whole.substr(0, 3));
       peer.send_frame(kContinuation, 0, 1, {});
       peer.send_frame(kContinuation, kEndHeaders, 1, whole.substr(3));
     },
     ok()},
    {"S4_3_NothingMayComeBetweenHeadersAndContinuation",
     [](Http2Peer& peer) {
       peer.send_frame(kHeaders, kEndStream, 1, block(get(kAlpha)));
       peer.send_frame(kPing, 0, 0, "12345678");
     },
     goes_away(kProtocolError)},
    {"S4_3_NoContinuationOfAnotherStream",
     [](Http2Peer& peer) {
       peer.send_frame(kHeaders, kEndStream, 1, block(get(kAlpha)));
       peer.send_frame(kContinuation, kEndHeaders, 3, {});
     },
     goes_away(kProtocolError)},
    {"S6_1_DataOnStreamZero", frame_of(kData, 0, 0, "x"), goes_away(kProtocolError)},
    {"S6_1_DataPaddingAsLongAsTheFrame",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.send_frame(kData, kPadded, 1, std::string("\x05") + "abcd");
     },
     goes_away(kProtocolError)},
    {"S6_1_DataWithPaddingIsTaken",
     [](Http2Peer& peer) {
       peer.send_headers(1, with(post(kAlpha), "content-length", "2"), kNone);
       peer.send_frame(kData, kPadded | kEndStream, 1, std::string("\x03") + "hi" + std::string(3, '\0'));
     },
     ok()},
    {"S6_2_HeadersOnStreamZero", frame_of(kHeaders, kEndHeaders | kEndStream, 0, block(get(kAlpha))),
     goes_away(kProtocolError)},
    {"S6_2_HeadersPaddingAsLongAsTheFrame",
     frame_of(kHeaders, kEndHeaders | kEndStream | kPadded, 1, std::string("\xf0") + block(get(kAlpha))),
     goes_away(kProtocolError)},
    {"S6_2_HeadersWithPaddingAndPriorityAreTaken",
     frame_of(
         kHeaders, kEndHeaders | kEndStream | kPadded | kWithPriority, 1,
         std::string("\x02") + std::string(4, '\0') + "\x10" + block(get(kAlpha)) + std::string(2, '\0')),
     ok()},
    {"S6_3_PriorityOnStreamZero", frame_of(kPriority, 0, 0, kFive), goes_away(kProtocolError)},
    {"S6_3_PriorityOfAnotherSize", frame_of(kPriority, 0, 1, "1234"), fails(kFrameSizeError)},
    {"S6_3_PriorityOnAnIdleStreamIsAllowed", frame_of(kPriority, 0, 3, std::string("\0\0\0\0\x10", 5)),
     goes_on()},
    {"S6_4_RstStreamOnStreamZero", frame_of(kRstStream, 0, 0, number32(kCancel)), goes_away(kProtocolError)},
    {"S6_4_RstStreamOnAnIdleStream", frame_of(kRstStream, 0, 1, number32(kCancel)),
     goes_away(kProtocolError)},
    {"S6_4_RstStreamOfAnotherSize",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.send_frame(kRstStream, 0, 1, "123");
     },
     goes_away(kFrameSizeError)},
    {"S6_5_SettingsAreAcknowledged",
     [](Http2Peer& peer) { EXPECT_TRUE(peer.read_until([&peer] { return peer.settings_acknowledged(); })); },
     goes_on()},
    {"S6_5_SettingsAckWithAPayload", frame_of(kSettings, kAck, 0, setting(kInitialWindowSize, 1)),
     goes_away(kFrameSizeError)},
    {"S6_5_SettingsOnAStream", frame_of(kSettings, 0, 1, {}), goes_away(kProtocolError)},
    {"S6_5_SettingsOfAnOddSize", frame_of(kSettings, 0, 0, "12345"), goes_away(kFrameSizeError)},
    {"S6_5_2_EnablePushOtherThan0And1", settings_of(kEnablePush, 2), goes_away(kProtocolError)},
    {"S6_5_2_InitialWindowAboveTheMost", settings_of(kInitialWindowSize, 0x80000000U),
     goes_away(kFlowControlError)},
    {"S6_5_2_MaxFrameSizeBelowTheLeast", settings_of(kMaxFrameSize, 16'383), goes_away(kProtocolError)},
    {"S6_5_2_MaxFrameSizeAboveTheMost", settings_of(kMaxFrameSize, 0x1000000U), goes_away(kProtocolError)},
    {"S6_5_2_UnknownSettingsAreIgnored", settings_of(0xfff0, 7), goes_on()},
    {"S6_5_2_ATableSizeOfZeroIsKept",
     [](Http2Peer& peer) {
       peer.send_frame(kSettings, 0, 0, setting(kHeaderTableSize, 0));
       peer.send_headers(1, get(kAlpha));
     },
     ok()},
    {"S6_6_PushPromiseFromAClient", frame_of(kPushPromise, kEndHeaders, 1, number32(2) + block(get(kAlpha))),
     goes_away(kProtocolError)},
    {"S6_7_PingIsAnsweredWithItsPayload",
     [](Http2Peer& peer) {
       EXPECT_TRUE(peer.ping());
       EXPECT_EQ(peer.frames().back().payload, "12345678");
     },
     goes_on()},
    {"S6_7_PingOnAStream", frame_of(kPing, 0, 1, "12345678"), goes_away(kProtocolError)},
    {"S6_7_PingOfAnotherSize", frame_of(kPing, 0, 0, "1234567"), goes_away(kFrameSizeError)},
    {"S6_7_APingAckIsNotAnswered",
     [](Http2Peer& peer) {
       peer.send_frame(kPing, kAck, 0, "abcdefgh");
       peer.ping();
       for (const Frame& frame : peer.frames()) {
         EXPECT_TRUE(frame.type != kPing || frame.payload == "12345678");
       }
     },
     goes_on()},
    {"S6_8_GoawayOnAStream", frame_of(kGoaway, 0, 1, number32(0) + number32(0)), goes_away(kProtocolError)},
    {"S6_9_WindowUpdateOfZeroOnTheConnection", frame_of(kWindowUpdate, 0, 0, number32(0)),
     goes_away(kProtocolError)},
    {"S6_9_WindowUpdateOfZeroOnAStream",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.send_frame(kWindowUpdate, 0, 1, number32(0));
     },
     fails(kProtocolError)},
    {"S6_9_WindowUpdateOfAnotherSize", frame_of(kWindowUpdate, 0, 0, "123"), goes_away(kFrameSizeError)},
    {"S6_9_WindowUpdateOnAnIdleStream", frame_of(kWindowUpdate, 0, 1, number32(1)),
     goes_away(kProtocolError)},
    {"S6_9_1_TheConnectionsWindowMayNotOverflow",
     [](Http2Peer& peer) {
       peer.give_credit(0, 0x7fffffffU);
       peer.give_credit(0, 0x7fffffffU);
     },
     goes_away(kFlowControlError)},
    {"S6_9_1_AStreamsWindowMayNotOverflow",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.give_credit(1, 0x7fffffffU);
       peer.give_credit(1, 0x7fffffffU);
     },
     fails(kFlowControlError)},
    {"S6_9_1_TheWindowIsKept",
     [](Http2Peer& peer) {
       peer.send_frame(kSettings, 0, 0, setting(kInitialWindowSize, 1));
       peer.hold_credit();
       peer.send_headers(1, get(kAlpha));
       ASSERT_TRUE(peer.read_until([&peer] { return peer.so_far(1).body == "o"; }));
       ASSERT_TRUE(peer.ping());
       EXPECT_EQ(peer.so_far(1).body, "o");
       peer.give_credit(1, 1);
     },
     ok()},
    {"S6_9_2_AWindowMayBecomeNegative",
     [](Http2Peer& peer) {
       peer.send_frame(kSettings, 0, 0, setting(kInitialWindowSize, 1));
       peer.hold_credit();
       peer.send_headers(1, get(kAlpha));
       ASSERT_TRUE(peer.read_until([&peer] { return peer.so_far(1).body == "o"; }));
       peer.send_frame(kSettings, 0, 0, setting(kInitialWindowSize, 0));
       peer.give_credit(1, 1);
       ASSERT_TRUE(peer.ping());
       EXPECT_EQ(peer.so_far(1).body, "o") << "minus one and one is none";
       peer.give_credit(1, 1);
     },
     ok()},
    {"S6_9_2_AChangedInitialWindowHoldsForOpenStreams",
     [](Http2Peer& peer) {
       peer.send_frame(kSettings, 0, 0, setting(kInitialWindowSize, 0));
       peer.hold_credit();
       peer.send_headers(1, get(kAlpha));
       peer.head(1);
       peer.send_frame(kSettings, 0, 0, setting(kInitialWindowSize, 10));
     },
     ok()},
    {"S6_9_2_AnInitialWindowThatOverflowsAStream",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.give_credit(1, 0x7fffffffU - 65'535);
       peer.send_frame(kSettings, 0, 0, setting(kInitialWindowSize, 65'536));
     },
     goes_away(kFlowControlError)},
    {"S6_9_MoreDataThanTheStreamsWindow",
     [](Http2Peer& peer) {
       open_post(peer);
       for (int i = 0; i < 200; ++i) peer.send_frame(kData, 0, 1, std::string(16'384, 'x'));
     },
     fails(kFlowControlError)},
    {"S6_10_ContinuationWithoutHeaders", frame_of(kContinuation, kEndHeaders, 1, block(get(kAlpha))),
     goes_away(kProtocolError)},
    {"S6_10_ContinuationOnStreamZero",
     [](Http2Peer& peer) {
       peer.send_frame(kHeaders, kEndStream, 1, block(get(kAlpha)));
       peer.send_frame(kContinuation, kEndHeaders, 0, {});
     },
     goes_away(kProtocolError)},
    {"S6_10_ContinuationAfterTheEndOfHeaders",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.send_frame(kContinuation, kEndHeaders, 1, block({{"x", "y"}}));
     },
     goes_away(kProtocolError)},
};

class Rfc9113Frames : public Rfc9113 {};
TEST_P(Rfc9113Frames, Holds) {
  run();
}
INSTANTIATE_TEST_SUITE_P(Rows, Rfc9113Frames, testing::ValuesIn(kFrames), name_of);

}  // namespace
}  // namespace hedge::test
