#include "cli/manager.h"

#include "certs/trust_bundle.h"
#include "cli/edge_process.h"
#include "cli/local_authority.h"
#include "cli/services.h"
#include "router/edge_client.h"
#include "worktree/commands/command_kind.h"
#include "worktree/data/database_kind.h"
#include "worktree/env_file.h"
#include "worktree/git/branch_resource.h"
#include "worktree/git/checkout_resource.h"
#include "worktree/route_resource.h"
#include "worktree/seed/seed_resource.h"

namespace hedge::cli {
namespace {

Result<void> ensure_authority(Services& services) {
  if (auto authority = ensure_local_authority(services); !authority) return authority.error();
  auto location = find_local_authority(services);
  if (!location) return location.error();
  if (auto bundle = certs::ensure_trust_bundle(*location, certs::public_bundles()); !bundle) return bundle.error();
  return {};
}

}  // namespace

Result<std::unique_ptr<Manager>> Manager::open(Services& services) {
  auto paths = services.writable_paths();
  if (!paths) return paths.error();
  auto routes = services.routes();
  if (!routes) return routes.error();
  auto program = own_program();
  if (!program) return program.error();
  auto state = worktree::StateDatabase::open(*paths);
  if (!state) return state.error();
  const worktree::StackSetup setup{{program->string(), "supervise"}, services.environment()};
  std::unique_ptr<Manager> manager(new Manager(services, *paths, std::move(*state), **routes, setup));
  manager->add_kinds(services, **routes, setup);
  return manager;
}

Manager::Manager(Services& services, config::Paths paths, worktree::StateDatabase state, router::RouteStore& routes,
                 const worktree::StackSetup& setup)
    : paths_(std::move(paths)),
      state_(std::move(state)),
      registry_(state_, services.clock()),
      ledger_(state_, services.clock()),
      ports_(state_),
      git_(services.runner(), services.environment()),
      commands_(services.runner()),
      locks_(paths_),
      stacks_(setup, paths_, services.runner()),
      narrator_([&output = services.output()](std::string_view text) { output.progress(text); }),
      lifecycle_({registry_, ledger_, git_, kinds_, locks_, narrator_, &commands_}),
      instruments_{paths_, services.environment(), services.clock(), services.runner(), git_,   registry_, ledger_,
                   ports_, lifecycle_, kinds_, stacks_, locks_, routes,
                   narrator_,
                   [&services]() -> Result<void> { return ensure_authority(services); }} {}

// The order in which things are made; they are removed the other way round. A new kind is one line here.
void Manager::add_kinds(Services& services, router::RouteStore& routes, const worktree::StackSetup& setup) {
  using namespace worktree;
  const Environment& environment = services.environment();
  CommandRunner& runner = commands_;
  const router::EdgeClient edge(router::find_control_socket(paths_.state, paths_.control_socket()));
  kinds_.add(std::make_unique<BranchKind>(git_, locks_));
  kinds_.add(std::make_unique<CheckoutKind>(git_, locks_, ledger_));
  kinds_.add(std::make_unique<SeedKind>());
  kinds_.add(std::make_unique<EnvKind>(git_, locks_));
  kinds_.add(std::make_unique<DatabaseKind>(environment, paths_, runner));
  kinds_.add(std::make_unique<CommandKind>(CommandTurn::before_stack, environment, runner, stacks_));
  kinds_.add(std::make_unique<StackKind>(setup, paths_, runner));
  kinds_.add(std::make_unique<CommandKind>(CommandTurn::after_stack, environment, runner, stacks_));
  kinds_.add(std::make_unique<RouteKind>(routes, edge));
}

}  // namespace hedge::cli
