// The commands that run now, so that whoever ends the program can end them with it.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <set>

namespace hedge {

// Thread-safe.
class RunningCommands {
 public:
  // Ends each with its process group: SIGTERM, and SIGKILL 2 s later. None starts from then on. Returns when all are gone,
  // after 3 s at most. Requires: whoever runs them goes on waiting for them.
  void end_all();

 private:
  friend class CommandStay;

  std::mutex mutex_;
  std::set<pid_t> groups_;
  int starting_ = 0;  // on their way into groups_
  bool is_ended_ = false;
};

// One command's stay among them, from before it starts until it has ended.
class CommandStay {
 public:
  // `all` may be null: nobody wants to know. Lifetime: `all` outlives the stay.
  explicit CommandStay(RunningCommands* all);
  CommandStay(const CommandStay&) = delete;
  CommandStay& operator=(const CommandStay&) = delete;
  ~CommandStay();

  // False after end_all(): then it must not start.
  bool is_allowed() const { return is_allowed_; }
  // It leads the process group `group`.
  void has_started(pid_t group);

 private:
  RunningCommands* all_;
  pid_t group_ = 0;
  bool is_allowed_ = true;
};

}  // namespace hedge
