#include "router/host_pattern.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hedge::router {
namespace {

struct Canonical {
  std::string text;
  std::string expected;
};

TEST(CanonicalHost, E16_AcceptsHostnamesAndLowersThem) {
  const std::vector<Canonical> cases = {
      {"alpha.dev.localhost", "alpha.dev.localhost"},
      {"ALPHA.Dev.LocalHost", "alpha.dev.localhost"},
      {"alpha.dev.localhost.", "alpha.dev.localhost"},
      {"localhost", "localhost"},
      {"a", "a"},
      {"1a.2b", "1a.2b"},
      {"123.example", "123.example"},
      {"xn--mnchen-3ya.localhost", "xn--mnchen-3ya.localhost"},
      {"a--b.localhost", "a--b.localhost"},
      {std::string(63, 'a') + ".localhost", std::string(63, 'a') + ".localhost"},
  };
  for (const Canonical& row : cases) {
    const auto host = canonical_host(row.text);
    ASSERT_TRUE(host) << row.text << ": " << host.error().text();
    EXPECT_EQ(*host, row.expected);
  }
}

std::string host_of(std::size_t bytes) {
  std::string host;
  while (host.size() + 64 <= bytes) host += std::string(63, 'a') + ".";
  host += std::string(bytes - host.size(), 'b');
  return host;
}

TEST(CanonicalHost, AcceptsExactly253Bytes) {
  EXPECT_TRUE(canonical_host(host_of(253)));
  EXPECT_TRUE(canonical_host(host_of(253) + "."));
  const auto longer = canonical_host(host_of(254));
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().text().find("character 254"), std::string::npos) << longer.error().text();
}

struct Refused {
  std::string text;
  std::string reason;  // part of the message
};

TEST(CanonicalHost, RefusesWhatIsNoHostnameAndNamesThePlace) {
  const std::vector<Refused> cases = {
      {"", "empty"},
      {".", "empty label at character 1"},
      {".a", "empty label at character 1"},
      {"a..b", "empty label at character 3"},
      {"a.b..", "empty label at character 5"},
      {"a b.localhost", "character 2"},
      {"a_b.localhost", "character 2"},
      {"a/b", "character 2"},
      {"a:80", "character 2"},
      {"ab.\x01", "character 4"},
      {std::string("a\0b", 3), "character 2"},
      {"m\xc3\xbcnchen.localhost", "non-ASCII character at character 2"},
      {"-a.localhost", "begins with a hyphen at character 1"},
      {"a-.localhost", "ends with a hyphen at character 2"},
      {"x." + std::string(64, 'a'), "label longer than 63 bytes at character 66"},
      {"127.0.0.1", "character 9"},
      {"host.1", "character 6"},
      {"[::1]", "character 1"},
      {"*.localhost", "patterns"},
  };
  for (const Refused& row : cases) {
    const auto host = canonical_host(row.text);
    ASSERT_FALSE(host) << row.text;
    EXPECT_EQ(host.error().kind(), ErrorKind::invalid_input);
    EXPECT_EQ(host.error().id(), "host_invalid");
    EXPECT_NE(host.error().text().find(row.reason), std::string::npos) << host.error().text();
  }
}

TEST(CanonicalHost, HintsAtWildcardsAndPunycode) {
  EXPECT_EQ(canonical_host("*.localhost").error().hints().size(), 1U);
  EXPECT_NE(canonical_host("\xc3\xbc.localhost").error().hints().at(0).find("xn--"), std::string::npos);
}

struct Parsed {
  std::string text;
  std::string host;
  std::optional<std::uint16_t> port;
  bool is_ip_literal = false;
};

TEST(ParseAuthority, E17_TakesHostAndPortApart) {
  const std::vector<Parsed> cases = {
      {"alpha.dev.localhost", "alpha.dev.localhost", {}},
      {"alpha.dev.localhost:8080", "alpha.dev.localhost", 8080},
      {"alpha.dev.localhost.", "alpha.dev.localhost", {}},
      {"alpha.dev.localhost.:8080", "alpha.dev.localhost", 8080},
      {"ALPHA.Dev.LocalHost:443", "ALPHA.Dev.LocalHost", 443},
      {"alpha:", "alpha", {}},
      {"alpha:0", "alpha", 0},
      {"alpha:65535", "alpha", 65535},
      {"alpha:0080", "alpha", 80},
      {"[::1]:8080", "[::1]", 8080, true},
      {"[::1]", "[::1]", {}, true},
      {"[2001:db8::1]:", "[2001:db8::1]", {}, true},
      {"127.0.0.1", "127.0.0.1", {}, true},
      {"127.0.0.1:80", "127.0.0.1", 80, true},
      {"127.0.0.1.", "127.0.0.1", {}, true},
      {"under_score.localhost", "under_score.localhost", {}},
      {"a~b", "a~b", {}},
  };
  for (const Parsed& row : cases) {
    const auto authority = parse_authority(row.text);
    ASSERT_TRUE(authority) << row.text;
    EXPECT_EQ(authority->host, row.host) << row.text;
    EXPECT_EQ(authority->port, row.port) << row.text;
    EXPECT_EQ(authority->is_ip_literal, row.is_ip_literal) << row.text;
  }
}

TEST(ParseAuthority, E17_RefusesWhatIsMalformed) {
  const std::vector<std::string> cases = {
      "",
      ".",
      "..",
      ":",
      ":80",
      ".:80",
      "alpha.dev.localhost..",
      "alpha..localhost",
      ".alpha",
      "alpha:99999",
      "alpha:65536",
      "alpha:-1",
      "alpha:+80",
      "alpha:80x",
      "alpha: 80",
      "alpha:80:80",
      "a b",
      " a",
      "a ",
      "a\tb",
      "a\r\nb",
      std::string("a\0b", 3),
      "a/b",
      "a\\b",
      "a@b",
      "a?b",
      "a#b",
      "a,b",
      "a;b",
      "a%41",
      "a\"b",
      "a<b",
      "\xc3\xbc.localhost",
      "a\x7f",
      "[",
      "[]",
      "[::1",
      "::1",
      "[::1]80",
      "[::1]:x",
      "[zz]",
      "[127.0.0.1]",
      "[fe80::1%25eth0]",
      "[::1]]",
      "[[::1]]",
      std::string(254, 'a'),
  };
  for (const std::string& text : cases) EXPECT_FALSE(parse_authority(text)) << '"' << text << '"';
}

TEST(ParseAuthority, AcceptsANameOf253BytesWithDotAndPort) {
  const std::string host = host_of(253);
  const std::string text = host + ".:65535";
  const auto authority = parse_authority(text);
  ASSERT_TRUE(authority);
  EXPECT_EQ(authority->host, host);
}

}  // namespace
}  // namespace hedge::router
