// What `destroy` must not lose although git does not show it, and that --discard keeps all of it.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class RecoveryTest : public ::testing::Test {
 protected:
  RecoveryTest() {
    auto outcome = manager_.create(repository_, "x");
    if (!outcome) ADD_FAILURE() << outcome.error().to_string();
    path_ = outcome->record.path;
  }

  // The hints of the refusal, one a line.
  std::string refused() {
    const auto report = manager_.destroy(repository_, "x");
    if (report) {
      ADD_FAILURE() << "it was destroyed";
      return {};
    }
    EXPECT_EQ(report.error().id(), "unsaved_work") << report.error().to_string();
    EXPECT_TRUE(path_exists(path_ / "README"));
    std::string hints;
    for (const std::string& hint : report.error().hints()) hints += hint + "\n";
    return hints;
  }
  static bool says(const std::string& hints, const std::string& line) {
    return hints.find(line + "\n") != std::string::npos || hints.find(line + " ") != std::string::npos;
  }
  void discard() {
    DestroyOptions options;
    options.unsaved = UnsavedPolicy::discard;
    auto report = manager_.destroy(repository_, "x", options);
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_FALSE(path_exists(path_));
    reference_ = report->recovery_ref;
    ASSERT_FALSE(reference_.empty());
    // What no reference holds is not recoverable.
    world_.git(repository_, {"-c", "gc.reflogExpire=now", "gc", "--quiet", "--prune=now"});
  }
  // The parent that the message names so, as "<ref>^N"; or the files' commit itself.
  std::string parent(const std::string& what) {
    const std::string message = world_.git(repository_, {"show", "-s", "--format=%B", reference_});
    const auto at = message.find(": " + what);
    EXPECT_NE(at, std::string::npos) << message;
    if (at == std::string::npos) return reference_;
    const auto number = message.rfind(' ', at) + 1;
    return reference_ + "^" + message.substr(number, at - number);
  }
  std::string file(const std::string& commit, const std::string& path) {
    return world_.git(repository_, {"show", commit + ":" + path});
  }
  bool has_file(const std::string& commit, const std::string& path) {
    return world_.git_status(repository_, {"cat-file", "-e", commit + ":" + path}) == 0;
  }
  // A checked-out submodule `lib` of the worktree, committed in it and merged into main.
  void add_submodule() {
    library_ = world_.make_repository("library");
    world_.git(path_, {"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library_.string(), "lib"});
    world_.git(path_, {"commit", "-q", "-m", "add lib"});
    world_.git(repository_, {"merge", "-q", "--ff-only", "x"});
  }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
  fs::path library_;
  fs::path path_;
  std::string reference_;
};

TEST_F(RecoveryTest, KeepsWhatIsOnlyStaged) {
  write_text(path_ / "README", "staged\n");
  write_text(path_ / "added", "staged too\n");
  world_.git(path_, {"add", "."});
  write_text(path_ / "README", "hello\n");
  fs::remove(path_ / "added");
  const std::string hints = refused();
  EXPECT_TRUE(says(hints, "modified: README")) << hints;
  EXPECT_TRUE(says(hints, "modified: added")) << hints;
  discard();
  EXPECT_EQ(file(reference_, "README"), "hello");
  EXPECT_FALSE(has_file(reference_, "added"));
  EXPECT_EQ(file(parent("the index"), "README"), "staged");
  EXPECT_EQ(file(parent("the index"), "added"), "staged too");
}

TEST_F(RecoveryTest, LeavesTheCheckoutsIndexAlone) {
  write_text(path_ / "README", "staged\n");
  world_.git(path_, {"add", "README"});
  write_text(path_ / "README", "changed\n");
  const std::string before = world_.git(path_, {"status", "--porcelain"});
  refused();
  EXPECT_EQ(world_.git(path_, {"status", "--porcelain"}), before);
}

TEST_F(RecoveryTest, SeesChangesInFilesThatGitWasToldToOverlook) {
  world_.commit_file(repository_, "one", "1\n");
  world_.commit_file(repository_, "two", "2\n");
  world_.commit_file(repository_, "same", "s\n");
  world_.git(path_, {"merge", "-q", "--ff-only", "main"});
  world_.git(path_, {"update-index", "--skip-worktree", "one", "same"});
  world_.git(path_, {"update-index", "--assume-unchanged", "two"});
  write_text(path_ / "one", "mine\n");
  write_text(path_ / "two", "mine as well\n");
  ASSERT_EQ(world_.git(path_, {"status", "--porcelain"}), "");
  const std::string hints = refused();
  EXPECT_TRUE(says(hints, "modified: one")) << hints;
  EXPECT_TRUE(says(hints, "modified: two")) << hints;
  EXPECT_FALSE(says(hints, "modified: same")) << hints;
  discard();
  EXPECT_EQ(file(reference_, "one"), "mine");
  EXPECT_EQ(file(reference_, "two"), "mine as well");
  EXPECT_EQ(file(reference_, "same"), "s");
}

TEST_F(RecoveryTest, FilesToOverlookThatAreUnchangedHoldNothingUp) {
  world_.git(path_, {"update-index", "--skip-worktree", "README"});
  world_.git(path_, {"update-index", "--assume-unchanged", ".gitignore"});
  const auto report = manager_.destroy(repository_, "x");
  EXPECT_TRUE(report) << report.error().to_string();
}

TEST_F(RecoveryTest, WhatASparseCheckoutLeavesOutIsNoChange) {
  world_.commit_file(repository_, "big/data", "d\n");
  world_.git(path_, {"merge", "-q", "--ff-only", "main"});
  world_.git(path_, {"sparse-checkout", "set", "small"});
  ASSERT_FALSE(path_exists(path_ / "big/data"));
  write_text(path_ / "small/new", "n\n");
  const std::string hints = refused();
  EXPECT_EQ(hints.find("modified"), std::string::npos) << hints;
  discard();
  EXPECT_EQ(file(reference_, "big/data"), "d");
  EXPECT_EQ(file(reference_, "small/new"), "n");
}

TEST_F(RecoveryTest, KeepsAllSidesOfAConflictAndWhatWasMerged) {
  world_.git(path_, {"switch", "-q", "-c", "their"});
  const std::string theirs = world_.commit_file(path_, "README", "theirs\n");
  world_.git(path_, {"switch", "-q", "x"});
  world_.commit_file(path_, "README", "ours\n");
  ASSERT_NE(world_.git_status(path_, {"merge", "their"}), 0);
  world_.git(path_, {"branch", "-q", "-D", "their"});
  discard();
  const std::string index = parent("the index");
  EXPECT_EQ(file(index, "README~base"), "hello");
  EXPECT_EQ(file(index, "README~ours"), "ours");
  EXPECT_EQ(file(index, "README~theirs"), "theirs");
  EXPECT_EQ(world_.git(repository_, {"rev-parse", parent("MERGE_HEAD")}), theirs);
  EXPECT_NE(file(reference_, "README").find("<<<<<<<"), std::string::npos);
}

TEST_F(RecoveryTest, KeepsWhatIsOnABranchWithoutACommit) {
  world_.git(path_, {"switch", "-q", "--orphan", "fresh"});
  write_text(path_ / "page", "staged\n");
  world_.git(path_, {"add", "page"});
  write_text(path_ / "page", "then changed\n");
  write_text(path_ / "new", "untracked\n");
  const auto report = manager_.destroy(repository_, "x");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().id(), "unsaved_work");
  discard();
  EXPECT_EQ(file(reference_, "page"), "then changed");
  EXPECT_EQ(file(reference_, "new"), "untracked");
  EXPECT_EQ(file(parent("the index"), "page"), "staged");
  EXPECT_FALSE(has_file(reference_, "README"));
}

TEST_F(RecoveryTest, ABranchWithoutACommitAndWithoutAFileHoldsNothingUp) {
  world_.git(path_, {"switch", "-q", "--orphan", "fresh"});
  const auto report = manager_.destroy(repository_, "x");
  EXPECT_TRUE(report) << report.error().to_string();
}

TEST_F(RecoveryTest, ACleanSubmoduleHoldsNothingUp) {
  add_submodule();
  const auto report = manager_.destroy(repository_, "x");
  EXPECT_TRUE(report) << report.error().to_string();
}

TEST_F(RecoveryTest, KeepsUnpushedCommitsAndStashesOfASubmodule) {
  add_submodule();
  write_text(path_ / "lib/README", "first stash\n");
  world_.git(path_ / "lib", {"stash", "--quiet"});
  write_text(path_ / "lib/README", "second stash\n");
  world_.git(path_ / "lib", {"stash", "--quiet"});
  world_.git(path_ / "lib", {"switch", "-q", "-c", "topic"});
  const std::string commit = world_.commit_file(path_ / "lib", "work", "w\n");
  world_.git(path_ / "lib", {"switch", "-q", "--detach", "HEAD^"});
  ASSERT_EQ(world_.git(path_, {"status", "--porcelain"}), "");
  const std::string hints = refused();
  EXPECT_NE(hints.find("nested: lib: commit: "), std::string::npos) << hints;
  EXPECT_NE(hints.find("change work"), std::string::npos) << hints;
  discard();
  const std::string kept = world_.git(repository_, {"rev-list", reference_});
  EXPECT_NE(kept.find(commit), std::string::npos);
  const std::string patches = world_.git(repository_, {"log", "-p", "-m", "--format=", parent("lib")});
  EXPECT_NE(patches.find("first stash"), std::string::npos);
  EXPECT_NE(patches.find("second stash"), std::string::npos);
}

TEST_F(RecoveryTest, KeepsWhatIsModifiedInASubmodule) {
  add_submodule();
  write_text(path_ / "lib/README", "modified\n");
  write_text(path_ / "lib/new", "untracked\n");
  const std::string hints = refused();
  EXPECT_TRUE(says(hints, "nested: lib: modified: README")) << hints;
  EXPECT_TRUE(says(hints, "nested: lib: untracked: new")) << hints;
  discard();
  EXPECT_EQ(file(parent("lib"), "README"), "modified");
  EXPECT_EQ(file(parent("lib"), "new"), "untracked");
}

TEST_F(RecoveryTest, KeepsTheCommitsOfASubmoduleThatIsNotCheckedOutAnyMore) {
  add_submodule();
  world_.git(path_ / "lib", {"switch", "-q", "-c", "topic"});
  const std::string commit = world_.commit_file(path_ / "lib", "work", "w\n");
  world_.git(path_ / "lib", {"switch", "-q", "--detach", "HEAD^"});
  world_.git(path_, {"submodule", "--quiet", "deinit", "-f", "lib"});
  ASSERT_FALSE(path_exists(path_ / "lib/README"));
  EXPECT_NE(refused().find("nested: lib: commit: "), std::string::npos);
  discard();
  EXPECT_NE(world_.git(repository_, {"rev-list", reference_}).find(commit), std::string::npos);
}

TEST_F(RecoveryTest, ACommitThatMainsBranchRecordsIsNotASubmodulesOwn) {
  add_submodule();
  const std::string away = world_.commit_file(library_, "later", "l\n");
  world_.git(path_ / "lib", {"-c", "protocol.file.allow=always", "fetch", "-q", library_.string(), away});
  world_.git(path_ / "lib", {"switch", "-q", "--detach", away});
  EXPECT_NE(refused().find("nested: lib: commit: "), std::string::npos) << "nobody has recorded it";
  world_.git(path_, {"commit", "-q", "-a", "-m", "later lib"});
  world_.git(repository_, {"merge", "-q", "--ff-only", "x"});
  const auto report = manager_.destroy(repository_, "x");
  EXPECT_TRUE(report) << report.error().to_string();
}

TEST_F(RecoveryTest, KeepsACloneInsideOfTheCheckout) {
  fs::create_directories(path_ / "clone");
  world_.git(path_ / "clone", {"init", "-q", "-b", "main"});
  const std::string commit = world_.commit_file(path_ / "clone", "work", "w\n");
  write_text(path_ / "clone/new", "untracked\n");
  EXPECT_NE(refused().find("nested: clone: commit: "), std::string::npos);
  discard();
  EXPECT_EQ(world_.git(repository_, {"rev-parse", parent("clone") + "^"}), commit);
  EXPECT_EQ(file(parent("clone"), "new"), "untracked");
}

TEST_F(RecoveryTest, KeepsACloneWithoutACommit) {
  fs::create_directories(path_ / "clone");
  world_.git(path_ / "clone", {"init", "-q"});
  write_text(path_ / "clone/new", "untracked\n");
  refused();
  discard();
  EXPECT_EQ(file(parent("clone"), "new"), "untracked");
}

}  // namespace
}  // namespace hedge::worktree::test
