#include "tests/worktree/git_world.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "worktree/env_file.h"
#include "worktree/git/branch_resource.h"
#include "worktree/git/checkout_resource.h"
#include "worktree/plan.h"
#include "worktree/route_resource.h"
#include "worktree/seed/seed_resource.h"

namespace hedge::worktree::test {
namespace fs = std::filesystem;

GitWorld::GitWorld() {
  const auto inherited = current_environment();
  environment_ = {{"HOME", (root() / "home").string()}, {"PATH", inherited.at("PATH")},
                  {"GIT_CONFIG_GLOBAL", "/dev/null"},   {"GIT_CONFIG_NOSYSTEM", "1"},
                  {"GIT_AUTHOR_NAME", "Ada"},           {"GIT_AUTHOR_EMAIL", "ada@localhost"},
                  {"GIT_COMMITTER_NAME", "Ada"},        {"GIT_COMMITTER_EMAIL", "ada@localhost"}};
  fs::create_directories(root() / "home");
  paths_.state = root() / "state";
  paths_.runtime = root() / "run";
  paths_.config = root() / "home/config.toml";
}

int GitWorld::git_status(const fs::path& directory, std::vector<std::string> arguments) const {
  CommandLine command;
  command.argv = {"git", "-C", directory.string()};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = environment_;
  const auto output = run_command(command);
  return output ? output->exit_code : -1;
}

std::string GitWorld::git(const fs::path& directory, std::vector<std::string> arguments) const {
  CommandLine command;
  command.argv = {"git", "-C", directory.string()};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.environment = environment_;
  const auto output = run_for_output(command);
  if (!output) {
    ADD_FAILURE() << "git " << join(arguments, " ") << ": " << output.error().to_string();
    return {};
  }
  return std::string(trim(*output));
}

fs::path GitWorld::make_repository(const std::string& name) const {
  const fs::path repository = root() / name;
  fs::create_directories(repository);
  git(repository, {"init", "-q", "-b", "main"});
  write_text(repository / ".gitignore", "node_modules/\n*.local\n.env\n");
  git(repository, {"add", "."});
  commit_file(repository, "README", "hello\n");
  return repository;
}

std::string GitWorld::commit_file(const fs::path& checkout, const std::string& name,
                                  const std::string& content) const {
  write_text(checkout / name, content);
  git(checkout, {"add", "--", name});
  git(checkout, {"commit", "-q", "-m", "change " + name});
  return git(checkout, {"rev-parse", "HEAD"});
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

Result<router::LoadedRoutes> FakeRouteStore::load_all() {
  return router::LoadedRoutes{routes_, {}};
}

Result<void> FakeRouteStore::put(const router::Route& route) {
  const auto found = std::ranges::find(routes_, route.host, &router::Route::host);
  if (found == routes_.end()) {
    routes_.push_back(route);
  } else if (found->worktree == route.worktree) {
    *found = route;
  } else {
    return Error(ErrorKind::conflict, "taken").with_id("route_conflict");
  }
  return {};
}

Result<bool> FakeRouteStore::remove(std::string_view host, std::string_view worktree) {
  const auto found = std::ranges::find(routes_, host, &router::Route::host);
  if (found == routes_.end()) return false;
  if (found->worktree != worktree) return Error(ErrorKind::conflict, "another's").with_id("route_conflict");
  routes_.erase(found);
  return true;
}

Result<int> FakeRouteStore::set_state(std::string_view, router::RouteState) {
  return 0;
}
Result<std::int64_t> FakeRouteStore::version() {
  return std::int64_t{1};
}

namespace {

class Token final : public Resource {
 public:
  Token(fs::path path, std::string owner, bool is_down)
      : path_(std::move(path)), owner_(std::move(owner)), is_down_(is_down) {}
  std::string kind() const override { return "token"; }
  std::string name() const override { return path_.filename().string(); }
  Result<Finding> check() override {
    if (is_down_) return Error(ErrorKind::unavailable, "the token server is down");
    if (!path_exists(path_)) return Finding{Presence::missing, {}, {}};
    if (read_text(path_) == owner_) return Finding{Presence::present, {}, {}};
    return Finding{Presence::foreign, "tagged by " + read_text(path_), {}};
  }
  Result<Change> converge() override {
    write_text(path_, owner_);
    return Change{kind(), name(), Action::created, {}};
  }
  Result<Change> remove() override {
    auto finding = check();
    if (!finding) return finding.error();
    if (finding->presence != Presence::present) return Change{kind(), name(), Action::none, {}};
    fs::remove(path_);
    return Change{kind(), name(), Action::removed, {}};
  }

 private:
  fs::path path_;
  std::string owner_;
  bool is_down_;
};

}  // namespace

void TokenKind::publish(const PlanInput& input, Values& values) const {
  values["token.url"] = "token://" + input.names.role + ":" + ValueText::secret("token") + "@localhost/" + input.names.database;
  values[std::string(kUpstreamValue)] = "tcp:127.0.0.1:18080";
}

Result<std::vector<ResourceSpec>> TokenKind::plan(const PlanInput& input, const Values&) const {
  if (input.names.database.empty())
    return std::vector<ResourceSpec>();  // main's data is configured, not made
  return std::vector<ResourceSpec>{{kind(), input.names.database, "{}"}};
}

Result<std::unique_ptr<Resource>> TokenKind::make(const ResourceSpec& spec,
                                                  const WorktreeRecord& record) const {
  return std::unique_ptr<Resource>(std::make_unique<Token>(directory_ / spec.name, record.id, is_down_));
}

fs::path token_directory(const GitWorld& world) {
  return world.root() / "tokens";
}

namespace {

StateDatabase open_state(const config::Paths& paths) {
  auto state = StateDatabase::open(paths);
  if (!state) ADD_FAILURE() << state.error().to_string();
  return std::move(*state);
}

config::ProjectConfig shop_config() {
  config::ProjectConfig config;
  config.app.name = "shop";
  config.env.variables = {{"TOKEN_URL", "{token.url}"}};
  return config;
}

}  // namespace

Manager::Manager(const GitWorld& world, StepObserver& observer, const Environment& environment)
    : config(shop_config()),
      state(open_state(world.paths())),
      registry(state, clock),
      ledger(state, clock),
      ports(state),
      git(runner, environment),
      locks(world.paths()),
      lifecycle(LifecycleParts{registry, ledger, git, kinds, locks, observer}) {
  fs::create_directories(token_directory(world));
  kinds.add(std::make_unique<BranchKind>(git, locks));
  kinds.add(std::make_unique<CheckoutKind>(git, locks, ledger));
  kinds.add(std::make_unique<SeedKind>());
  kinds.add(std::make_unique<EnvKind>(git, locks));
  auto owned_token = std::make_unique<TokenKind>(token_directory(world));
  token = owned_token.get();
  kinds.add(std::move(owned_token));
  kinds.add(std::make_unique<RouteKind>(routes, router::EdgeClient(world.root() / "no-edge.sock")));
}

Result<Lifecycle::CreateOutcome> Manager::converge(const WorktreeRecord& record) {
  auto observed = observe(git, ports, record, config, ObserveMode::real);
  if (!observed) return observed.error();
  const config::Paths no_paths;
  const WorktreeNames names = names_of(record, config);
  auto plan = make_plan(kinds, PlanInput{record, names, config, no_paths, *observed});
  if (!plan) return plan.error();
  return lifecycle.create(record, plan->steps);
}

Result<Lifecycle::CreateOutcome> Manager::create(const fs::path& caller, const CreateRequest& request) {
  auto located = locate_and_follow(git, registry, caller);
  if (!located) return located.error();
  auto record = lifecycle.admit(*located, config, request);
  if (!record) return record.error();
  return converge(*record);
}

Result<Lifecycle::CreateOutcome> Manager::adopt(const fs::path& directory) {
  auto located = locate_and_follow(git, registry, directory);
  if (!located) return located.error();
  auto record = lifecycle.adopt(*located, config);
  if (!record) return record.error();
  return converge(*record);
}

Result<DestroyReport> Manager::destroy(const fs::path& caller, const std::string& name,
                                       const DestroyOptions& options) {
  auto located = locate_and_follow(git, registry, caller);
  if (!located) return located.error();
  auto record = find_worktree(git, registry, *located, name);
  if (!record) return record.error();
  return lifecycle.destroy(*record, options);
}

}  // namespace hedge::worktree::test
