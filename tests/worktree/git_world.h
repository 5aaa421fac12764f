// A hermetic git world: a home of its own, no configuration of the machine's, repositories in a short
// temporary directory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "config/paths.h"
#include "config/project_config.h"
#include "router/route_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temporary_directory.h"
#include "worktree/git/git.h"
#include "worktree/guard.h"
#include "worktree/lifecycle.h"
#include "worktree/ports.h"
#include "worktree/registry.h"

namespace hedge::worktree::test {

class GitWorld {
 public:
  GitWorld();

  const std::filesystem::path& root() const { return directory_.path(); }
  const config::Paths& paths() const { return paths_; }
  const Environment& environment() const { return environment_; }

  // Runs git and returns its trimmed output; a failure fails the test.
  std::string git(const std::filesystem::path& directory, std::vector<std::string> arguments) const;
  // The exit code alone.
  int git_status(const std::filesystem::path& directory, std::vector<std::string> arguments) const;

  // A repository with one commit on `main`.
  std::filesystem::path make_repository(const std::string& name) const;
  // Writes, stages and commits one file. Returns the commit.
  std::string commit_file(const std::filesystem::path& checkout, const std::string& name,
                          const std::string& content) const;

 private:
  hedge::test::TemporaryDirectory directory_;
  Environment environment_;
  config::Paths paths_;
};

void write_text(const std::filesystem::path& path, const std::string& text);
std::string read_text(const std::filesystem::path& path);

// Routes in memory, by host.
class FakeRouteStore final : public router::RouteStore {
 public:
  Result<router::LoadedRoutes> load_all() override;
  Result<void> put(const router::Route& route) override;
  Result<bool> remove(std::string_view host, std::string_view worktree) override;
  Result<int> set_state(std::string_view worktree, router::RouteState state) override;
  Result<std::int64_t> version() override;

 private:
  std::vector<router::Route> routes_;
};

class QuietObserver final : public StepObserver {
 public:
  Result<void> on_step(Stage, const ResourceSpec&) override { return {}; }
};

// A resource outside of the checkout (as a database is): a file below `directory`, tagged with its owner's
// id.
class TokenKind final : public ResourceKind {
 public:
  explicit TokenKind(std::filesystem::path directory) : directory_(std::move(directory)) {}
  std::string kind() const override { return "token"; }
  void publish(const PlanInput& input, Values& values) const override;
  Result<std::vector<ResourceSpec>> plan(const PlanInput& input, const Values& values) const override;
  Result<std::unique_ptr<Resource>> make(const ResourceSpec& spec,
                                         const WorktreeRecord& record) const override;
  // The server that holds the tokens is down from now on.
  void stop_server() { is_down_ = true; }
  void start_server() { is_down_ = false; }

 private:
  std::filesystem::path directory_;
  bool is_down_ = false;
};

// Everything that one process of the manager works with, over the world's state directory.
class Manager {
 public:
  Manager(const GitWorld& world, StepObserver& observer) : Manager(world, observer, world.environment()) {}
  Manager(const GitWorld& world, StepObserver& observer, const Environment& environment);

  Result<Lifecycle::CreateOutcome> create(const std::filesystem::path& caller, const CreateRequest& request);
  Result<Lifecycle::CreateOutcome> create(const std::filesystem::path& caller, const std::string& branch) {
    return create(caller, CreateRequest{branch, {}, {}, StackWish::with_stack});
  }
  Result<Lifecycle::CreateOutcome> adopt(const std::filesystem::path& directory);
  Result<Lifecycle::CreateOutcome> converge(const WorktreeRecord& record);
  Result<DestroyReport> destroy(const std::filesystem::path& caller, const std::string& name,
                                const DestroyOptions& options = {});

  config::ProjectConfig config;  // may be changed before a call
  hedge::test::FakeClock clock;
  SystemCommandRunner runner;
  StateDatabase state;
  Registry registry;
  Ledger ledger;
  Ports ports;
  Git git;
  WorktreeLocks locks;
  FakeRouteStore routes;
  ResourceKinds kinds;
  TokenKind* token = nullptr;
  Lifecycle lifecycle;
};

std::filesystem::path token_directory(const GitWorld& world);

}  // namespace hedge::worktree::test
