// What the verbs about trust have in common: every store of this machine, changed by who may, and told.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "certs/trust_stores.h"
#include "cli/local_authority.h"
#include "cli/services.h"

namespace hedge::cli {

// Each store of the kind, or of all kinds. The system's are root's, the others are the user's: under sudo each is
// visited as its owner.
void for_each_store(Services& services, std::optional<certs::StoreKind> kind,
                    const std::function<void(certs::TrustStore&)>& visit);
std::vector<certs::TrustFinding> change_each(
    Services& services, std::optional<certs::StoreKind> kind,
    const std::function<certs::TrustFinding(certs::TrustStore&)>& change);

// True if every store that counts is as it should be.
bool all_right(const std::vector<certs::TrustFinding>& findings);
std::vector<Warning> warnings_of(const std::vector<certs::TrustFinding>& findings);

// Prints the result of a verb; returns its exit code: 0 only if all_right().
int report_trust(Output& output, const std::string& command, const std::vector<certs::TrustFinding>& findings,
                 nlohmann::json root);

}  // namespace hedge::cli
