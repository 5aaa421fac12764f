#include "proxy/control/route_changes.h"

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
  const json& names() const { return names_; }

 private:
  json names_ = json::array();
  bool is_complete_ = true;
};

const router::Route* find_exactly(const router::RouteTable& table, const std::string& host) {
  const router::Route* found = table.find(host);
  return found != nullptr && found->host == host ? found : nullptr;
}

bool is_same(const router::Route& a, const router::Route& b) {
  return a.match == b.match && a.protocol == b.protocol && a.state == b.state && a.worktree == b.worktree &&
         router::to_string(a.upstream) == router::to_string(b.upstream);
}

}  // namespace

std::string describe_changes(const router::RouteTable& before, const router::RouteTable& after) {
  HostList added;
  HostList changed;
  HostList removed;
  for (const router::Route& route : after.routes()) {
    const router::Route* old = find_exactly(before, route.host);
    if (old == nullptr)
      added.add(route.host);
    else if (!is_same(*old, route))
      changed.add(route.host);
  }
  for (const router::Route& route : before.routes()) {
    if (find_exactly(after, route.host) == nullptr) removed.add(route.host);
  }
  if (added.names().empty() && changed.names().empty() && removed.names().empty()) return {};
  const json told = {{"routes", after.routes().size()},
                     {"added", added.names()},
                     {"changed", changed.names()},
                     {"removed", removed.names()},
                     {"complete", added.is_complete() && changed.is_complete() && removed.is_complete()}};
  return told.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace hedge::proxy
