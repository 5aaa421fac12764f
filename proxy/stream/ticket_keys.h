// The keys of TLS session tickets: in memory only, shared by all workers, replaced after some hours.
#pragma once

#include <array>
#include <chrono>
#include <mutex>

#include <openssl/ssl.h>

#include "base/result.h"

namespace hedge::proxy {

class TicketKeys {
 public:
  using Now = std::chrono::steady_clock::time_point (*)();
  // A key is used for one period and understood for another one; a ticket older than a period is refused.
  explicit TicketKeys(std::chrono::seconds period = std::chrono::hours(12),
                      Now now = &std::chrono::steady_clock::now)
      : period_(period), now_(now) {}
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;
  ~TicketKeys();

  // Requires: one context, which does not use tickets after this object is gone.
  // Errors: io, if there is no randomness.
  Result<void> attach(SSL_CTX* context);

 private:
  struct Key {
    std::array<unsigned char, 16> name{};
    std::array<unsigned char, 32> cipher{};
    std::array<unsigned char, 32> mac{};
  };
  static int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                       EVP_MAC_CTX* mac, int encrypt);
  static bool make(Key& key);
  static bool prepare(const Key& key, const unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                      bool encrypt);
  bool rotate_if_due();

  const std::chrono::seconds period_;
  const Now now_;
  std::mutex mutex_;
  Key current_;   // guarded by mutex_
  Key previous_;  // guarded by mutex_
  std::chrono::steady_clock::time_point rotated_;
};

}  // namespace hedge::proxy
