#include "base/running_commands.h"

#include <signal.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace hedge {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kTermGrace = std::chrono::seconds(2);
constexpr auto kKillGrace = std::chrono::seconds(1);
constexpr auto kPoll = std::chrono::milliseconds(5);

// A group lives as long as anything in it does, also after its first process.
bool is_gone(pid_t group) { return ::kill(-group, 0) != 0 && errno == ESRCH; }

}  // namespace

CommandStay::CommandStay(RunningCommands* all) : all_(all) {
  if (all_ == nullptr) return;
  const std::lock_guard lock(all_->mutex_);
  is_allowed_ = !all_->is_ended_;
  ++all_->starting_;
}

CommandStay::~CommandStay() {
  if (all_ == nullptr) return;
  const std::lock_guard lock(all_->mutex_);
  if (group_ > 0) all_->groups_.erase(group_);
  else --all_->starting_;
}

void CommandStay::has_started(pid_t group) {
  if (all_ == nullptr) return;
  const std::lock_guard lock(all_->mutex_);
  group_ = group;
  --all_->starting_;
  all_->groups_.insert(group);
  if (all_->is_ended_) ::kill(-group, SIGTERM);
}

void RunningCommands::end_all() {
  std::set<pid_t> groups;
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    groups = groups_;
    for (const pid_t group : groups) ::kill(-group, SIGTERM);
  }
  const auto start = SteadyClock::now();
  bool is_killed = false;
  while (SteadyClock::now() < start + kTermGrace + kKillGrace) {
    bool is_starting = false;
    {
      const std::lock_guard lock(mutex_);
      groups.insert(groups_.begin(), groups_.end());
      is_starting = starting_ > 0;
    }
    std::erase_if(groups, is_gone);
    if (groups.empty() && !is_starting) return;
    if (!is_killed && SteadyClock::now() >= start + kTermGrace) {
      is_killed = true;
      for (const pid_t group : groups) ::kill(-group, SIGKILL);
    }
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace hedge
