// The root and the intermediate, as certificates: who they are and what they may sign.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "certs/openssl_ptr.h"

namespace hedge::certs {

inline constexpr std::chrono::hours kRootLife{24 * 3650};
inline constexpr std::chrono::hours kIntermediateLife{24 * 365};

// What every root is permitted to sign, besides what the settings name.
std::vector<std::string> default_suffixes();
// The defaults and `configured`, without repetition.
std::vector<std::string> authority_suffixes(const std::vector<std::string>& configured);

struct AuthorityIdentity {
  std::string
      installation;  // names the directory that the CA lives in; the same for every root ever made there
  std::string host;  // this machine's name; only for people
};
std::string root_common_name(std::string_view host, std::string_view short_id);

// Self-signed, 10 years, pathlen 1. A fresh name each time, so that no client confuses two roots.
Result<X509Ptr> make_root(EVP_PKEY& key, const AuthorityIdentity& identity,
                          const std::vector<std::string>& suffixes, WallTime now);
// 1 year and never beyond the root, pathlen 0, with the root's name constraints.
Result<X509Ptr> make_intermediate(EVP_PKEY& key, const X509& root, EVP_PKEY& root_key, WallTime now);

}  // namespace hedge::certs
