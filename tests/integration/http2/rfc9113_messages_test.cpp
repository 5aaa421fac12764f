// RFC 9113, section 8: what an endpoint MUST do about requests.
#include "tests/integration/http2/rfc9113_rows.h"

namespace hedge::test {
namespace {

const std::vector<Row> kMessages = {
    {"S8_1_ARequestIsAnswered", request_of(get(kAlpha)), ok()},
    {"S8_1_UpperCaseFieldNames", request_of(with(get(kAlpha), "X-Upper", "1")), resets(kProtocolError)},
    {"S8_1_ASecondHeaderBlockWithoutAnEnd",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.send_headers(1, {{"x-trailer", "1"}}, kNone);
     },
     fails(kProtocolError)},
    {"S8_1_PseudoFieldsInTrailers",
     [](Http2Peer& peer) {
       open_post(peer);
       peer.send_headers(1, {{":method", "GET"}});
     },
     resets(kProtocolError)},
    {"S8_1_1_LengthAndDataDisagreeTooMuch",
     [](Http2Peer& peer) {
       peer.send_headers(1, with(post(kAlpha, "/sink"), "content-length", "1"), kNone);
       peer.send_frame(kData, kEndStream, 1, "xy");
     },
     resets(kProtocolError)},
    {"S8_1_1_LengthAndDataDisagreeTooLittle",
     [](Http2Peer& peer) {
       peer.send_headers(1, with(post(kAlpha, "/sink"), "content-length", "5"), kNone);
       peer.send_frame(kData, kEndStream, 1, "xy");
     },
     resets(kProtocolError)},
    {"S8_1_1_ALengthWithoutData", request_of(with(post(kAlpha), "content-length", "5")),
     resets(kProtocolError)},
    {"S8_1_1_TwoLengths", request_of(with(with(post(kAlpha), "content-length", "0"), "content-length", "0")),
     resets(kProtocolError)},
    {"S8_1_1_ALengthThatIsNoNumber", request_of(with(post(kAlpha), "content-length", "1x")),
     resets(kProtocolError)},
    {"S8_2_1_AFieldValueWithNul", request_of(with(get(kAlpha), "x-a", std::string("a\0b", 3))),
     resets(kProtocolError)},
    {"S8_2_1_AFieldValueWithCr", request_of(with(get(kAlpha), "x-a", "a\rb")), resets(kProtocolError)},
    {"S8_2_1_AFieldValueWithLf", request_of(with(get(kAlpha), "x-a", "a\nx: y")), resets(kProtocolError)},
    {"S8_2_1_AFieldValueThatBeginsWithASpace", request_of(with(get(kAlpha), "x-a", " a")),
     resets(kProtocolError)},
    {"S8_2_1_AFieldValueThatEndsWithATab", request_of(with(get(kAlpha), "x-a", "a\t")),
     resets(kProtocolError)},
    {"S8_2_1_AFieldNameWithASpace", request_of(with(get(kAlpha), "x a", "1")), resets(kProtocolError)},
    {"S8_2_1_AFieldNameWithAColon", request_of(with(get(kAlpha), "x:a", "1")), resets(kProtocolError)},
    {"S8_2_1_AnEmptyFieldName", request_of(with(get(kAlpha), "", "1")), resets(kProtocolError)},
    {"S8_2_2_Connection", request_of(with(get(kAlpha), "connection", "keep-alive")), resets(kProtocolError)},
    {"S8_2_2_TransferEncoding", request_of(with(get(kAlpha), "transfer-encoding", "chunked")),
     resets(kProtocolError)},
    {"S8_2_2_KeepAlive", request_of(with(get(kAlpha), "keep-alive", "timeout=5")), resets(kProtocolError)},
    {"S8_2_2_ProxyConnection", request_of(with(get(kAlpha), "proxy-connection", "close")),
     resets(kProtocolError)},
    {"S8_2_2_Upgrade", request_of(with(get(kAlpha), "upgrade", "websocket")), resets(kProtocolError)},
    {"S8_2_2_TeOtherThanTrailers", request_of(with(get(kAlpha), "te", "trailers, deflate")),
     resets(kProtocolError)},
    {"S8_2_2_TeTrailers", request_of(with(get(kAlpha), "te", "trailers")), ok()},
    {"S8_2_3_CookieCrumbs", request_of(with(with(get(kAlpha), "cookie", "a=1"), "cookie", "b=2")), ok()},
    {"S8_3_AnUnknownPseudoField", request_of(with({{":foo", "x"}}, ":method", "GET")),
     resets(kProtocolError)},
    {"S8_3_AResponsesPseudoField",
     request_of({{":method", "GET"},
                 {":scheme", "http"},
                 {":authority", kAlpha},
                 {":path", "/"},
                 {":status", "200"}}),
     resets(kProtocolError)},
    {"S8_3_APseudoFieldAfterAField",
     request_of(
         {{":method", "GET"}, {":scheme", "http"}, {"x-a", "1"}, {":authority", kAlpha}, {":path", "/"}}),
     resets(kProtocolError)},
    {"S8_3_APseudoFieldTwice",
     request_of({{":method", "GET"},
                 {":method", "GET"},
                 {":scheme", "http"},
                 {":authority", kAlpha},
                 {":path", "/"}}),
     resets(kProtocolError)},
    {"S8_3_1_NoMethod", request_of(without(get(kAlpha), ":method")), resets(kProtocolError)},
    {"S8_3_1_NoScheme", request_of(without(get(kAlpha), ":scheme")), resets(kProtocolError)},
    {"S8_3_1_NoPath", request_of(without(get(kAlpha), ":path")), resets(kProtocolError)},
    {"S8_3_1_AnEmptyPath", request_of(set(get(kAlpha), ":path", "")), resets(kProtocolError)},
    {"S8_3_1_APathWithoutASlash", request_of(set(get(kAlpha), ":path", "x")), resets(kProtocolError)},
    {"S8_3_1_AStarForOptions", request_of(set(set(get(kAlpha), ":path", "*"), ":method", "OPTIONS")), ok()},
    {"S8_3_1_AStarForGet", request_of(set(get(kAlpha), ":path", "*")), resets(kProtocolError)},
    {"S8_3_1_APathWithASpace", request_of(set(get(kAlpha), ":path", "/a b HTTP/1.1")),
     resets(kProtocolError)},
    {"S8_3_1_NeitherAuthorityNorHost", request_of(without(get(kAlpha), ":authority")),
     resets(kProtocolError)},
    {"S8_3_1_AnAuthorityWithALineBreak", request_of(set(get(kAlpha), ":authority", "alpha\r\nx: y")),
     resets(kProtocolError)},
    {"S8_3_1_AuthorityAndHostDiffer", request_of(with(get(kAlpha), "host", "beta.dev.localhost")), ok(400)},
    {"S8_3_1_AMethodThatIsNoToken", request_of(set(get(kAlpha), ":method", "GE T")), resets(kProtocolError)},
    {"S8_5_ConnectIsForProxies", request_of({{":method", "CONNECT"}, {":authority", "example.com:443"}}),
     ok(400)},
    {"S8_5_ConnectWithAPath",
     request_of({{":method", "CONNECT"}, {":scheme", "http"}, {":authority", kAlpha}, {":path", "/"}}),
     resets(kProtocolError)},
};

class Rfc9113Messages : public Rfc9113 {};
TEST_P(Rfc9113Messages, Holds) {
  run();
}
INSTANTIATE_TEST_SUITE_P(Rows, Rfc9113Messages, testing::ValuesIn(kMessages), name_of);

}  // namespace
}  // namespace hedge::test
