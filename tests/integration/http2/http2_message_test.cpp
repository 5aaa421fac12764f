// Requests and responses of an HTTP/2 client through the edge.
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
constexpr const char* kBeta = "beta.dev.localhost";

TEST(Http2Message, ARequestByPriorKnowledgeIsAnswered) {
  ScriptedUpstream upstream(answer_always(ok_response("hello")));
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer client(edge.plain_port());
  client.start();
  client.send_headers(1, h2::get(kAlpha, "/path?q=1"));
  const Http2Answer& answer = client.answer(1);
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_EQ(answer.field("content-length"), "5");
  const std::string seen = upstream.received();
  EXPECT_TRUE(seen.starts_with("GET /path?q=1 HTTP/1.1\r\nHost: alpha.dev.localhost\r\n")) << seen;
  EXPECT_EQ(field_of(seen, "Via"), "2.0 hedge");
  EXPECT_EQ(field_of(seen, "X-Forwarded-Proto"), "http");
}

TEST(Http2Message, E06_StreamsOfOneConnectionAreRoutedByTheirOwnAuthority) {
  ScriptedUpstream alpha(answer_always(ok_response("alpha")));
  ScriptedUpstream beta(answer_always(ok_response("beta")));
  EdgeOptions options;
  options.tls = true;
  EdgeFixture edge({route_to(kAlpha, alpha.route()), route_to(kBeta, beta.route())}, std::move(options));
  Http2Peer client(std::make_unique<TlsPeer>(edge.tls_port(), kAlpha, edge.root_certificate(), "h2"));
  client.start();
  client.send_headers(1, h2::get(kAlpha));
  client.send_headers(3, h2::get(kBeta));
  client.send_headers(5, h2::get("nobody.dev.localhost"));
  EXPECT_EQ(client.answer(1).body, "alpha");
  EXPECT_EQ(client.answer(3).body, "beta");
  EXPECT_EQ(client.answer(5).status(), 404);
  EXPECT_EQ(client.answer(5).field("hedge-error"), "route_unknown");
}

}  // namespace
}  // namespace hedge::test
