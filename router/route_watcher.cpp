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
    : open_store_(std::move(open_store)),
      static_routes_(RouteTable::build(std::move(static_routes))),
      merged_(static_routes_) {}

void RouteWatcher::set_static_routes(std::vector<Route> routes) {
  static_routes_ = RouteTable::build(std::move(routes));
  merge();
}

RouteSnapshot RouteWatcher::load() {
  const std::optional<Error> failure = read_store();
  last_failure_ = failure ? failure->to_string() : "";
  return snapshot(failure);
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
  return snapshot(failure);
}

bool RouteWatcher::is_static(std::string_view host) const {
  return static_routes_->find_made_for(host) != nullptr;
}

std::optional<Error> RouteWatcher::read_store() {
  if (store_ == nullptr) {
    mark_.reset();
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
  auto done = read_changes();
  if (done && !*done) {
    if (auto all = read_all(); !all) done = std::move(all).error();
  }
  if (!done) {
    store_.reset();
    return std::move(done).error();
  }
  seen_version_ = *version;
  return std::nullopt;
}

Result<bool> RouteWatcher::read_changes() {
  if (!mark_) return false;
  auto changes = store_->load_changes(*mark_);
  if (!changes) return std::move(changes).error();
  if (!*changes) return false;
  mark_ = (*changes)->mark;
  apply(**changes);
  return true;
}

Result<void> RouteWatcher::read_all() {
  auto loaded = store_->load_all();
  if (!loaded) return std::move(loaded).error();
  mark_ = loaded->mark;
  stored_ = RouteTable::build(std::move(loaded->routes));
  unreadable_.clear();
  for (const UnreadableRoute& record : loaded->unreadable)
    unreadable_[record.host] = unreadable_warning(record);
  merge();
  return {};
}

void RouteWatcher::apply(const ChangedRoutes& changes) {
  if (changes.put.empty() && changes.removed.empty()) return;
  RouteChanges stored{changes.put, changes.removed};
  RouteChanges merged;
  for (const Route& route : changes.put) {
    unreadable_.erase(route.host);
    if (!is_hidden(route)) merged.put.push_back(route);
  }
  for (const std::string& host : changes.removed) {
    unreadable_.erase(printable(host));
    hidden_.erase(host);
    if (!is_static(host)) merged.removed.push_back(host);
  }
  for (const UnreadableRoute& record : changes.unreadable)
    unreadable_[record.host] = unreadable_warning(record);
  const bool are_one = merged_ == stored_;
  stored_ = stored_->with(stored);
  merged_ = are_one ? stored_ : merged_->with(merged);
}

bool RouteWatcher::is_hidden(const Route& stored) {
  const Route* hiding = static_routes_->find_made_for(stored.host);
  if (hiding != nullptr) hidden_[stored.host] = hidden_warning(stored, *hiding);
  return hiding != nullptr;
}

void RouteWatcher::merge() {
  hidden_.clear();
  if (static_routes_->size() == 0 || stored_->size() == 0) {
    merged_ = static_routes_->size() == 0 ? stored_ : static_routes_;
    return;
  }
  RouteChanges fixed;
  fixed.put.reserve(static_routes_->size());
  static_routes_->for_each([this, &fixed](const Route& route) {
    if (const Route* stored = stored_->find_made_for(route.host)) is_hidden(*stored);
    fixed.put.push_back(route);
    return true;
  });
  merged_ = stored_->with(fixed);
}

RouteSnapshot RouteWatcher::snapshot(const std::optional<Error>& failure) const {
  RouteSnapshot out;
  if (failure) out.warnings.push_back("stored routes are as they were: " + failure->to_string());
  for (const WarningsByHost* warnings : {&unreadable_, &hidden_}) {
    for (const auto& [host, text] : *warnings) out.warnings.push_back(text);
  }
  out.table = merged_;
  return out;
}

}  // namespace hedge::router
