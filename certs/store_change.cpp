#include "certs/store_change.h"

#include <array>
#include <utility>

#include <unistd.h>

#include "base/text.h"

namespace hedge::certs {

std::string manual_line(const StoreCommands& commands, bool is_direct) {
  std::vector<std::string> lines;
  for (const auto& command : commands) lines.push_back((is_direct ? "" : "sudo ") + shell_line(command));
  return join(lines, " && ");
}

bool run_change(CommandRunner& runner, const StoreChange& change, TrustFinding& finding) {
  for (const auto& argv : change.commands) {
    CommandLine command;
    command.argv = argv;
    command.limit = change.limit;
    command.environment = change.environment;
    // -n: sudo must fail rather than ask. A person reads the printed command and decides.
    if (!change.is_direct) command.argv.insert(command.argv.begin(), {"sudo", "-n"});
    const auto output = runner.run(command);
    if (output && output->ok()) continue;
    finding.status = change.is_direct ? TrustStatus::failed : TrustStatus::needs_root;
    finding.error = change.is_direct ? "trust_failed" : "needs_root";
    finding.detail =
        output ? tail_of(output->err.empty() ? output->out : output->err, 2) : output.error().to_string();
    // Root, who was refused, has nothing to gain from sudo, but whoever reads this need not be root.
    finding.command = manual_line(change.commands, false);
    return false;
  }
  return true;
}

std::string install_line(const PackageNames& names) {
  const std::array<std::pair<const char*, std::string>, 5> managers{
      {{"/usr/bin/apt-get", "apt-get install " + names.debian},
       {"/usr/bin/dnf", "dnf install " + names.fedora},
       {"/usr/bin/pacman", "pacman -S " + names.arch},
       {"/usr/bin/zypper", "zypper install " + names.suse},
       {"/sbin/apk", "apk add " + names.alpine}}};
  for (const auto& [program, line] : managers) {
    if (::access(program, X_OK) == 0) return "sudo " + line;
  }
  return {};
}

}  // namespace hedge::certs
