#include "worktree/plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/worktree/git_world.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;
namespace {

class PlanTest : public ::testing::Test {
 protected:
  WorktreeRecord propose(const std::string& branch) {
    const auto located = locate(manager_.git, manager_.registry, repository_);
    EXPECT_TRUE(located);
    const auto record =
        manager_.lifecycle.propose(*located, manager_.config, {branch, {}, {}, StackWish::with_stack});
    EXPECT_TRUE(record) << record.error().to_string();
    return *record;
  }
  Result<Plan> plan_of(const WorktreeRecord& record, const Observed& observed) {
    const config::Paths no_paths;
    const WorktreeNames names = names_of(record, manager_.config);
    return make_plan(manager_.kinds, PlanInput{record, names, manager_.config, no_paths, observed});
  }
  static std::string order(const Plan& plan) {
    std::string out;
    for (const ResourceSpec& step : plan.steps) out += step.kind + " ";
    return out;
  }

  GitWorld world_;
  QuietObserver quiet_;
  Manager manager_{world_, quiet_};
  fs::path repository_ = world_.make_repository("shop");
};

TEST_F(PlanTest, IsTheSameForTheSameInputAndMakesNothing) {
  const auto record = propose("x");
  Observed observed;
  observed.seed_paths = {"node_modules"};
  const auto one = plan_of(record, observed);
  const auto two = plan_of(record, observed);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(order(*one), "branch checkout seed env token route ");
  ASSERT_EQ(one->steps.size(), two->steps.size());
  for (std::size_t i = 0; i < one->steps.size(); ++i)
    EXPECT_EQ(one->steps[i].parameters, two->steps[i].parameters);
  EXPECT_TRUE(manager_.registry.load_all()->empty());
  EXPECT_FALSE(path_exists(record.path));
  EXPECT_EQ(world_.git(repository_, {"branch", "--list", "x"}), "");
}

TEST_F(PlanTest, HoldsNoSecret) {
  const auto record = propose("x");
  const auto plan = plan_of(record, {});
  ASSERT_TRUE(plan);
  for (const ResourceSpec& step : plan->steps) {
    EXPECT_EQ(step.parameters.find(derive_secret(record, "token")), std::string::npos);
    EXPECT_EQ(step.parameters.find(record.secret), std::string::npos);
  }
}

TEST_F(PlanTest, OffersTheWorktreesValuesToTemplates) {
  Observed observed;
  observed.ports = {{"web", 21500}};
  observed.given = {{"app.url", "https://shop.x.localhost:8443"}, {"ca.root", "/ca.pem"}};
  const auto record = propose("x");
  const auto values = plan_of(record, observed)->values;
  EXPECT_EQ(values.at("app.name"), "shop");
  EXPECT_EQ(values.at("app.slug"), "x");
  EXPECT_EQ(values.at("app.id"), record.id);
  EXPECT_EQ(values.at("app.branch"), "x");
  EXPECT_EQ(values.at("app.nonce"), record.nonce);
  EXPECT_EQ(values.at("app.host"), "shop.x.localhost");
  EXPECT_EQ(values.at("app.url"), "https://shop.x.localhost:8443")
      << "what the caller gives outranks the default";
  EXPECT_EQ(values.at("cookies.session"), "shop_x_session");
  EXPECT_EQ(values.at("port.web"), "21500");
  EXPECT_EQ(values.at("worktree.path"), record.path.string());
  EXPECT_EQ(values.at("ca.root"), "/ca.pem");
}

TEST_F(PlanTest, ARehearsalRecordsNoPort) {
  manager_.config.stack.runtime = config::StackRuntime::process;
  manager_.config.stack.processes.resize(2);
  manager_.config.stack.processes[0].name = "web";
  manager_.config.stack.processes[1].name = "worker";
  manager_.config.stack.processes[1].port_variable = "";
  const auto record = propose("x");
  const auto observed =
      observe(manager_.git, manager_.ports, record, manager_.config, ObserveMode::rehearsal);
  ASSERT_TRUE(observed) << observed.error().to_string();
  EXPECT_EQ(observed->ports.size(), 1U) << "a process without a port variable listens on none";
  EXPECT_TRUE(manager_.ports.load(record.id)->empty());
  WorktreeRecord without = record;
  without.stack = StackWish::without_stack;
  EXPECT_TRUE(
      observe(manager_.git, manager_.ports, without, manager_.config, ObserveMode::rehearsal)->ports.empty());
}

TEST_F(PlanTest, ChangedPathsAreThoseOfTheBranchAndOfTheWorkingTree) {
  manager_.config.stack.services.resize(1);
  manager_.config.stack.services[0].when_changed = {"search/**"};
  const auto outcome = manager_.create(repository_, "x");
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  const fs::path path = outcome->record.path;
  world_.commit_file(path, "search/committed", "x");
  write_text(path / "README", "modified\n");
  write_text(path / "untracked", "x");
  world_.commit_file(repository_, "of-main", "not the branch's");
  const auto observed =
      observe(manager_.git, manager_.ports, outcome->record, manager_.config, ObserveMode::real);
  ASSERT_TRUE(observed);
  auto changed = observed->changed_paths;
  std::ranges::sort(changed);
  EXPECT_EQ(changed, (std::vector<std::string>{"README", "search/committed", "untracked"}));
}

}  // namespace
}  // namespace hedge::worktree::test
