#include "worktree/stack/process_identity.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace hedge::worktree {
namespace {

// What /proc/PID/stat says after the program's name, which may hold anything, also spaces and parentheses.
struct ProcStat {
  char state = 0;
  pid_t parent = 0;
  pid_t session = 0;
  std::uint64_t start_time = 0;
};

constexpr std::size_t kMaxProcBytes = 4U << 20;

std::optional<ProcStat> read_stat(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", kMaxProcBytes);
  if (!text) return std::nullopt;
  const auto name_end = text->rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text->size()) return std::nullopt;
  // Field 3 (state) is the first here. Source: proc(5).
  const auto fields = split(std::string_view(*text).substr(name_end + 2), ' ');
  constexpr std::size_t kParent = 1, kSession = 3, kStartTime = 19;
  if (fields.size() <= kStartTime || fields[0].empty()) return std::nullopt;
  const auto parent = parse_number<pid_t>(fields[kParent]);
  const auto session = parse_number<pid_t>(fields[kSession]);
  const auto start_time = parse_number<std::uint64_t>(fields[kStartTime]);
  if (!parent || !session || !start_time) return std::nullopt;
  return ProcStat{fields[0][0], *parent, *session, *start_time};
}

bool is_living(const ProcStat& stat) {
  return stat.state != 'Z' && stat.state != 'X';
}

std::string boot_id() {
  const auto text = read_file("/proc/sys/kernel/random/boot_id", 128);
  return text ? std::string(trim(*text)) : std::string();
}

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry("/proc", ignored), end; entry != end;
       entry.increment(ignored)) {
    if (const auto pid = parse_number<pid_t>(entry->path().filename().native())) pids.push_back(*pid);
  }
  return pids;
}

template <class Wanted>
std::vector<ProcessIdentity> select_processes(const Wanted& wanted) {
  std::vector<ProcessIdentity> found;
  const std::string boot = boot_id();
  for (const pid_t pid : all_pids()) {
    const auto stat = read_stat(pid);
    if (stat && is_living(*stat) && pid != ::getpid() && wanted(pid, *stat)) {
      found.push_back({pid, stat->start_time, boot});
    }
  }
  return found;
}

}  // namespace

std::optional<ProcessIdentity> find_process(pid_t pid) {
  const auto stat = pid > 0 ? read_stat(pid) : std::nullopt;
  if (!stat || !is_living(*stat)) return std::nullopt;
  return ProcessIdentity{pid, stat->start_time, boot_id()};
}

std::optional<ProcessIdentity> find_unreaped(pid_t pid) {
  const auto stat = pid > 0 ? read_stat(pid) : std::nullopt;
  if (!stat) return std::nullopt;
  return ProcessIdentity{pid, stat->start_time, boot_id()};
}

bool signal_process(const ProcessIdentity& process, int number) {
  // The descriptor pins the process: whoever it is when it is opened is who gets the signal, so check after
  // opening.
  const UniqueFd pinned(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pinned || !is_alive(process)) return false;
  return ::syscall(SYS_pidfd_send_signal, pinned.get(), number, nullptr, 0) == 0;
}

std::vector<ProcessIdentity> find_marked(std::string_view name, std::string_view prefix) {
  const std::string wanted = std::string(name) + "=" + std::string(prefix);
  return select_processes([&wanted](pid_t pid, const ProcStat&) {
    const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ", kMaxProcBytes);
    if (!environment) return false;
    const auto variables = split(*environment, '\0');
    return std::any_of(variables.begin(), variables.end(),
                       [&wanted](std::string_view variable) { return variable.starts_with(wanted); });
  });
}

std::vector<ProcessIdentity> find_session(const ProcessIdentity& leader) {
  if (find_unreaped(leader.pid) != leader) return {};
  return select_processes([&leader](pid_t, const ProcStat& stat) { return stat.session == leader.pid; });
}

std::vector<ProcessIdentity> find_descendants() {
  std::vector<pid_t> family{::getpid()};
  std::vector<std::pair<pid_t, ProcStat>> rest;
  for (const pid_t pid : all_pids()) {
    if (const auto stat = read_stat(pid)) rest.emplace_back(pid, *stat);
  }
  const std::string boot = boot_id();
  std::vector<ProcessIdentity> found;
  for (std::size_t at = 0; at < family.size(); ++at) {
    for (const auto& [pid, stat] : rest) {
      if (stat.parent != family[at]) continue;
      family.push_back(pid);
      if (is_living(stat)) found.push_back({pid, stat.start_time, boot});
    }
  }
  return found;
}

Result<void> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return Error::from_errno(errno, "become a subreaper");
  return {};
}

}  // namespace hedge::worktree
