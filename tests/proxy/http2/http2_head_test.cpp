#include "proxy/http2/http2_head.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace hedge::proxy::http {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct ParsedRequest {
  TextArena texts;
  RequestHead head;
  std::optional<ProxyError> error;

  explicit ParsedRequest(const Pairs& pairs, bool last = true) {
    Http2FieldCollector block(head.fields, texts);
    for (const auto& [name, value] : pairs) block.add(name, value);
    error = finish_request_head(block, last, texts, head);
  }
  std::string field(std::string_view name) const {
    for (const Field& each : head.fields) {
      if (each.name == name && !each.omit) return std::string(each.value);
    }
    return {};
  }
};

Pairs request(const std::string& method, Pairs more = {}) {
  Pairs pairs = {{":method", method}, {":scheme", "https"}, {":authority", "a.test"}, {":path", "/p?q"}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pairs;
}

TEST(Http2RequestHead, HasMethodTargetAndAuthority) {
  const ParsedRequest parsed(request("GET", {{"accept", "x"}}));
  ASSERT_FALSE(parsed.error);
  EXPECT_EQ(parsed.head.method, "GET");
  EXPECT_EQ(parsed.head.target, "/p?q");
  EXPECT_EQ(parsed.head.authority, "a.test");
  EXPECT_EQ(parsed.head.version, Version::http2);
  EXPECT_EQ(parsed.head.body.framing, Framing::none);
  EXPECT_EQ(parsed.field("accept"), "x");
}

TEST(Http2RequestHead, TellsTheFramingOfTheBody) {
  struct Case {
    const char* method;
    const char* length;
    bool last;
    Framing framing;
    std::uint64_t bytes;
  };
  const Case cases[] = {
      {"GET", "", true, Framing::none, 0},      {"GET", "", false, Framing::chunked, 0},
      {"POST", "", true, Framing::length, 0},   {"PUT", "", true, Framing::length, 0},
      {"PATCH", "", true, Framing::length, 0},  {"DELETE", "", true, Framing::none, 0},
      {"POST", "7", false, Framing::length, 7}, {"GET", "0", true, Framing::length, 0},
  };
  for (const Case& each : cases) {
    Pairs more;
    if (*each.length != '\0') more.emplace_back("content-length", each.length);
    const ParsedRequest parsed(request(each.method, more), each.last);
    ASSERT_FALSE(parsed.error) << each.method;
    EXPECT_EQ(parsed.head.body.framing, each.framing) << each.method << each.length;
    EXPECT_EQ(parsed.head.body.length, each.bytes) << each.method << each.length;
  }
}

TEST(Http2RequestHead, E29_JoinsCookieCrumbsWhereverTheyStand) {
  const ParsedRequest parsed(
      request("GET", {{"cookie", "a=1"}, {"x", "y"}, {"cookie", ""}, {"cookie", "c=3"}}));
  int cookies = 0;
  for (const Field& field : parsed.head.fields) cookies += field.name == "cookie" && !field.omit ? 1 : 0;
  EXPECT_EQ(cookies, 1);
  EXPECT_EQ(parsed.field("cookie"), "a=1; ; c=3");
  EXPECT_EQ(parsed.field("x"), "y");
}

TEST(Http2RequestHead, RefusesWhatRoutesTwice) {
  EXPECT_FALSE(ParsedRequest(request("GET", {{"host", "A.test"}})).error);
  EXPECT_EQ(ParsedRequest(request("GET", {{"host", "b.test"}})).error->reason, ProxyReason::bad_request);
  EXPECT_EQ(ParsedRequest({{":method", "GET"}, {":path", "/"}, {"host", "a"}, {"host", "a"}}).error->reason,
            ProxyReason::bad_request);
}

TEST(Http2RequestHead, AnExtendedConnectIsAnUpgradeToWebsocketAndToNothingElse) {
  Pairs pairs = request("CONNECT", {{":protocol", "WebSocket"}});
  const ParsedRequest parsed(pairs, false);
  ASSERT_FALSE(parsed.error);
  EXPECT_EQ(parsed.head.method, "GET");
  EXPECT_EQ(parsed.head.upgrade, "websocket");
  EXPECT_EQ(parsed.head.body.framing, Framing::none);
  pairs.back().second = "connect-udp";
  EXPECT_TRUE(ParsedRequest(pairs, false).error);
  EXPECT_TRUE(ParsedRequest({{":method", "CONNECT"}, {":authority", "a:1"}}).error);
}

TEST(Http2RequestHead, NamesTheLargestFieldOfOneThatIsTooLarge) {
  ParsedRequest large(request(
      "GET", {{"x-small", "1"}, {"x-large", std::string(60'000, 'l')}, {"y", std::string(9'000, 'y')}}));
  ASSERT_TRUE(large.error);
  EXPECT_EQ(large.error->reason, ProxyReason::headers_too_large);
  EXPECT_NE(large.error->detail.find("'x-large' (60011 bytes)"), std::string::npos) << large.error->detail;
  EXPECT_EQ(
      ParsedRequest({{":method", "GET"}, {":authority", "a"}, {":path", "/" + std::string(17'000, 'p')}})
          .error->reason,
      ProxyReason::uri_too_long);
}

struct ParsedResponse {
  TextArena texts;
  ResponseHead head;
  std::optional<ProxyError> error;

  ParsedResponse(const Pairs& pairs, bool last, bool head_request = false) {
    Http2FieldCollector block(head.fields, texts);
    for (const auto& [name, value] : pairs) block.add(name, value);
    error = finish_response_head(block, last, head_request, head);
  }
};

TEST(Http2ResponseHead, TellsTheFramingOfTheBody) {
  EXPECT_EQ(ParsedResponse({{":status", "200"}}, false).head.body.framing, Framing::chunked);
  EXPECT_EQ(ParsedResponse({{":status", "200"}, {"content-length", "5"}}, false).head.body.length, 5U);
  EXPECT_EQ(ParsedResponse({{":status", "200"}}, true).head.body.framing, Framing::length);
  EXPECT_EQ(ParsedResponse({{":status", "204"}}, true).head.body.framing, Framing::none);
  const ParsedResponse head({{":status", "200"}, {"content-length", "5"}}, true, true);
  EXPECT_EQ(head.head.body.framing, Framing::none);
  EXPECT_EQ(head.head.content_length, 5U);
  for (const char* status : {"", "99", "600", "abc", "2000"})
    EXPECT_TRUE(ParsedResponse({{":status", status}}, true).error) << status;
}

std::string text_of(const std::vector<Http2Field>& fields) {
  std::string text;
  for (const Http2Field& field : fields) text.append(field.name).append("=").append(field.value).append("\n");
  return text;
}

TEST(Http2Fields, OfAResponseAreLowerCaseAndKeepWhatIsOfTheConnection) {
  ResponseHead head;
  head.status = 200;
  head.body = BodyShape{Framing::length, 5};
  head.fields = {{"Content-Type", "a", FieldId::other, false},
                 {"Connection", "close", FieldId::connection, false},
                 {"Transfer-Encoding", "chunked", FieldId::transfer_encoding, false},
                 {"X-Gone", "1", FieldId::other, true},
                 {"Set-Cookie", "B=2", FieldId::set_cookie, false}};
  TextArena texts;
  std::vector<Http2Field> fields;
  make_response_fields(head, texts, fields);
  EXPECT_EQ(text_of(fields), ":status=200\ncontent-type=a\nset-cookie=B=2\ncontent-length=5\n");
}

TEST(Http2Fields, OfARequestBeginWithThePseudoFields) {
  RequestHead head;
  head.method = "POST";
  head.target = "?q";
  head.target_prefix = "/";
  head.authority = "a.test";
  head.accepts_trailers = true;
  head.body = BodyShape{Framing::length, 3};
  head.fields = {{"Host", "a.test", FieldId::host, false}, {"Accept", "x", FieldId::accept, false}};
  TextArena texts;
  std::vector<Http2Field> fields;
  make_request_fields(head, "http", texts, fields);
  EXPECT_EQ(
      text_of(fields),
      ":method=POST\n:scheme=http\n:authority=a.test\n:path=/?q\naccept=x\nte=trailers\ncontent-length=3\n");
}

TEST(TextArena, KeepsTextsInPlaceWhileMoreAreAdded) {
  TextArena texts;
  std::vector<std::string_view> views;
  for (int i = 0; i < 2000; ++i) views.push_back(texts.store("text " + std::to_string(i)));
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(views[static_cast<std::size_t>(i)], "text " + std::to_string(i));
  EXPECT_EQ(texts.store(std::string(10'000, 'l')).size(), 10'000U);
  texts.clear();
  EXPECT_EQ(texts.store_lower("MiXed-9"), "mixed-9");
}

}  // namespace
}  // namespace hedge::proxy::http
