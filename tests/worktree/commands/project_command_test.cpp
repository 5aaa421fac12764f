#include "worktree/commands/project_command.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/support/temporary_directory.h"
#include "worktree/commands/install_results.h"

namespace hedge::worktree {
namespace {

// No test here has containers.
class NoStacks final : public ResourceKind {
 public:
  std::string kind() const override { return "stack"; }
  void publish(const PlanInput&, Values&) const override {}
  Result<std::vector<ResourceSpec>> plan(const PlanInput&, const Values&) const override { return std::vector<ResourceSpec>(); }
  Result<std::unique_ptr<Resource>> make(const ResourceSpec&, const WorktreeRecord&) const override {
    return Error(ErrorKind::unsupported, "there are no containers here");
  }
};

class ProjectCommandTest : public testing::Test {
 protected:
  ProjectCommandTest() {
    EXPECT_TRUE(ensure_directory(main()));
    EXPECT_TRUE(ensure_directory(worktree()));
    git({"init", "--quiet"});
    spec_.name = "install";
    spec_.argv = {"sh", "-c", "echo ran >> ran"};
    spec_.lockfiles = {"lock"};
    spec_.checkout = spec_.place.directory = worktree();
    spec_.main_checkout = main();
    spec_.stamp = directory_ / "stamp";
    spec_.main_stamp = directory_ / "main-stamp";
    spec_.seedable = {"deps", "more", "var/cache"};
  }

  void git(std::vector<std::string> arguments) const {
    CommandLine command;
    command.argv = {"git", "-C", main().string()};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    EXPECT_TRUE(run_for_output(command));
  }
  std::filesystem::path main() const { return directory_ / "main"; }
  std::filesystem::path worktree() const { return directory_ / "worktree"; }
  void lock(const std::filesystem::path& checkout, std::string_view text) {
    ASSERT_TRUE(write_file_atomically(checkout / "lock", text, 0644));
  }
  ProjectCommand command() { return {spec_, current_environment(), runner_, stacks_}; }
  Presence presence() { return command().check()->presence; }
  Action converge() {
    const auto change = command().converge();
    EXPECT_TRUE(change) << change.error().to_string();
    return change ? change->action : Action::none;
  }
  // As the seed step leaves it.
  void seed(const std::string& path) {
    ASSERT_TRUE(ensure_directory(worktree() / path));
    spec_.seeded.push_back(path);
  }
  void install_in_main(const std::string& script = "mkdir -p deps && touch deps/library") {
    ProjectCommandSpec of_main = spec_;
    of_main.argv = {"sh", "-c", script};
    of_main.seeded.clear();
    if (path_exists(main() / "lock")) git({"add", "lock"});
    // The file system's clock moves in steps: what was there before must lie before the installation.
    const timespec before = file_system_time(directory_.path()).value();
    timespec now = before;
    while (now.tv_sec == before.tv_sec && now.tv_nsec == before.tv_nsec) now = file_system_time(directory_.path()).value();
    of_main.checkout = of_main.place.directory = main();
    of_main.stamp = spec_.main_stamp;
    ASSERT_TRUE(ProjectCommand(of_main, current_environment(), runner_, stacks_).converge());
  }
  std::string runs() const { return read_file(worktree() / "ran").value_or(std::string()); }

  test::TemporaryDirectory directory_;
  ProjectCommandSpec spec_;
  SystemCommandRunner runner_;
  NoStacks stacks_;
};

TEST_F(ProjectCommandTest, InstallRunsOnceUntilALockfileChanges) {
  lock(worktree(), "1");
  EXPECT_EQ(presence(), Presence::missing);
  EXPECT_EQ(converge(), Action::updated);
  EXPECT_EQ(presence(), Presence::present);
  EXPECT_EQ(converge(), Action::none);
  lock(worktree(), "2");
  EXPECT_EQ(presence(), Presence::differs);
  EXPECT_EQ(converge(), Action::updated);
  EXPECT_EQ(runs(), "ran\nran\n");
}

TEST_F(ProjectCommandTest, DependenciesCopiedFromMainCountAsInstalledWhereTheLockfilesAgree) {
  lock(main(), "1");
  lock(worktree(), "1");
  seed("deps");
  EXPECT_EQ(presence(), Presence::missing);  // main was never installed through us: who knows what was copied
  install_in_main();
  EXPECT_EQ(presence(), Presence::present);
  lock(worktree(), "2");
  EXPECT_EQ(presence(), Presence::missing);
  EXPECT_EQ(runs(), "");
}

TEST_F(ProjectCommandTest, K07_MainsInstallationCountsOnlyWhereItsResultWasCopied) {
  lock(main(), "1");
  lock(worktree(), "1");
  install_in_main();
  EXPECT_EQ(presence(), Presence::missing) << "nothing was copied";
  seed("deps");
  EXPECT_EQ(presence(), Presence::present);
  spec_.seeded.emplace_back("more");
  EXPECT_EQ(presence(), Presence::missing) << "a part of it was not copied";
  EXPECT_EQ(converge(), Action::updated);
  EXPECT_EQ(runs(), "ran\n");
}

TEST_F(ProjectCommandTest, K07_AnotherSeedPathThanTheOneThatMainsInstallationMadeSaysNothing) {
  lock(main(), "1");
  lock(worktree(), "1");
  ASSERT_TRUE(ensure_directory(main() / "var/cache"));
  install_in_main("mkdir -p packages/app/libs && touch packages/app/libs/one");
  seed("var/cache");
  EXPECT_EQ(presence(), Presence::missing) << "what was installed is in no seed path";
  EXPECT_EQ(converge(), Action::updated);
  EXPECT_EQ(runs(), "ran\n");
}

TEST_F(ProjectCommandTest, K07_EveryThingThatMainsInstallationMadeMustHaveBeenCopied) {
  lock(main(), "1");
  lock(worktree(), "1");
  install_in_main("mkdir -p deps packages/app/libs var/cache && touch deps/one packages/app/libs/one var/cache/one");
  seed("deps");
  seed("var/cache");
  EXPECT_EQ(presence(), Presence::missing) << "packages/app/libs was not";
  spec_.seeded.emplace_back("packages/app/libs");
  EXPECT_EQ(presence(), Presence::missing) << "it is not there";
  ASSERT_TRUE(ensure_directory(worktree() / "packages/app/libs"));
  EXPECT_EQ(presence(), Presence::missing) << "packages is not copied as a whole, and holds more for all we know";
  spec_.seeded.emplace_back("packages");
  EXPECT_EQ(presence(), Presence::present);
}

TEST_F(ProjectCommandTest, WhatMainsFirstInstallationMadeIsStillKnownAfterASecondOneWithLessToDo) {
  lock(main(), "1");
  install_in_main("mkdir -p deps more && touch deps/one more/one");
  lock(main(), "2");
  lock(worktree(), "2");
  install_in_main("touch more/two");
  seed("more");
  EXPECT_EQ(presence(), Presence::missing) << "deps was not copied";
  seed("deps");
  EXPECT_EQ(presence(), Presence::present);
}

TEST_F(ProjectCommandTest, AnInstallationInMainThatChangedNothingVisibleCountsForNobody) {
  lock(main(), "1");
  lock(worktree(), "1");
  ASSERT_TRUE(ensure_directory(main() / "deps"));
  seed("deps");
  install_in_main("true");
  EXPECT_EQ(presence(), Presence::missing);
}

TEST_F(ProjectCommandTest, K07_WithoutALockfileMainsInstallationNeverCounts) {
  seed("deps");
  install_in_main();
  EXPECT_EQ(presence(), Presence::missing);
  EXPECT_EQ(converge(), Action::updated);
  EXPECT_EQ(presence(), Presence::present);
}

TEST_F(ProjectCommandTest, WhatWasOnceCopiedStaysInstalledWhenMainRemovesItsOwn) {
  lock(main(), "1");
  lock(worktree(), "1");
  seed("deps");
  install_in_main();
  EXPECT_EQ(converge(), Action::none);
  spec_.seeded.clear();  // as planned from now on
  ASSERT_TRUE(remove_file(spec_.main_stamp));
  EXPECT_EQ(presence(), Presence::present);
  EXPECT_EQ(runs(), "");
}

TEST_F(ProjectCommandTest, AFailedCommandIsAnErrorWithItsLastWordsAndLeavesItDue) {
  lock(worktree(), "1");
  spec_.argv = {"sh", "-c", "echo no space for it >&2; exit 3"};
  const auto change = command().converge();
  ASSERT_FALSE(change);
  EXPECT_EQ(change.error().id(), "command_failed");
  EXPECT_NE(change.error().text().find("no space for it"), std::string::npos);
  EXPECT_EQ(presence(), Presence::missing);
}

TEST_F(ProjectCommandTest, MigrateIsDueWhenItsCheckSaysSo) {
  spec_.name = "migrate";
  spec_.stamp.clear();
  spec_.check = {"sh", "-c", "test -e ran || { echo pending 0001; exit 1; }"};
  const auto finding = command().check();
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->presence, Presence::differs);
  EXPECT_EQ(finding->problems.at(0).id(), "migrations_pending");
  EXPECT_NE(finding->problems.at(0).text().find("pending 0001"), std::string::npos);
  EXPECT_EQ(converge(), Action::updated);
  EXPECT_EQ(presence(), Presence::present);
}

TEST_F(ProjectCommandTest, ACheckThatCannotRunLeavesItUnknown) {
  spec_.stamp.clear();
  spec_.check = {"no-such-program"};
  EXPECT_EQ(presence(), Presence::unknown);
}

TEST_F(ProjectCommandTest, RemoveDoesNothingForItsEffectsGoWithTheRest) {
  const auto change = command().remove();
  ASSERT_TRUE(change);
  EXPECT_EQ(change->action, Action::none);
}

TEST_F(ProjectCommandTest, TheWorktreesVariablesWinAndRepositoryVariablesDoNotLeakIn) {
  Environment caller = current_environment();
  caller["DATABASE_URL"] = "main";
  caller["GIT_DIR"] = "/elsewhere";
  const Wrapper wrapper(runner_, caller, stacks_);
  WrapperPlace place;
  place.directory = worktree();
  place.variables = {{"DATABASE_URL", "mine"}};
  const auto said = wrapper.run(place, {"sh", "-c", "echo $DATABASE_URL-$GIT_DIR"}, std::chrono::seconds(10));
  ASSERT_TRUE(said);
  EXPECT_EQ(said->out, "mine-\n");
}

TEST_F(ProjectCommandTest, AContainerOfAWorktreeWithoutContainersIsAnError) {
  const Wrapper wrapper(runner_, current_environment(), stacks_);
  WrapperPlace place;
  place.service = ServicePlace{{"stack", "x", "{}"}, {}, "app"};
  EXPECT_FALSE(wrapper.run(place, {"true"}, std::chrono::seconds(10)));
  EXPECT_FALSE(wrapper.run({}, {}, std::chrono::seconds(10)));
}

}  // namespace
}  // namespace hedge::worktree
