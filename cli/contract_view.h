// The result of a contract verb: the object for programs, a short page for people.
#pragma once

#include "cli/output.h"
#include "contract/result.h"

namespace hedge::cli {

// Prints `result` and returns its exit code. `show_all`: also the checks that pass.
int print_contract(Output& output, const contract::ContractResult& result, bool show_all);

// The page for people, as lines. Separate, so that it can be tested without a terminal.
std::string contract_page(const Output& output, const contract::ContractResult& result, bool show_all);

}  // namespace hedge::cli
