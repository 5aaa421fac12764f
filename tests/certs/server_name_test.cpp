#include "certs/server_name.h"

#include <gtest/gtest.h>

namespace hedge::certs {
namespace {

TEST(ServerName, IsLowerCasedAndLosesOneTrailingDot) {
  EXPECT_EQ(canonical_server_name("Alpha.Dev.LOCALHOST"), "alpha.dev.localhost");
  EXPECT_EQ(canonical_server_name("alpha.localhost."), "alpha.localhost");
  EXPECT_EQ(canonical_server_name("localhost"), "localhost");
  EXPECT_EQ(canonical_server_name("xn--caf-dma.localhost"), "xn--caf-dma.localhost");
}

TEST(ServerName, LimitsAreThoseOfTheDns) {
  const std::string label(63, 'a');
  EXPECT_TRUE(canonical_server_name(label + ".localhost"));
  EXPECT_FALSE(canonical_server_name(label + "a.localhost"));
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  ASSERT_EQ(longest.size(), 253U);
  EXPECT_TRUE(canonical_server_name(longest));
  EXPECT_FALSE(canonical_server_name(longest + "b"));
}

TEST(ServerName, RefusesEverythingThatIsNotAHostname) {
  using namespace std::string_literals;
  for (const std::string& text :
       {""s, "."s, "a..localhost"s, ".localhost"s, "a.localhost.."s, "-a.localhost"s, "a-.localhost"s,
        "a_b.localhost"s, "a b.localhost"s, "*.localhost"s, "../../etc/passwd"s, "a/b"s, "a\0b.localhost"s,
        "caf\xc3\xa9.localhost"s, "127.0.0.1"s, "[::1]"s, "a.localhost:443"s, "a\n.localhost"s,
        "'; drop table routes; --"s}) {
    EXPECT_FALSE(canonical_server_name(text)) << text;
  }
}

TEST(ServerName, SuffixesAreComparedLabelByLabel) {
  EXPECT_TRUE(is_at_or_below("test", "test"));
  EXPECT_TRUE(is_at_or_below("a.b.test", "test"));
  EXPECT_FALSE(is_at_or_below("nottest", "test"));
  EXPECT_FALSE(is_at_or_below("test.example", "test"));
  EXPECT_FALSE(is_at_or_below("test", "a.test"));
  EXPECT_TRUE(is_at_or_below_any("a.internal", {"test", "internal"}));
  EXPECT_FALSE(is_at_or_below_any("a.example", {}));
}

}  // namespace
}  // namespace hedge::certs
