// The golden copy of main's database: a template that nobody can connect to, refreshed by dump and restore,
// so that no session on main is ever disturbed or waited for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/subprocess.h"
#include "worktree/data/pg_connection.h"
#include "worktree/free_space.h"

namespace hedge::worktree {

struct GoldenSpec {
  PgTarget admin;
  std::string source;                        // main's database
  std::string name;                          // of the copy
  std::string role() const { return name; }  // owns the objects in it; cannot log in
  std::filesystem::path scratch;             // a directory of our own (0700), for the dump
  Environment environment;                   // the caller's
  std::chrono::milliseconds limit{1800000};  // of the dump, and of the restore
  SpaceProbe space = free_bytes;
};

struct GoldenFacts {
  std::string source;
  std::string made_at;  // UTC
};

// Absent: there is none. Errors: conflict `ownership_conflict`, if a database of that name is not a golden
// copy.
Result<std::optional<GoldenFacts>> fetch_golden(PgConnection& admin, const GoldenSpec& spec);

// What the comment of every copy of `spec.source` begins with.
std::string golden_mark(const GoldenSpec& spec);

// The copy, made if there is none or only one of another source; waits for another run that makes it.
// Errors: as refresh_golden(), but busy.
Result<GoldenFacts> ensure_golden(const GoldenSpec& spec, CommandRunner& runner);

// Makes a new copy beside the old one and swaps them. Errors: not_found `golden_source_missing`,
// `pg_tools_missing`; no_space `disk_full`; io `golden_failed`; busy (another refresh runs).
Result<void> refresh_golden(const GoldenSpec& spec, CommandRunner& runner);

}  // namespace hedge::worktree
