// The catalogue of stable error identifiers: one per cause, with its meaning, what to do, and the exit code.
// Lower layers use the ids as plain texts (Error::with_id); a structure test compares both directions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hedge::contract {

// What the program exits with. Stable: scripts rely on them.
enum class ExitCode {
  ok = 0,
  failed = 1,
  usage = 2,
  incomplete = 3,   // something is missing that `hedge create` can make
  refused = 4,      // a guard said no
  busy = 5,         // a lock is held
  unreadable = 6,   // stored state cannot be read
};
constexpr int to_int(ExitCode code) { return static_cast<int>(code); }

struct ErrorEntry {
  std::string_view id;
  std::string_view meaning;      // a sentence
  std::string_view remediation;  // what a person does about it; a sentence. Never suggests losing data unless that is the cause
  std::string_view command;      // the command to run next; empty if there is no single one
  ExitCode exit_code = ExitCode::failed;
};

// Sorted by id.
std::span<const ErrorEntry> all_errors();
// Null if unknown.
const ErrorEntry* find_error(std::string_view id);

// By the catalogue, else by the error's kind.
ExitCode exit_code_of(const Error& error);
// The error's own id, else one that fits its kind (`internal_error` for none).
std::string_view id_of(const Error& error);

// The whole catalogue as the page docs/errors.md.
std::string errors_page();

}  // namespace hedge::contract
