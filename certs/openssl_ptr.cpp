#include "certs/openssl_ptr.h"

#include <array>
#include <string>

#include <openssl/crypto.h>
#include <openssl/err.h>

namespace hedge::certs {

void X509StackFree::operator()(STACK_OF(X509) * stack) const noexcept {
  sk_X509_pop_free(stack, X509_free);
}

Error openssl_error(std::string_view doing) {
  const unsigned long code = ERR_peek_last_error();
  std::string text(doing);
  if (code != 0) {
    std::array<char, 256> reason{};
    ERR_error_string_n(code, reason.data(), reason.size());
    text += ": ";
    text += reason.data();
  }
  ERR_clear_error();
  return Error(ErrorKind::io, std::move(text));
}

void ignore_openssl_configuration() {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
}

}  // namespace hedge::certs
