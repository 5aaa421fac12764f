#include "proxy/pages/next_step.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace hedge::proxy {
namespace {

constexpr std::array<std::string_view, 4> kPrograms = {"hedge ", "docker ", "systemctl ", "sudo "};

bool is_command(std::string_view fix) {
  return std::any_of(kPrograms.begin(), kPrograms.end(),
                     [fix](std::string_view program) { return fix.starts_with(program); });
}

// What a shell takes as one plain word: the text comes from the route store and is pasted into a terminal.
bool is_plain_word(std::string_view text) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
    return is_ascii_alnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

// The command of a reason where the error names none; empty: there is no special one.
NextStep step_for_reason(const ErrorReport& report) {
  const std::string worktree(report.worktree);
  const bool owned = is_plain_word(report.worktree);
  switch (report.error.reason) {
    case ProxyReason::route_unknown:
      return {"hedge route ls",
              "a worktree gets its hostname from hedge create BRANCH, anything else from hedge route add"};
    case ProxyReason::stack_starting:
      return {"hedge list", ""};
    case ProxyReason::container_stopped:
      return {owned ? "hedge up " + worktree : "", ""};
    case ProxyReason::upstream_unresolved:
      if (owned)
        return {"hedge up " + worktree, "if the worktree is gone, hedge gc removes what is left of it"};
      return {is_plain_word(report.route_host) ? "hedge route rm " + std::string(report.route_host) : "", ""};
    case ProxyReason::upstream_refused:
    case ProxyReason::upstream_closed:
    case ProxyReason::upstream_bad_response:
    case ProxyReason::upstream_timeout:
      return {owned ? "hedge verify " + worktree : "", ""};
    case ProxyReason::engine_not_running:
      return {"systemctl start docker", ""};
    default:
      return {};
  }
}

}  // namespace

NextStep next_step(const ErrorReport& report) {
  NextStep step = step_for_reason(report);
  const std::string& fix = report.error.fix;
  const bool is_stack = report.error.reason == ProxyReason::container_stopped ||
                        report.error.reason == ProxyReason::upstream_unresolved;
  if (is_command(fix)) {
    // A worktree's containers are the manager's: nobody is told to start one behind its back.
    if (!is_stack || report.worktree.empty()) step.command = fix;
  } else if (!fix.empty()) {
    step.advice = fix;
  }
  if (step.command.empty()) step.command = "hedge explain " + std::string(report.error.id());
  return step;
}

}  // namespace hedge::proxy
