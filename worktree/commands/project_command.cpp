#include "worktree/commands/project_command.h"

#include <algorithm>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace {

constexpr auto kCheckLimit = std::chrono::seconds(60);

std::string read_stamp(const std::filesystem::path& path) {
  const auto text = read_file(path, 4096);
  return text ? std::string(trim(*text)) : std::string();
}

std::string last_words(const CommandOutput& output) { return tail_of(output.err.empty() ? output.out : output.err); }

}  // namespace

ProjectCommand::ProjectCommand(ProjectCommandSpec spec, Environment environment, CommandRunner& runner,
                               const ResourceKind& stacks)
    : spec_(std::move(spec)), environment_(std::move(environment)), wrapper_(runner, environment_, stacks) {}

Result<Finding> ProjectCommand::check() { return spec_.stamp.empty() ? check_by_command() : check_stamp(); }

Result<Finding> ProjectCommand::check_stamp() {
  auto digest = lockfiles_digest(spec_.checkout);
  if (!digest) return digest.error();
  Finding finding;
  const std::string stamp = read_stamp(spec_.stamp);
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
    const bool is_copied = !spec_.stamp.empty() && read_stamp(spec_.stamp).empty();
    if (auto kept = is_copied ? write_stamp() : Result<void>(); !kept) return kept.error();
    return change;
  }
  auto said = wrapper_.run(spec_.place, spec_.argv, spec_.limit);
  if (!said) return std::move(said).error().with_context("[commands] " + spec_.name);
  if (!said->ok()) {
    return Error(ErrorKind::io, "[commands] " + spec_.name + " exited with " + std::to_string(said->exit_code) + ": " +
                                    last_words(*said))
        .with_id("command_failed");
  }
  if (!spec_.stamp.empty()) {
    if (auto written = write_stamp(); !written) return written.error();
  }
  change.action = Action::updated;
  change.detail = join(spec_.argv, " ");
  return change;
}

Result<Change> ProjectCommand::remove() { return Change{kind(), spec_.name, Action::none, ""}; }

Result<void> ProjectCommand::write_stamp() const {
  auto digest = lockfiles_digest(spec_.checkout);
  if (!digest) return digest.error();
  return write_file_atomically(spec_.stamp, *digest + "\n", 0644);
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

// Equal lockfiles prove nothing by themselves: what main's installation made must have been copied, and be there.
bool ProjectCommand::is_copy_of_main(const std::string& digest) const {
  if (spec_.main_checkout.empty() || spec_.main_stamp == spec_.stamp || spec_.seeded.empty()) return false;
  const auto is_here = [this](const std::string& path) { return path_exists(spec_.checkout / path); };
  if (!std::ranges::all_of(spec_.seeded, is_here)) return false;
  if (const auto locked = lockfiles_summary(spec_.checkout); !locked || locked->empty()) return false;
  const auto main_digest = lockfiles_digest(spec_.main_checkout);
  return main_digest && *main_digest == digest && read_stamp(spec_.main_stamp) == digest;
}

}  // namespace hedge::worktree
