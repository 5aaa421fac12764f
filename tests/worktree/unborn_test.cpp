// Records of runs that ended before they made anything.
#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"
#include "worktree/reaper.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class UnbornTest : public ::testing::Test {
 protected:
  using Forgetting = Lifecycle::Forgetting;

  void SetUp() override {
    const auto located = locate(manager_.git, manager_.registry, repository_);
    ASSERT_TRUE(located);
    auto admitted = manager_.lifecycle.admit(*located, manager_.config, {"x", {}, {}, StackWish::with_stack});
    ASSERT_TRUE(admitted) << admitted.error().to_string();
    record_ = *admitted;
  }
  bool is_recorded() { return manager_.registry.find(record_.id)->has_value(); }
  Standing standing() { return judge(manager_.git, *manager_.registry.find(record_.id).value()).standing; }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
  WorktreeRecord record_;
};

TEST_F(UnbornTest, ARecordOfWhichNothingWasMadeIsForgotten) {
  EXPECT_EQ(standing(), Standing::unborn);
  const auto told = manager_.lifecycle.forget_unborn(record_, Forgetting::rehearsal);
  ASSERT_TRUE(told);
  EXPECT_TRUE(*told);
  EXPECT_TRUE(is_recorded()) << "a rehearsal removes nothing";
  const auto forgotten = manager_.lifecycle.forget_unborn(record_, Forgetting::real);
  ASSERT_TRUE(forgotten);
  EXPECT_TRUE(*forgotten);
  EXPECT_FALSE(is_recorded());
}

TEST_F(UnbornTest, WhileAnyCreateIsAboutToBeginNothingIsForgotten) {
  const auto birth = manager_.locks.hold_birth();
  ASSERT_TRUE(birth);
  const auto another = manager_.locks.hold_birth();
  ASSERT_TRUE(another) << "creates do not wait for one another";
  const auto forgotten = manager_.lifecycle.forget_unborn(record_, Forgetting::real);
  ASSERT_FALSE(forgotten);
  EXPECT_EQ(forgotten.error().kind(), ErrorKind::busy);
  EXPECT_TRUE(is_recorded());
}

TEST_F(UnbornTest, WhileARunWorksOnItNothingIsForgotten) {
  const auto work = manager_.locks.lock_work(record_.id);
  ASSERT_TRUE(work);
  EXPECT_EQ(manager_.lifecycle.forget_unborn(record_, Forgetting::real).error().kind(), ErrorKind::busy);
  EXPECT_TRUE(is_recorded());
}

TEST_F(UnbornTest, WhatIsInTheLedgerIsNotForgotten) {
  ASSERT_TRUE(manager_.ledger.begin_making(record_.id, {"token", "shop_x", {}}));
  const auto forgotten = manager_.lifecycle.forget_unborn(record_, Forgetting::real);
  ASSERT_TRUE(forgotten);
  EXPECT_FALSE(*forgotten);
  EXPECT_TRUE(is_recorded());
}

TEST_F(UnbornTest, AFinishedWorktreeIsNotForgotten) {
  ASSERT_TRUE(manager_.create(repository_, "x"));
  EXPECT_EQ(standing(), Standing::alive);
  EXPECT_FALSE(*manager_.lifecycle.forget_unborn(record_, Forgetting::real));
  EXPECT_TRUE(is_recorded());
}

TEST_F(UnbornTest, WhatAnotherForgotMeanwhileIsNoConcern) {
  ASSERT_TRUE(manager_.registry.forget(record_.id));
  EXPECT_TRUE(*manager_.lifecycle.forget_unborn(record_, Forgetting::real));
}

}  // namespace
}  // namespace hedge::worktree::test
