// The worktree's databases, as their resources see them.
#include <algorithm>

#include "contract/requirements/requirements.h"

namespace hedge::contract {
namespace {

using worktree::Presence;

// One resource may stand for several requirements: each takes from the finding what it asks about.
CheckOutcome check_reachable(const std::vector<const ObservedResource*>& databases) {
  for (const ObservedResource* database : databases) {
    if (!database->finding || database->finding->presence == Presence::unknown) {
      CheckOutcome outcome = outcome_of(*database, "database_unreachable");
      outcome.can_be_made = false;
      return outcome;
    }
  }
  return CheckOutcome::pass();
}

CheckOutcome check_exists(const std::vector<const ObservedResource*>& databases) {
  for (const ObservedResource* database : databases) {
    if (database->finding->presence == Presence::missing) return outcome_of(*database, "database_missing");
  }
  return CheckOutcome::pass();
}

CheckOutcome check_owner(const std::vector<const ObservedResource*>& databases) {
  std::string details;
  for (const ObservedResource* database : databases) {
    if (database->finding->presence == Presence::foreign || database->finding->presence == Presence::differs) {
      return outcome_of(*database, "database_differs");
    }
    if (!details.empty() && !database->finding->detail.empty()) details += "; ";
    details += database->finding->detail;
  }
  return CheckOutcome::pass(details);
}

std::string why_no_database(const CheckContext& context) {
  return context.subject.config.database.engine == config::DatabaseEngine::none
             ? "[database] engine is \"none\""
             : "the main checkout's databases are its own: nothing is made or removed there";
}

CheckOutcome check_command(const CheckContext& context, std::string_view name, std::string_view missing_id) {
  for (const ObservedResource* command : resources_of(context.observations, "command")) {
    if (command->spec.name == name) return outcome_of(*command, missing_id);
  }
  return CheckOutcome::skip("hedge.toml has no [commands] " + std::string(name));
}

}  // namespace

void add_database_requirements(const CheckContext& context, std::vector<Requirement>& out) {
  const auto add = [&](std::string id, std::string title, std::vector<std::string> needs,
                       CheckOutcome (*check)(const std::vector<const ObservedResource*>&)) {
    out.push_back({std::move(id), std::move(title), Severity::required, std::move(needs), [&context, check] {
                     const auto databases = resources_of(context.observations, "database");
                     if (databases.empty()) return CheckOutcome::skip(why_no_database(context));
                     return check(databases);
                   }});
  };
  add("database.reachable", "the database answers", {"git.checkout"}, check_reachable);
  add("database.exists", "the worktree's databases exist", {"database.reachable"}, check_exists);
  add("database.owner", "the databases belong to this worktree", {"database.exists"}, check_owner);
  out.push_back({"database.migrations", "no migration is pending", Severity::required, {"git.checkout"}, [&context] {
                   if (context.subject.config.database.engine == config::DatabaseEngine::none) {
                     return CheckOutcome::skip("[database] engine is \"none\"");
                   }
                   return check_command(context, "migrate", "migrations_pending");
                 }});
  out.push_back({"dependencies.installed", "the dependencies fit the lockfiles", Severity::required, {"git.checkout"},
                 [&context] { return check_command(context, "install", "dependencies_stale"); }});
}

}  // namespace hedge::contract
