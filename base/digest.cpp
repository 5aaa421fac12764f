#include "base/digest.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <cstdlib>

namespace hedge {

std::string sha256(std::string_view data) {
  std::string out(32, '\0');
  unsigned length = 0;
  if (EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(out.data()), &length, EVP_sha256(),
                 nullptr) != 1) {
    std::abort();  // SHA-256 is in every provider; without it no name would be safe
  }
  return out;
}

std::string random_bytes(std::size_t count) {
  std::string out(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) != 1) std::abort();
  return out;
}

}  // namespace hedge
