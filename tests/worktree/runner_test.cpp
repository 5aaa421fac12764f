#include "worktree/runner.h"

#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/temporary_directory.h"
#include "worktree/registry.h"

namespace hedge::worktree {
namespace {

// What the world holds, by resource name: the owner.
using World = std::map<std::string, std::string>;

class Thing final : public Resource {
 public:
  Thing(World& world, std::string name, std::string owner,
        const std::function<std::optional<Error>(const std::string&)>& fault, bool is_dark,
        std::vector<std::string>& forgotten)
      : world_(world),
        name_(std::move(name)),
        owner_(std::move(owner)),
        fault_(fault),
        is_dark_(is_dark),
        forgotten_(forgotten) {}
  bool lives_in_checkout() const override { return name_.starts_with("inside"); }
  Result<void> forget() override {
    if (auto error = fault_("forget " + name_)) return *error;
    forgotten_.push_back(name_);
    return {};
  }
  std::string kind() const override { return "thing"; }
  std::string name() const override { return name_; }
  Result<Finding> check() override {
    const auto found = world_.find(name_);
    if (is_dark_) return Finding{Presence::unknown, {}, {Error(ErrorKind::unavailable, "down")}};
    if (found == world_.end()) return Finding{Presence::missing, {}, {}};
    return Finding{found->second == owner_ ? Presence::present : Presence::foreign, found->second, {}};
  }
  Result<Change> converge() override {
    if (auto error = fault_("make " + name_)) return *error;
    world_[name_] = owner_;
    return Change{kind(), name(), Action::created, {}};
  }
  Result<Change> remove() override {
    if (auto error = fault_("remove " + name_)) return *error;
    const bool is_ours = world_.contains(name_) && world_[name_] == owner_;
    if (is_ours) world_.erase(name_);
    return Change{kind(), name(), is_ours ? Action::removed : Action::none, {}};
  }

 private:
  World& world_;
  std::string name_;
  std::string owner_;
  const std::function<std::optional<Error>(const std::string&)>& fault_;
  bool is_dark_;
  std::vector<std::string>& forgotten_;
};

class ThingKind final : public ResourceKind {
 public:
  explicit ThingKind(World& world) : world_(world) {}
  std::string kind() const override { return "thing"; }
  void publish(const PlanInput&, Values&) const override {}
  Result<std::vector<ResourceSpec>> plan(const PlanInput&, const Values&) const override {
    return std::vector<ResourceSpec>();
  }
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                         const WorktreeRecord& record) const override {
    const std::string place = spec.parameters == "{}" ? spec.name : spec.name + spec.parameters;
    return std::unique_ptr<Resource>(std::make_unique<Thing>(world_, place, record.id, fault, is_dark, forgotten));
  }
  bool is_same_thing(const ResourceSpec& recorded, const ResourceSpec& wanted) const override {
    return recorded.parameters == wanted.parameters;
  }
  mutable std::vector<std::string> forgotten;
  bool is_dark = false;
  std::function<std::optional<Error>(const std::string&)> fault = [](const std::string&) {
    return std::optional<Error>();
  };

 private:
  World& world_;
};

// Ends the run at the n-th step (from 0), as a kill would: nothing after it happens.
class Breaker final : public StepObserver {
 public:
  explicit Breaker(int at = -1) : at_(at) {}
  Result<void> on_step(Stage, const ResourceSpec&) override {
    if (steps_++ != at_) return {};
    return Error(ErrorKind::cancelled, "cut short");
  }
  int steps() const { return steps_; }

 private:
  int at_;
  int steps_ = 0;
};

class RunnerTest : public ::testing::Test {
 protected:
  RunnerTest() {
    config::Paths paths;
    paths.state = directory_ / "state";
    auto opened = StateDatabase::open(paths);
    EXPECT_TRUE(opened);
    state_.emplace(std::move(*opened));
    ledger_.emplace(*state_, clock_);
    Birth birth;
    birth.app = "shop";
    birth.branch = "x";
    birth.repository = "/srv/shop/.git";
    birth.main_checkout = "/srv/shop";
    record_ = *Registry(*state_, clock_).admit(birth);
    auto kind = std::make_unique<ThingKind>(world_);
    kind_ = kind.get();
    kinds_.add(std::move(kind));
  }

  Runner runner() { return {*ledger_, kinds_, quiet_}; }
  std::vector<LedgerEntry> entries() { return *ledger_->load(record_.id); }

  const std::vector<ResourceSpec> plan_{{"thing", "a", "{}"}, {"thing", "b", "{}"}, {"thing", "c", "{}"}};
  hedge::test::TemporaryDirectory directory_;
  hedge::test::FakeClock clock_;
  std::optional<StateDatabase> state_;
  std::optional<Ledger> ledger_;
  WorktreeRecord record_;
  World world_;
  ThingKind* kind_ = nullptr;
  ResourceKinds kinds_;
  Breaker quiet_;
};

TEST_F(RunnerTest, MakesInOrderAndRemovesBackwards) {
  const auto made = runner().converge_all(record_, plan_);
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(world_.size(), 3U);
  EXPECT_EQ(entries().front().spec.name, "a");
  std::string order;
  kind_->fault = [&order](const std::string& what) {
    order += what + ";";
    return std::optional<Error>();
  };
  const auto report = runner().remove_all(record_);
  ASSERT_TRUE(report);
  EXPECT_EQ(order, "remove c;remove b;remove a;");
  EXPECT_TRUE(world_.empty());
  EXPECT_TRUE(entries().empty());
}

TEST_F(RunnerTest, ASecondRunChangesNothing) {
  ASSERT_TRUE(runner().converge_all(record_, plan_));
  const auto again = runner().converge_all(record_, plan_);
  ASSERT_TRUE(again);
  for (const Change& change : *again) EXPECT_EQ(change.action, Action::none);
}

TEST_F(RunnerTest, TheEntryIsOpenWhileTheEffectHappens) {
  kind_->fault = [this](const std::string&) {
    EXPECT_EQ(entries().back().state, EntryState::making);
    return std::optional<Error>();
  };
  ASSERT_TRUE(runner().converge(record_, plan_[0]));
  EXPECT_EQ(entries().back().state, EntryState::made);
}

TEST_F(RunnerTest, AForeignThingIsNeitherTakenNorNotedNorRemoved) {
  world_["b"] = "somebody else";
  const auto changes = runner().converge_all(record_, plan_);
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().id(), "ownership_conflict");
  EXPECT_EQ(entries().size(), 1U);
  ASSERT_TRUE(runner().remove_all(record_));
  EXPECT_EQ(world_.at("b"), "somebody else");
}

TEST_F(RunnerTest, AnotherThingUnderTheSameNameIsRemovedBeforeItsEntryIs) {
  ASSERT_TRUE(runner().converge(record_, {"thing", "a", "{\"runtime\":1}"}));
  const ResourceSpec wanted{"thing", "a", "{\"runtime\":2}"};
  kind_->fault = [](const std::string& what) {
    return what.starts_with("remove") ? std::optional<Error>(Error(ErrorKind::unavailable, "down")) : std::nullopt;
  };
  ASSERT_FALSE(runner().converge(record_, wanted));
  EXPECT_EQ(entries().at(0).spec.parameters, "{\"runtime\":1}") << "still known, to be removed";
  EXPECT_EQ(entries().at(0).state, EntryState::removing);
  kind_->fault = [](const std::string&) { return std::optional<Error>(); };
  ASSERT_TRUE(runner().converge(record_, wanted));
  EXPECT_EQ(world_, (World{{"a{\"runtime\":2}", record_.id}}));
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_EQ(entries()[0].spec.parameters, wanted.parameters);
}

TEST_F(RunnerTest, WhatCannotBeLookedAtIsAnErrorAndLeavesTheLedgerAsItWas) {
  kind_->is_dark = true;
  const auto change = runner().converge(record_, plan_[0]);
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().kind(), ErrorKind::unavailable);
  EXPECT_TRUE(entries().empty());
}

TEST_F(RunnerTest, AFailedEffectStaysOpenWithItsReason) {
  kind_->fault = [](const std::string& what) {
    return what == "make b" ? std::optional<Error>(Error(ErrorKind::io, "broke")) : std::nullopt;
  };
  ASSERT_FALSE(runner().converge_all(record_, plan_));
  ASSERT_EQ(entries().size(), 2U);
  EXPECT_EQ(entries()[1].state, EntryState::making);
  EXPECT_NE(entries()[1].problem.find("broke"), std::string::npos);
}

TEST_F(RunnerTest, AServerThatIsDownLeavesADebtAndTheRestGoes) {
  ASSERT_TRUE(runner().converge_all(record_, plan_));
  kind_->fault = [](const std::string& what) {
    return what == "remove b" ? std::optional<Error>(Error(ErrorKind::unavailable, "down")) : std::nullopt;
  };
  const auto report = runner().remove_all(record_);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->survivors.size(), 1U);
  EXPECT_TRUE(report->survivors[0].is_debt);
  EXPECT_EQ(entries().front().state, EntryState::debt);
  EXPECT_EQ(world_.size(), 1U);
  kind_->fault = [](const std::string&) { return std::optional<Error>(); };
  EXPECT_TRUE(runner().remove_all(record_)->survivors.empty());
  EXPECT_TRUE(world_.empty());
}

TEST_F(RunnerTest, WhatLivedInACheckoutThatIsAnothersNowIsForgottenNotRemoved) {
  ASSERT_TRUE(runner().converge_all(record_, {{"thing", "inside", "{}"}, {"thing", "outside", "{}"}}));
  const auto report = runner().remove_all(record_, RemovalScope::outside_of_checkout);
  ASSERT_TRUE(report);
  EXPECT_EQ(kind_->forgotten, std::vector<std::string>{"inside"});
  EXPECT_EQ(world_, (World{{"inside", record_.id}}));
  EXPECT_TRUE(entries().empty());
}

TEST_F(RunnerTest, WhatCannotBeForgottenKeepsItsEntry) {
  ASSERT_TRUE(runner().converge(record_, {"thing", "inside", "{}"}));
  kind_->fault = [](const std::string&) { return std::optional<Error>(Error(ErrorKind::io, "broke")); };
  EXPECT_EQ(runner().remove_all(record_, RemovalScope::outside_of_checkout)->survivors.size(), 1U);
  EXPECT_EQ(entries().size(), 1U);
}

TEST_F(RunnerTest, AnEntryOfAnUnknownKindIsASurvivorAndNotForgotten) {
  ASSERT_TRUE(ledger_->begin_making(record_.id, {"newer", "n", "{}"}));
  const auto report = runner().remove_all(record_);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->survivors.size(), 1U);
  EXPECT_EQ(report->survivors[0].reason.id(), "state_unreadable");
  EXPECT_EQ(entries().size(), 1U);
}

// The failure sweep: cut at every step of making, then either converge or remove.
TEST_F(RunnerTest, W19_CutAtAnyStepOfMakingItConvergesOrLeavesNoTrace) {
  Breaker counter;
  ASSERT_TRUE(Runner(*ledger_, kinds_, counter).converge_all(record_, plan_));
  ASSERT_TRUE(runner().remove_all(record_));
  ASSERT_EQ(counter.steps(), 9);
  for (int at = 0; at < counter.steps(); ++at) {
    Breaker first(at);
    ASSERT_FALSE(Runner(*ledger_, kinds_, first).converge_all(record_, plan_));
    ASSERT_TRUE(runner().converge_all(record_, plan_)) << "cut at " << at;
    EXPECT_EQ(world_.size(), 3U);
    for (const LedgerEntry& entry : entries()) EXPECT_EQ(entry.state, EntryState::made);
    ASSERT_TRUE(runner().remove_all(record_));
    Breaker second(at);
    ASSERT_FALSE(Runner(*ledger_, kinds_, second).converge_all(record_, plan_));
    ASSERT_TRUE(runner().remove_all(record_)->survivors.empty());
    EXPECT_TRUE(world_.empty()) << "cut at " << at;
    EXPECT_TRUE(entries().empty());
  }
}

TEST_F(RunnerTest, W19_CutAtAnyStepOfRemovingASecondRemovalFinishes) {
  for (int at = 0; at < 9; ++at) {
    ASSERT_TRUE(runner().converge_all(record_, plan_));
    Breaker breaker(at);
    ASSERT_FALSE(Runner(*ledger_, kinds_, breaker).remove_all(record_));
    ASSERT_TRUE(runner().remove_all(record_)->survivors.empty());
    EXPECT_TRUE(world_.empty()) << "cut at " << at;
    EXPECT_TRUE(entries().empty());
  }
}

}  // namespace
}  // namespace hedge::worktree
