#include "router/route_watcher.h"

#include <utility>

#include "base/text.h"

namespace hedge::router {
namespace {

std::string hidden_warning(const Route& stored, const Route& fixed) {
  return "host " + stored.host + ": the settings file's route to " + to_string(fixed.upstream) +
         " hides the stored one to " + to_string(stored.upstream) +
         (stored.worktree.empty() ? "" : " of worktree " + printable(stored.worktree)) + " (route_conflict)";
}

std::string unreadable_warning(const UnreadableRoute& record) {
  return "route " + record.host + " is left out: " + record.reason.to_string() + " (route_unreadable)";
}

}  // namespace

RouteWatcher::RouteWatcher(OpenStore open_store, std::vector<Route> static_routes)
    : open_store_(std::move(open_store)), static_routes_(RouteTable::build(std::move(static_routes))) {}

void RouteWatcher::set_static_routes(std::vector<Route> routes) {
  static_routes_ = RouteTable::build(std::move(routes));
}

RouteSnapshot RouteWatcher::load() {
  const std::optional<Error> failure = read_store();
  last_failure_ = failure ? failure->to_string() : "";
  return merge(failure);
}

std::optional<RouteSnapshot> RouteWatcher::load_if_changed() {
  if (store_ != nullptr) {
    const auto version = store_->version();
    if (version && *version == seen_version_ && last_failure_.empty()) return std::nullopt;
    // The file was replaced, or its table cannot be read: a new connection sees what is there now.
    if (!version) store_.reset();
  }
  const std::optional<Error> failure = read_store();
  if (failure && failure->to_string() == last_failure_) return std::nullopt;
  last_failure_ = failure ? failure->to_string() : "";
  return merge(failure);
}

bool RouteWatcher::is_static(std::string_view host) const {
  const Route* found = static_routes_->find(host);
  return found != nullptr && found->host == host;
}

std::optional<Error> RouteWatcher::read_store() {
  if (store_ == nullptr) {
    auto opened = open_store_();
    if (!opened) return std::move(opened).error();
    store_ = std::move(*opened);
  }
  // The version is read first: a change during the reading is then seen again, never missed.
  auto version = store_->version();
  if (!version) {
    store_.reset();
    return std::move(version).error();
  }
  auto loaded = store_->load_all();
  if (!loaded) {
    store_.reset();
    return std::move(loaded).error();
  }
  seen_version_ = *version;
  stored_ = std::move(*loaded);
  return std::nullopt;
}

RouteSnapshot RouteWatcher::merge(const std::optional<Error>& failure) const {
  RouteSnapshot snapshot;
  if (failure) snapshot.warnings.push_back("stored routes are as they were: " + failure->to_string());
  for (const UnreadableRoute& record : stored_.unreadable)
    snapshot.warnings.push_back(unreadable_warning(record));
  std::vector<Route> routes;
  routes.reserve(stored_.routes.size() + static_routes_->routes().size());
  for (const Route& stored : stored_.routes) {
    const Route* hiding = static_routes_->find(stored.host);
    if (hiding != nullptr && hiding->host == stored.host) {
      snapshot.warnings.push_back(hidden_warning(stored, *hiding));
    } else {
      routes.push_back(stored);
    }
  }
  routes.insert(routes.end(), static_routes_->routes().begin(), static_routes_->routes().end());
  snapshot.table = RouteTable::build(std::move(routes));
  return snapshot;
}

}  // namespace hedge::router
