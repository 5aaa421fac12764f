#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/http/http1_codec.h"
#include "proxy/http/http1_writer.h"

namespace hedge::proxy::http {
namespace {

std::string request_text(const std::string& head, ConnectionHeader connection = ConnectionHeader::none) {
  RequestHead parsed;
  EXPECT_FALSE(parse_request_head(head, parsed));
  std::string out;
  append_request_head(out, parsed, connection);
  return out;
}

std::string response_text(const std::string& head, BodyShape shape, ConnectionHeader connection) {
  ResponseHead parsed;
  EXPECT_FALSE(parse_response_head(head, shape.framing == Framing::none, parsed));
  std::string out;
  append_response_head(out, parsed, shape, connection);
  return out;
}

TEST(WrittenRequests, KeepTheTargetByteForByteAndTheOrderOfFields) {
  EXPECT_EQ(
      request_text("GET //a%2f%2F/\xc3\xa4?x=%zz HTTP/1.1\r\nB: 2\r\nHost: a\r\nA:1\r\nb:  3  \r\n\r\n"),
      "GET //a%2f%2F/\xc3\xa4?x=%zz HTTP/1.1\r\nHost: a\r\nB: 2\r\nA: 1\r\nb: 3\r\n\r\n");
}

TEST(WrittenRequests, E18_HaveOneHostThatIsTheTargetsAuthority) {
  EXPECT_EQ(request_text("GET http://alpha:8080?q HTTP/1.1\r\nHost: beta\r\n\r\n"),
            "GET /?q HTTP/1.1\r\nHost: alpha:8080\r\n\r\n");
}

TEST(WrittenRequests, LoseTheFieldsOfOneConnection) {
  EXPECT_EQ(
      request_text(
          "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
          "Proxy-Connection: x\r\nProxy-Authorization: y\r\nProxy: z\r\nUpgrade: h2c\r\nStay: 1\r\n\r\n"),
      "GET / HTTP/1.1\r\nHost: a\r\nStay: 1\r\n\r\n");
}

TEST(WrittenRequests, E12_PassTeTrailersAndNothingElseOfTe) {
  EXPECT_EQ(request_text("GET / HTTP/1.1\r\nHost: a\r\nTE: trailers, deflate\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n");
  EXPECT_EQ(request_text("GET / HTTP/1.1\r\nHost: a\r\nTE: deflate\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST(WrittenRequests, E27_HaveExactlyOneFraming) {
  EXPECT_EQ(request_text("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\nContent-Length: 5\r\n\r\n"),
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(request_text("POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: \tCHUNKED\r\n\r\n"),
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(WrittenRequests, AskForAnUpgrade) {
  EXPECT_EQ(request_text(
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n",
                ConnectionHeader::upgrade),
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

TEST(WrittenResponses, E11_WithoutABodyCarryNoCodingAndNoLengthThatWouldLie) {
  EXPECT_EQ(response_text("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", BodyShape(),
                          ConnectionHeader::none),
            "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(response_text("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: x\r\n\r\n", BodyShape(),
                          ConnectionHeader::none),
            "HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(response_text("HTTP/1.1 304 Not Modified\r\nContent-Length: 5, 5\r\nContent-Length: 05\r\n\r\n",
                          BodyShape(), ConnectionHeader::none),
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(
      response_text("HTTP/1.1 200 OK\r\nContent-Length: 7,7\r\n\r\n", BodyShape(), ConnectionHeader::none),
      "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
  EXPECT_EQ(response_text("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", BodyShape(),
                          ConnectionHeader::none),
            "HTTP/1.1 304 Not Modified\r\n\r\n");
}

TEST(WrittenResponses, SayHowTheConnectionGoesOn) {
  const std::string head =
      "HTTP/1.1 200 OK\r\nConnection: close\r\nKeep-Alive: x\r\nContent-Length: 1\r\n\r\n";
  const BodyShape one{Framing::length, 1};
  EXPECT_EQ(response_text(head, one, ConnectionHeader::none), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n");
  EXPECT_EQ(response_text(head, one, ConnectionHeader::close),
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(response_text(head, one, ConnectionHeader::keep_alive),
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n");
}

// A chunk in a buffer that ends `room` bytes behind it.
struct Buffer {
  Buffer(std::string text, std::size_t room, bool last) : bytes(std::move(text)) {
    const std::size_t size = bytes.size();
    bytes.resize(size + 16, '#');
    chunk.data = {bytes.data(), size};
    chunk.tail_room = room;
    chunk.last = last;
  }
  std::string bytes;
  BodyChunk chunk;
};

std::string joined(const BodyFramer::Pieces& pieces) {
  return std::string(pieces.first) + std::string(pieces.second) + std::string(pieces.third);
}

TEST(BodyFraming, PutsASizeBeforeAndAnEndBehindInTwoPieces) {
  Buffer buffer("hello", 16, true);
  BodyFramer framer;
  framer.start(Framing::chunked);
  std::string front = "HEAD";
  const BodyFramer::Pieces pieces = framer.frame(front, buffer.chunk, {});
  EXPECT_EQ(joined(pieces), "HEAD5\r\nhello\r\n0\r\n\r\n");
  EXPECT_TRUE(pieces.third.empty());
}

TEST(BodyFraming, NeverWritesBeyondTheRoomThatIsThere) {
  for (const std::size_t room : {0U, 1U, 2U, 6U}) {
    Buffer buffer("hello", room, true);
    BodyFramer framer;
    framer.start(Framing::chunked);
    std::string front;
    EXPECT_EQ(joined(framer.frame(front, buffer.chunk, {})), "5\r\nhello\r\n0\r\n\r\n");
    EXPECT_EQ(buffer.bytes.substr(5 + room), std::string(16 - room, '#')) << room;
  }
}

TEST(BodyFraming, FramesTheSameChunkAgainForARepeatedRequest) {
  Buffer buffer("hello", 16, true);
  BodyFramer framer;
  framer.start(Framing::chunked);
  std::string first;
  const std::string once = joined(framer.frame(first, buffer.chunk, {}));
  std::string second;
  EXPECT_EQ(joined(framer.frame(second, buffer.chunk, {})), once);
}

TEST(BodyFraming, E12_SendsTrailersBehindTheLastChunk) {
  BodyFramer framer;
  framer.start(Framing::chunked);
  const std::vector<Field> trailers = {{"grpc-status", "0", FieldId::other, false}};
  BodyChunk end;
  end.last = true;
  std::string front;
  EXPECT_EQ(joined(framer.frame(front, end, trailers)), "0\r\ngrpc-status: 0\r\n\r\n");
}

TEST(BodyFraming, AddsNothingToABodyOfKnownLength) {
  Buffer buffer("hello", 16, true);
  BodyFramer framer;
  framer.start(Framing::length);
  std::string front = "HEAD";
  EXPECT_EQ(joined(framer.frame(front, buffer.chunk, {})), "HEADhello");
}

TEST(BodyFraming, AnEmptyPieceThatIsNotTheLastSendsNoEnd) {
  BodyFramer framer;
  framer.start(Framing::chunked);
  std::string front = "HEAD";
  EXPECT_EQ(joined(framer.frame(front, BodyChunk(), {})), "HEAD");
}

}  // namespace
}  // namespace hedge::proxy::http
