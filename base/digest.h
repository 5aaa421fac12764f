// SHA-256 and random bytes, from OpenSSL.
#pragma once

#include <string>
#include <string_view>

namespace hedge {

// 32 raw bytes.
std::string sha256(std::string_view data);
// Cryptographically random. A system without randomness is a broken invariant: it aborts.
std::string random_bytes(std::size_t count);

}  // namespace hedge
