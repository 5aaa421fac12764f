#include "contract/result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hedge::contract {
namespace {

TEST(ContractObject, HasEveryKeyAlsoWhenNothingIsKnown) {
  const auto object = to_json(ContractResult{});
  EXPECT_EQ(object["schema"], "hedge.contract/1");
  for (const char* key : {"command", "status", "ok", "exit_code", "provider", "workspace", "app", "data", "capabilities", "checks",
                          "changes", "dry_run", "warnings", "error", "next", "duration_ms"}) {
    EXPECT_TRUE(object.contains(key)) << key;
  }
  EXPECT_TRUE(object["provider"].is_null());
  EXPECT_TRUE(object["data"]["database"].is_null());
  EXPECT_FALSE(object["ok"]);
}

TEST(ContractObject, OkIsExactlyExitCodeZero) {
  for (const ExitCode code : {ExitCode::ok, ExitCode::failed, ExitCode::incomplete, ExitCode::refused}) {
    ContractResult result;
    result.exit_code = code;
    EXPECT_EQ(to_json(result)["ok"], code == ExitCode::ok);
  }
}

TEST(ContractObject, AnErrorSetsStatusExitCodeAndNext) {
  ContractResult result;
  result.command = "create";
  fail_with(result, Error(ErrorKind::not_found, "there is no hedge.toml").with_id("config_missing"));
  const auto object = to_json(result);
  EXPECT_EQ(object["status"], "failed");
  EXPECT_EQ(object["exit_code"], 2);
  EXPECT_EQ(object["error"]["id"], "config_missing");
  EXPECT_EQ(object["next"], "hedge init");
}

TEST(ContractObject, AFailuresFirstHintIsItsRemediationAndTheOthersItsDetail) {
  CheckResult check;
  describe_failure(check, Error(ErrorKind::refused, "work would be lost")
                              .with_id("unsaved_work")
                              .with_hint("commit it")
                              .with_hint("a.txt"));
  EXPECT_EQ(check.error, "unsaved_work");
  EXPECT_EQ(check.detail, "work would be lost\na.txt");
  ASSERT_TRUE(check.remediation);
  EXPECT_EQ(check.remediation->text, "commit it");
}

TEST(ContractObject, NamesThatAreNotUtf8CannotMakeItInvalid) {
  ContractResult result;
  result.workspace = WorkspaceFacts{};
  result.workspace->branch = "br\xff";
  const std::string text = to_json(result).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  EXPECT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded());
}

}  // namespace
}  // namespace hedge::contract
