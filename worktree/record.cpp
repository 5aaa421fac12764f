#include "worktree/record.h"

#include <array>
#include <utility>

#include "base/digest.h"
#include "base/text.h"

namespace hedge::worktree {
namespace {

constexpr std::size_t kPasswordBytes = 20;  // 160 bits, 32 characters

template <class T, std::size_t count>
using Words = std::array<std::pair<T, std::string_view>, count>;

constexpr Words<WorktreeKind, 2> kKinds{{{WorktreeKind::linked, "worktree"}, {WorktreeKind::main, "main"}}};
constexpr Words<WorktreeState, 3> kStates{{{WorktreeState::creating, "creating"},
                                           {WorktreeState::ready, "ready"},
                                           {WorktreeState::destroying, "destroying"}}};
constexpr Words<BranchOrigin, 3> kOrigins{
    {{BranchOrigin::ours, "ours"}, {BranchOrigin::existing, "existing"}, {BranchOrigin::none, "none"}}};

template <class T, std::size_t count>
std::string_view word_of(const Words<T, count>& words, T value) {
  for (const auto& [known, word] : words) {
    if (known == value) return word;
  }
  return {};
}

template <class T, std::size_t count>
Result<T> value_of(const Words<T, count>& words, std::string_view text) {
  for (const auto& [known, word] : words) {
    if (word == text) return known;
  }
  return Error(ErrorKind::corrupt, "the registry holds the unknown word \"" + printable(text) + "\"")
      .with_id("state_unreadable");
}

}  // namespace

std::string_view to_string(WorktreeKind kind) {
  return word_of(kKinds, kind);
}
std::string_view to_string(WorktreeState state) {
  return word_of(kStates, state);
}
std::string_view to_string(BranchOrigin origin) {
  return word_of(kOrigins, origin);
}
Result<WorktreeKind> parse_worktree_kind(std::string_view text) {
  return value_of(kKinds, text);
}
Result<WorktreeState> parse_worktree_state(std::string_view text) {
  return value_of(kStates, text);
}
Result<BranchOrigin> parse_branch_origin(std::string_view text) {
  return value_of(kOrigins, text);
}

std::string derive_secret(const WorktreeRecord& record, std::string_view purpose) {
  // The secret has a fixed length and only 20 of 32 bytes come out, so plain concatenation leaks nothing.
  std::string material = record.secret;
  material += '\n';
  material += purpose;
  return to_base32(sha256(material).substr(0, kPasswordBytes));
}

}  // namespace hedge::worktree
