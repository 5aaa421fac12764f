#include "contract/assess.h"

#include <algorithm>
#include <array>

#include "contract/observations.h"
#include "contract/public_address.h"
#include "contract/requirements/requirements.h"

namespace hedge::contract {
namespace {

bool passes(const ContractResult& result, std::string_view id) {
  return std::any_of(result.checks.begin(), result.checks.end(),
                     [&](const CheckResult& check) { return check.id == id && check.status == CheckStatus::pass; });
}

Capabilities capabilities_of(const Subject& subject, const ContractResult& result) {
  Capabilities out;
  // The main checkout's is its own and not looked at; its migrations were asked of it.
  const bool is_main = subject.record.kind == worktree::WorktreeKind::main;
  out.database = passes(result, "database.owner") || (is_main && result.database && passes(result, "database.migrations"));
  out.database_tests = out.database && result.database && result.database->test;
  out.services = subject.config.stack.runtime != config::StackRuntime::none && !subject.evidence.engine_error;
  out.app_url = passes(result, "route.answers");
  out.tls_trusted = passes(result, "ca.trusted");
  return out;
}

// A resource that is as it should be may still have something to tell: links that leave the tree, stale dependencies.
void collect_warnings(const Observations& observations, ContractResult& result) {
  for (const ObservedResource& resource : observations.resources) {
    if (!resource.finding || resource.finding->presence != worktree::Presence::present) continue;
    for (const Error& problem : resource.finding->problems) {
      result.warnings.push_back({std::string(id_of(problem)), problem.to_string()});
    }
  }
}

struct KindAndCheck {
  std::string_view kind;
  std::string_view name;  // of the resource; empty: any
  std::string_view check;
};
// Which requirement a resource stands for.
constexpr std::array<KindAndCheck, 8> kChecksOfKinds{{{"checkout", "", "git.checkout"},
                                                      {"seed", "", "seed.files"},
                                                      {"env", "", "env.file"},
                                                      {"database", "", "database.exists"},
                                                      {"command", "install", "dependencies.installed"},
                                                      {"command", "migrate", "database.migrations"},
                                                      {"stack", "", "stack.running"},
                                                      {"route", "", "route.registered"}}};

CheckResult* find_check_of(ContractResult& result, const worktree::ResourceSpec& spec) {
  const auto row = std::find_if(kChecksOfKinds.begin(), kChecksOfKinds.end(), [&](const KindAndCheck& candidate) {
    return candidate.kind == spec.kind && (candidate.name.empty() || candidate.name == spec.name);
  });
  if (row == kChecksOfKinds.end()) return nullptr;
  const auto found = std::find_if(result.checks.begin(), result.checks.end(),
                                  [&](const CheckResult& check) { return check.id == row->check; });
  return found == result.checks.end() ? nullptr : &*found;
}

Result<config::ProjectConfig> with_valid_hostnames(Result<config::ProjectConfig> config) {
  if (!config) return config;
  if (auto valid = require_hostnames(*config); !valid) return valid.error();
  return config;
}

}  // namespace

void assess(const Instruments& tools, const Subject& subject, Strictness strictness, ContractResult& result) {
  const Observations observations = observe(tools, subject);
  result.provider = subject.provider.choice;
  result.workspace = workspace_facts(subject);
  result.app = app_facts(subject);
  result.database = database_facts(subject);
  result.warnings.insert(result.warnings.end(), subject.provider.warnings.begin(), subject.provider.warnings.end());
  const CheckContext context{tools, subject, observations};
  result.checks = evaluate(requirements_of(context), strictness);
  collect_warnings(observations, result);
  result.capabilities = capabilities_of(subject, result);
  conclude(result);
}

Result<config::ProjectConfig> load_config_of(const std::filesystem::path& checkout,
                                             const std::filesystem::path& main_checkout) {
  auto own = config::load_project_config(checkout);
  const bool is_missing = !own && own.error().id() == "config_missing";
  if (!is_missing || main_checkout.empty() || main_checkout == checkout) return with_valid_hostnames(std::move(own));
  auto main = config::load_project_config(main_checkout);
  // Nobody has one: the message should name the place where the caller stands.
  if (!main && main.error().id() == "config_missing") return own;
  return with_valid_hostnames(std::move(main));
}

void note_failed_run(ContractResult& result, const Error& error, const std::optional<worktree::ResourceSpec>& stopped_at) {
  fail_with(result, error);
  if (result.exit_code == ExitCode::incomplete || result.exit_code == ExitCode::ok) result.exit_code = ExitCode::failed;
  if (!stopped_at) return;
  if (CheckResult* check = find_check_of(result, *stopped_at)) {
    check->status = CheckStatus::fail;
    describe_failure(*check, error);
  }
}

}  // namespace hedge::contract
