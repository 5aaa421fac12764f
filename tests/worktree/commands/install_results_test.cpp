#include "worktree/commands/install_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class InstallResults : public testing::Test {
 protected:
  InstallResults() : git_(runner_, current_environment()) {
    EXPECT_TRUE(git_.output(directory_.path(), {"init", "--quiet"}));
    write(".gitignore", "node_modules\n/var/\n");
    write("packages/app/package.json", "{}");
    EXPECT_TRUE(git_.output(directory_.path(), {"add", "."}));
  }

  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(ensure_directory((directory_ / path).parent_path()));
    ASSERT_TRUE(write_file_atomically(directory_ / path, text, 0644));
  }
  // From here on. The file system's clock moves in steps: what was made before must lie before it.
  void begin() {
    const auto before = file_system_time(directory_ / ".git").value();
    do {
      std::this_thread::yield();
      began_ = file_system_time(directory_ / ".git").value();
    } while (began_.tv_sec == before.tv_sec && began_.tv_nsec == before.tv_nsec);
  }
  std::vector<std::string> changed(const std::vector<std::string>& divided = {}) {
    auto found = find_changed(git_, directory_.path(), began_, divided);
    EXPECT_TRUE(found) << found.error().to_string();
    return found ? *found : std::vector<std::string>();
  }

  test::TemporaryDirectory directory_;
  SystemCommandRunner runner_;
  Git git_;
  timespec began_{};
};

TEST_F(InstallResults, AreTheUntrackedPathsInWhichSomethingIsNewOrOther) {
  write("node_modules/a/index.js", "1");
  write("vendor/a.php", "1");
  write(".cache/old", "1");
  begin();
  EXPECT_THAT(changed(), IsEmpty());
  write("node_modules/a/index.js", "2");
  EXPECT_THAT(changed(), ElementsAre("node_modules"));
  ASSERT_TRUE(remove_file(directory_ / "vendor/a.php"));
  write("vendor/b/c/d.php", "1");
  write(".pnp.cjs", "1");
  EXPECT_THAT(changed(), ElementsAre(".pnp.cjs", "node_modules", "vendor"));
}

TEST_F(InstallResults, IncludeAnUnchangedDirectoryOfTheSameName) {
  write("node_modules/a/index.js", "1");
  write("packages/app/node_modules/b/index.js", "1");
  write(".cache/old", "1");
  begin();
  write("node_modules/a/index.js", "2");
  EXPECT_THAT(changed(), ElementsAre("node_modules", "packages/app/node_modules"));
}

TEST_F(InstallResults, DivideADirectoryWhereASeedPathLiesInIt) {
  write("var/log/old", "1");
  write("var/cache/old", "1");
  begin();
  write("var/cache/new", "1");
  EXPECT_THAT(changed(), ElementsAre("var"));
  EXPECT_THAT(changed({"var/cache"}), ElementsAre("var/cache"));
  EXPECT_THAT(changed({"var/cache/"}), ElementsAre("var/cache"));
}

TEST_F(InstallResults, DoNotFollowALinkOutOfTheCheckout) {
  const test::TemporaryDirectory elsewhere;
  std::filesystem::create_symlink(elsewhere.path(), directory_ / "shared");
  begin();
  ASSERT_TRUE(write_file_atomically(elsewhere / "new", "1", 0644));
  EXPECT_THAT(changed(), IsEmpty());
}

TEST_F(InstallResults, AreUnknownOutsideOfARepository) {
  const test::TemporaryDirectory elsewhere;
  EXPECT_FALSE(find_changed(git_, elsewhere.path(), began_, {}));
  EXPECT_FALSE(file_system_time(elsewhere / "missing"));
}

}  // namespace
}  // namespace hedge::worktree
