// From the application's process to the browser: stack, route, edge, certificates.
#include <algorithm>

#include "certs/certificate_authority.h"
#include "certs/trust_stores.h"
#include "contract/requirements/answer.h"
#include "contract/requirements/requirements.h"

namespace hedge::contract {
namespace {

CheckOutcome check_stack(const CheckContext& context) {
  const auto stacks = resources_of(context.observations, "stack");
  if (!stacks.empty()) return outcome_of(*stacks.front(), "stack_stopped");
  if (context.subject.record.stack == worktree::StackWish::without_stack) return CheckOutcome::skip("made without a stack");
  return CheckOutcome::skip("[stack] runtime is \"none\"");
}

CheckOutcome check_route(const CheckContext& context) {
  const auto routes = resources_of(context.observations, "route");
  if (routes.empty()) return CheckOutcome::skip("there is nothing to route to");
  return outcome_of(*routes.front(), "route_missing");
}

CheckOutcome check_edge(const CheckContext& context) {
  if (resources_of(context.observations, "route").empty()) return CheckOutcome::skip("there is nothing to route to");
  const auto& edge = context.observations.edge;
  if (!edge) return CheckOutcome::fail(edge.error());
  std::string detail = "process " + std::to_string(edge->pid);
  for (const router::EdgeListener& listener : edge->listeners) {
    detail += ", " + listener.scheme + " on " + listener.address + ":" + std::to_string(listener.port);
  }
  return CheckOutcome::pass(detail);
}

CheckOutcome check_answer(const CheckContext& context) {
  if (resources_of(context.observations, "route").empty()) return CheckOutcome::skip("there is nothing to route to");
  const config::AppConfig& app = context.subject.config.app;
  AnswerQuestion question;
  question.host = context.subject.names.host;
  question.root = certs::authority_location(context.tools.paths).root_certificate();
  question.path = app.health;
  question.nonce = context.subject.record.nonce;
  question.body_is_nonce = app.health_nonce;
  question.limit = app.health_timeout;
  question.start_limit = context.subject.start_limit;
  return ask_application(question, *context.observations.edge);
}

CheckOutcome check_authority(const CheckContext& context) {
  const auto authority =
      certs::load_authority(certs::authority_location(context.tools.paths), context.tools.clock.wall());
  return authority ? CheckOutcome::pass() : CheckOutcome::fail(authority.error());
}

// Only the system's store: browsers have their own, which `hedge ca status` tells about.
CheckOutcome check_trust(const CheckContext& context) {
  const auto root = certs::load_trusted_root(certs::authority_location(context.tools.paths));
  if (!root) return CheckOutcome::unknown(root.error());
  for (const auto& store :
       certs::find_trust_stores(context.tools.environment, certs::StoreKind::system, context.tools.runner)) {
    const certs::TrustFinding finding = store->check(*root);
    if (certs::is_right(finding)) continue;
    std::string text = "the " + finding.store + " store does not trust the root";
    if (!finding.detail.empty()) text += ": " + finding.detail;
    return CheckOutcome::fail(Error(ErrorKind::not_found, std::move(text)).with_id("ca_untrusted"));
  }
  return CheckOutcome::pass();
}

// Names are unique by construction; two worktrees with the same ones would mean damaged state.
CheckOutcome check_cookies(const CheckContext& context) {
  if (!context.observations.records) return CheckOutcome::unknown(context.observations.records.error());
  const auto& own = context.subject.names.cookies;
  for (const worktree::WorktreeRecord& other : *context.observations.records) {
    if (other.id == context.subject.record.id) continue;
    const auto names = worktree::names_of(other, context.subject.config).cookies;
    for (const auto& cookie : own) {
      const bool clashes = std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.second == cookie.second; });
      if (clashes) {
        return CheckOutcome::fail(Error(ErrorKind::conflict, "cookie " + cookie.second + " is also that of " + other.path.string())
                                      .with_id("cookies_clash"));
      }
    }
  }
  return CheckOutcome::pass();
}

}  // namespace

void add_serving_requirements(const CheckContext& context, std::vector<Requirement>& out) {
  out.push_back({"stack.running", "the stack runs", Severity::required, {"git.checkout", "engine.available"},
                 [&context] { return check_stack(context); }});
  out.push_back({"route.registered", "the hostname is registered", Severity::required, {},
                 [&context] { return check_route(context); }});
  out.push_back({"edge.running", "the edge runs", Severity::required, {}, [&context] { return check_edge(context); }});
  out.push_back({"route.answers", "the application answers through the edge, and it is this worktree's", Severity::required,
                 {"stack.running", "route.registered", "edge.running"}, [&context] { return check_answer(context); }});
  out.push_back({"ca.present", "the local certificate authority is there", Severity::required, {},
                 [&context] { return check_authority(context); }});
  out.push_back({"ca.trusted", "this machine trusts it", Severity::optional, {"ca.present"},
                 [&context] { return check_trust(context); }});
  out.push_back({"cookies.unique", "no other worktree has the same cookies", Severity::required, {},
                 [&context] { return check_cookies(context); }});
}

}  // namespace hedge::contract
