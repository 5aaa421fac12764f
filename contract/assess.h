// Checks one worktree and fills the object with what is so. The part that create, verify, up and down share.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "config/project_config.h"
#include "contract/evaluator.h"
#include "contract/instruments.h"
#include "contract/result.h"
#include "contract/subject.h"

namespace hedge::contract {

// Everything but `command`, `changes` and `duration`. Changes nothing in the world.
void assess(const Instruments& tools, const Subject& subject, Strictness strictness, ContractResult& result);

// hedge.toml of the worktree; where its branch has none, the main checkout's.
// Errors: those of load_project_config(), with the worktree's path.
Result<config::ProjectConfig> load_config_of(const std::filesystem::path& checkout, const std::filesystem::path& main_checkout);

// Writes down what a failed run stopped at: the check of that resource gets the error, the object its exit code (never
// `incomplete`: it tried and could not).
void note_failed_run(ContractResult& result, const Error& error, const std::optional<worktree::ResourceSpec>& stopped_at);

}  // namespace hedge::contract
