#include "contract/command_address.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/text.h"
#include "certs/trust_store.h"

namespace hedge::contract {
namespace {

using Words = std::vector<std::string>;

struct Verb {
  std::string_view name;
  bool takes_branch = false;  // as its only argument
};
// Those that are about one worktree or its repository. All others mean the same from everywhere.
constexpr std::array<Verb, 8> kVerbs{{{"create", true},
                                      {"verify", true},
                                      {"status", true},
                                      {"up", true},
                                      {"down", true},
                                      {"config"},
                                      {"init"},
                                      {"golden"}}};

const Verb* find_verb(std::string_view name) {
  const auto found = std::find_if(kVerbs.begin(), kVerbs.end(), [name](const Verb& verb) { return verb.name == name; });
  return found == kVerbs.end() ? nullptr : &*found;
}

// What stands after the verb to select the worktree; nothing, if only its directory does.
std::optional<Words> selection(const Verb& verb, const Words& words, const WorkspaceFacts& workspace) {
  const bool is_verb_alone = words.size() == 2;  // --adopt and the like take no branch
  if (!verb.takes_branch || !is_verb_alone || !workspace.is_of_its_branch || !workspace.branch) return std::nullopt;
  if (!workspace.instance) return Words{*workspace.branch};
  if (verb.name == "create") return Words{*workspace.branch, "--instance", *workspace.instance};
  return std::nullopt;
}

void append_directory(Words& out, const std::filesystem::path& directory) {
  if (directory.empty()) return;
  out.emplace_back("-C");
  out.push_back(directory.string());
}

void append(Words& out, Words more) { std::move(more.begin(), more.end(), std::back_inserter(out)); }

}  // namespace

std::string address_command(std::string_view command, const WorkspaceFacts* workspace, const CallerPlace& caller) {
  Words words;
  for (const std::string_view word : split(command, ' ')) words.emplace_back(word);
  if (words.size() < 2 || words.front() != "hedge") return std::string(command);
  Words out{words.front()};
  if (!caller.state_dir.empty()) append(out, {"--state-dir", caller.state_dir.string()});
  Words rest(words.begin() + 1, words.end());
  if (const Verb* verb = find_verb(words[1])) {
    const bool is_elsewhere = caller.has_named_worktree && workspace != nullptr;
    auto selected = is_elsewhere ? selection(*verb, words, *workspace) : std::nullopt;
    append_directory(out, is_elsewhere && !selected ? std::filesystem::path(workspace->path) : caller.directory);
    if (selected) append(rest, std::move(*selected));
  }
  append(out, std::move(rest));
  return certs::shell_line(out);
}

void address_commands(ContractResult& result, const CallerPlace& caller) {
  const WorkspaceFacts* workspace = result.workspace ? &*result.workspace : nullptr;
  const auto address = [&](std::optional<std::string>& command) {
    if (command) command = address_command(*command, workspace, caller);
  };
  address(result.next);
  if (result.remediation) address(result.remediation->command);
  for (CheckResult& check : result.checks) {
    if (check.remediation) address(check.remediation->command);
  }
}

}  // namespace hedge::contract
