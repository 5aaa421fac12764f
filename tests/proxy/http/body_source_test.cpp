#include "proxy/http/body_source.h"

#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "base/task_group.h"
#include "proxy/http/http1_body.h"
#include "proxy/http/http1_client.h"
#include "tests/proxy/http/fake_stream.h"

namespace hedge::proxy::http {
namespace {

// Pulls the body to its end: its bytes, then "!" and the id of a failure.
Task<void> pull(BodySource& body, std::string& out) {
  const BodyChunk buffered = body.take_buffered();
  out.append(buffered.data.data(), buffered.data.size());
  while (!body.finished()) {
    const BodyRead piece = co_await body.read();
    if (piece.status == BodyStatus::failed) {
      out.append("!").append(body.failure().id());
      co_return;
    }
    out.append(piece.chunk.data.data(), piece.chunk.data.size());
  }
}

struct Pulled {
  std::string bytes;
  std::string left;  // for the next message
};

// `buffered`: what was read together with the head.
Pulled pull_all(MessageKind kind, BodyShape shape, const std::string& buffered,
                std::deque<std::string> pieces) {
  BufferPool pool;
  FakeStream stream(std::move(pieces));
  InputBuffer input(pool);
  input.put_back(buffered);
  Pulled pulled;
  {
    Http1Body body(kind, stream, input, pool);
    body.start(shape);
    TaskGroup tasks;
    tasks.spawn(pull(body, pulled.bytes));
    EXPECT_TRUE(tasks.empty()) << "the fake stream never makes anybody wait";
  }
  input.begin_message();
  pulled.left = input.text();
  return pulled;
}

const BodyShape kFive{Framing::length, 5};
const BodyShape kChunked{Framing::chunked, 0};

TEST(BodySources, TakeWhatCameWithTheHeadAndReadTheRest) {
  EXPECT_EQ(pull_all(MessageKind::request, kFive, "he", {"l", "lo"}).bytes, "hello");
  EXPECT_EQ(pull_all(MessageKind::request, kChunked, "5\r\nhe", {"llo\r", "\n0\r\n\r\n"}).bytes, "hello");
}

TEST(BodySources, LeaveTheNextMessageAlone) {
  const Pulled length = pull_all(MessageKind::request, kFive, "helloGET", {});
  EXPECT_EQ(length.bytes, "hello");
  EXPECT_EQ(length.left, "GET");
  const Pulled later = pull_all(MessageKind::request, kChunked, "", {"5\r\nhello\r\n0\r\n\r\nGET /"});
  EXPECT_EQ(later.bytes, "hello");
  EXPECT_EQ(later.left, "GET /");
}

TEST(BodySources, FailWhenTheBodyIsCutShort) {
  EXPECT_EQ(pull_all(MessageKind::request, kFive, "he", {}).bytes, "he!client_gone");
  EXPECT_EQ(pull_all(MessageKind::response, kFive, "he", {}).bytes, "he!upstream_closed");
  EXPECT_EQ(pull_all(MessageKind::response, kChunked, "5\r\nhello\r\n", {}).bytes, "hello!upstream_closed");
}

TEST(BodySources, FailWhenTheFramingIsWrong) {
  EXPECT_EQ(pull_all(MessageKind::request, kChunked, "x", {}).bytes, "!bad_request");
  EXPECT_EQ(pull_all(MessageKind::response, kChunked, "", {"5\r\nhello!"}).bytes, "!upstream_bad_response");
}

TEST(BodySources, EndWithTheConnectionWhereNothingElseTells) {
  EXPECT_EQ(pull_all(MessageKind::response, BodyShape{Framing::until_close, 0}, "a", {"b", "c"}).bytes,
            "abc");
}

Task<void> ask(Http1Client& client, ResponseHead& head, std::string& outcome) {
  const std::optional<ProxyError> error = co_await client.read_head(false, head);
  outcome = error ? std::string(error->id()) : std::to_string(head.status);
}

std::string answer_of(std::deque<std::string> pieces, bool* reusable = nullptr) {
  BufferPool pool;
  FakeStream stream(std::move(pieces));
  std::string text;
  Http1Client client(stream, pool, text);
  ResponseHead head;
  std::string outcome;
  TaskGroup tasks;
  tasks.spawn(ask(client, head, outcome));
  if (reusable != nullptr) {
    std::string body;
    tasks.spawn(pull(client.body(), body));
    *reusable = client.reusable(head);
  }
  return outcome;
}

Task<void> send_chunk(Http1Client& client, std::string chunk, IoResult& sent) {
  BodyChunk body;
  body.data = {chunk.data(), chunk.size()};  // no room behind it: its framing is a piece of its own
  RequestHead head;
  head.method = "POST";
  head.target = "/";
  head.body.framing = Framing::chunked;
  const std::vector<Field> no_trailers;
  sent = co_await client.send_head(head, ConnectionHeader::none, body, no_trailers);
}

// Whether anything was sent decides whether a POST may be repeated.
TEST(SentRequests, CountTheBytesOfAllPiecesAlsoWhenALaterOneFails) {
  BufferPool pool;
  for (const int failing : {0, 1, 2}) {
    FakeStream stream({});
    stream.fail_write(failing);
    std::string text;
    Http1Client client(stream, pool, text);
    IoResult sent;
    TaskGroup tasks;
    tasks.spawn(send_chunk(client, "hello", sent));
    EXPECT_EQ(sent.bytes, stream.written().size()) << failing;
    EXPECT_EQ(sent.ok(), failing == 0) << failing;
    EXPECT_EQ(sent.bytes > 0, failing != 1) << failing;
  }
}

TEST(UpstreamHeads, AreReadInAnyPieces) {
  EXPECT_EQ(answer_of({"HTTP/1.1 20", "4 No Content\r\n", "\r", "\n"}), "204");
}

TEST(UpstreamHeads, ThatEndEarlyAreAClosedUpstream) {
  EXPECT_EQ(answer_of({}), "upstream_closed");
  EXPECT_EQ(answer_of({"HTTP/1.1 200 OK\r\n"}), "upstream_closed");
}

TEST(UpstreamConnections, AreReusedOnlyAfterACleanAndCompleteAnswer) {
  struct Case {
    std::string response;
    bool reusable;
  };
  const Case cases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true},
      {"HTTP/1.1 204 No Content\r\n\r\n", true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true},
      {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", true},
      {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false},
      {"HTTP/1.1 200 OK\r\n\r\nuntil the end", false},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more", false},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut", false},
      {"HTTP/1.1 101 Switching Protocols\r\n\r\n", false},
  };
  for (const Case& each : cases) {
    bool reusable = !each.reusable;
    answer_of({each.response}, &reusable);
    EXPECT_EQ(reusable, each.reusable) << each.response;
  }
}

}  // namespace
}  // namespace hedge::proxy::http
