// For programs that read no trust store: the public roots and ours in one file, and the variables that point
// to it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "certs/certificate_authority.h"

namespace hedge::certs {

// Where distributions keep the public roots; the first that exists is taken.
std::vector<std::filesystem::path> public_bundles();

struct TrustBundle {
  std::filesystem::path root;    // ours alone
  std::filesystem::path bundle;  // public roots and ours; empty where this system has no public roots
};

// Writes ca/bundle.crt if it is not as it must be. Ours stands in it once, also where the system trusts it
// already. Errors: of load_root(); no_space `disk_full`, permission, io.
Result<TrustBundle> ensure_trust_bundle(const AuthorityLocation& location,
                                        const std::vector<std::filesystem::path>& candidates);

// NODE_EXTRA_CA_CERTS adds to the public roots and names ours alone. The others replace them, so they name
// the bundle and are left out where there are no public roots to put into it.
Environment trust_variables(const TrustBundle& bundle);

}  // namespace hedge::certs
