#include "worktree/commands/project_command.h"

#include <algorithm>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "worktree/commands/install_results.h"
#include "worktree/git/git.h"

namespace hedge::worktree {
namespace {

constexpr auto kCheckLimit = std::chrono::seconds(60);

constexpr std::size_t kMaxStampBytes = 64UL << 10;

// A line with the lockfiles' digest, and one for each path that the installation made.
struct Stamp {
  std::string digest;
  std::vector<std::string> made;
};

Stamp read_stamp(const std::filesystem::path& path) {
  const auto text = read_file(path, kMaxStampBytes);
  Stamp stamp;
  if (!text) return stamp;
  for (const std::string_view line : split(*text, '\n')) {
    if (stamp.digest.empty()) stamp.digest = trim(line);
    else if (!line.empty()) stamp.made.emplace_back(line);
  }
  return stamp;
}

bool is_covered(const std::string& path, const std::vector<std::string>& seeded) {
  return std::ranges::any_of(seeded, [&path](const std::string& one) { return path == one || path.starts_with(one + "/"); });
}

std::string last_words(const CommandOutput& output) { return tail_of(output.err.empty() ? output.out : output.err); }

}  // namespace

ProjectCommand::ProjectCommand(ProjectCommandSpec spec, Environment environment, CommandRunner& runner,
                               const ResourceKind& stacks)
    : spec_(std::move(spec)), environment_(std::move(environment)), runner_(runner), wrapper_(runner, environment_, stacks) {}

Result<Finding> ProjectCommand::check() { return spec_.stamp.empty() ? check_by_command() : check_stamp(); }

Result<Finding> ProjectCommand::check_stamp() {
  auto digest = lockfiles_digest(spec_.checkout);
  if (!digest) return digest.error();
  Finding finding;
  const std::string stamp = read_stamp(spec_.stamp).digest;
  if (stamp == *digest || (stamp.empty() && is_copy_of_main(*digest))) {
    finding.presence = Presence::present;
    return finding;
  }
  finding.presence = stamp.empty() ? Presence::missing : Presence::differs;
  finding.problems.push_back(spec_.lockfiles.empty()
                                 ? Error(ErrorKind::not_found, "[commands] " + spec_.name + " never ran here")
                                       .with_id("migrations_pending")
                                 : Error(ErrorKind::not_found, stamp.empty()
                                                                   ? "the dependencies were never installed here"
                                                                   : "a lockfile has changed since the last installation")
                                       .with_id("dependencies_stale"));
  return finding;
}

Result<Finding> ProjectCommand::check_by_command() {
  Finding finding;
  auto said = wrapper_.run(spec_.place, spec_.check, kCheckLimit);
  if (!said) {
    finding.presence = Presence::unknown;
    finding.problems.push_back(std::move(said).error().with_context(spec_.name + "_check"));
    return finding;
  }
  if (said->ok()) {
    finding.presence = Presence::present;
    return finding;
  }
  finding.presence = Presence::differs;
  finding.problems.push_back(Error(ErrorKind::not_found, spec_.name + "_check: " + last_words(*said)).with_id("migrations_pending"));
  return finding;
}

Result<Change> ProjectCommand::converge() {
  auto before = check();
  if (!before) return before.error();
  Change change{kind(), spec_.name, Action::none, ""};
  if (before->presence == Presence::present) {
    // What came from main is the worktree's own from now on, whatever becomes of main's.
    const bool is_copied = !spec_.stamp.empty() && read_stamp(spec_.stamp).digest.empty();
    if (auto kept = is_copied ? write_stamp({}) : Result<void>(); !kept) return kept.error();
    return change;
  }
  auto said = run_and_stamp();
  if (!said) return std::move(said).error().with_context("[commands] " + spec_.name);
  if (!said->ok()) {
    return Error(ErrorKind::io, "[commands] " + spec_.name + " exited with " + std::to_string(said->exit_code) + ": " +
                                    last_words(*said))
        .with_id("command_failed");
  }
  change.action = Action::updated;
  change.detail = join(spec_.argv, " ");
  return change;
}

Result<Change> ProjectCommand::remove() { return Change{kind(), spec_.name, Action::none, ""}; }

Result<CommandOutput> ProjectCommand::run_and_stamp() {
  const bool is_watched = is_main() && !spec_.stamp.empty() && !spec_.lockfiles.empty();
  const Result<timespec> began = is_watched ? file_system_time(spec_.stamp.parent_path()) : Result<timespec>(timespec{});
  auto said = wrapper_.run(spec_.place, spec_.argv, spec_.limit);
  if (!said || !said->ok() || spec_.stamp.empty()) return said;
  const auto made = is_watched ? find_made(began) : std::vector<std::string>();
  if (auto written = write_stamp(made); !written) return written.error();
  return said;
}

std::vector<std::string> ProjectCommand::find_made(const Result<timespec>& began) const {
  if (!began) return {};
  Git git(runner_, environment_);
  auto made = find_changed(git, spec_.checkout, *began, spec_.seedable);
  if (!made) return {};
  // A second run may find nothing to do where the first one did.
  for (std::string& before : read_stamp(spec_.stamp).made) {
    if (path_exists(spec_.checkout / before) && std::ranges::find(*made, before) == made->end()) made->push_back(std::move(before));
  }
  std::size_t bytes = 0;
  for (const std::string& path : *made) bytes += path.size() + 1;
  const bool is_writable = std::ranges::none_of(*made, [](const std::string& path) { return path.find('\n') != path.npos; });
  return is_writable && bytes < kMaxStampBytes / 2 ? std::move(*made) : std::vector<std::string>();
}

Result<void> ProjectCommand::write_stamp(const std::vector<std::string>& made) const {
  auto text = lockfiles_digest(spec_.checkout);
  if (!text) return text.error();
  *text += "\n";
  for (const std::string& path : made) *text += path + "\n";
  return write_file_atomically(spec_.stamp, *text, 0644);
}

Result<std::string> ProjectCommand::lockfiles_summary(const std::filesystem::path& checkout) const {
  std::string summary;
  for (const std::string& name : spec_.lockfiles) {
    auto content = read_file(checkout / name);
    if (content) summary += name + " " + to_hex(sha256(*content)) + "\n";
    else if (content.error().kind() != ErrorKind::not_found) return content.error();
  }
  return summary;
}

Result<std::string> ProjectCommand::lockfiles_digest(const std::filesystem::path& checkout) const {
  auto summary = lockfiles_summary(checkout);
  if (!summary) return summary;
  return to_hex(sha256(*summary));
}

// Equal lockfiles prove nothing by themselves: all that main's installation made must have been copied, and be there.
bool ProjectCommand::is_copy_of_main(const std::string& digest) const {
  if (spec_.main_checkout.empty() || is_main()) return false;
  const Stamp mains = read_stamp(spec_.main_stamp);
  if (mains.made.empty() || mains.digest != digest) return false;
  const auto is_here = [this](const std::string& path) { return path_exists(spec_.checkout / path); };
  if (!std::ranges::all_of(spec_.seeded, is_here) || !std::ranges::all_of(mains.made, is_here)) return false;
  const auto is_copied = [this](const std::string& path) { return is_covered(path, spec_.seeded); };
  if (!std::ranges::all_of(mains.made, is_copied)) return false;
  if (const auto locked = lockfiles_summary(spec_.checkout); !locked || locked->empty()) return false;
  const auto main_digest = lockfiles_digest(spec_.main_checkout);
  return main_digest && *main_digest == digest;
}

}  // namespace hedge::worktree
