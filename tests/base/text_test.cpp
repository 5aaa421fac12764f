#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/digest.h"

namespace hedge {
namespace {

TEST(Text, KeepsEmptyPiecesWhenSplitting) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Text, ReadsNumbersOnlyWhenNothingElseStandsThere) {
  EXPECT_EQ(parse_number<int>("42"), 42);
  EXPECT_FALSE(parse_number<int>("42 "));
  EXPECT_FALSE(parse_number<int>("+42"));
  EXPECT_FALSE(parse_number<int>(""));
  EXPECT_FALSE(parse_number<std::uint8_t>("256"));
  EXPECT_FALSE(parse_number<unsigned>("-1"));
}

TEST(Text, EncodesBase32AsCrockfordDoes) {
  EXPECT_EQ(to_base32(std::string_view("\0\0\0\0\0", 5)), "00000000");
  EXPECT_EQ(to_base32("\xff\xff\xff\xff\xff"), "zzzzzzzz");
  EXPECT_EQ(to_base32("f"), "cr");
}

TEST(Text, MakesHostileBytesHarmless) {
  EXPECT_EQ(printable("a\r\n\x1b[1m\""), "a\\x0d\\x0a\\x1b[1m\\\"");
  EXPECT_EQ(printable(std::string(300, 'x')).size(), 203U);
  EXPECT_EQ(escape_html("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
}

TEST(Text, KnowsWhereUtf8Ends) {
  for (const std::string_view whole : {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xed\x9f\xbf", "\xee\x80\x80",
                                       "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc2\x80z"}) {
    EXPECT_EQ(utf8_prefix(whole), whole.size()) << to_hex(whole);
  }
  for (const std::string_view wrong :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3z", "\xe0\x9f\xbf", "\xe2\x82", "\xe2\x82z",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x90\x80", "\xfe", "\xff"}) {
    EXPECT_EQ(utf8_prefix(wrong), 0U) << to_hex(wrong);
    EXPECT_EQ(utf8_prefix("ok" + std::string(wrong) + "ok"), 2U) << to_hex(wrong);
  }
}

TEST(Text, TrimsAndReplaces) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(replace_all("a-b-c", "-", "--"), "a--b--c");
  EXPECT_TRUE(equals_ignoring_case("HoSt", "hOsT"));
  EXPECT_FALSE(equals_ignoring_case("host", "hosts"));
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(random_bytes(16), random_bytes(16));
}

TEST(Clock, FormatsUtc) {
  const WallTime time{std::chrono::milliseconds(1700000000123)};
  EXPECT_EQ(format_utc(time), "2023-11-14T22:13:20Z");
  EXPECT_EQ(format_utc_millis(time), "2023-11-14T22:13:20.123Z");
}

}  // namespace
}  // namespace hedge
