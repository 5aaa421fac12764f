#include "worktree/stack/service_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hedge::worktree {
namespace {

using ::testing::HasSubstr;

struct GlobCase {
  const char* pattern;
  const char* path;
  bool matches;
};

TEST(Globs, match_as_the_table_says) {
  const std::vector<GlobCase> cases{
      {"src/*.py", "src/app.py", true},
      {"src/*.py", "src/deep/app.py", false},
      {"src/**", "src/deep/app.py", true},
      {"src/", "src/deep/app.py", true},
      {"**/*.py", "app.py", true},
      {"**/*.py", "a/b/c/app.py", true},
      {"**/*.py", "a/b/c/app.pyc", false},
      {"a/**/z", "a/z", true},
      {"a/**/z", "a/b/c/z", true},
      {"a/**/z", "a/b/c/y", false},
      {"?.txt", "a.txt", true},
      {"?.txt", "/.txt", false},
      {"[a-c].txt", "b.txt", true},
      {"[!a-c].txt", "b.txt", false},
      {"[]x].txt", "].txt", true},
      {"[a.txt", "[a.txt", true},
      {"*", "a", true},
      {"*", "a/b", false},
      {"**", "a/b", true},
      {"", "a", false},
      {"README", "README.md", false},
  };
  for (const GlobCase& glob : cases) {
    EXPECT_EQ(glob_matches(glob.pattern, glob.path), glob.matches) << glob.pattern << " on " << glob.path;
  }
}

const std::vector<SelectableService> kServices{
    {"app", {}}, {"search", {"search/**", "*.idx"}}, {"mail", {"mail/**"}}};

std::vector<std::string> starting(const std::vector<ServiceChoice>& choices) {
  std::vector<std::string> out;
  for (const ServiceChoice& choice : choices) {
    if (choice.starts) out.push_back(choice.name);
  }
  return out;
}

TEST(ServiceSelection, starts_what_the_branch_touches_and_says_why) {
  const auto choices = select_services(kServices, {"README.md", "search/index.py"}, {});
  ASSERT_TRUE(choices);
  EXPECT_EQ(starting(*choices), (std::vector<std::string>{"app", "search"}));
  EXPECT_EQ(choices->at(0).reason, "always");
  EXPECT_EQ(choices->at(1).reason, "search/index.py changed");
  EXPECT_EQ(choices->at(2).reason, "nothing changed in mail/**");
}

TEST(ServiceSelection, a_wish_outranks_what_changed) {
  EXPECT_EQ(starting(*select_services(kServices, {}, {ServiceWish::Kind::all, {}})),
            (std::vector<std::string>{"app", "search", "mail"}));
  EXPECT_EQ(starting(*select_services(kServices, {"search/x"}, {ServiceWish::Kind::named, {"mail"}})),
            (std::vector<std::string>{"mail"}));
}

TEST(ServiceSelection, an_unknown_name_is_an_error_that_lists_the_known_ones) {
  const auto choices = select_services(kServices, {}, {ServiceWish::Kind::named, {"serach"}});
  ASSERT_FALSE(choices);
  EXPECT_EQ(choices.error().id(), "service_unknown");
  EXPECT_THAT(choices.error().hints().at(0), HasSubstr("app, search, mail"));
}

}  // namespace
}  // namespace hedge::worktree
