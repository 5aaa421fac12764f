// The local CA as verbs use it: made on demand for the suffixes of the settings file, and told as JSON and
// text.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "certs/certificate_authority.h"
#include "certs/trust_store.h"
#include "cli/services.h"

namespace hedge::cli {

// Of the settings file; without one, none beyond the defaults. Errors: `config_invalid`.
Result<std::vector<std::string>> configured_suffixes(Services& services);

// Makes the CA if there is none, renews its intermediate if it is time, and says on standard error what it
// did.
Result<certs::Authority> ensure_local_authority(Services& services);
// The same, for an edge that keeps its state at `paths` and serves `suffixes`.
Result<certs::Authority> ensure_authority_of(const config::Paths& paths,
                                             const std::vector<std::string>& suffixes, Services& services);
Result<certs::AuthorityLocation> find_local_authority(Services& services);

// What a person should know about it now: it ends soon, or does not cover a configured suffix.
struct Warning {
  std::string id;
  std::string text;
  std::string command;
};
std::vector<Warning> warnings_about(const certs::Authority& authority,
                                    const std::vector<std::string>& suffixes, WallTime now);

// The same for a host that is to have TLS. Nothing while there is no readable CA.
std::vector<Warning> warnings_about_host(const std::string& host, Services& services);

nlohmann::json root_to_json(const X509& root, const certs::AuthorityLocation& location);
nlohmann::json finding_to_json(const certs::TrustFinding& finding);
nlohmann::json warnings_to_json(const std::vector<Warning>& warnings);
void print_findings(Output& output, const std::vector<certs::TrustFinding>& findings);

}  // namespace hedge::cli
