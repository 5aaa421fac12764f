#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/parent_death.h"
#include "base/text.h"

extern char** environ;

namespace hedge {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kKillGrace = std::chrono::seconds(2);
// Of one stream at a time: one that never falls silent leaves the turn to the clock and to the other stream.
constexpr std::size_t kMaxDrainBytes = 1UL << 20;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::from_errno(errno, "pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<std::string> environment_strings(const CommandLine& command) {
  std::vector<std::string> strings;
  if (command.environment) {
    for (const auto& [name, value] : *command.environment) strings.push_back(name + "=" + value);
  } else {
    for (char** entry = environ; *entry != nullptr; ++entry) strings.emplace_back(*entry);
  }
  return strings;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Everything that the child needs is made before fork(): between fork and exec only async-signal-safe calls are allowed.
struct Prepared {
  pid_t parent = ::getpid();
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> variables;
  std::vector<char*> argv;
  std::vector<char*> envp;
};

std::string find_program(const std::string& name, const std::optional<Environment>& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  if (environment) {
    if (const auto found = environment->find("PATH"); found != environment->end()) path = found->second;
  } else if (const char* inherited = std::getenv("PATH"); inherited != nullptr) {
    path = inherited;
  }
  for (const std::string_view directory : split(path, ':')) {
    std::string candidate = directory.empty() ? std::string(".") : std::string(directory);
    candidate += "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

[[noreturn]] void child_main(const Prepared& prepared, const CommandLine& command, const ChildStreams& streams,
                             SessionMode session, int report) {
  const auto fail = [report] {
    const int number = errno;
    [[maybe_unused]] const ssize_t told = ::write(report, &number, sizeof number);
    ::_exit(127);
  };
  const bool own_session = session == SessionMode::own || session == SessionMode::own_until_parent_dies;
  if (own_session) ::setsid();
  else if (session == SessionMode::same_but_own_group) ::setpgid(0, 0);
  if (session == SessionMode::own_until_parent_dies || command.ends_with_caller) end_with_parent(prepared.parent);
  const std::array<int, 3> wanted{streams.in, streams.out, streams.err};
  for (int target = 0; target < 3; ++target) {
    const int source = wanted[static_cast<std::size_t>(target)];
    if (source >= 0 && ::dup2(source, target) < 0) fail();
  }
  for (const int fd : command.inherited) {
    if (::fcntl(fd, F_SETFD, 0) != 0) fail();
  }
  if (!command.directory.empty() && ::chdir(command.directory.c_str()) != 0) fail();
  // The edge and the manager ignore or block signals; a child starts with the defaults.
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGQUIT}) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(prepared.program.c_str(), prepared.argv.data(), prepared.envp.data());
  fail();
  ::_exit(127);
}

Result<pid_t> start(const CommandLine& command, const ChildStreams& streams, SessionMode session) {
  if (command.argv.empty()) return Error(ErrorKind::invalid_input, "an empty command");
  Prepared prepared;
  prepared.program = find_program(command.argv.front(), command.environment);
  if (prepared.program.empty()) {
    return Error(ErrorKind::not_found, "no program " + command.argv.front() + " in PATH");
  }
  prepared.arguments = command.argv;
  prepared.variables = environment_strings(command);
  prepared.argv = pointers(prepared.arguments);
  prepared.envp = pointers(prepared.variables);
  auto report = make_pipe();
  if (!report) return report.error();
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, "fork");
  if (child == 0) child_main(prepared, command, streams, session, report->write.get());
  report->write.reset();
  int number = 0;
  ssize_t got = 0;
  do {
    got = ::read(report->read.get(), &number, sizeof number);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return child;
  ::waitpid(child, nullptr, 0);
  return Error::from_errno(number, "run " + command.argv.front());
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// One run: the pipes, and the loop that feeds and empties them until the child is gone or the time is up.
class Conversation {
 public:
  Conversation(const CommandLine& command, pid_t child, UniqueFd in, UniqueFd out, UniqueFd err)
      : command_(command), child_(child), in_(std::move(in)), out_(std::move(out)), err_(std::move(err)) {
    for (const int fd : {in_.get(), out_.get(), err_.get()}) {
      if (fd >= 0) ::fcntl(fd, F_SETFL, O_NONBLOCK);
    }
  }

  // True if it ended by itself.
  bool run() {
    const auto deadline = SteadyClock::now() + command_.limit;
    if (pump_until(deadline)) return true;
    end_group();
    return false;
  }

  CommandOutput take() { return std::move(output_); }

 private:
  // The child may obey at once and leave others behind that do not: they have the same time, and the same end.
  void end_group() {
    ::kill(-child_, SIGTERM);
    const auto deadline = SteadyClock::now() + kKillGrace;
    while (!(pump_until(deadline) && is_group_gone()) && SteadyClock::now() < deadline) {
      wait_readable(std::chrono::milliseconds(5));
      feed();
    }
    if (!is_group_gone()) ::kill(-child_, SIGKILL);
    pump_until(SteadyClock::now() + kKillGrace);
  }

  // Its number names no other group while one member lives, reaped or not.
  bool is_group_gone() const { return ::kill(-child_, 0) != 0 && errno == ESRCH; }

  // Until the child has been reaped and what it wrote has been read, or `deadline`.
  bool pump_until(SteadyClock::time_point deadline) {
    while (true) {
      if (!reaped_) reaped_ = reap();
      if (reaped_) {
        // A background grandchild may keep the pipes open, or write to them, for ever: what the child itself wrote is
        // already in them, and a pipe holds less than one draining reads.
        drain(out_, output_.out);
        drain(err_, output_.err);
        return true;
      }
      if (SteadyClock::now() >= deadline) return false;
      wait_readable(std::chrono::milliseconds(out_ || err_ ? 20 : 5));
      feed();
      drain(out_, output_.out);
      drain(err_, output_.err);
    }
  }

  bool reap() {
    int status = 0;
    const pid_t got = ::waitpid(child_, &status, WNOHANG);
    if (got != child_) return false;
    output_.exit_code = exit_code_of(status);
    return true;
  }

  bool wait_readable(std::chrono::milliseconds limit) {
    std::array<pollfd, 3> fds{{{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}, {in_.get(), POLLOUT, 0}}};
    return ::poll(fds.data(), fds.size(), static_cast<int>(limit.count())) > 0;
  }

  void feed() {
    if (!in_) return;
    const std::string_view rest = std::string_view(command_.input).substr(fed_);
    const ssize_t written = ::write(in_.get(), rest.data(), rest.size());
    if (written > 0) fed_ += static_cast<std::size_t>(written);
    const bool broken = written < 0 && errno != EAGAIN && errno != EINTR;
    if (broken || fed_ == command_.input.size()) in_.reset();
  }

  void drain(UniqueFd& fd, std::string& into) {
    std::array<char, 16384> block{};
    std::size_t drained = 0;
    while (fd && drained < kMaxDrainBytes) {
      const ssize_t got = ::read(fd.get(), block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        fd.reset();
        return;
      }
      drained += static_cast<std::size_t>(got);
      const std::size_t room = command_.max_output_bytes - std::min(command_.max_output_bytes, into.size());
      into.append(block.data(), std::min(room, static_cast<std::size_t>(got)));
      if (room < static_cast<std::size_t>(got)) output_.truncated = true;
    }
  }

  const CommandLine& command_;
  pid_t child_;
  UniqueFd in_;
  UniqueFd out_;
  UniqueFd err_;
  std::size_t fed_ = 0;
  bool reaped_ = false;
  CommandOutput output_;
};

// A child that closed its input early must not end us.
class IgnoreBrokenPipe {
 public:
  IgnoreBrokenPipe() { previous_ = ::signal(SIGPIPE, SIG_IGN); }
  ~IgnoreBrokenPipe() {
    if (previous_ != SIG_ERR) ::signal(SIGPIPE, previous_);
  }
  IgnoreBrokenPipe(const IgnoreBrokenPipe&) = delete;
  IgnoreBrokenPipe& operator=(const IgnoreBrokenPipe&) = delete;

 private:
  void (*previous_)(int);
};

}  // namespace

Environment current_environment() {
  Environment out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

Result<CommandOutput> run_command(const CommandLine& command, RunningCommands* running) {
  CommandStay stay(running);
  if (!stay.is_allowed()) {
    return Error(ErrorKind::cancelled, "the program is ending, so that " + command.argv.front() + " was not started")
        .with_id("interrupted");
  }
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in || !out || !err) return Error::from_errno(errno, "pipe");
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const bool has_input = !command.input.empty();
  const ChildStreams streams{has_input ? in->read.get() : null.get(), out->write.get(), err->write.get()};
  auto child = start(command, streams, SessionMode::same_but_own_group);
  if (!child) return child.error();
  stay.has_started(*child);
  in->read.reset();
  out->write.reset();
  err->write.reset();
  if (!has_input) in->write.reset();
  const IgnoreBrokenPipe guard;
  Conversation conversation(command, *child, std::move(in->write), std::move(out->read), std::move(err->read));
  const bool ended = conversation.run();
  CommandOutput output = conversation.take();
  if (ended) return output;
  return Error(ErrorKind::timed_out, command.argv.front() + " did not end within " +
                                         std::to_string(command.limit.count()) + " ms: " + tail_of(output.err));
}

Result<std::string> run_for_output(const CommandLine& command) {
  auto output = run_command(command);
  if (!output) return output.error();
  if (output->ok()) return std::move(output->out);
  return Error(ErrorKind::io, command.argv.front() + " exited with " + std::to_string(output->exit_code) + ": " +
                                  tail_of(output->err));
}

Result<pid_t> spawn_child(const CommandLine& command, const ChildStreams& streams, SessionMode session) {
  return start(command, streams, session);
}

Result<int> wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return Error::from_errno(errno, "wait for child");
  }
  return exit_code_of(status);
}

std::string tail_of(std::string_view text, std::size_t lines) {
  text = trim(text);
  std::size_t at = text.size();
  while (lines > 0 && at != std::string_view::npos && at > 0) {
    at = text.rfind('\n', at - 1);
    --lines;
  }
  return std::string(at == std::string_view::npos ? text : trim(text.substr(at)));
}

}  // namespace hedge
