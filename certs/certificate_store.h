// The certificates that the edge shows: one for each name, made at the handshake, renewed before they end.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "certs/openssl_ptr.h"

namespace hedge::certs {

// What a handshake needs: give `leaf`, `key` and `chain` to SSL_use_cert_and_key(), which takes references of
// its own. Immutable once shared.
struct ServerCertificate {
  X509Ptr leaf;
  PkeyPtr key;
  X509StackPtr chain;  // the intermediates, leaf's issuer first, without the root
  std::string issuer_fingerprint;
  WallTime not_before;
  WallTime renew_after;  // a third of its life is left
  WallTime not_after;
};

// The route that answers for a name.
struct KnownRoute {
  std::string_view host;      // the route's own host, lower-case; lives as long as the call that asked
  bool covers_below = false;  // a wildcard route: its certificate also names *.<host>
};
// Asked with a validated lower-case name. Absent: no route answers for it. Must not block and must not throw.
using RouteLookup = std::function<std::optional<KnownRoute>(std::string_view name)>;

// A certificate that somebody else made, for all names, instead of the CA.
struct GivenCertificate {
  std::filesystem::path certificate;  // PEM: the leaf, then its intermediates
  std::filesystem::path private_key;  // PEM
};

struct CertificateStoreOptions {
  std::filesystem::path ca_directory;
  std::vector<std::string> suffixes;  // names below these get a certificate although no route answers
  std::string edge_name =
      "hedge.localhost";                  // for clients that send no name; also valid for 127.0.0.1 and ::1
  std::optional<GivenCertificate> given;  // then the CA is not read at all
  std::size_t max_route_certificates = 4096;        // beyond it the least recently used one goes
  std::size_t max_other_certificates = 256;         // for names without a route
  double other_certificates_per_second = 20;        // a token bucket of 100
  std::chrono::milliseconds reload_interval{1000};  // how often the CA's file is looked at
};

// Thread-safe. Minting takes a quarter of a millisecond on the caller's thread; other threads that need the
// same name meanwhile wait for it (at most a second), those that need other names do not.
class CertificateStore {
 public:
  // A missing or unreadable CA is not an error here: handshakes fail until it is there, then they succeed.
  // Errors: of a given certificate only: not_found, invalid_input `certificate_invalid` (pair does not match,
  // expired, or a CA certificate given as a leaf). Lifetime: `clock` outlives the store.
  static Result<std::unique_ptr<CertificateStore>> open(CertificateStoreOptions options, const Clock& clock);
  ~CertificateStore();

  // The certificate to show for `server_name` (as the client sent it; empty if it sent none).
  // Errors: not_found `name_unrecognized`: answer with the alert unrecognized_name. This is also what an
  // invalid name, or one name too many under a suffix, gets. Any other kind (`ca_missing`, `ca_invalid`):
  // answer with internal_error.
  Result<std::shared_ptr<const ServerCertificate>> certificate_for(std::string_view server_name,
                                                                   const RouteLookup& lookup);

  // For tests and status: how many certificates were made, and how many are kept.
  struct Counts {
    std::size_t minted = 0;
    std::size_t kept = 0;
  };
  Counts counts() const;

 private:
  class State;
  explicit CertificateStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hedge::certs
