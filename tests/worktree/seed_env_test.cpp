// Seeding and the environment file, in worktrees made with the real git.
#include <algorithm>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"
#include "worktree/seed/seed_sources.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class SeedTest : public ::testing::Test {
 protected:
  static const Change* find_change(const Lifecycle::CreateOutcome& outcome, const std::string& resource,
                                   const std::string& name) {
    const auto found = std::ranges::find_if(outcome.changes, [&](const Change& change) {
      return change.resource == resource && change.name == name;
    });
    return found == outcome.changes.end() ? nullptr : &*found;
  }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
};

TEST_F(SeedTest, CopiesIgnoredDirectoriesThatMainHas) {
  write_text(repository_ / "node_modules/a/index.js", "a");
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(read_text(outcome->record.path / "node_modules/a/index.js"), "a");
  const Change* change = find_change(*outcome, "seed", "node_modules");
  ASSERT_NE(change, nullptr);
  EXPECT_NE(change->detail.find("1 files"), std::string::npos) << change->detail;
  EXPECT_EQ(find_change(*outcome, "seed", "vendor"), nullptr) << "main has none";
}

TEST_F(SeedTest, DoesNotCopyWhatGitDoesNotIgnore) {
  write_text(repository_ / "vendor/new", "untracked, and not ignored");
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(path_exists(outcome->record.path / "vendor"));
}

TEST_F(SeedTest, CopiesTheIgnoredFilesThatTheIncludeFileNames) {
  write_text(repository_ / ".worktreeinclude", "*.local\nREADME\nunignored\n");
  write_text(repository_ / "settings.local", "s");
  write_text(repository_ / "deep/er.local", "d");
  write_text(repository_ / "unignored", "u");
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(read_text(outcome->record.path / "settings.local"), "s");
  EXPECT_EQ(read_text(outcome->record.path / "deep/er.local"), "d");
  EXPECT_FALSE(path_exists(outcome->record.path / "unignored"));
}

TEST_F(SeedTest, LeavesDatabaseFilesToTheDatabaseStep) {
  manager_.config.database.engine = config::DatabaseEngine::sqlite;
  manager_.config.database.source = "var/cache/dev.sqlite3";
  manager_.config.database.test_source = "loose.local";
  write_text(repository_ / ".worktreeinclude", "*.local*\n");
  write_text(repository_ / ".git/info/exclude", "var/cache/\n*.local*\n");
  const std::vector<std::string> databases{"var/cache/dev.sqlite3", "var/cache/dev.sqlite3-wal",
                                           "var/cache/dev.sqlite3-journal", "loose.local", "loose.local-shm"};
  for (const std::string& file : databases) write_text(repository_ / file, "torn");
  write_text(repository_ / "var/cache/page", "cached");
  write_text(repository_ / "other.local", "o");
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ(read_text(outcome->record.path / "var/cache/page"), "cached");
  EXPECT_EQ(read_text(outcome->record.path / "other.local"), "o");
  for (const std::string& file : databases) EXPECT_FALSE(path_exists(outcome->record.path / file)) << file;
}

TEST_F(SeedTest, W27_ACopiedEnvironmentFileWithADeniedHostStopsTheRun) {
  write_text(repository_ / ".worktreeinclude", ".env\n*.local\n");
  write_text(repository_ / ".env", "A=1\nDATABASE_URL=postgres://db.PROD.example.com/main\n");
  write_text(repository_ / "a.local", "x");
  manager_.config.seed.deny = {"prod.*.com"};
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "seed_denied");
  EXPECT_NE(outcome.error().to_string().find(".env:2"), std::string::npos);
  EXPECT_FALSE(path_exists(world_.root() / "shop.x/.env"));
  EXPECT_FALSE(path_exists(world_.root() / "shop.x/a.local")) << "nothing of it is copied";
  write_text(repository_ / ".env", "A=1\n");
  EXPECT_TRUE(manager_.create(repository_, "x")) << "the second run goes on from there";
}

TEST_F(SeedTest, W27_ADirectoryWithADeniedHostInItIsNotCopied) {
  manager_.config.seed.paths = {"node_modules"};
  manager_.config.seed.deny = {"prod.example"};
  write_text(repository_ / "node_modules/a/.env", "A=1\nHOST=db.prod.example\n");
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "seed_denied");
  EXPECT_NE(outcome.error().to_string().find("node_modules/a/.env:2"), std::string::npos);
  EXPECT_FALSE(path_exists(world_.root() / "shop.x/node_modules"));
}

TEST_F(SeedTest, ALockfileThatDiffersMarksTheDependenciesStale) {
  write_text(repository_ / "node_modules/a", "a");
  world_.commit_file(repository_, "package-lock.json", "{\"v\":1}");
  world_.git(repository_, {"branch", "old"});
  world_.commit_file(repository_, "package-lock.json", "{\"v\":2}");
  const auto outcome = manager_.create(repository_, "old");
  ASSERT_TRUE(outcome);
  const Change* change = find_change(*outcome, "seed", "node_modules");
  EXPECT_NE(change->detail.find("stale: package-lock.json"), std::string::npos) << change->detail;
}

TEST_F(SeedTest, APathThatLeavesTheCheckoutIsRefused) {
  manager_.config.seed.paths = {"../other"};
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "seed_path_invalid");
  for (const char* path : {"", ".", "..", "a/../..", "/etc"}) EXPECT_FALSE(stays_inside(path)) << path;
  EXPECT_TRUE(stays_inside("a/../b"));
}

TEST_F(SeedTest, NothingIsWrittenThroughALinkThatTheBranchHas) {
  const fs::path outside = world_.root() / "outside";
  fs::create_directories(outside);
  write_text(repository_ / ".git/info/exclude", "var/\n*.local\n");
  world_.git(repository_, {"switch", "-q", "-c", "evil"});
  fs::create_symlink(outside, repository_ / "var");
  fs::create_symlink(world_.root() / "dangling", repository_ / "deep");
  world_.git(repository_, {"add", "-f", "var", "deep"});
  world_.git(repository_, {"commit", "-q", "-m", "links"});
  world_.git(repository_, {"switch", "-q", "main"});
  write_text(repository_ / "var/cache/page", "cached");
  write_text(repository_ / "deep/secret.local", "s");
  write_text(repository_ / ".worktreeinclude", "*.local\n");
  const auto outcome = manager_.create(repository_, "evil");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(fs::is_empty(outside));
  EXPECT_FALSE(path_exists(world_.root() / "dangling"));
  EXPECT_EQ(find_change(*outcome, "seed", "var/cache")->detail,
            "not copied: var/cache: var is a symbolic link");
  EXPECT_EQ(find_change(*outcome, "seed", ".worktreeinclude")->detail,
            "not copied: deep/secret.local: deep is a symbolic link");
}

TEST_F(SeedTest, WhatMainHasBehindALinkOrInASubmoduleIsLeftOutAndSaid) {
  manager_.config.seed.paths = {"var/cache", "lib/node_modules", "node_modules"};
  write_text(world_.root() / "elsewhere/cache/page", "cached");
  fs::create_symlink(world_.root() / "elsewhere", repository_ / "var");
  const fs::path library = world_.make_repository("library");
  world_.git(repository_,
             {"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.string(), "lib"});
  world_.git(repository_, {"commit", "-q", "-m", "add lib"});
  write_text(repository_ / "lib/node_modules/a", "a");
  write_text(repository_ / "node_modules/a", "a");
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_FALSE(path_exists(outcome->record.path / "var"));
  EXPECT_EQ(read_text(outcome->record.path / "node_modules/a"), "a");
  EXPECT_EQ(find_change(*outcome, "seed", "var/cache")->detail,
            "not copied: var/cache: in main var is a symbolic link");
  EXPECT_EQ(find_change(*outcome, "seed", "lib/node_modules")->detail,
            "not copied: lib/node_modules: in main lib is a repository of its own");
}

class EnvFileTest : public SeedTest {
 protected:
  fs::path worktree() const { return world_.root() / "shop.x"; }
  static mode_t mode_of(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }
};

TEST_F(EnvFileTest, HoldsTheWorktreesVariablesAndIsPrivate) {
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  const std::string text = read_text(worktree() / ".env.hedge");
  for (const std::string& line :
       {std::string("HEDGE_APP=shop\n"), "HEDGE_ID=" + outcome->record.id + "\n",
        std::string("HEDGE_SLUG=x\n"), std::string("HEDGE_BRANCH=x\n"),
        "HEDGE_NONCE=" + outcome->record.nonce + "\n", std::string("HEDGE_URL=https://shop.x.localhost\n"),
        std::string("HEDGE_HOST=shop.x.localhost\n")}) {
    EXPECT_NE(text.find("\n" + line), std::string::npos) << line << "in\n" << text;
  }
  EXPECT_EQ(mode_of(worktree() / ".env.hedge"), 0600U);
  EXPECT_EQ(world_.git(worktree(), {"status", "--porcelain"}), "");
}

TEST_F(EnvFileTest, SecretsAreInTheFileAndNowhereInTheLedger) {
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome);
  const std::string secret = derive_secret(outcome->record, "token");
  EXPECT_NE(read_text(worktree() / ".env.hedge").find("token://shop_x:" + secret + "@"), std::string::npos);
  const auto entries = manager_.ledger.load(outcome->record.id);
  ASSERT_TRUE(entries);
  for (const LedgerEntry& entry : *entries) {
    EXPECT_EQ(entry.spec.parameters.find(secret), std::string::npos) << entry.spec.kind;
  }
}

TEST_F(EnvFileTest, AChangedOrOpenedFileIsMended) {
  ASSERT_TRUE(manager_.create(repository_, "x"));
  const std::string wanted = read_text(worktree() / ".env.hedge");
  fs::permissions(worktree() / ".env.hedge", fs::perms::owner_read | fs::perms::others_read);
  ASSERT_TRUE(manager_.create(repository_, "x"));
  EXPECT_EQ(mode_of(worktree() / ".env.hedge"), 0600U);
  write_text(worktree() / ".env.hedge", "");
  ASSERT_TRUE(manager_.create(repository_, "x"));
  EXPECT_EQ(read_text(worktree() / ".env.hedge"), wanted);
}

TEST_F(EnvFileTest, W27_ABlockInACopiedFileComesLastAndGoesAlone) {
  manager_.config.env.file = ".env";
  write_text(repository_ / ".worktreeinclude", ".env\n");
  write_text(repository_ / ".env", "TOKEN_URL=token://main\nMINE=1\n");
  ASSERT_TRUE(manager_.create(repository_, "x"));
  const std::string text = read_text(worktree() / ".env");
  EXPECT_TRUE(text.starts_with("TOKEN_URL=token://main\nMINE=1\n"));
  EXPECT_LT(text.find("token://main"), text.find("token://shop_x"));
  EXPECT_EQ(read_text(repository_ / ".env"), "TOKEN_URL=token://main\nMINE=1\n");
}

TEST_F(EnvFileTest, IsNeverWrittenThroughALink) {
  write_text(world_.root() / "victim", "precious");
  world_.git(repository_, {"worktree", "add", "-q", "-b", "x", worktree().string()});
  fs::create_symlink(world_.root() / "victim", worktree() / ".env.hedge");
  const auto outcome = manager_.adopt(worktree());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "env_file_symlink");
  EXPECT_EQ(read_text(world_.root() / "victim"), "precious");
}

TEST_F(EnvFileTest, IsNeverWrittenBelowALinkedDirectory) {
  manager_.config.env.file = "conf/.env.hedge";
  fs::create_directories(world_.root() / "outside");
  world_.git(repository_, {"worktree", "add", "-q", "-b", "x", worktree().string()});
  fs::create_directory_symlink(world_.root() / "outside", worktree() / "conf");
  const auto outcome = manager_.adopt(worktree());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "env_file_symlink");
  EXPECT_TRUE(fs::is_empty(world_.root() / "outside"));
}

TEST_F(EnvFileTest, IsNeverATrackedFile) {
  manager_.config.env.file = "README";
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "env_file_tracked");
  EXPECT_EQ(read_text(worktree() / "README"), "hello\n");
}

TEST_F(EnvFileTest, AValueThatTheFormatCannotHoldIsRefusedBeforeAnythingIsMade) {
  manager_.config.env.variables = {{"BAD", "two\nlines"}};
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "env_value_invalid");
  EXPECT_FALSE(path_exists(worktree()));
}

TEST_F(EnvFileTest, AnUnknownPlaceholderIsRefusedBeforeAnythingIsMade) {
  manager_.config.env.variables = {{"A", "{redis.url}"}};
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "template_unknown");
  EXPECT_FALSE(path_exists(worktree()));
}

TEST_F(EnvFileTest, APartOfThePlanDoesNotMakeTheWorktreeReady) {
  auto located = locate(manager_.git, manager_.registry, repository_);
  ASSERT_TRUE(located);
  const auto record =
      manager_.lifecycle.admit(*located, manager_.config, {"x", {}, {}, StackWish::with_stack});
  ASSERT_TRUE(record);
  const std::vector<ResourceSpec> part{
      {"branch", "x", "{\"base\":\"" + record->base + "\",\"origin\":\"ours\"}"}, {"checkout", "x", "{}"}};
  const auto outcome = manager_.lifecycle.create(*record, part, Lifecycle::Extent::part);
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(path_exists(worktree() / "README"));
  EXPECT_EQ(manager_.registry.find(record->id)->value().state, WorktreeState::creating);
  EXPECT_EQ(manager_.create(repository_, "x")->record.state, WorktreeState::ready);
}

TEST_F(EnvFileTest, TheRouteFollowsTheWorktree) {
  ASSERT_TRUE(manager_.create(repository_, "x"));
  const auto routes = manager_.routes.load_all()->routes;
  ASSERT_EQ(routes.size(), 1U);
  EXPECT_EQ(routes[0].host, "shop.x.localhost");
  EXPECT_EQ(to_string(routes[0].upstream), "tcp:127.0.0.1:18080");
}

TEST_F(EnvFileTest, AHostnameOfSomebodyElseStopsTheRun) {
  router::Route theirs;
  theirs.host = "shop.x.localhost";
  theirs.upstream = router::TcpUpstream{"127.0.0.1", 1};
  theirs.worktree = "somebody";
  ASSERT_TRUE(manager_.routes.put(theirs));
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id(), "route_conflict");
  ASSERT_TRUE(manager_.destroy(repository_, "x"));
  EXPECT_EQ(manager_.routes.load_all()->routes.size(), 1U) << "theirs stays";
}

}  // namespace
}  // namespace hedge::worktree::test
