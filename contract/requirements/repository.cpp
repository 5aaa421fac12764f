// [[checks]] of hedge.toml: the repository's own requirements, run in the worktree's environment.
#include "contract/requirements/requirements.h"
#include "contract/wrapper_place.h"

namespace hedge::contract {
namespace {

CheckOutcome run_check(const CheckContext& context, const config::CheckConfig& check) {
  const worktree::Wrapper wrapper(context.tools.runner, context.tools.environment, context.tools.stacks);
  auto place = check.service ? wrapper_place(context.tools, context.subject, check.service)
                             : host_place(context.tools, context.subject);
  if (!place) return CheckOutcome::unknown(place.error());
  auto said = wrapper.run(*place, check.command, check.timeout);
  if (!said) return CheckOutcome::fail(std::move(said).error().with_context("[[checks]] " + check.id));
  if (said->ok()) return CheckOutcome::pass(tail_of(said->out, 1));
  Error error = Error(ErrorKind::io, "exit code " + std::to_string(said->exit_code) + ": " +
                                         tail_of(said->err.empty() ? said->out : said->err))
                    .with_id("check_failed");
  return CheckOutcome::fail(check.remediation.empty() ? std::move(error) : std::move(error).with_hint(check.remediation));
}

}  // namespace

void add_repository_requirements(const CheckContext& context, std::vector<Requirement>& out) {
  for (const config::CheckConfig& check : context.subject.config.checks) {
    const Severity severity =
        check.severity == config::CheckSeverity::required ? Severity::required : Severity::optional;
    out.push_back({"checks." + check.id, check.title, severity, {"git.checkout", "env.file", "stack.running"},
                   [&context, &check] { return run_check(context, check); }});
  }
}

}  // namespace hedge::contract
