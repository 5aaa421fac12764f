// Failed TLS handshakes, sorted into kinds and told sparingly: a browser without our CA makes hundreds.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/stream/io_result.h"

namespace hedge::proxy {

enum class HandshakeFailure : std::uint8_t {
  unknown_authority,    // the client does not trust our CA
  bad_certificate,      // the client does not accept the certificate for another reason
  certificate_ended,    // ours: what was shown is not valid any more
  client_clock,         // the client takes a certificate that is valid now for one that is not
  unknown_name,         // no route and no suffix of ours covers the name
  no_certificate_made,  // ours: the CA is missing, unreadable or not valid now
  name_not_permitted,   // ours: the CA's name constraints do not cover the route's host
  no_certificate,       // none that the client can use
  no_common_version,
  not_tls,  // bytes of another protocol
  timed_out,
  peer_gone,
  other,
};
inline constexpr std::size_t kHandshakeFailures = static_cast<std::size_t>(HandshakeFailure::other) + 1;

// From what the stream said and OpenSSL's oldest error (0: none).
HandshakeFailure classify_handshake_failure(const IoResult& result, unsigned long openssl_error);
// A client that refuses a certificate does not say that the CA may not sign for the name: its alert is that of a
// client that does not trust the CA.
HandshakeFailure blame_constraints(HandshakeFailure failure, bool is_name_permitted);
// A client that calls the certificate expired is right, or its clock is wrong.
HandshakeFailure blame_clock(HandshakeFailure failure, bool has_certificate_ended);
// The reason in words: what we said ourselves, else OpenSSL's. Of the error that is the oldest now; empty for 0.
std::string handshake_detail(unsigned long openssl_error);
// Its name in metrics, snake_case.
std::string_view label_of(HandshakeFailure failure);
// What happened and what to do about it, for the log.
std::string_view describe(HandshakeFailure failure);
// The same in short, for a client that was told already.
std::string_view describe_again(HandshakeFailure failure);

// One a worker.
class HandshakeLog {
 public:
  // Writes at most one line for each kind in ten seconds, with the number of those that it kept back. What to do is
  // said once to a client that does not trust the CA: it comes back with every tab.
  void failed(HandshakeFailure failure, const std::string& peer, const std::string& detail,
              std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());
  std::uint64_t lines() const noexcept { return lines_; }

 private:
  struct Kind {
    std::chrono::steady_clock::time_point last;
    std::uint64_t kept_back = 0;
    bool told = false;
  };
  bool has_hint(const std::string& peer);

  std::array<Kind, kHandshakeFailures> kinds_{};
  std::array<std::string, 32> hinted_{};  // clients, the next place to be taken again at next_hint_
  std::size_t next_hint_ = 0;
  std::uint64_t lines_ = 0;
};

}  // namespace hedge::proxy
