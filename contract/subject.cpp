#include "contract/subject.h"

#include <algorithm>

#include "certs/trust_bundle.h"
#include "contract/public_address.h"
#include "worktree/env_file.h"
#include "worktree/stack/engine_probe.h"

namespace hedge::contract {
namespace {

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::string value_of(const worktree::Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second.literals();
}

Evidence collect_evidence(const Instruments& tools, const config::ProjectConfig& config) {
  Evidence evidence;
  evidence.needs_engine = config.stack.runtime == config::StackRuntime::compose;
  if (evidence.needs_engine) {
    if (auto engine = worktree::probe_engine(tools.environment); !engine) evidence.engine_error = engine.error();
  }
  return evidence;
}

// What templates may use and only this layer knows: the certificates are the edge's, and so is the port of the URL.
worktree::Values given_values(const Instruments& tools, const Subject& subject) {
  const certs::TrustBundle trust =
      certs::find_trust_bundle(certs::authority_location(tools.paths), certs::public_bundles());
  // Without public roots a bundle would take them away; what names it still gets ours.
  const std::string bundle = trust.bundle.empty() ? trust.root.string() : trust.bundle.string();
  worktree::Values values{{"app.url", public_url(subject.names.host, load_https_port(tools.paths))},
                          {"ca.root", trust.root.string()},
                          {"ca.bundle", bundle},
                          {"ca.java", trust.java.string()},
                          {std::string(worktree::kTrustDirectory), trust.directory.string()}};
  for (const auto& [name, value] : certs::trust_variables(trust))
    values.emplace(std::string(worktree::kTrustPrefix) + name, value);
  return values;
}

std::optional<std::string> variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

}  // namespace

Result<Subject> make_subject(const Instruments& tools, const worktree::WorktreeRecord& record, config::ProjectConfig config,
                             const ProviderOptions& options, worktree::ObserveMode mode) {
  Subject subject;
  subject.record = record;
  subject.config = std::move(config);
  subject.names = worktree::names_of(record, subject.config);
  if (auto checkout = worktree::inspect_exactly(tools.git, record.path)) subject.checkout = std::move(*checkout);
  subject.evidence = collect_evidence(tools, subject.config);
  const ProviderWish wish{options.provider, variable(tools.environment, "HEDGE_PROVIDER"), subject.config.provider.provider,
                          load_recorded_provider(record.repository)};
  auto provider = choose_provider(wish, subject.evidence);
  if (!provider) return provider.error();
  subject.provider = std::move(*provider);
  auto observed = worktree::observe(tools.git, tools.ports, record, subject.config, mode);
  if (!observed) return observed.error();
  subject.observed = std::move(*observed);
  subject.observed.given = given_values(tools, subject);
  const worktree::PlanInput input{subject.record, subject.names, subject.config, tools.paths, subject.observed};
  auto plan = worktree::make_plan(tools.kinds, input);
  if (!plan) return plan.error();
  subject.plan = std::move(*plan);
  return subject;
}

WorkspaceFacts workspace_facts(const worktree::WorktreeRecord& record) {
  WorkspaceFacts facts;
  facts.path = record.path.string();
  facts.kind = record.kind == worktree::WorktreeKind::main ? "main" : "worktree";
  facts.id = unless_empty(record.id);
  facts.slug = unless_empty(record.slug);
  facts.instance = unless_empty(record.instance);
  facts.branch = unless_empty(record.branch);
  facts.base = unless_empty(record.base);
  facts.is_of_its_branch = record.kind == worktree::WorktreeKind::linked && !record.branch.empty() &&
                           record.branch_origin != worktree::BranchOrigin::none;
  return facts;
}

void expect_start(Subject& subject) {
  constexpr std::chrono::seconds kStartLimit{30};
  if (subject.config.stack.runtime == config::StackRuntime::compose) subject.start_limit = kStartLimit;
}

WorkspaceFacts workspace_facts(const Subject& subject) {
  WorkspaceFacts facts = workspace_facts(subject.record);
  if (!subject.checkout.top.empty()) {
    facts.is_of_its_branch = facts.is_of_its_branch && subject.checkout.branch == subject.record.branch;
    facts.branch = unless_empty(subject.checkout.branch);
    facts.head = unless_empty(subject.checkout.head);
  }
  return facts;
}

AppFacts app_facts(const Subject& subject) {
  AppFacts facts;
  facts.name = subject.config.app.name;
  facts.cookies = subject.names.cookies;
  facts.hostnames = {subject.names.host};
  const bool has_route = std::any_of(subject.plan.steps.begin(), subject.plan.steps.end(),
                                     [](const worktree::ResourceSpec& step) { return step.kind == "route"; });
  if (has_route) facts.url = value_of(subject.plan.values, "app.url");
  return facts;
}

std::optional<DatabaseFacts> database_facts(const Subject& subject) {
  DatabaseFacts facts;
  switch (subject.config.database.engine) {
    case config::DatabaseEngine::none: return std::nullopt;
    case config::DatabaseEngine::sqlite: facts.engine = "sqlite"; break;
    case config::DatabaseEngine::postgres: facts.engine = "postgres"; break;
  }
  facts.app = value_of(subject.plan.values, "database.name");
  facts.test = unless_empty(value_of(subject.plan.values, "database.test_name"));
  if (subject.config.database.engine == config::DatabaseEngine::sqlite) {  // a name alone would be every worktree's
    facts.app = (subject.record.path / facts.app).string();
    if (facts.test) facts.test = (subject.record.path / *facts.test).string();
  }
  return facts;
}

}  // namespace hedge::contract
