// The journal and the ledger in one table: an entry is written before each effect and closed after it, so an
// open entry is what a killed run left, and the closed ones are what destroy has to remove.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "worktree/resource_kind.h"
#include "worktree/state_database.h"

namespace hedge::worktree {

enum class EntryState {
  making,    // open: the effect may have happened, wholly, partly or not at all
  made,      // closed
  removing,  // open: the removal may have happened
  debt,      // the removal failed because a server is down; `hedge gc` tries again
};

struct LedgerEntry {
  ResourceSpec spec;
  EntryState state = EntryState::making;
  std::string problem;  // of the last failed attempt; for people
  bool is_open() const { return state == EntryState::making || state == EntryState::removing; }
};

class Ledger {
 public:
  Ledger(StateDatabase& state, const Clock& clock) : state_(state), clock_(clock) {}

  // In the order in which they were first made; destroy goes backwards.
  Result<std::vector<LedgerEntry>> load(std::string_view worktree);

  Result<void> begin_making(std::string_view worktree, const ResourceSpec& spec);
  Result<void> made(std::string_view worktree, const ResourceSpec& spec);
  Result<void> begin_removing(std::string_view worktree, const ResourceSpec& spec);
  Result<void> removed(std::string_view worktree, const ResourceSpec& spec);
  // Keeps the entry, with what went wrong.
  Result<void> failed(std::string_view worktree, const ResourceSpec& spec, EntryState state,
                      std::string_view problem);

 private:
  Result<void> set_state(std::string_view worktree, const ResourceSpec& spec, EntryState state,
                         std::string_view problem);

  StateDatabase& state_;
  const Clock& clock_;
};

}  // namespace hedge::worktree
