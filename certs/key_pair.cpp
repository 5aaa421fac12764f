#include "certs/key_pair.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>

namespace hedge::certs {
namespace {

// OpenSSL's own callback would ask on the terminal.
int refuse_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return 0;
}

}  // namespace

Result<PkeyPtr> generate_key() {
  PkeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("generate a P-256 key");
  return key;
}

Result<std::string> private_key_pem(const EVP_PKEY& key) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_PrivateKey(out.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_error("write a private key");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<PkeyPtr> parse_private_key(std::string_view pem) {
  const BioPtr in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  PkeyPtr key(in ? PEM_read_bio_PrivateKey(in.get(), nullptr, refuse_passphrase, nullptr) : nullptr);
  ERR_clear_error();
  if (!key) return Error(ErrorKind::corrupt, "no readable private key");
  return key;
}

}  // namespace hedge::certs
