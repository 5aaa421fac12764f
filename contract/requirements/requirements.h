// The requirements of the provider `local`, by group. Each function adds what applies to the subject.
#pragma once

#include <vector>

#include "contract/observations.h"
#include "contract/requirement.h"

namespace hedge::contract {

// What a check may look at. Lifetime: everything outlives the requirements.
struct CheckContext {
  const Instruments& tools;
  const Subject& subject;
  const Observations& observations;
};

// context.provider git.checkout git.identity engine.available disk.space
void add_context_requirements(const CheckContext& context, std::vector<Requirement>& out);
// seed.files dependencies.installed env.file env.effective
void add_file_requirements(const CheckContext& context, std::vector<Requirement>& out);
// database.reachable database.exists database.owner database.test database.migrations
void add_database_requirements(const CheckContext& context, std::vector<Requirement>& out);
// stack.running network.alias route.registered edge.running edge.inside route.answers ca.present ca.trusted cookies.unique
void add_serving_requirements(const CheckContext& context, std::vector<Requirement>& out);
// checks.<id>
void add_repository_requirements(const CheckContext& context, std::vector<Requirement>& out);

// All of them, in the order in which people read them.
std::vector<Requirement> requirements_of(const CheckContext& context);

}  // namespace hedge::contract
