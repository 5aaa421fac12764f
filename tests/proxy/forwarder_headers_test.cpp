#include <string>

#include <gtest/gtest.h>

#include "proxy/forwarded_headers.h"
#include "proxy/http/http1_codec.h"
#include "proxy/http/http1_writer.h"

namespace hedge::proxy {
namespace {

class ForwardedFields : public testing::Test {
 protected:
  // The request head as the upstream would get it.
  std::string forward(const std::string& head) {
    text_ = head;
    EXPECT_FALSE(http::parse_request_head(text_, request_));
    authority_ = router::parse_authority(request_.authority).value_or(router::Authority());
    const ForwardedFacts facts{peer_, authority_, trusted_, "fresh-id"};
    prepare_request_fields(request_, facts, texts_);
    std::string out;
    http::append_request_head(out, request_, http::ConnectionHeader::none);
    return out;
  }

  StreamIdentity peer_{.peer_ip = "192.0.2.7",
                       .peer_port = 5,
                       .local_port = 443,
                       .peer_is_loopback = false,
                       .tls = true,
                       .alpn = {},
                       .server_name = {}};
  bool trusted_ = false;
  std::string text_;
  http::RequestHead request_;
  router::Authority authority_;
  ScratchTexts texts_;
};

constexpr const char* kHead = "GET / HTTP/1.1\r\nHost: a.dev.localhost:8443\r\n";

TEST_F(ForwardedFields, E32_TellTheClientTheSchemeTheHostAndThePort) {
  EXPECT_EQ(forward(std::string(kHead) + "\r\n"),
            "GET / HTTP/1.1\r\nHost: a.dev.localhost:8443\r\nX-Forwarded-For: "
            "192.0.2.7\r\nX-Forwarded-Proto: https\r\n"
            "X-Forwarded-Host: a.dev.localhost:8443\r\nX-Forwarded-Port: 8443\r\nX-Request-Id: fresh-id\r\n"
            "Via: 1.1 hedge\r\n\r\n");
}

TEST_F(ForwardedFields, E32_WithoutAPortGiveTheSchemesOwn) {
  EXPECT_NE(forward("GET / HTTP/1.1\r\nHost: a\r\n\r\n").find("X-Forwarded-Port: 443\r\n"),
            std::string::npos);
  peer_.tls = false;
  EXPECT_NE(forward("GET / HTTP/1.1\r\nHost: a\r\n\r\n").find("X-Forwarded-Port: 80\r\n"), std::string::npos);
}

TEST_F(ForwardedFields, E32_OfTheClientAreThrownAway) {
  const std::string out =
      forward(std::string(kHead) +
              "X-Forwarded-For: evil\r\nx-forwarded-proto: evil\r\nX-FORWARDED-HOST: evil\r\n"
              "X-Forwarded-Port: evil\r\nForwarded: for=evil\r\nX-Forwarded-Prefix: kept\r\n\r\n");
  EXPECT_EQ(out.find("evil"), std::string::npos) << out;
  EXPECT_NE(out.find("X-Forwarded-Prefix: kept"), std::string::npos);
}

TEST_F(ForwardedFields, OfATrustedProxyAreKeptAndTheAddressAppended) {
  trusted_ = true;
  const std::string out = forward(std::string(kHead) +
                                  "X-Forwarded-For: 10.1.1.1\r\nX-Forwarded-Proto: http\r\n"
                                  "X-Forwarded-Host: public\r\nForwarded: for=10.1.1.1\r\n\r\n");
  EXPECT_NE(out.find("X-Forwarded-For: 10.1.1.1, 192.0.2.7\r\n"), std::string::npos) << out;
  EXPECT_NE(out.find("X-Forwarded-Proto: http\r\n"), std::string::npos);
  EXPECT_NE(out.find("X-Forwarded-Host: public\r\n"), std::string::npos);
  EXPECT_EQ(out.find("X-Forwarded-Host: a."), std::string::npos);
  EXPECT_NE(out.find("Forwarded: for=10.1.1.1\r\n"), std::string::npos);
}

TEST_F(ForwardedFields, OfATrustedProxyAreJoinedInTheirOrderWhereTheyAreSeveral) {
  trusted_ = true;
  const std::string out = forward(std::string(kHead) +
                                  "X-Forwarded-For: 10.1.1.1, 10.1.1.2\r\nA: b\r\nx-forwarded-for:\r\n"
                                  "x-forwarded-for: 10.1.1.3\r\n\r\n");
  EXPECT_NE(out.find("X-Forwarded-For: 10.1.1.1, 10.1.1.2, 10.1.1.3, 192.0.2.7\r\n"), std::string::npos)
      << out;
  EXPECT_EQ(out.find("x-forwarded-for"), std::string::npos) << out;
}

TEST_F(ForwardedFields, OfATrustedProxyAreAddedWhereItHasNone) {
  trusted_ = true;
  const std::string out = forward(std::string(kHead) + "X-Forwarded-Proto: http\r\n\r\n");
  EXPECT_NE(out.find("X-Forwarded-Proto: http\r\n"), std::string::npos) << out;
  EXPECT_EQ(out.find("X-Forwarded-Proto: https\r\n"), std::string::npos) << out;
  EXPECT_NE(out.find("X-Forwarded-Host: a.dev.localhost:8443\r\n"), std::string::npos) << out;
  EXPECT_NE(out.find("X-Forwarded-Port: 8443\r\n"), std::string::npos) << out;
}

TEST_F(ForwardedFields, ThatTheConnectionFieldNamesEndHere) {
  trusted_ = true;
  const std::string out = forward(
      std::string(kHead) +
      "Connection: X-Forwarded-For, X-Forwarded-Proto, Forwarded, X-Request-Id\r\nX-Forwarded-For: hop\r\n"
      "X-Forwarded-Proto: hop\r\nForwarded: for=hop\r\nX-Request-Id: hop\r\n\r\n");
  EXPECT_EQ(out.find("hop"), std::string::npos) << out;
  EXPECT_NE(out.find("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"), std::string::npos) << out;
  EXPECT_NE(out.find("X-Request-Id: fresh-id\r\n"), std::string::npos) << out;
}

TEST_F(ForwardedFields, KeepOneSaneRequestId) {
  const std::string out = forward(std::string(kHead) + "X-Request-Id: abc-1\r\nX-Request-Id: abc-2\r\n\r\n");
  EXPECT_NE(out.find("X-Request-Id: abc-1\r\n"), std::string::npos);
  EXPECT_EQ(out.find("abc-2"), std::string::npos);
  EXPECT_EQ(out.find("fresh-id"), std::string::npos);
}

TEST(RequestIds, AreSaneUpTo128PlainCharacters) {
  EXPECT_TRUE(is_sane_request_id("aZ09._~+/=:-"));
  EXPECT_TRUE(is_sane_request_id(std::string(128, 'a')));
  EXPECT_FALSE(is_sane_request_id(std::string(129, 'a')));
  EXPECT_FALSE(is_sane_request_id(""));
  EXPECT_FALSE(is_sane_request_id("a b"));
  EXPECT_FALSE(is_sane_request_id("a\"b"));
}

int hops(const std::string& via) {
  http::RequestHead request;
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n" + via + "\r\n";
  EXPECT_FALSE(http::parse_request_head(head, request));
  return count_own_hops(request);
}

TEST(OwnHops, E30_AreCountedOverAllViaFieldsAndNobodyElsesAre) {
  EXPECT_EQ(hops(""), 0);
  EXPECT_EQ(hops("Via: 1.1 hedge\r\n"), 1);
  EXPECT_EQ(hops("Via: 1.0 squid, 1.1 Hedge (x),HTTP/1.1 hedge\r\nVia: 2 hedge\r\n"), 3);
  EXPECT_EQ(hops("Via: 1.1 hedgehog, hedge, 1.1 my.hedge\r\n"), 0);
}

TEST(TrustedPeers, AreAddressesAndBlocks) {
  const TrustedProxies trusted({"10.0.0.0/8", "192.0.2.7", "2001:db8::/33", "nonsense", "1.2.3.4/40"});
  EXPECT_TRUE(trusted.contains("10.255.0.1"));
  EXPECT_TRUE(trusted.contains("192.0.2.7"));
  EXPECT_TRUE(trusted.contains("2001:db8:7fff::1"));
  EXPECT_FALSE(trusted.contains("11.0.0.1"));
  EXPECT_FALSE(trusted.contains("192.0.2.8"));
  EXPECT_FALSE(trusted.contains("2001:db8:8000::1"));
  EXPECT_FALSE(trusted.contains("1.2.3.4"));
  EXPECT_FALSE(trusted.contains(""));
}

TEST(TrustedPeers, AreNobodyByDefault) {
  EXPECT_FALSE(TrustedProxies({}).contains("127.0.0.1"));
}

}  // namespace
}  // namespace hedge::proxy
