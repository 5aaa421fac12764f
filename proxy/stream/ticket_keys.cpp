#include "proxy/stream/ticket_keys.h"

#include <algorithm>
#include <string>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "certs/openssl_ptr.h"

namespace hedge::proxy {
namespace {

// Where the context finds its keys.
int context_slot() {
  static const int slot = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return slot;
}

// What OpenSSL's callback answers.
constexpr int kFailed = -1;
constexpr int kUnknown = 0;
constexpr int kUse = 1;
constexpr int kUseAndRenew = 2;

}  // namespace

TicketKeys::~TicketKeys() {
  OPENSSL_cleanse(&current_, sizeof current_);
  OPENSSL_cleanse(&previous_, sizeof previous_);
}

bool TicketKeys::make(Key& key) {
  return RAND_bytes(key.name.data(), static_cast<int>(key.name.size())) == 1 &&
         RAND_bytes(key.cipher.data(), static_cast<int>(key.cipher.size())) == 1 &&
         RAND_bytes(key.mac.data(), static_cast<int>(key.mac.size())) == 1;
}

Result<void> TicketKeys::attach(SSL_CTX* context) {
  if (!make(current_) || !make(previous_)) return certs::openssl_error("make session ticket keys");
  rotated_ = now_();
  SSL_CTX_set_timeout(context, static_cast<long>(period_.count()));
  if (SSL_CTX_set_ex_data(context, context_slot(), this) != 1 ||
      SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &on_ticket) != 1) {
    return certs::openssl_error("configure session tickets");
  }
  return {};
}

bool TicketKeys::rotate_if_due() {
  const auto now = now_();
  if (now - rotated_ < period_) return true;
  previous_ = current_;
  rotated_ = now;
  return make(current_);
}

bool TicketKeys::prepare(const Key& key, const unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                         bool encrypt) {
  std::string digest = "SHA256";
  std::array<OSSL_PARAM, 3> parameters = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, const_cast<unsigned char*>(key.mac.data()),
                                        key.mac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0), OSSL_PARAM_construct_end()};
  return EVP_MAC_CTX_set_params(mac, parameters.data()) == 1 &&
         EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv, encrypt ? 1 : 0) == 1;
}

int TicketKeys::on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                          EVP_MAC_CTX* mac, int encrypt) {
  auto& self = *static_cast<TicketKeys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_slot()));
  const std::lock_guard lock(self.mutex_);
  if (!self.rotate_if_due()) return kFailed;
  if (encrypt == 1) {
    std::copy(self.current_.name.begin(), self.current_.name.end(), name);
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return kFailed;
    return prepare(self.current_, iv, cipher, mac, true) ? kUse : kFailed;
  }
  const auto matches = [name](const Key& key) {
    return CRYPTO_memcmp(name, key.name.data(), key.name.size()) == 0;
  };
  if (matches(self.current_)) return prepare(self.current_, iv, cipher, mac, false) ? kUse : kFailed;
  if (matches(self.previous_))
    return prepare(self.previous_, iv, cipher, mac, false) ? kUseAndRenew : kFailed;
  return kUnknown;
}

}  // namespace hedge::proxy
