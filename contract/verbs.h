// The verbs of the contract. Each returns the object that is printed, whatever happens.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "contract/evaluator.h"
#include "contract/instruments.h"
#include "contract/result.h"
#include "contract/subject.h"

namespace hedge::contract {

enum class Rehearsal { no, yes };  // --dry-run: says what would be done and does nothing

struct CreateOptions {
  std::string branch;    // empty: the checkout that the caller stands in
  std::string from;      // empty: the caller's HEAD
  std::string instance;  // empty: none
  bool adopt = false;    // a linked worktree that git made alone
  worktree::StackWish stack = worktree::StackWish::with_stack;
  ProviderOptions provider;
  Rehearsal rehearsal = Rehearsal::no;
};
ContractResult create(const Instruments& tools, const std::filesystem::path& caller, const CreateOptions& options);

struct VerifyOptions {
  std::string branch;  // empty: the checkout that the caller stands in
  Strictness strictness = Strictness::normal;
};
// `command` is what the object says was run: "verify" or "status".
ContractResult verify(const Instruments& tools, const std::filesystem::path& caller, const VerifyOptions& options,
                      std::string command);

struct DestroyOptions {
  std::string branch;  // empty: the worktree that the caller stands in
  std::string instance;
  worktree::DestroyOptions how;
  Rehearsal rehearsal = Rehearsal::no;
};
ContractResult destroy(const Instruments& tools, const std::filesystem::path& caller, const DestroyOptions& options);

struct PowerOptions {
  std::string branch;
  std::vector<std::string> services;  // empty: what the branch needs
  bool all = false;
};
ContractResult up(const Instruments& tools, const std::filesystem::path& caller, const PowerOptions& options);
ContractResult down(const Instruments& tools, const std::filesystem::path& caller, const PowerOptions& options);

}  // namespace hedge::contract
