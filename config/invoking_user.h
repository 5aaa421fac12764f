// Who really runs this program when it was started through sudo, so that state never becomes root's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "base/subprocess.h"

namespace hedge::config {

struct InvokingUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::filesystem::path home;
};

// Absent: this process is not root, or root did not come from another user by sudo.
// Errors: refused `invoking_user_unknown`, if sudo names a user that the system does not know: whose state
// would it be?
Result<std::optional<InvokingUser>> find_invoking_user(const Environment& environment);

// Makes the process act as that user: real and effective ids, groups, and HOME where it is still root's. Root
// stays in reserve (the saved id) for RootAgain; children never get it. Call once, from main, before other
// threads exist.
Result<void> act_as(const InvokingUser& user);

// Takes up root again for what only root may do, if it is in reserve. Not for use while other threads work.
class RootAgain {
 public:
  RootAgain();
  RootAgain(const RootAgain&) = delete;
  RootAgain& operator=(const RootAgain&) = delete;
  ~RootAgain();

  bool active() const { return active_; }

 private:
  uid_t user_;
  bool active_;
};

// Gives the reserve up for good. A no-op without one.
Result<void> forget_root();

}  // namespace hedge::config
