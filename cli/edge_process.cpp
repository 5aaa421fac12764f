#include "cli/edge_process.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/subprocess.h"
#include "base/unique_fd.h"
#include "config/invoking_user.h"

namespace hedge::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr auto kEndLimit = std::chrono::seconds(5);
constexpr std::size_t kMaxTail = 64UL << 10;

Result<UniqueFd> open_log(const std::filesystem::path& log) {
  if (auto made = ensure_directory(log.parent_path(), 0700); !made) return made.error();
  UniqueFd fd(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::from_errno(errno, "open " + log.string());
  return fd;
}

// The last lines written since `start`; nobody bounds what earlier edges have written before it.
std::string log_since(const std::filesystem::path& log, off_t start) {
  const UniqueFd fd(::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const off_t end = fd ? ::lseek(fd.get(), 0, SEEK_END) : -1;
  if (end <= start) return {};
  std::string text(std::min(kMaxTail, static_cast<std::size_t>(end - start)), '\0');
  const ssize_t got = ::pread(fd.get(), text.data(), text.size(), end - static_cast<off_t>(text.size()));
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return tail_of(text, 8);
}

Error start_failed(const std::string& what, const EdgeLaunch& launch, off_t log_start) {
  Error error =
      Error(ErrorKind::io, what).with_id("edge_start_failed").with_hint("its log: " + launch.log.string());
  const std::string told = log_since(launch.log, log_start);
  return told.empty() ? error : std::move(error).with_cause(Error(ErrorKind::io, told));
}

// True if `child` is gone, and why.
std::optional<std::string> ending_of(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  if (WIFSIGNALED(status)) return "the edge was ended by signal " + std::to_string(WTERMSIG(status));
  return "the edge exited with " + std::to_string(WEXITSTATUS(status));
}

Result<pid_t> spawn_edge(const EdgeLaunch& launch, int log) {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return Error::from_errno(errno, "open /dev/null");
  CommandLine command;
  command.argv = launch.argv;
  command.directory = "/";  // an edge must not keep a worktree's directory busy
  // A service manager of the caller's is not this edge's.
  command.environment = current_environment();
  for (const char* name : {"NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"})
    command.environment->erase(name);
  // Under sudo the edge binds its ports as root and gives root up itself.
  const config::RootAgain root;
  return spawn_child(command, ChildStreams{null.get(), log, log}, SessionMode::own);
}

}  // namespace

Result<router::EdgeStatus> launch_edge(const EdgeLaunch& launch, const router::EdgeClient& client) {
  const auto log = open_log(launch.log);
  if (!log) return log.error();
  const off_t log_start = ::lseek(log->get(), 0, SEEK_END);
  const auto child = spawn_edge(launch, log->get());
  if (!child) return child.error();
  const auto deadline = SteadyClock::now() + launch.limit;
  while (SteadyClock::now() < deadline) {
    if (const auto ending = ending_of(*child)) return start_failed(*ending, launch, log_start);
    // Only the process that we started counts: another edge may answer on the same socket.
    if (auto status = client.fetch_status(); status && status->pid == *child) return status;
    std::this_thread::sleep_for(kPoll);
  }
  [[maybe_unused]] const auto ended = end_process(*child, kEndLimit);
  return start_failed("the edge did not answer within " + std::to_string(launch.limit.count()) + " ms",
                      launch, log_start);
}

}  // namespace hedge::cli
