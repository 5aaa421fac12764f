#include "config/load.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::config {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<TomlFile> parsed(std::string_view text) {
  auto file = TomlFile::parse(text, "t.toml");
  EXPECT_TRUE(file) << file.error().to_string();
  return std::move(*file);
}

// All problems of the file, one a line.
std::string problems_of(TomlFile& file) {
  std::string out;
  const auto finished = file.finish();
  for (const Problem& problem : file.problems()) out += problem.to_string() + "\n";
  EXPECT_EQ(finished.has_value(), file.problems().empty());
  return out;
}

TEST(TomlLoad, ASyntaxErrorIsToldAtItsLineAndColumn) {
  const auto file = TomlFile::parse("[app]\nname = \n", "t.toml");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().id(), "config_invalid");
  EXPECT_TRUE(file.error().text().starts_with("t.toml:2:")) << file.error().text();
}

TEST(TomlLoad, EveryProblemIsCollectedInTheFilesOrder) {
  auto file = parsed("[app]\nname = 3\nnmae = 'x'\nflag = 'yes'\n[other]\n");
  std::string name;
  bool flag = false;
  auto app = file->root().table("app");
  ASSERT_TRUE(app);
  app->read("name", name);
  app->read("flag", flag);
  EXPECT_EQ(problems_of(*file),
            "t.toml:2:8: \"app.name\" must be a string, not an integer\n"
            "t.toml:3:1: unknown key \"nmae\" in [app] (did you mean \"name\"?)\n"
            "t.toml:4:8: \"app.flag\" must be true or false, not a string\n"
            "t.toml:5:2: unknown key \"other\" at the top level\n");
}

TEST(TomlLoad, OneErrorCarriesAllProblems) {
  auto file = parsed("a = 1\nb = 2\n");
  const auto finished = file->finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().id(), "config_invalid");
  EXPECT_EQ(finished.error().text(), "t.toml:1:1: unknown key \"a\" at the top level");
  ASSERT_EQ(finished.error().hints().size(), 1U);
  EXPECT_EQ(finished.error().hints()[0], "t.toml:2:1: unknown key \"b\" at the top level");
}

TEST(TomlLoad, OnlyUnsupportedSettingsHaveAnIdentifierOfTheirOwn) {
  auto file = parsed("[redis]\n");
  TomlTable root = file->root();
  ASSERT_TRUE(root.table("redis"));
  root.unsupported("redis", "not here");
  EXPECT_EQ(file->finish().error().id(), "config_unsupported");
  auto both = parsed("[redis]\n[typo]\n");
  root = both->root();
  ASSERT_TRUE(root.table("redis"));
  root.unsupported("redis", "not here");
  EXPECT_EQ(both->finish().error().id(), "config_invalid");
}

TEST(TomlLoad, AFieldKeepsItsDefaultWhenItsKeyIsAbsentOrWrong) {
  auto file = parsed("wrong = 5\n");
  std::string absent = "default";
  std::string wrong = "default";
  file->root().read("absent", absent);
  file->root().read("wrong", wrong);
  EXPECT_EQ(absent, "default");
  EXPECT_EQ(wrong, "default");
}

TEST(TomlLoad, ListsOfStringsRefuseOtherElementsWhole) {
  auto file = parsed("good = ['a', 'b']\nbad = ['a', 2]\nscalar = 'a'\n");
  std::vector<std::string> good;
  std::vector<std::string> bad{"default"};
  std::vector<std::string> scalar;
  file->root().read("good", good);
  file->root().read("bad", bad);
  file->root().read("scalar", scalar);
  EXPECT_EQ(good, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(bad, std::vector<std::string>{"default"});
  EXPECT_EQ(problems_of(*file),
            "t.toml:2:13: \"bad\" must be an array of strings, not an integer\n"
            "t.toml:3:10: \"scalar\" must be an array of strings, not a string\n");
}

TEST(TomlLoad, IntegersOutsideTheirRangeAreProblems) {
  auto file = parsed("port = 70000\nfew = 0\n");
  std::uint16_t port = 80;
  std::int64_t few = 7;
  file->root().read("port", port, {1, 65535});
  file->root().read("few", few, {1});
  EXPECT_EQ(port, 80);
  EXPECT_EQ(few, 7);
  EXPECT_EQ(problems_of(*file), "t.toml:1:8: \"port\" must be 1 to 65535\nt.toml:2:7: \"few\" must be at least 1\n");
}

TEST(TomlLoad, ChoicesNameTheAllowedValuesAndTheNearest) {
  enum class Kind { none, sqlite };
  auto file = parsed("kind = 'sqlit'\nfine = 'sqlite'\n");
  Kind kind = Kind::none;
  Kind fine = Kind::none;
  file->root().read_choice("kind", kind, {{"none", Kind::none}, {"sqlite", Kind::sqlite}});
  file->root().read_choice("fine", fine, {{"none", Kind::none}, {"sqlite", Kind::sqlite}});
  EXPECT_EQ(kind, Kind::none);
  EXPECT_EQ(fine, Kind::sqlite);
  EXPECT_EQ(problems_of(*file),
            "t.toml:1:8: \"kind\" must be one of \"none\", \"sqlite\" (did you mean \"sqlite\"?)\n");
}

TEST(TomlLoad, DurationsNeedAUnit) {
  auto file = parsed("a = '250ms'\nb = 5\nc = '5'\n");
  milliseconds a{};
  milliseconds b{1};
  milliseconds c{2};
  file->root().read("a", a);
  file->root().read("b", b);
  file->root().read("c", c);
  EXPECT_EQ(a, milliseconds(250));
  EXPECT_EQ(b, milliseconds(1));
  EXPECT_EQ(c, milliseconds(2));
  EXPECT_EQ(file->problems().size(), 2U);
}

TEST(TomlLoad, ArraysOfTablesAreReadOneByOneAndNamedByIndex) {
  auto file = parsed("[[checks]]\nid = 'a'\n[[checks]]\nid = 'b'\nodd = 1\n");
  std::string ids;
  TomlTable root = file->root();
  for (TomlTable& check : root.tables("checks")) {
    std::string id;
    check.read("id", id);
    ids += id + check.path() + " ";
  }
  EXPECT_EQ(ids, "achecks[0] bchecks[1] ");
  EXPECT_EQ(problems_of(*file), "t.toml:5:1: unknown key \"odd\" in [checks[1]]\n");
}

TEST(TomlLoad, ATableOfTheUsersOwnKeysKeepsTheFilesOrder) {
  auto file = parsed("[env]\nZ = '1'\nA = '2'\nM = '3'\n");
  EXPECT_EQ(file->root().table("env")->keys(), (std::vector<std::string>{"Z", "A", "M"}));
  EXPECT_EQ(problems_of(*file), "");
}

TEST(TomlLoad, EveryValueIsRecordedWithItsOrigin) {
  auto file = parsed("[app]\nname = 'shop'\n");
  std::string name;
  bool flag = true;
  auto app = file->root().table("app");
  app->read("name", name);
  app->read("flag", flag);
  ASSERT_EQ(file->effective().size(), 2U);
  EXPECT_EQ(file->effective()[0].key, "app.name");
  EXPECT_EQ(file->effective()[0].value, "\"shop\"");
  EXPECT_EQ(file->effective()[0].origin, "t.toml:2:8");
  EXPECT_EQ(file->effective()[1].origin, "default");
}

TEST(TomlLoad, AHostileKeyIsPrintedHarmlessly) {
  auto file = parsed("\"\\u001b[31m\" = 1\n");
  EXPECT_EQ(problems_of(*file).find('\x1b'), std::string::npos);
}

TEST(TomlLoad, AFileLargerThanAMebibyteIsRefused) {
  const test::TemporaryDirectory directory;
  const auto path = directory / "big.toml";
  ASSERT_TRUE(write_file_atomically(path, "# " + std::string(2U << 20, 'x') + "\n", 0600));
  const auto file = TomlFile::load(path, "big.toml");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().id(), "config_invalid");
}

TEST(Durations, AreReadAndWrittenInTheLargestUnitThatFits) {
  EXPECT_EQ(parse_duration("0s"), milliseconds(0));
  EXPECT_EQ(parse_duration("90m"), std::chrono::minutes(90));
  EXPECT_EQ(parse_duration("1d"), std::chrono::hours(24));
  for (const char* wrong : {"", "s", "5", "5 s", "-1s", "1.5s", "1w", "99999999999999d", "5S"}) {
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
  }
  for (const char* text : {"0s", "250ms", "61s", "2m", "8h", "3d"}) EXPECT_EQ(format_duration(*parse_duration(text)), text);
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("nmae", {"name", "host"}), "name");
  EXPECT_EQ(nearest("engin", {"engine", "admin_url"}), "engine");
  EXPECT_EQ(nearest("zzz", {"name", "host"}), "");
  EXPECT_EQ(nearest("xy", {"ab"}), "");
  EXPECT_EQ(nearest(std::string(1U << 20, 'a'), {"name"}), "");
}

}  // namespace
}  // namespace hedge::config
