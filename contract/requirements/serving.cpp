// From the application's process to the browser: stack, route, edge, certificates.
#include <algorithm>
#include <functional>
#include <string>

#include "certs/certificate_authority.h"
#include "certs/trust_stores.h"
#include "contract/requirements/answer.h"
#include "contract/requirements/requirements.h"
#include "worktree/stack/compose_stack.h"

namespace hedge::contract {
namespace {

CheckOutcome check_stack(const CheckContext& context) {
  const auto stacks = resources_of(context.observations, "stack");
  if (!stacks.empty()) return outcome_of(*stacks.front(), "stack_stopped");
  if (context.subject.record.stack == worktree::StackWish::without_stack) return CheckOutcome::skip("made without a stack");
  return CheckOutcome::skip("[stack] runtime is \"none\"");
}

using ContainerCheck = std::function<CheckOutcome(const worktree::ComposeStack&)>;

CheckOutcome check_containers(const CheckContext& context, const ContainerCheck& check) {
  const auto stacks = resources_of(context.observations, "stack");
  if (stacks.empty()) return CheckOutcome::skip("the worktree has no stack");
  const auto resource = context.tools.kinds.make(stacks.front()->spec, context.subject.record);
  if (!resource) return CheckOutcome::unknown(resource.error());
  const auto* containers = dynamic_cast<const worktree::ComposeStack*>(resource->get());
  return containers == nullptr ? CheckOutcome::skip("the stack has no containers") : check(*containers);
}

// Inside of containers the public name is this host's address on their network.
CheckOutcome check_inside(const CheckContext& context, const worktree::ComposeStack& containers) {
  const auto gateway = containers.fetch_gateway();
  if (!gateway) return CheckOutcome::unknown(gateway.error());
  if (gateway->empty()) return CheckOutcome::skip("this host has no address on the containers' network");
  std::uint16_t port = 0;
  for (const router::EdgeListener& listener : context.observations.edge->listeners) {
    if (listener.scheme != "https") continue;
    if (listener.address == *gateway || listener.address == "0.0.0.0" || listener.address == "::") {
      return CheckOutcome::pass("it listens on " + listener.address);
    }
    port = listener.port;
  }
  if (port == 0) return CheckOutcome::skip("the edge has no TLS");
  return CheckOutcome::fail(Error(ErrorKind::unavailable, "in containers " + context.subject.names.host + " is " + *gateway +
                                                              ", where the edge does not listen; name \"" + *gateway + ":" +
                                                              std::to_string(port) + "\" in the list https of the settings' [edge], too")
                                .with_id("edge_not_inside"));
}

// Cases: a bare service name, and somebody else's container with the worktree's own name.
CheckOutcome check_aliases(const worktree::ComposeStack& containers) {
  const auto clashes = containers.find_alias_clashes();
  if (!clashes) return CheckOutcome::unknown(clashes.error());
  if (clashes->empty()) return CheckOutcome::pass();
  CheckOutcome outcome = CheckOutcome::fail(clashes->front());
  outcome.can_be_made = clashes->front().id() == "network_alias_bare";
  return outcome;
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
  CheckOutcome outcome = ask_application(question, *context.observations.edge);
  if (!outcome.error || outcome.error->id() != "certificate_unavailable") return outcome;
  // The edge makes certificates with the authority that lies here; what is wrong with it is the cause.
  const auto authority =
      certs::load_authority(certs::authority_location(context.tools.paths), context.tools.clock.wall());
  return authority ? outcome : CheckOutcome::fail(authority.error());
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
  out.push_back({"network.alias", "on shared networks nobody else has the stack's names", Severity::required,
                 {"git.checkout", "engine.available"}, [&context] { return check_containers(context, check_aliases); }});
  out.push_back({"route.registered", "the hostname is registered", Severity::required, {},
                 [&context] { return check_route(context); }});
  out.push_back({"edge.running", "the edge runs", Severity::required, {}, [&context] { return check_edge(context); }});
  out.push_back({"edge.inside", "containers find the edge under the hostname", Severity::optional,
                 {"edge.running", "engine.available"}, [&context] {
                   return check_containers(context, [&context](const auto& stack) { return check_inside(context, stack); });
                 }});
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
