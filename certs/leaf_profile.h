// The certificate of one hostname, as browsers of today accept it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "certs/openssl_ptr.h"

namespace hedge::certs {

// Apple's clients refuse more than 397 days, whatever signed it.
inline constexpr std::chrono::hours kLeafLife{24 * 30};
// For clients whose clock is behind.
inline constexpr std::chrono::hours kBackdating{1};

// What signs leaves. Immutable once made.
struct Issuer {
  X509Ptr certificate;
  PkeyPtr key;
  std::string fingerprint;
};

struct LeafNames {
  std::vector<std::string> dns;  // the first one is also the common name, where it fits
  std::vector<std::string> ip;
};

struct Leaf {
  X509Ptr certificate;
  PkeyPtr key;
};

// A new key and its certificate, valid from an hour before `now` for 30 days, but never beyond its issuer.
// Errors: unavailable `ca_expired`, if the issuer is not valid at `now`.
Result<Leaf> mint_leaf(const LeafNames& names, const Issuer& issuer, WallTime now);

}  // namespace hedge::certs
