#include "contract/result.h"

#include <nlohmann/json.hpp>

namespace hedge::contract {

using nlohmann::json;

namespace {

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json to_json(const std::optional<ProviderChoice>& provider) {
  if (!provider) return nullptr;
  return {{"name", provider->name}, {"chosen_by", provider->chosen_by}, {"because", provider->because}};
}

json to_json(const std::optional<WorkspaceFacts>& facts) {
  if (!facts) return nullptr;
  return {{"path", facts->path},           {"kind", facts->kind},
          {"id", or_null(facts->id)},      {"slug", or_null(facts->slug)},
          {"instance", or_null(facts->instance)}, {"branch", or_null(facts->branch)},
          {"head", or_null(facts->head)},  {"base", or_null(facts->base)}};
}

json to_json(const std::optional<AppFacts>& facts) {
  if (!facts) return nullptr;
  json cookies = json::object();
  for (const auto& [kind, name] : facts->cookies) cookies[kind] = name;
  return {{"name", facts->name}, {"url", or_null(facts->url)}, {"hostnames", facts->hostnames}, {"cookies", cookies}};
}

json to_json(const std::optional<DatabaseFacts>& facts) {
  json data = {{"database", nullptr}, {"redis", nullptr}, {"queue", nullptr}};
  if (facts) {
    data["database"] = {
        {"engine", facts->engine}, {"app", facts->app}, {"test", or_null(facts->test)}, {"pooled", facts->pooled}};
  }
  return data;
}

json to_json(const Capabilities& capabilities) {
  return {{"database", capabilities.database},
          {"services", capabilities.services},
          {"app_url", capabilities.app_url},
          {"database_tests", capabilities.database_tests},
          {"tls_trusted", capabilities.tls_trusted}};
}

json to_json(const std::optional<Remediation>& remediation) {
  if (!remediation) return nullptr;
  return {{"text", remediation->text}, {"command", or_null(remediation->command)}};
}

json to_json(const Error& error, const std::optional<Remediation>& remediation) {
  return {{"id", id_of(error)},
          {"text", error.to_string()},
          {"hints", error.hints()},
          {"remediation", to_json(remediation)}};
}

json to_json(const CheckResult& check) {
  return {{"id", check.id},
          {"title", check.title},
          {"severity", to_string(check.severity)},
          {"status", to_string(check.status)},
          {"error", or_null(check.error)},
          {"detail", or_null(check.detail)},
          {"remediation", to_json(check.remediation)},
          {"duration_ms", check.duration.count()}};
}

json to_json(const worktree::Change& change) {
  return {{"resource", change.resource},
          {"name", change.name},
          {"action", worktree::to_string(change.action)},
          {"detail", change.detail.empty() ? json(nullptr) : json(change.detail)}};
}

// Remediation of an error: its own first hint says more than the catalogue, which knows the command.
std::optional<Remediation> remediation_of(const Error& error) {
  const ErrorEntry* entry = find_error(id_of(error));
  if (entry == nullptr && error.hints().empty()) return std::nullopt;
  Remediation out;
  out.text = error.hints().empty() ? std::string(entry->remediation) : error.hints().front();
  if (entry != nullptr && !entry->command.empty()) out.command = std::string(entry->command);
  return out;
}

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::ready: return "ready";
    case Status::incomplete: return "incomplete";
    case Status::failed: return "failed";
    case Status::destroyed: return "destroyed";
  }
  return "failed";
}

std::string_view to_string(CheckStatus status) {
  switch (status) {
    case CheckStatus::pass: return "pass";
    case CheckStatus::warn: return "warn";
    case CheckStatus::fail: return "fail";
    case CheckStatus::skip: return "skip";
    case CheckStatus::unknown: return "unknown";
  }
  return "unknown";
}

std::string_view to_string(Severity severity) { return severity == Severity::required ? "required" : "optional"; }

void fail_with(ContractResult& result, const Error& error) {
  result.status = Status::failed;
  result.exit_code = exit_code_of(error);
  result.error = error;
  result.remediation = remediation_of(error);
  if (result.remediation && result.remediation->command) result.next = result.remediation->command;
}

void describe_failure(CheckResult& check, const Error& error) {
  check.error = std::string(id_of(error));
  std::string detail = error.to_string();
  // The first hint is the remediation; the others belong to what happened (further problems of a file, lost work).
  for (std::size_t i = 1; i < error.hints().size(); ++i) detail += "\n" + error.hints()[i];
  check.detail = std::move(detail);
  check.remediation = remediation_of(error);
}

json error_to_json(const Error& error) { return {{"error", to_json(error, remediation_of(error))}}; }

json to_json(const ContractResult& result) {
  json checks = json::array();
  for (const CheckResult& check : result.checks) checks.push_back(to_json(check));
  json changes = json::array();
  for (const worktree::Change& change : result.changes) changes.push_back(to_json(change));
  json warnings = json::array();
  for (const Warning& warning : result.warnings) warnings.push_back({{"id", warning.id}, {"text", warning.text}});
  return {{"schema", kContractSchema},
          {"command", result.command},
          {"status", to_string(result.status)},
          {"ok", result.exit_code == ExitCode::ok},
          {"exit_code", to_int(result.exit_code)},
          {"provider", to_json(result.provider)},
          {"workspace", to_json(result.workspace)},
          {"app", to_json(result.app)},
          {"data", to_json(result.database)},
          {"capabilities", to_json(result.capabilities)},
          {"checks", std::move(checks)},
          {"changes", std::move(changes)},
          {"dry_run", result.is_rehearsal},
          {"warnings", std::move(warnings)},
          {"error", result.error ? to_json(*result.error, result.remediation) : json(nullptr)},
          {"next", or_null(result.next)},
          {"duration_ms", result.duration.count()}};
}

}  // namespace hedge::contract
