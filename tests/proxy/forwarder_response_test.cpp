// What is changed in responses: cookies, transport security, alternative services.
#include <string>

#include <gtest/gtest.h>

#include "proxy/cookie_scope.h"
#include "proxy/http/http1_codec.h"
#include "proxy/http/http1_writer.h"
#include "proxy/response_headers.h"

namespace hedge::proxy {
namespace {

constexpr const char* kHost = "app.alpha.localhost";

struct CookieCase {
  std::string sent;
  std::string narrowed;  // empty: it passes as it is
};

TEST(CookieScope, C01_OnlyAParentOfTheHostIsNarrowed) {
  const CookieCase cases[] = {
      {"sid=1; Domain=alpha.localhost; Path=/", "sid=1; Path=/; Domain=app.alpha.localhost"},
      {"sid=1;domain=.ALPHA.localhost;Secure", "sid=1;Secure; Domain=app.alpha.localhost"},
      {"sid=1; Domain=localhost", "sid=1; Domain=app.alpha.localhost"},
      {"sid=1; Domain = alpha.localhost.", "sid=1; Domain=app.alpha.localhost"},
      {"sid=1; Domain=app.alpha.localhost; Domain=localhost", "sid=1; Domain=app.alpha.localhost"},
      {"domain=localhost; Path=/", ""},  // the cookie's own name
      {"sid=1", ""},
      {"sid=1; Domain=", ""},
      {"sid=1; Domain=app.alpha.localhost", ""},
      {"sid=1; Domain=x.app.alpha.localhost", ""},
      {"sid=1; Domain=pha.localhost", ""},  // no parent: the label is cut
      {"sid=1; Domain=example.com", ""},
  };
  for (const CookieCase& each : cases) {
    const auto narrowed = narrow_cookie(each.sent, kHost);
    EXPECT_EQ(narrowed ? narrowed->value : "", each.narrowed) << each.sent;
  }
}

TEST(CookieScope, TheNameIsTold) {
  EXPECT_EQ(narrow_cookie("__Secure-a b=c; Domain=localhost", kHost)->name, "__Secure-a b");
}

std::string prepared(const std::string& fields, ResponseRules rules = {kHost, true}) {
  const std::string head = "HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 0\r\n\r\n";
  http::ResponseHead response;
  EXPECT_FALSE(http::parse_response_head(head, false, response));
  ScratchTexts texts;
  prepare_response_fields(response, rules, texts);
  std::string out;
  http::append_response_head(out, response, response.body, http::ConnectionHeader::none);
  return out;
}

TEST(ResponseFields, C01_NarrowingIsAnnouncedForEachCookie) {
  EXPECT_EQ(
      prepared(
          "Set-Cookie: a=1; Domain=localhost\r\nSet-Cookie: b=2\r\nSet-Cookie: c=3; Domain=localhost\r\n"),
      "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Domain=app.alpha.localhost\r\nSet-Cookie: b=2\r\n"
      "Set-Cookie: c=3; Domain=app.alpha.localhost\r\nHedge-Cookie: narrowed=a, narrowed=c\r\n"
      "Content-Length: 0\r\n\r\n");
}

TEST(ResponseFields, CookiesPassWhereTheConfigurationSaysSo) {
  EXPECT_NE(prepared("Set-Cookie: a=1; Domain=localhost\r\n", {kHost, false}).find("Domain=localhost\r\n"),
            std::string::npos);
}

TEST(ResponseFields, TransportSecurityIsKeptToTheHostOnDevelopmentNames) {
  const std::string policy = "Strict-Transport-Security: max-age=60 ; IncludeSubDomains; preload\r\n";
  EXPECT_NE(prepared(policy).find("Strict-Transport-Security: max-age=60\r\n"), std::string::npos);
  EXPECT_NE(prepared(policy, {"app.example.com", true}).find(policy), std::string::npos);
}

TEST(ResponseFields, AltSvcAndOurOwnFieldsAreDropped) {
  EXPECT_EQ(prepared("Alt-Svc: h3=\":443\"\r\nHedge-Error: forged\r\nHedge-Cookie: forged\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

TEST(DevelopmentHosts, AreThoseThatLeaveNoMachineOrNetwork) {
  for (const std::string host :
       {"localhost", "a.localhost", "A.B.LocalHost", "x.test", "x.internal", "x.local", "x.home.arpa"})
    EXPECT_TRUE(is_development_host(host)) << host;
  for (const std::string host : {"example.com", "notlocalhost", "localhost.example.com", "arpa", ""})
    EXPECT_FALSE(is_development_host(host)) << host;
}

TEST(KeepAliveFields, GiveTheirTimeout) {
  const auto seconds = [](const std::string& value) {
    const std::string head = "HTTP/1.1 200 OK\r\nKeep-Alive: " + value + "\r\nContent-Length: 0\r\n\r\n";
    http::ResponseHead response;
    EXPECT_FALSE(http::parse_response_head(head, false, response));
    return keep_alive_seconds(response);
  };
  EXPECT_EQ(seconds("timeout=5, max=100"), 5U);
  EXPECT_EQ(seconds("max=1, Timeout = 72"), 72U);
  EXPECT_EQ(seconds("max=100"), std::nullopt);
  EXPECT_EQ(seconds("timeout=x"), std::nullopt);
}

}  // namespace
}  // namespace hedge::proxy
