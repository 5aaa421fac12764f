#include "worktree/env_file.h"

#include <algorithm>
#include <array>
#include <optional>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "config/project_config.h"
#include "worktree/parameters.h"
#include "worktree/seed/seed_sources.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

namespace {

constexpr mode_t kPrivate = 0600;
constexpr mode_t kPermissions = 07777;

bool is_link(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

bool has_mode(const fs::path& path, mode_t mode) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && (info.st_mode & kPermissions) == mode;
}

class EnvFile final : public Resource {
 public:
  EnvFile(Git& git, const WorktreeLocks& locks, std::string file, const WorktreeRecord& record,
          Variables variables)
      : git_(git), locks_(locks), file_(std::move(file)), record_(record), variables_(std::move(variables)) {}

  std::string kind() const override { return std::string(kEnvKind); }
  std::string name() const override { return file_; }
  bool lives_in_checkout() const override { return true; }

  Result<Finding> check() override {
    if (auto safe = require_safe(); !safe)
      return Finding{Presence::foreign, safe.error().text(), {safe.error()}};
    auto content = load();
    if (!content) return content.error();
    auto wanted = with_block(content->value_or(""), variables_);
    if (!wanted) return Finding{Presence::foreign, wanted.error().text(), {wanted.error()}};
    if (!content->has_value()) return Finding{Presence::missing, {}, {}};
    if (**content != *wanted) return Finding{Presence::differs, "other values", {}};
    if (!has_mode(path(), kPrivate)) return Finding{Presence::differs, "readable by others", {}};
    auto ignored = is_ignored();
    if (!ignored) return ignored.error();
    if (!*ignored) return Finding{Presence::differs, "git would show it", {}};
    return Finding{Presence::present, {}, {}};
  }

  Result<Change> converge() override {
    if (auto safe = require_safe(); !safe) return safe.error();
    auto content = load();
    if (!content) return content.error();
    auto wanted = with_block(content->value_or(""), variables_);
    if (!wanted) return wanted.error();
    // First hidden from git, then written: its secrets must not be there for `git add .` even for a moment.
    if (auto excluded = exclude(); !excluded) return excluded.error();
    if (auto ready = ensure_directory(path().parent_path()); !ready) return ready.error();
    if (auto written = write_file_atomically(path(), *wanted, kPrivate); !written) return written.error();
    return Change{kind(), name(), content->has_value() ? Action::updated : Action::created, {}};
  }

  Result<Change> remove() override {
    // A link, or a file of the repository's, is none of ours.
    if (!path_exists(path())) return Change{kind(), name(), Action::none, {}};
    if (auto safe = require_safe(); !safe) {
      const bool is_told = safe.error().id().starts_with("env_file_");
      return is_told ? Result<Change>(Change{kind(), name(), Action::none, {}}) : safe.error();
    }
    auto content = load();
    if (!content) return content.error();
    auto own = format_variable("HEDGE_ID", record_.id);
    if (!own) return own.error();
    const bool is_ours = content->has_value() && (*content)->find(*own) != std::string::npos;
    if (!is_ours) return Change{kind(), name(), Action::none, {}};
    auto rest = without_block(content->value_or(""));
    if (!rest) return rest.error();
    if (content->has_value() && *rest == **content) return Change{kind(), name(), Action::none, {}};
    auto done = rest->empty() ? remove_file(path()) : write_file_atomically(path(), *rest, kPrivate);
    if (!done) return done.error();
    return Change{kind(), name(), Action::removed, {}};
  }

 private:
  fs::path path() const { return record_.path / file_; }

  Result<std::optional<std::string>> load() const {
    auto content = read_file(path());
    if (content) return std::optional<std::string>(std::move(*content));
    if (content.error().kind() == ErrorKind::not_found) return std::optional<std::string>();
    return content.error();
  }

  Result<void> require_safe() {
    if (!stays_inside(file_)) {
      return Error(ErrorKind::invalid_input,
                   "the environment file \"" + printable(file_) + "\" is not inside the checkout")
          .with_id("env_file_symlink");
    }
    fs::path part = record_.path;
    for (const fs::path& step : fs::path(file_).lexically_normal()) {
      part /= step;
      if (!is_link(part)) continue;
      return Error(ErrorKind::refused,
                   part.string() + " is a symbolic link: writing there would change something else")
          .with_id("env_file_symlink")
          .with_hint("remove the link, or set env.file to another name");
    }
    const auto tracked = git_.output(record_.path, {"ls-files", "-z", "--", ":(literal)" + file_});
    if (!tracked) return tracked.error();
    if (tracked->empty()) return {};
    return Error(ErrorKind::refused,
                 file_ + " is tracked by git, and would be committed with this worktree's secrets")
        .with_id("env_file_tracked")
        .with_hint("set env.file in hedge.toml to a name that git ignores");
  }

  Result<bool> is_ignored() {
    const auto output = git_.ask(record_.path, {"check-ignore", "--quiet", "--", file_});
    if (!output) return output.error();
    return output->ok();
  }

  // In info/exclude, which all checkouts of the repository share and none of them commits.
  Result<void> exclude() {
    const auto lock = locks_.lock_repository(record_.repository);
    if (!lock) return lock.error();
    auto ignored = is_ignored();
    if (!ignored) return ignored.error();
    if (*ignored) return {};
    const fs::path excludes = record_.repository / "info" / "exclude";
    auto content = read_file(excludes);
    if (!content && content.error().kind() != ErrorKind::not_found) return content.error();
    std::string text = content ? std::move(*content) : std::string();
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += "/" + fs::path(file_).lexically_normal().string() + "\n";
    if (auto ready = ensure_directory(excludes.parent_path()); !ready) return ready;
    return write_file_atomically(excludes, text, 0644);
  }

  Git& git_;
  const WorktreeLocks& locks_;
  std::string file_;
  WorktreeRecord record_;
  Variables variables_;  // secrets expanded
};

}  // namespace

Result<PlannedVariables> plan_variables(const PlanInput& input, const Values& values) {
  const auto value = [&values](const char* key) {
    const auto found = values.find(key);
    return found == values.end() ? ValueText() : found->second;
  };
  const WorktreeRecord& record = input.record;
  PlannedVariables variables{{"HEDGE_APP", record.app},         {"HEDGE_ID", record.id},
                             {"HEDGE_SLUG", value("app.slug")}, {"HEDGE_NONCE", record.nonce},
                             {"HEDGE_URL", value("app.url")},   {"HEDGE_HOST", input.names.host}};
  if (format_variable("HEDGE_BRANCH", record.branch)) variables.emplace_back("HEDGE_BRANCH", record.branch);
  const auto& own = input.config.env.variables;
  for (const auto& [key, text] : input.observed.given) {
    if (!key.starts_with(kTrustPrefix)) continue;
    const std::string name = key.substr(kTrustPrefix.size());
    const bool is_set = std::any_of(own.begin(), own.end(), [&name](const auto& one) { return one.first == name; });
    // A path that the format cannot hold is left out, as the branch's name is.
    if (!is_set && format_variable(name, text.literals())) variables.emplace_back(name, text);
  }
  for (const auto& [name, text] : own) {
    auto expanded = expand_template(text, values);
    if (!expanded) return std::move(expanded).error().with_context("env.variables." + name);
    // A secret needs no quoting, so whether the format can hold the value depends on the rest alone.
    if (auto line = format_variable(name, expanded->literals()); !line) return line.error();
    variables.emplace_back(name, std::move(*expanded));
  }
  return variables;
}

Result<std::vector<ResourceSpec>> EnvKind::plan(const PlanInput& input, const Values& values) const {
  auto variables = plan_variables(input, values);
  if (!variables) return variables.error();
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, value] : *variables) list.push_back({name, value});
  // A branch's name need not be UTF-8; JSON must be. What cannot be held is left out above, the rest comes
  // back unchanged.
  const nlohmann::json parameters{{"variables", std::move(list)}};
  return std::vector<ResourceSpec>{
      {kind(), input.config.env.file, write_parameters(parameters)}};
}

Result<std::unique_ptr<Resource>> EnvKind::make(const ResourceSpec& spec,
                                                const WorktreeRecord& record) const {
  const auto json = nlohmann::json::parse(spec.parameters, nullptr, false);
  const Error damaged =
      Error(ErrorKind::corrupt, "the ledger's entry of env " + printable(spec.name) + " cannot be read")
          .with_id("state_unreadable");
  if (!json.is_object() || !json.contains("variables") || !json["variables"].is_array()) return damaged;
  Variables variables;
  try {  // nlohmann reports wrong types by throwing
    for (const auto& [name, value] : json["variables"].get<PlannedVariables>()) {
      variables.emplace_back(name, value.reveal(record));
    }
  } catch (const nlohmann::json::exception&) {
    return damaged;
  }
  return std::unique_ptr<Resource>(
      std::make_unique<EnvFile>(git_, locks_, spec.name, record, std::move(variables)));
}

}  // namespace hedge::worktree
