#include "contract/evaluator.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <thread>

namespace hedge::contract {
namespace {

using SteadyClock = std::chrono::steady_clock;

bool counts_against(const CheckResult& check) { return check.severity == Severity::required && check.failed(); }

const CheckResult* find(const std::vector<const CheckResult*>& done, std::string_view id) {
  const auto found = std::find_if(done.begin(), done.end(), [&](const CheckResult* check) { return check->id == id; });
  return found == done.end() ? nullptr : *found;
}

// A need that did not pass, or could not be looked at because of another. One that does not apply here is no obstacle.
bool is_obstacle(const CheckResult& check) {
  return check.failed() || check.status == CheckStatus::warn || check.is_blocked;
}

// Null if nothing stands in the way.
const CheckResult* find_obstacle(const Requirement& requirement, const std::vector<const CheckResult*>& done) {
  for (const std::string& need : requirement.needs) {
    const CheckResult* check = find(done, need);
    if (check != nullptr && is_obstacle(*check)) return check;
  }
  return nullptr;
}

void record(CheckResult& result, CheckOutcome outcome) {
  result.status = outcome.status;
  result.detail = std::move(outcome.detail);
  result.can_be_made = outcome.can_be_made;
  if (outcome.error) describe_failure(result, *outcome.error);
  if (result.failed() && result.severity == Severity::optional) result.status = CheckStatus::warn;
}

void check_one(const Requirement& requirement, CheckResult& result) {
  const auto begun = SteadyClock::now();
  record(result, requirement.check());
  result.duration = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begun);
}

std::string obstacle_text(const CheckResult& obstacle) {
  return obstacle.id + (obstacle.status == CheckStatus::skip ? " was skipped" : " does not pass");
}

// One evaluation: waves of requirements whose needs are settled.
class Evaluation {
 public:
  Evaluation(const std::vector<Requirement>& requirements, Strictness strictness)
      : requirements_(requirements), results_(requirements.size()), settled_(requirements.size(), false) {
    for (std::size_t i = 0; i < requirements.size(); ++i) {
      results_[i].id = requirements[i].id;
      results_[i].title = requirements[i].title;
      results_[i].severity = strictness == Strictness::strict ? Severity::required : requirements[i].severity;
    }
  }

  std::vector<CheckResult> run() {
    for (std::vector<std::size_t> wave = next_wave(); !wave.empty(); wave = next_wave()) run_wave(wave);
    assert(std::all_of(settled_.begin(), settled_.end(), [](bool settled) { return settled; }) && "needs have a cycle");
    return std::move(results_);
  }

 private:
  bool is_pending(std::string_view id) const {
    for (std::size_t i = 0; i < requirements_.size(); ++i) {
      if (requirements_[i].id == id) return !settled_[i];
    }
    return false;
  }

  std::vector<std::size_t> next_wave() const {
    std::vector<std::size_t> wave;
    for (std::size_t i = 0; i < requirements_.size(); ++i) {
      const auto& needs = requirements_[i].needs;
      const bool waits = std::any_of(needs.begin(), needs.end(), [&](const std::string& id) { return is_pending(id); });
      if (!settled_[i] && !waits) wave.push_back(i);
    }
    return wave;
  }

  void run_wave(const std::vector<std::size_t>& wave) {
    std::vector<const CheckResult*> done;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (settled_[i]) done.push_back(&results_[i]);
    }
    std::vector<std::jthread> threads;
    for (const std::size_t i : wave) {
      if (const CheckResult* obstacle = find_obstacle(requirements_[i], done)) {
        record(results_[i], CheckOutcome::skip(obstacle_text(*obstacle)));
        results_[i].is_blocked = true;
      } else {
        threads.emplace_back([this, i] { check_one(requirements_[i], results_[i]); });
      }
    }
    threads.clear();  // joins
    for (const std::size_t i : wave) settled_[i] = true;
  }

  const std::vector<Requirement>& requirements_;
  std::vector<CheckResult> results_;
  std::vector<bool> settled_;
};

}  // namespace

CheckOutcome CheckOutcome::pass(std::string detail) {
  CheckOutcome out;
  out.status = CheckStatus::pass;
  if (!detail.empty()) out.detail = std::move(detail);
  return out;
}

CheckOutcome CheckOutcome::fail(Error error) {
  CheckOutcome out;
  out.status = CheckStatus::fail;
  out.error = std::move(error);
  return out;
}

CheckOutcome CheckOutcome::unknown(Error error) {
  CheckOutcome out;
  out.status = CheckStatus::unknown;
  out.error = std::move(error);
  return out;
}

CheckOutcome CheckOutcome::skip(std::string reason) {
  CheckOutcome out;
  out.status = CheckStatus::skip;
  out.detail = std::move(reason);
  return out;
}

std::vector<CheckResult> evaluate(const std::vector<Requirement>& requirements, Strictness strictness) {
  return Evaluation(requirements, strictness).run();
}

Status judge(const std::vector<CheckResult>& checks) {
  bool all_can_be_made = true;
  bool any_failed = false;
  for (const CheckResult& check : checks) {
    if (!counts_against(check)) continue;
    any_failed = true;
    const ErrorEntry* entry = check.error ? find_error(*check.error) : nullptr;
    const bool next_command_makes_it = entry != nullptr && entry->exit_code == ExitCode::incomplete;
    if (!check.can_be_made && !next_command_makes_it) all_can_be_made = false;
  }
  if (!any_failed) return Status::ready;
  return all_can_be_made ? Status::incomplete : Status::failed;
}

void conclude(ContractResult& result) {
  result.status = judge(result.checks);
  switch (result.status) {
    case Status::ready: result.exit_code = ExitCode::ok; break;
    case Status::incomplete: result.exit_code = ExitCode::incomplete; break;
    default: result.exit_code = ExitCode::failed; break;
  }
  for (const CheckResult& check : result.checks) {
    if (counts_against(check) && check.remediation && check.remediation->command) {
      result.next = check.remediation->command;
      return;
    }
  }
}

}  // namespace hedge::contract
