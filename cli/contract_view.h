// The result of a contract verb: the object for programs, a short page for people.
#pragma once

#include <string>

#include "cli/output.h"
#include "contract/result.h"

namespace hedge::cli {

class Services;

// Prints `result` and returns its exit code. `named`: the worktree that the command line names, empty for none; suggested
// commands then name it too. `show_all`: also the checks that pass.
int print_contract(Services& services, contract::ContractResult result, const std::string& named, bool show_all);

// The page for people, as lines. Separate, so that it can be tested without a terminal.
std::string contract_page(const Output& output, const contract::ContractResult& result, bool show_all);

}  // namespace hedge::cli
