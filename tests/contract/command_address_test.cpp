#include "contract/command_address.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hedge::contract {
namespace {

WorkspaceFacts workspace(std::string branch) {
  WorkspaceFacts facts;
  facts.path = "/src/shop.login fix";
  facts.kind = "worktree";
  facts.branch = std::move(branch);
  facts.is_of_its_branch = true;
  return facts;
}

CallerPlace named() { return {true, {}, {}}; }

TEST(AddressedCommand, StaysAsItIsForTheWorktreeThatTheCallerStandsIn) {
  const WorkspaceFacts here = workspace("feature/login");
  EXPECT_EQ(address_command("hedge create", &here, {}), "hedge create");
  EXPECT_EQ(address_command("hedge create --adopt", nullptr, {}), "hedge create --adopt");
}

TEST(AddressedCommand, NamesTheBranchOfAWorktreeThatWasNamed) {
  const WorkspaceFacts there = workspace("feature/login");
  for (const char* verb : {"create", "verify", "status", "up"}) {
    const std::string command = std::string("hedge ") + verb;
    EXPECT_EQ(address_command(command, &there, named()), command + " feature/login");
  }
}

TEST(AddressedCommand, QuotesWhatAShellWouldTakeApart) {
  const WorkspaceFacts there = workspace("it's;rm");
  EXPECT_EQ(address_command("hedge create", &there, named()), "hedge create 'it'\\''s;rm'");
}

TEST(AddressedCommand, NamesTheDirectoryWhereABranchWouldMeanSomethingElse) {
  WorkspaceFacts adopted = workspace("feature/login");
  adopted.is_of_its_branch = false;
  EXPECT_EQ(address_command("hedge create", &adopted, named()), "hedge -C '/src/shop.login fix' create");
  WorkspaceFacts instance = workspace("feature/login");
  instance.instance = "two";
  EXPECT_EQ(address_command("hedge up", &instance, named()), "hedge -C '/src/shop.login fix' up");
  EXPECT_EQ(address_command("hedge create", &instance, named()), "hedge create feature/login --instance two");
  WorkspaceFacts detached = workspace("");
  detached.branch.reset();
  EXPECT_EQ(address_command("hedge create", &detached, named()), "hedge -C '/src/shop.login fix' create");
}

TEST(AddressedCommand, NamesTheDirectoryForVerbsThatTakeNoBranch) {
  const WorkspaceFacts there = workspace("feature/login");
  EXPECT_EQ(address_command("hedge init", &there, named()), "hedge -C '/src/shop.login fix' init");
  EXPECT_EQ(address_command("hedge create --adopt", &there, named()), "hedge -C '/src/shop.login fix' create --adopt");
}

TEST(AddressedCommand, KeepsTheDirectoryAndTheStateDirectoryThatTheCallerGave) {
  const WorkspaceFacts there = workspace("feature/login");
  const CallerPlace caller{true, "/src/shop", "/tmp/my state"};
  EXPECT_EQ(address_command("hedge create", &there, caller),
            "hedge --state-dir '/tmp/my state' -C /src/shop create feature/login");
  EXPECT_EQ(address_command("hedge create", &there, {false, "/src/shop", {}}), "hedge -C /src/shop create");
  EXPECT_EQ(address_command("hedge edge start", &there, caller), "hedge --state-dir '/tmp/my state' edge start");
}

TEST(AddressedCommand, LeavesOtherProgramsAndVerbsOfTheWholeMachineAlone) {
  const WorkspaceFacts there = workspace("feature/login");
  for (const char* command : {"git config --global user.email you@example.org", "hedge list", "hedge gc --dry-run"}) {
    EXPECT_EQ(address_command(command, &there, named()), command);
  }
}

TEST(AddressedResult, EveryCommandOfTheObjectIsAddressed) {
  ContractResult result;
  result.workspace = workspace("feature/login");
  CheckResult check;
  describe_failure(check, Error(ErrorKind::not_found, "it is gone").with_id("env_missing"));
  result.checks.push_back(check);
  fail_with(result, Error(ErrorKind::not_found, "it does not run").with_id("stack_not_running"));
  address_commands(result, named());
  const auto object = to_json(result);
  EXPECT_EQ(object["next"], "hedge up feature/login");
  EXPECT_EQ(object["error"]["remediation"]["command"], "hedge up feature/login");
  EXPECT_EQ(object["checks"][0]["remediation"]["command"], "hedge create feature/login");
}

}  // namespace
}  // namespace hedge::contract
