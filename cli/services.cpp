#include "cli/services.h"

#include "cli/manager.h"
#include "config/edge_config.h"
#include "router/sqlite_route_store.h"

namespace hedge::cli {

namespace fs = std::filesystem;

Services::Services(GlobalOptions options, Environment environment, Output& output, CommandRunner& runner)
    : options_(std::move(options)), environment_(std::move(environment)), output_(output), runner_(runner) {}

Services::~Services() = default;

Result<fs::path> Services::directory() const {
  std::error_code problem;
  const fs::path here = fs::current_path(problem);
  if (problem) {
    return Error(ErrorKind::not_found, "the current directory does not exist any more").with_id("directory_missing");
  }
  const fs::path wanted = options_.directory.empty() ? here : here / options_.directory;
  fs::path canonical = fs::canonical(wanted, problem);
  if (problem || !fs::is_directory(canonical, problem)) {
    return Error(ErrorKind::not_found, "there is no directory " + wanted.string()).with_id("directory_missing");
  }
  return canonical;
}

Result<config::Paths> Services::find_paths() const {
  auto found = config::find_paths(options_.state_dir, environment_);
  // An empty or relative one names nothing, as in find_paths().
  const auto variable = environment_.find("HEDGE_STATE_DIR");
  const bool is_named = options_.state_dir || (variable != environment_.end() && fs::path(variable->second).is_absolute());
  if (!found || is_named) return found;
  // A file that cannot be read might name another directory: to go on with the default would be to take that one for empty.
  const auto named = config::load_state_dir(found->config);
  if (!named) return named.error();
  return *named ? config::find_paths(*named, environment_) : found;
}

Result<config::Paths> Services::paths() {
  if (!paths_) {
    auto found = find_paths();
    if (!found) return found.error();
    paths_ = std::move(*found);
  }
  return *paths_;
}

Result<config::Paths> Services::writable_paths() {
  auto found = paths();
  if (!found) return found;
  if (auto made = config::ensure_paths(*found); !made) return made.error();
  return found;
}

Result<router::RouteStore*> Services::routes() {
  if (!routes_) {
    auto found = writable_paths();
    if (!found) return found.error();
    auto store = router::SqliteRouteStore::open(found->routes_database());
    if (!store) return store.error();
    routes_ = std::move(*store);
  }
  return routes_.get();
}

Result<Manager*> Services::manager() {
  if (!manager_) {
    auto opened = Manager::open(*this);
    if (!opened) return opened.error();
    manager_ = std::move(*opened);
  }
  return manager_.get();
}

}  // namespace hedge::cli
