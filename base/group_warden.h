// Ends a process group when this process dies without having said that it is done, also by SIGKILL: a small process
// outside of the caller's group waits for it. Not reached: what leaves the group by itself (setsid); what runs elsewhere, such
// as in a container; anything, if the warden is killed as well, or if this process dies before watch().
#pragma once

#include <sys/types.h>

#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace hedge {

class GroupWarden {
 public:
  // Starts the warden, before there is a group. Standard streams and everything else that is open here stay closed to it,
  // but `kept` (-1: none): a lock that must be held until the group has ended. Errors: io.
  static Result<GroupWarden> start(int kept);

  GroupWarden(GroupWarden&& other) noexcept;
  GroupWarden& operator=(GroupWarden&&) = delete;
  // The group may go on: the warden ends, and is waited for.
  ~GroupWarden();

  // From now on, when this process dies: SIGTERM for the group, and 2 s later SIGKILL.
  void watch(pid_t group);

 private:
  GroupWarden(pid_t warden, UniqueFd line) : warden_(warden), line_(std::move(line)) {}

  pid_t warden_;   // 0: moved from
  UniqueFd line_;  // it sees the end of it when this process is gone
};

}  // namespace hedge
