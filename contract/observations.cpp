#include "contract/observations.h"

#include <thread>

namespace hedge::contract {
namespace {

using worktree::Presence;

Result<worktree::Finding> look_at(const Instruments& tools, const Subject& subject, const worktree::ResourceSpec& spec) {
  auto resource = tools.kinds.make(spec, subject.record);
  if (!resource) return resource.error();
  return (*resource)->check();
}

Error problem_of(const ObservedResource& resource, std::string_view missing_id) {
  const worktree::Finding& finding = *resource.finding;
  if (!finding.problems.empty()) return finding.problems.front();
  const std::string what = resource.spec.kind + " " + resource.spec.name;
  if (finding.presence == Presence::foreign) {
    return Error(ErrorKind::conflict, what + " belongs to somebody else").with_id("ownership_conflict");
  }
  const std::string how = finding.presence == Presence::missing ? " is missing" : " is not as it should be";
  std::string text = what + how;
  if (!finding.detail.empty()) text += ": " + finding.detail;
  return Error(ErrorKind::not_found, text).with_id(missing_id);
}

}  // namespace

Observations observe(const Instruments& tools, const Subject& subject) {
  const auto& steps = subject.plan.steps;
  Observations out{{}, Error(ErrorKind::unavailable, "not asked"), tools.registry.load_all()};
  out.resources.reserve(steps.size());
  for (const worktree::ResourceSpec& step : steps) out.resources.push_back({step, worktree::Finding{}});
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] {
      const router::EdgeClient client(router::find_control_socket(tools.paths.state, tools.paths.control_socket()));
      out.edge = client.fetch_status();
    });
    for (ObservedResource& resource : out.resources) {
      threads.emplace_back([&] { resource.finding = look_at(tools, subject, resource.spec); });
    }
  }
  return out;
}

std::vector<const ObservedResource*> resources_of(const Observations& observations, std::string_view kind) {
  std::vector<const ObservedResource*> out;
  for (const ObservedResource& resource : observations.resources) {
    if (resource.spec.kind == kind) out.push_back(&resource);
  }
  return out;
}

CheckOutcome outcome_of(const ObservedResource& resource, std::string_view missing_id) {
  if (!resource.finding) return CheckOutcome::unknown(resource.finding.error());
  switch (resource.finding->presence) {
    case Presence::present: return CheckOutcome::pass(resource.finding->detail);
    case Presence::unknown: return CheckOutcome::unknown(problem_of(resource, missing_id));
    case Presence::missing:
    case Presence::differs: {
      CheckOutcome out = CheckOutcome::fail(problem_of(resource, missing_id));
      out.can_be_made = true;
      return out;
    }
    case Presence::foreign: break;
  }
  return CheckOutcome::fail(problem_of(resource, missing_id));
}

}  // namespace hedge::contract
