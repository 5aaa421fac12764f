// One shape for everything that the manager makes: a checkout, a database, a stack, a route.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hedge::worktree {

enum class Presence {
  present,   // there and as it should be
  missing,   // not there; converge() makes it
  differs,   // there, ours, and not as it should be; converge() mends it
  foreign,   // there and somebody else's: neither reused nor removed
  unknown,   // could not be determined (a server is down)
};

struct Finding {
  Presence presence = Presence::unknown;
  std::string detail;  // for people; empty where there is nothing to add
  // Where presence is not `present`: why, with its stable id, remediation hints in the error.
  std::vector<Error> problems;
};

enum class Action { none, created, updated, removed, started, stopped };
std::string_view to_string(Action action);

struct Change {
  std::string resource;  // kind, such as "database"
  std::string name;      // which one, such as "shop_login_fix"
  Action action = Action::none;
  std::string detail;    // such as "reflink, 1,204 files, 38 MB, 0.4 s"
};

// check() changes nothing. converge() and remove() are idempotent: a second call changes nothing and says Action::none;
// remove() of the absent is success; neither touches what the ledger does not own.
class Resource {
 public:
  virtual ~Resource() = default;
  virtual std::string kind() const = 0;  // stable; the `resource` of its changes and of the journal
  virtual std::string name() const = 0;
  // Found by its path in the checkout alone: where another worktree has taken the place, it is that one's.
  virtual bool lives_in_checkout() const { return false; }
  virtual Result<Finding> check() = 0;
  virtual Result<Change> converge() = 0;
  virtual Result<Change> remove() = 0;
  // For what lives in the checkout and went with it: drops what is kept about it elsewhere, and touches nothing in the
  // checkout, which is another worktree's now.
  virtual Result<void> forget() { return {}; }
};

}  // namespace hedge::worktree
