// For programs that read no trust store: the public roots and ours in one file, and the variables that point
// to it.
//
//   trust/root.crt     ours alone (two while one replaces the other)
//   trust/bundle.crt   the public roots and ours
//   trust/java.p12     the same for Java
//
// In a directory of their own, which a container can mount without seeing a key, and in which a new root arrives.
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
  std::filesystem::path directory;
  std::filesystem::path root;
  // Empty where this system has no public roots: what replaces a program's roots must not take them away.
  std::filesystem::path bundle;
  std::filesystem::path java;
};

// Where the files are, or will be: they need not be there yet.
TrustBundle find_trust_bundle(const AuthorityLocation& location,
                              const std::vector<std::filesystem::path>& candidates);

// Writes the files that are not as they must be. Ours stands in them once, also where the system trusts it
// already. Errors: of load_root(); no_space `disk_full`, permission, io.
Result<TrustBundle> ensure_trust_bundle(const AuthorityLocation& location,
                                        const std::vector<std::filesystem::path>& candidates);

// NODE_EXTRA_CA_CERTS and DENO_CERT add to the public roots and name ours alone. The others replace them, so they
// name the bundle and are left out where there are no public roots to put into it.
Environment trust_variables(const TrustBundle& bundle);

}  // namespace hedge::certs
