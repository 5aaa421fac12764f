// The object of the contract, `hedge.contract/1`: what create, verify, destroy, status, up and down print.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "contract/errors.h"
#include "worktree/resource.h"

namespace hedge::contract {

inline constexpr std::string_view kContractSchema = "hedge.contract/1";

enum class Status {
  ready,       // every required check passes
  incomplete,  // something is missing that `hedge create` can make
  failed,      // it tried and could not, or nothing can make it
  destroyed,
};
enum class CheckStatus {
  pass,
  warn,     // an optional check failed
  fail,
  skip,     // does not apply here; the detail says why
  unknown,  // could not be determined; counts as a failure where required
};
enum class Severity { required, optional };

std::string_view to_string(Status status);
std::string_view to_string(CheckStatus status);
std::string_view to_string(Severity severity);

struct Remediation {
  std::string text;
  std::optional<std::string> command;
};

struct CheckResult {
  std::string id;
  std::string title;
  Severity severity = Severity::required;
  CheckStatus status = CheckStatus::unknown;
  std::optional<std::string> error;  // a stable identifier
  std::optional<std::string> detail;
  std::optional<Remediation> remediation;
  std::chrono::milliseconds duration{0};
  bool can_be_made = false;  // by `hedge create`; decides between incomplete and failed, not printed
  bool is_blocked = false;   // skipped because of another requirement, not printed

  bool failed() const { return status == CheckStatus::fail || status == CheckStatus::unknown; }
};

struct ProviderChoice {
  std::string name;
  std::string chosen_by;  // option, environment, config, recorded, detected
  std::vector<std::string> because;
};

struct WorkspaceFacts {
  std::string path;
  std::string kind;  // "worktree" or "main"
  std::optional<std::string> id;
  std::optional<std::string> slug;
  std::optional<std::string> instance;
  std::optional<std::string> branch;  // absent: detached
  std::optional<std::string> head;
  std::optional<std::string> base;
  // `hedge VERB BRANCH`, with its instance if it has one, means this worktree. Not so if it was adopted, is the main checkout
  // or has switched to another branch. Not printed.
  bool is_of_its_branch = false;
};

struct AppFacts {
  std::string name;
  std::optional<std::string> url;
  std::vector<std::string> hostnames;
  std::vector<std::pair<std::string, std::string>> cookies;  // kind and name
};

struct DatabaseFacts {
  std::string engine;
  std::string app;
  std::optional<std::string> test;
  bool pooled = false;
};

struct Capabilities {
  bool database = false;        // the application has a database of its own
  bool services = false;        // a stack can run here
  bool app_url = false;         // the application answers through the edge
  bool database_tests = false;  // there is a test database
  bool tls_trusted = false;     // this machine's system store trusts the root
};

struct Warning {
  std::string id;
  std::string text;
};

struct ContractResult {
  std::string command;
  Status status = Status::failed;
  ExitCode exit_code = ExitCode::failed;
  std::optional<ProviderChoice> provider;
  std::optional<WorkspaceFacts> workspace;
  std::optional<AppFacts> app;
  std::optional<DatabaseFacts> database;
  Capabilities capabilities;
  std::vector<CheckResult> checks;
  std::vector<worktree::Change> changes;  // with --dry-run: what would be done
  bool is_rehearsal = false;              // --dry-run
  std::vector<Warning> warnings;
  std::optional<Error> error;  // what ended the command before or beside the checks
  std::optional<Remediation> remediation;  // of that error
  std::optional<std::string> next;
  std::chrono::milliseconds duration{0};
};

// With `error`, its exit code and its next step; everything else stays as it is.
void fail_with(ContractResult& result, const Error& error);
nlohmann::json to_json(const ContractResult& result);
nlohmann::json error_to_json(const Error& error);

// What a check says about an error: its id, text and remediation.
void describe_failure(CheckResult& check, const Error& error);

}  // namespace hedge::contract
