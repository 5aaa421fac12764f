#include "worktree/ledger.h"

#include <array>
#include <chrono>
#include <utility>

#include "base/text.h"

namespace hedge::worktree {
namespace {

constexpr std::array<std::pair<EntryState, std::string_view>, 4> kStates{{{EntryState::making, "making"},
                                                                          {EntryState::made, "made"},
                                                                          {EntryState::removing, "removing"},
                                                                          {EntryState::debt, "debt"}}};

std::string_view to_string(EntryState state) {
  for (const auto& [known, word] : kStates) {
    if (known == state) return word;
  }
  return {};
}

Result<EntryState> parse_state(std::string_view text) {
  for (const auto& [known, word] : kStates) {
    if (word == text) return known;
  }
  return Error(ErrorKind::corrupt, "the ledger holds the unknown state \"" + printable(text) + "\"")
      .with_id("state_unreadable");
}

Result<void> run(sqlite::Statement& statement) {
  auto done = statement.step();
  if (!done) return done.error();
  return {};
}

std::int64_t now_seconds(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::seconds>(clock.wall().time_since_epoch()).count();
}

}  // namespace

Result<std::vector<LedgerEntry>> Ledger::load(std::string_view worktree) {
  auto statement = state_.database().prepare(
      "SELECT kind, name, parameters, state, problem FROM ledger WHERE worktree = ? ORDER BY position");
  if (!statement) return as_state_error(std::move(statement).error());
  statement->bind(1, worktree);
  std::vector<LedgerEntry> entries;
  while (true) {
    auto row = statement->step();
    if (!row) return as_state_error(std::move(row).error());
    if (!*row) return entries;
    const auto state = parse_state(statement->text(3));
    if (!state) return state.error();
    entries.push_back(
        {{statement->text(0), statement->text(1), statement->text(2)}, *state, statement->text(4)});
  }
}

Result<void> Ledger::begin_making(std::string_view worktree, const ResourceSpec& spec) {
  return state_.change([&](sqlite::Database& database) -> Result<void> {
    auto statement = database.prepare(
        "INSERT INTO ledger (worktree, kind, name, parameters, state, problem, changed_at) VALUES (?, ?, ?, "
        "?, ?, '', ?) "
        "ON CONFLICT (worktree, kind, name) DO UPDATE SET parameters = excluded.parameters, state = "
        "excluded.state, "
        "problem = '', changed_at = excluded.changed_at");
    if (!statement) return statement.error();
    statement->bind(1, worktree).bind(2, spec.kind).bind(3, spec.name).bind(4, spec.parameters);
    statement->bind(5, to_string(EntryState::making)).bind(6, now_seconds(clock_));
    return run(*statement);
  });
}

Result<void> Ledger::set_state(std::string_view worktree, const ResourceSpec& spec, EntryState state,
                               std::string_view problem) {
  return state_.change([&](sqlite::Database& database) -> Result<void> {
    auto statement = database.prepare(
        "UPDATE ledger SET state = ?, problem = ?, changed_at = ? WHERE worktree = ? AND kind = ? AND name = "
        "?");
    if (!statement) return statement.error();
    statement->bind(1, to_string(state)).bind(2, problem).bind(3, now_seconds(clock_));
    statement->bind(4, worktree).bind(5, spec.kind).bind(6, spec.name);
    return run(*statement);
  });
}

Result<void> Ledger::made(std::string_view worktree, const ResourceSpec& spec) {
  return set_state(worktree, spec, EntryState::made, {});
}

Result<void> Ledger::begin_removing(std::string_view worktree, const ResourceSpec& spec) {
  return set_state(worktree, spec, EntryState::removing, {});
}

Result<void> Ledger::failed(std::string_view worktree, const ResourceSpec& spec, EntryState state,
                            std::string_view problem) {
  return set_state(worktree, spec, state, problem);
}

Result<void> Ledger::removed(std::string_view worktree, const ResourceSpec& spec) {
  return state_.change([&](sqlite::Database& database) -> Result<void> {
    return database.execute("DELETE FROM ledger WHERE worktree = ? AND kind = ? AND name = ?",
                            {worktree, spec.kind, spec.name});
  });
}

}  // namespace hedge::worktree
