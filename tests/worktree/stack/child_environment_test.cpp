#include "worktree/stack/child_environment.h"

#include <gtest/gtest.h>

namespace hedge::worktree {
namespace {

const Environment kShell{{"PATH", "/usr/bin"},
                         {"HOME", "/home/dev"},
                         {"LANG", "C.UTF-8"},
                         {"GIT_DIR", "/other/.git"},
                         {"COMPOSE_FILE", "/other.yml"},
                         {"COMPOSE_PROJECT_NAME", "other"},
                         {"DOCKER_HOST", "unix:///run/engine.sock"},
                         {"DOCKER_DEFAULT_PLATFORM", "linux/arm64"},
                         {"DATABASE_URL", "postgresql://other"},
                         {"PGDATABASE", "other"},
                         {"HEDGE_ID", "other"},
                         {"PORT", "1"}};

TEST(ChildEnvironment, the_administrators_variable_stays_with_the_manager) {
  const Environment inherited{{"SHOP_ADMIN_URL", "postgresql://root:secret@db/"}, {"EDITOR", "vi"}};
  EXPECT_EQ(environment_for_process(inherited, {}, "SHOP_ADMIN_URL"), (Environment{{"EDITOR", "vi"}}));
}

TEST(ChildEnvironment, W16_D19_a_process_inherits_nothing_that_names_another_place) {
  const Environment out = environment_for_process(kShell, {});
  const Environment expected{{"PATH", "/usr/bin"}, {"HOME", "/home/dev"}, {"LANG", "C.UTF-8"}};
  EXPECT_EQ(out, expected);
}

TEST(ChildEnvironment, D19_what_the_worktree_says_wins_over_what_the_shell_says) {
  const Environment out =
      environment_for_process(kShell, {{"DATABASE_URL", "sqlite:///mine"}, {"LANG", "de_DE.UTF-8"}});
  EXPECT_EQ(out.at("DATABASE_URL"), "sqlite:///mine");
  EXPECT_EQ(out.at("LANG"), "de_DE.UTF-8");
}

TEST(ChildEnvironment, W01_compose_is_told_where_the_engine_is_and_nothing_else) {
  const Environment out = environment_for_compose(kShell);
  EXPECT_EQ(out.at("DOCKER_HOST"), "unix:///run/engine.sock");
  for (const char* name :
       {"COMPOSE_FILE", "COMPOSE_PROJECT_NAME", "GIT_DIR", "DOCKER_DEFAULT_PLATFORM", "DATABASE_URL"}) {
    EXPECT_FALSE(out.contains(name)) << name;
  }
}

}  // namespace
}  // namespace hedge::worktree
