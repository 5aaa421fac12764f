// One thing that must be so before a worktree is ready, and how one finds out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "contract/result.h"

namespace hedge::contract {

// What a check found. `warn` is not for checks: the evaluator makes it of an optional check's failure.
struct CheckOutcome {
  CheckStatus status = CheckStatus::unknown;
  std::optional<Error> error;         // of fail and unknown
  std::optional<std::string> detail;  // for people
  bool can_be_made = false;           // `hedge create` makes or mends it

  static CheckOutcome pass(std::string detail = {});
  static CheckOutcome fail(Error error);
  static CheckOutcome unknown(Error error);
  static CheckOutcome skip(std::string reason);
};

struct Requirement {
  std::string id;     // stable, "group.name"
  std::string title;  // what is so when it passes
  Severity severity = Severity::required;
  // Requirements without which this one cannot be told: if one of them does not pass, this one is skipped with the reason.
  // Ids that are not in the list are passed over.
  std::vector<std::string> needs;
  // Changes nothing. Bounded in time. May run on any thread, side by side with the others.
  std::function<CheckOutcome()> check;
};

}  // namespace hedge::contract
