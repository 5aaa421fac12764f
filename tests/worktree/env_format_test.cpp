#include "worktree/env_format.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/subprocess.h"
#include "tests/support/temporary_directory.h"
#include "worktree/resource_kind.h"

namespace hedge::worktree {
namespace {

TEST(EnvFormat, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(*format_variable("A", "plain-1.2_3/x:y@z"), "A=plain-1.2_3/x:y@z");
  EXPECT_EQ(*format_variable("A", ""), "A=");
  EXPECT_EQ(*format_variable("A", "two words"), "A=\"two words\"");
  EXPECT_EQ(*format_variable("A", "x#y"), "A=\"x#y\"");
  EXPECT_EQ(*format_variable("A", "it's"), "A=\"it's\"");
  EXPECT_EQ(*format_variable("A", "$HOME `x` \"q\""), "A='$HOME `x` \"q\"'");
}

TEST(EnvFormat, RefusesWhatNoReaderWouldReadBack) {
  for (const std::string& bad :
       {std::string("two\nlines"), std::string("a\rb"), std::string("nul\0byte", 8), std::string("'\"")}) {
    const auto line = format_variable("A", bad);
    ASSERT_FALSE(line);
    EXPECT_EQ(line.error().id(), "env_value_invalid");
  }
  for (const char* bad : {"", "1A", "A-B", "A B", "Ä"}) EXPECT_FALSE(format_variable(bad, "x")) << bad;
}

TEST(EnvFormat, AShellReadsBackEveryValueThatItAccepts) {
  const hedge::test::TemporaryDirectory directory;
  for (const char* value : {"plain", "two words", "it's", "$HOME", "a&b;c|d", "postgres://u:p@h/d?a=1&b=2",
                            "\"q\" `x`", "日本 é", "#x", "~"}) {
    const auto line = format_variable("VALUE", value);
    ASSERT_TRUE(line);
    ASSERT_TRUE(write_file_atomically(directory / "env", *line + "\n", 0600));
    CommandLine command;
    command.argv = {"/bin/sh", "-c", ". ./env; printf %s \"$VALUE\""};
    command.directory = directory.path();
    const auto output = run_for_output(command);
    ASSERT_TRUE(output);
    EXPECT_EQ(*output, value);
  }
}

TEST(EnvBlock, IsAddedAtTheEndAndReplacedInPlace) {
  const Variables variables{{"A", "1"}};
  const std::string first = *with_block("MINE=x", variables);
  EXPECT_TRUE(first.starts_with("MINE=x\n# >>> hedge"));
  EXPECT_EQ(*with_block(first, variables), first) << "byte-identical on rerun";
  const std::string grown = first + "LATER=y\n";
  const std::string second = *with_block(grown, {{"A", "2"}});
  EXPECT_NE(second.find("A=2\n"), std::string::npos);
  EXPECT_EQ(second.find("A=1\n"), std::string::npos);
  EXPECT_TRUE(second.ends_with("LATER=y\n"));
  EXPECT_EQ(*without_block(second), "MINE=x\nLATER=y\n");
}

TEST(EnvBlock, WithoutItsEndIsNotGuessedAt) {
  const std::string block = *with_block("", {{"A", "1"}});
  const std::string cut = block.substr(0, block.rfind("# <<<"));
  EXPECT_EQ(with_block(cut, {}).error().id(), "env_file_foreign");
  EXPECT_EQ(without_block(cut).error().id(), "env_file_foreign");
}

TEST(Templates, ExpandValuesAndKeepSecretsForLater) {
  const Values values{{"database.url", "postgres://x:" + ValueText::secret("postgres") + "@h/d"}, {"app.name", "shop"}};
  EXPECT_EQ(*expand_template("{database.url}?app={app.name}", values),
            "postgres://x:" + ValueText::secret("postgres") + "@h/d?app=shop");
  EXPECT_EQ(*expand_template("{{\"a\": 1}}", values), "{\"a\": 1}");
  EXPECT_EQ(*expand_template("{secret.redis}", values), ValueText::secret("redis"));
}

TEST(Templates, NameWhatTheyDoNotKnow) {
  const auto expanded = expand_template("{redis.url}", {{"app.name", "shop"}});
  ASSERT_FALSE(expanded);
  EXPECT_EQ(expanded.error().id(), "template_unknown");
  EXPECT_NE(expanded.error().hints().front().find("{app.name}"), std::string::npos);
  EXPECT_FALSE(expand_template("{open", {}));
}

TEST(Templates, SecretsAreThoseOfTheRecord) {
  WorktreeRecord record;
  record.secret = "s";
  const ValueText text = *expand_template("a{secret.x}b{secret.y}c", {});
  EXPECT_EQ(text.reveal(record), "a" + derive_secret(record, "x") + "b" + derive_secret(record, "y") + "c");
  EXPECT_TRUE(text.has_secret());
  EXPECT_EQ(text.literals(), "abc");
}

TEST(Templates, TextThatLooksLikeASecretIsNone) {
  WorktreeRecord record;
  record.secret = "s";
  const Values values{{"app.branch", "feat/{secret.postgres}"}};
  EXPECT_EQ(expand_template("{app.branch}", values)->reveal(record), "feat/{secret.postgres}");
  EXPECT_EQ(expand_template("{{secret.postgres}}", values)->reveal(record), "{secret.postgres}");
}

TEST(ValueTexts, ComeBackFromAPlanAsTheyWere) {
  for (const ValueText& text : {ValueText(), ValueText("{secret.x}"), ValueText::secret("x"),
                                "a" + ValueText::secret("x") + "b" + ValueText::secret("y"), ValueText("plain")}) {
    const nlohmann::json json = text;
    EXPECT_EQ(nlohmann::json::parse(json.dump()).get<ValueText>(), text) << json;
  }
  EXPECT_EQ(nlohmann::json("a" + ValueText::secret("x")).dump(), R"(["a",{"secret":"x"}])");
}

TEST(ValueTexts, AddedToThemselvesAreDoubled) {
  ValueText text = "a" + ValueText::secret("x");
  text += text;
  EXPECT_EQ(text.outline(), "a{secret.x}a{secret.x}");
}

}  // namespace
}  // namespace hedge::worktree
