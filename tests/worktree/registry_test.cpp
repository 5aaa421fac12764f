#include "worktree/registry.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/sqlite.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temporary_directory.h"
#include "worktree/identity.h"
#include "worktree/ledger.h"

namespace hedge::worktree {
namespace {

Birth birth_of(const std::string& branch, const std::string& repository = "/srv/shop/.git") {
  Birth birth;
  birth.app = "shop";
  birth.branch = branch;
  birth.base = std::string(40, 'a');
  birth.repository = repository;
  birth.main_checkout = std::filesystem::path(repository).parent_path();
  return birth;
}

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() {
    paths_.state = directory_ / "state";
    auto opened = StateDatabase::open(paths_);
    EXPECT_TRUE(opened);
    state_.emplace(std::move(*opened));
    registry_.emplace(*state_, clock_);
  }

  hedge::test::TemporaryDirectory directory_;
  config::Paths paths_;
  hedge::test::FakeClock clock_;
  std::optional<StateDatabase> state_;
  std::optional<Registry> registry_;
};

TEST_F(RegistryTest, RecordsABirthOnce) {
  const auto record = registry_->admit(birth_of("login"));
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_TRUE(is_identity(record->id));
  EXPECT_EQ(record->slug, "login");
  EXPECT_EQ(record->path, "/srv/shop.login");
  EXPECT_EQ(record->state, WorktreeState::creating);
  EXPECT_GE(record->nonce.size(), 26U);
  const auto again = registry_->admit(birth_of("login"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, record->id);
  EXPECT_EQ(registry_->load_all()->size(), 1U);
}

TEST_F(RegistryTest, KeepsEverythingOfARecord) {
  auto record = *registry_->admit(birth_of("login"));
  record.state = WorktreeState::ready;
  record.path = "/srv/moved";
  record.git_dir = "/srv/shop/.git/worktrees/shop.login";
  record.branch = "renamed";
  record.stack = StackWish::without_stack;
  ASSERT_TRUE(registry_->update(record));
  const auto loaded = registry_->find(record.id);
  ASSERT_TRUE(loaded && loaded->has_value());
  EXPECT_EQ((*loaded)->state, WorktreeState::ready);
  EXPECT_EQ((*loaded)->path, "/srv/moved");
  EXPECT_EQ((*loaded)->git_dir, record.git_dir);
  EXPECT_EQ((*loaded)->branch, "renamed");
  EXPECT_EQ((*loaded)->slug, "login");
  EXPECT_EQ((*loaded)->secret, record.secret);
  EXPECT_EQ((*loaded)->stack, StackWish::without_stack);
  EXPECT_EQ((*loaded)->created_at, clock_.wall());
}

TEST_F(RegistryTest, W18_TwoClonesWithOneBranchShareNoName) {
  const auto one = registry_->admit(birth_of("login", "/srv/1/shop/.git"));
  const auto two = registry_->admit(birth_of("login", "/srv/2/shop/.git"));
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->slug, "login");
  EXPECT_NE(two->slug, one->slug);
  EXPECT_TRUE(two->slug.starts_with("login-"));
}

TEST_F(RegistryTest, AppsAndSlugsThatJoinToOneNameAreKeptApart) {
  auto first = birth_of("b-c");
  first.app = "a";
  auto second = birth_of("c", "/srv/other/.git");
  second.app = "a-b";
  const auto one = registry_->admit(first);
  const auto two = registry_->admit(second);
  ASSERT_TRUE(one && two);
  EXPECT_NE(derive_names("a", one->slug).database, derive_names("a-b", two->slug).database);
}

TEST_F(RegistryTest, AnInstanceIsAWorktreeOfItsOwn) {
  auto second = birth_of("login");
  second.instance = "two";
  const auto one = registry_->admit(birth_of("login"));
  const auto two = registry_->admit(second);
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->id, two->id);
  EXPECT_EQ(two->slug, "login-two");
}

TEST_F(RegistryTest, AnotherAppsNameIsNoSlug) {
  auto other = birth_of("x", "/srv/other/.git");
  other.app = "blog";
  ASSERT_TRUE(registry_->admit(other));
  EXPECT_NE(registry_->admit(birth_of("blog"))->slug, "blog");
}

TEST_F(RegistryTest, AProposalRecordsNothing) {
  const auto proposed = registry_->propose(birth_of("login"));
  ASSERT_TRUE(proposed);
  EXPECT_EQ(proposed->slug, "login");
  EXPECT_TRUE(registry_->load_all()->empty());
}

TEST_F(RegistryTest, ARepositoryHasOneMainCheckout) {
  auto birth = birth_of("main");
  birth.kind = WorktreeKind::main;
  birth.path = "/srv/shop";
  birth.git_dir = "/srv/shop/.git";
  const auto one = registry_->admit(birth);
  ASSERT_TRUE(one) << one.error().to_string();
  EXPECT_TRUE(one->slug.empty());
  EXPECT_EQ(registry_->admit(birth)->id, one->id);
  birth.repository = "/srv/2/shop/.git";
  const auto other = registry_->admit(birth);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().id(), "name_taken");
}

TEST_F(RegistryTest, ForgetsOnlyWhatTheLedgerHasLetGo) {
  Ledger ledger(*state_, clock_);
  const auto record = *registry_->admit(birth_of("login"));
  const ResourceSpec spec{"database", "shop_login", "{}"};
  ASSERT_TRUE(ledger.begin_making(record.id, spec));
  const auto refused = registry_->forget(record.id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::refused);
  ASSERT_TRUE(ledger.removed(record.id, spec));
  ASSERT_TRUE(registry_->forget(record.id));
  EXPECT_TRUE(registry_->forget(record.id)) << "twice is fine";
  EXPECT_EQ(registry_->admit(birth_of("login"))->slug, "login") << "its names are free again";
}

TEST_F(RegistryTest, RefusesStateOfANewerVersion) {
  ASSERT_TRUE(state_->database().execute("PRAGMA user_version = 99"));
  const auto reopened = StateDatabase::open(paths_);
  ASSERT_FALSE(reopened);
  EXPECT_EQ(reopened.error().id(), "state_unreadable");
}

TEST_F(RegistryTest, DamagedStateIsNotTakenForEmpty) {
  const config::Paths damaged{directory_ / "damaged", {}, {}};
  ASSERT_TRUE(ensure_directory(damaged.state));
  ASSERT_TRUE(write_file_atomically(damaged.registry_database(), std::string(4096, 'x'), 0600));
  const auto opened = StateDatabase::open(damaged);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().id(), "state_unreadable");
  EXPECT_EQ(read_file(damaged.registry_database())->substr(0, 4), "xxxx");
}

TEST_F(RegistryTest, AnUnknownWordInARecordIsUnreadableState) {
  const auto record = *registry_->admit(birth_of("login"));
  ASSERT_TRUE(state_->database().execute("UPDATE worktrees SET state = 'sleeping'"));
  const auto loaded = registry_->find(record.id);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().id(), "state_unreadable");
}

TEST(Secrets, DifferByPurposeAndWorktreeAndNeedNoEscape) {
  WorktreeRecord one;
  one.secret = "abc";
  WorktreeRecord two;
  two.secret = "abd";
  EXPECT_EQ(derive_secret(one, "postgres"), derive_secret(one, "postgres"));
  EXPECT_NE(derive_secret(one, "postgres"), derive_secret(one, "redis"));
  EXPECT_NE(derive_secret(one, "postgres"), derive_secret(two, "postgres"));
  EXPECT_EQ(derive_secret(one, "postgres").size(), 32U);
  EXPECT_EQ(derive_secret(one, "x").find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz"),
            std::string::npos);
}

TEST(Identity, IsAUlidThatSortsByTime) {
  const WallTime now(std::chrono::milliseconds(1796000000000));
  const std::string one = new_identity(now);
  const std::string later = new_identity(now + std::chrono::milliseconds(1));
  EXPECT_TRUE(is_identity(one));
  EXPECT_LT(one.substr(0, 10), later.substr(0, 10));
  EXPECT_NE(new_identity(now), new_identity(now));
  // 1796000000000 ms in base 32. Source: the ULID specification, 10 characters of time.
  EXPECT_EQ(one.substr(0, 10), "01M8MZ2A00");
  EXPECT_FALSE(is_identity("01M8MZ2A0"));
}

TEST(Identity, LivesInTheGitDirectory) {
  const hedge::test::TemporaryDirectory directory;
  EXPECT_FALSE(load_identity(directory.path())->has_value());
  const std::string id = new_identity(WallTime(std::chrono::seconds(1)));
  ASSERT_TRUE(store_identity(directory.path(), id));
  EXPECT_EQ(**load_identity(directory.path()), id);
  ASSERT_TRUE(write_file_atomically(directory / "hedge.json", "{\"id\": \"no\"}", 0644));
  EXPECT_EQ(load_identity(directory.path()).error().id(), "state_unreadable");
}

}  // namespace
}  // namespace hedge::worktree
