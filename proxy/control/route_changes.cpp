#include "proxy/control/route_changes.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "router/route_json.h"

namespace hedge::proxy {
namespace {

using nlohmann::json;

class HostList {
 public:
  void add(const std::string& host) {
    if (names_.size() < kMostHostsInEvent)
      names_.push_back(host);
    else
      is_complete_ = false;
  }
  bool is_complete() const { return is_complete_; }
  // For people, so in order.
  json sorted() const {
    json out = names_;
    std::sort(out.begin(), out.end());
    return out;
  }
  bool empty() const { return names_.empty(); }

 private:
  json names_ = json::array();
  bool is_complete_ = true;
};

bool is_same(const router::Route& a, const router::Route& b) {
  return a.match == b.match && a.protocol == b.protocol && a.state == b.state && a.worktree == b.worktree &&
         router::to_string(a.upstream) == router::to_string(b.upstream);
}

}  // namespace

std::string describe_changes(const router::RouteTable& before, const router::RouteTable& after) {
  HostList added;
  HostList changed;
  HostList removed;
  after.for_each_not_shared_with(before, [&](const router::Route& route) {
    const router::Route* old = before.find_made_for(route.host);
    if (old == nullptr)
      added.add(route.host);
    else if (!is_same(*old, route))
      changed.add(route.host);
  });
  before.for_each_not_shared_with(after, [&](const router::Route& route) {
    if (after.find_made_for(route.host) == nullptr) removed.add(route.host);
  });
  if (added.empty() && changed.empty() && removed.empty()) return {};
  const json told = {{"routes", after.size()},
                     {"added", added.sorted()},
                     {"changed", changed.sorted()},
                     {"removed", removed.sorted()},
                     {"complete", added.is_complete() && changed.is_complete() && removed.is_complete()}};
  return told.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace hedge::proxy
