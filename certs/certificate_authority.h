// The local CA on disk: made once, checked whenever it is read.
//
//   ca/root.crt           the root, which stores are told to trust        0644
//   ca/root.key           read only to sign an intermediate               0400
//   ca/intermediate.pem   its certificate and key in one file, so that no reader ever sees half a pair   0600
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "certs/leaf_profile.h"
#include "certs/openssl_ptr.h"
#include "config/paths.h"

namespace hedge::certs {

// From this much left on, the intermediate is renewed and the root is warned about.
inline constexpr std::chrono::hours kRenewalMargin{24 * 60};

struct AuthorityLocation {
  std::filesystem::path directory;
  std::filesystem::path lock;  // beside it, because the directory appears in one rename

  std::filesystem::path root_certificate() const { return directory / "root.crt"; }
  std::filesystem::path root_key() const { return directory / "root.key"; }
  std::filesystem::path intermediate() const { return directory / "intermediate.pem"; }
};
AuthorityLocation authority_location(const config::Paths& paths);

// The tag by which roots of this directory are recognised in trust stores, also after the directory is gone.
std::string installation_id(const std::filesystem::path& ca_directory);

struct Authority {
  X509Ptr root;
  Issuer intermediate;
};

enum class AuthorityChange { none, created, intermediate_renewed };
struct EnsuredAuthority {
  Authority authority;
  AuthorityChange change = AuthorityChange::none;
};

// Errors: not_found `ca_missing`; corrupt `ca_invalid` (a file is missing, unreadable or does not belong to
// the others; the text names it); unavailable `ca_expired`; permission `state_unreadable`.
Result<Authority> load_authority(const AuthorityLocation& location, WallTime now);
// What the edge needs, without the root. Errors: as above.
Result<Issuer> load_issuer(const std::filesystem::path& ca_directory);
// The root alone, for trust stores. Errors: as load_authority().
Result<X509Ptr> load_root(const AuthorityLocation& location);

// Loads the CA; makes it if there is none; renews the intermediate if less than 60 days of it are left.
// Processes that do this at the same time end up with the same CA. A damaged CA is never replaced. Errors: as
// load_authority(), and busy (another process holds the lock for 10 s), no_space `disk_full`, io.
Result<EnsuredAuthority> ensure_authority(const AuthorityLocation& location,
                                          const std::vector<std::string>& suffixes, const Clock& clock);

// A new CA at `location`, which must not be there; its roots carry the tag `installation`. The directory appears
// complete, in one rename: killed at any point, there is a whole CA or none. Requires: the lock is held.
// Errors: no_space `disk_full`, permission `state_unreadable`, io.
Result<void> make_authority_at(const AuthorityLocation& location, const std::string& installation,
                               const std::vector<std::string>& suffixes, WallTime now);

}  // namespace hedge::certs
