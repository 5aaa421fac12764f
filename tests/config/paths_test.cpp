#include "config/paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_directory.h"

namespace hedge::config {
namespace {

using test::TemporaryDirectory;

TEST(Paths, FollowXdgWhereItIsAbsolute) {
  const TemporaryDirectory home;
  const auto paths = find_paths(std::nullopt, {{"HOME", home.path()}, {"XDG_STATE_HOME", home / "st"}, {"XDG_CONFIG_HOME", home / "co"}});
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->state, home / "st/hedge");
  EXPECT_EQ(paths->config, home / "co/hedge/config.toml");
}

TEST(Paths, IgnoreRelativeAndEmptyValues) {
  const TemporaryDirectory home;
  const auto paths = find_paths(std::nullopt, {{"HOME", home.path()}, {"XDG_STATE_HOME", "relative"}, {"XDG_CONFIG_HOME", ""}});
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->state, home / ".local/state/hedge");
  EXPECT_EQ(paths->config, home / ".config/hedge/config.toml");
}

// K-06: no HOME, or one that is not there, is no reason to fail.
TEST(Paths, K06_WorkWithoutAHome) {
  for (const Environment& environment : {Environment{}, Environment{{"HOME", ""}}, Environment{{"HOME", "/nonexistent"}}}) {
    const auto paths = find_paths(std::nullopt, environment);
    ASSERT_TRUE(paths);
    EXPECT_TRUE(paths->state.is_absolute());
    EXPECT_NE(paths->state.string().find("hedge"), std::string::npos);
  }
}

TEST(Paths, GiveEachStateDirectoryItsOwnShortSocket) {
  const TemporaryDirectory home;
  const std::filesystem::path deep = home / std::string(180, 'd');
  const auto one = find_paths(deep / "one", {});
  const auto two = find_paths(deep / "two", {});
  ASSERT_TRUE(one);
  ASSERT_TRUE(two);
  EXPECT_NE(one->control_socket(), two->control_socket());
  EXPECT_LE(one->control_socket().string().size(), 107U);
}

TEST(Paths, AreMadeForTheOwnerAlone) {
  const TemporaryDirectory home;
  const auto paths = find_paths(home / "state", {});
  ASSERT_TRUE(paths);
  ASSERT_TRUE(ensure_paths(*paths));
  for (const auto& directory : {paths->state, paths->runtime}) {
    struct stat info {};
    ASSERT_EQ(::stat(directory.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0700U) << directory;
  }
  std::filesystem::remove_all(paths->runtime);
}

}  // namespace
}  // namespace hedge::config
