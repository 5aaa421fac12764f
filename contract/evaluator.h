// Runs requirements and judges what they say. One evaluator serves create, verify and everybody else.
#pragma once

#include <string_view>
#include <vector>

#include "contract/requirement.h"
#include "contract/result.h"

namespace hedge::contract {

enum class Strictness {
  normal,
  strict,  // every optional requirement counts as required
};

// Checks every requirement, those that do not need each other side by side. The results are in the requirements' order.
// Requires: `needs` have no cycle.
std::vector<CheckResult> evaluate(const std::vector<Requirement>& requirements, Strictness strictness);

// ready: nothing required failed. incomplete: `hedge create` (or the next command) can make what failed; every failed one's
// identifier has exit code 3. failed: everything else.
Status judge(const std::vector<CheckResult>& checks);

// Status, exit code and next command of `result`, from its checks.
void conclude(ContractResult& result);

}  // namespace hedge::contract
