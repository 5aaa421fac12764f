// The limits of heads, chunks and trailers: the last size that passes and the first that does not.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "proxy/http/chunk_decoder.h"
#include "proxy/http/head_scanner.h"
#include "proxy/http/http1_codec.h"
#include "tests/proxy/http/wire_decoder.h"

namespace hedge::proxy::http {
namespace {

std::string request_line_of(std::size_t bytes) {
  const std::string rest = "GET / HTTP/1.1\r\n";
  return "GET /" + std::string(bytes - rest.size(), 'x') + " HTTP/1.1\r\n";
}

std::string fields_of(std::size_t bytes) {
  const std::string frame = "Host: a\r\nCookie: \r\n\r\n";
  return "Host: a\r\nCookie: " + std::string(bytes - frame.size(), 'c') + "\r\n\r\n";
}

ProxyError refusal(MessageKind kind, const std::string& bytes) {
  HeadScanner scanner(kind);
  EXPECT_EQ(scanner.scan(bytes), HeadScanner::State::failed);
  return scanner.error();
}

TEST(HeadLimits, ARequestLineOf16KiBPasses) {
  const std::string head = request_line_of(kMaxStartLineBytes) + "Host: a\r\n\r\n";
  HeadScanner scanner(MessageKind::request);
  EXPECT_EQ(scanner.scan(head), HeadScanner::State::complete);
  EXPECT_EQ(scanner.head_bytes(), head.size());
}

TEST(HeadLimits, ALongerRequestLineIsUriTooLong) {
  EXPECT_EQ(refusal(MessageKind::request, request_line_of(kMaxStartLineBytes + 1)).id(), "uri_too_long");
}

TEST(HeadLimits, ARequestLineIsRefusedBeforeItsEndHasCome) {
  EXPECT_EQ(refusal(MessageKind::request, std::string(kMaxStartLineBytes + 1, 'G')).id(), "uri_too_long");
}

TEST(HeadLimits, E19_SixtyFourKiBOfFieldsPass) {
  const std::string head = "GET / HTTP/1.1\r\n" + fields_of(kMaxFieldBytes);
  HeadScanner scanner(MessageKind::request);
  EXPECT_EQ(scanner.scan(head), HeadScanner::State::complete);
}

TEST(HeadLimits, E19_MoreAreRefusedNamingTheLargestField) {
  const ProxyError error =
      refusal(MessageKind::request, "GET / HTTP/1.1\r\n" + fields_of(kMaxFieldBytes + 1));
  EXPECT_EQ(error.id(), "headers_too_large");
  EXPECT_EQ(error.status(), 431U);
  EXPECT_NE(error.detail.find("'cookie'"), std::string::npos) << error.detail;
}

TEST(HeadLimits, TheLargestFieldIsNamedAlsoWhileItIsStillComing) {
  const std::string begun = "GET / HTTP/1.1\r\nHost: a\r\nX-Big: " + std::string(kMaxFieldBytes, 'b');
  EXPECT_NE(refusal(MessageKind::request, begun).detail.find("'x-big'"), std::string::npos);
}

TEST(HeadLimits, AResponseBeyondThemIsABadResponse) {
  EXPECT_EQ(refusal(MessageKind::response, "HTTP/1.1 200 " + std::string(kMaxStartLineBytes, 'x')).id(),
            "upstream_bad_response");
  EXPECT_EQ(refusal(MessageKind::response, "HTTP/1.1 200 OK\r\n" + fields_of(kMaxFieldBytes + 1)).id(),
            "upstream_bad_response");
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

// A message of `fields` fields, the empty line included.
std::string small_fields(std::size_t fields) {
  return "Host: a\r\n" + repeated("b:\r\n", fields - 1) + "\r\n";
}

TEST(HeadLimits, AThousandFieldsPass) {
  HeadScanner scanner(MessageKind::request);
  EXPECT_EQ(scanner.scan("GET / HTTP/1.1\r\n" + small_fields(kMaxFields)), HeadScanner::State::complete);
  scanner.reset();
  EXPECT_EQ(scanner.scan("GET / HTTP/1.1\r\n" + small_fields(kMaxFields)), HeadScanner::State::complete);
}

TEST(HeadLimits, OneFieldMoreIsRefused) {
  EXPECT_EQ(refusal(MessageKind::request, "GET / HTTP/1.1\r\n" + small_fields(kMaxFields + 1)).id(),
            "headers_too_large");
  EXPECT_EQ(refusal(MessageKind::response, "HTTP/1.1 200 OK\r\n" + small_fields(kMaxFields + 1)).id(),
            "upstream_bad_response");
}

// The names of the Connection field times the fields: what a head may cost must not grow with its square.
TEST(HeadLimits, TheConnectionFieldListsSixtyFourOptionsAtMost) {
  const std::string most = "Connection: " + repeated("x-hop,", kMaxConnectionOptions) + "\r\n";
  const std::string end = "Connection: close\r\nX-Hop: 1\r\n\r\n";
  RequestHead request;
  ASSERT_FALSE(parse_request_head("GET / HTTP/1.1\r\nHost: a\r\n" + most + "X-Hop: 1\r\n\r\n", request));
  ResponseHead response;
  ASSERT_FALSE(parse_response_head("HTTP/1.1 200 OK\r\n" + most + "\r\n", false, response));

  const auto refused = parse_request_head("GET / HTTP/1.1\r\nHost: a\r\n" + most + end, request);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->id(), "bad_request");
  EXPECT_NE(refused->detail.find("connection"), std::string::npos) << refused->detail;
  const auto bad_response = parse_response_head("HTTP/1.1 200 OK\r\n" + most + end, false, response);
  ASSERT_TRUE(bad_response);
  EXPECT_EQ(bad_response->id(), "upstream_bad_response");
}

std::string decode(std::string wire) {
  return decode_whole(MessageKind::request,
                      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::move(wire));
}

TEST(ChunkLimits, AnExtensionUpToItsLimitPassesAndALongerOneDoesNot) {
  const std::string longest(ChunkDecoder::kMaxExtensionBytes, 'e');
  EXPECT_EQ(decode("1;" + longest + "\r\nx\r\n0\r\n\r\n"), "POST / host=a chunked\nbody x\nend\n");
  EXPECT_EQ(decode("1;" + longest + "e\r\nx\r\n0\r\n\r\n"), "POST / host=a chunked\nrefused body\n");
}

TEST(ChunkLimits, ASizeHasAtMostFifteenDigits) {
  EXPECT_EQ(decode("000000000000001\r\nx\r\n0\r\n\r\n"), "POST / host=a chunked\nbody x\nend\n");
  EXPECT_EQ(decode("0000000000000001\r\nx\r\n0\r\n\r\n"), "POST / host=a chunked\nrefused body\n");
}

TEST(ChunkLimits, TrailersAreBounded) {
  const std::string much = "0\r\nx: " + std::string(ChunkDecoder::kMaxTrailerBytes, 't') + "\r\n\r\n";
  EXPECT_EQ(decode(much), "POST / host=a chunked\nrefused body\n");
}

TEST(ChunkDecoding, MovesTheChunksOfOneReadTogether) {
  std::string bytes = "3\r\nabc\r\n2;ext\r\nde\r\n0\r\n\r\nNEXT";
  ChunkDecoder decoder;
  const ChunkDecoder::Decoded decoded = decoder.decode(bytes);
  EXPECT_EQ(decoded.state, ChunkDecoder::State::done);
  EXPECT_EQ(std::string(decoded.payload.begin(), decoded.payload.end()), "abcde");
  EXPECT_EQ(bytes.substr(decoded.consumed), "NEXT");
}

}  // namespace
}  // namespace hedge::proxy::http
