#include "proxy/http2/websocket_key.h"

#include <array>

#include <openssl/evp.h>

#include "base/digest.h"
#include "base/text.h"

namespace hedge::proxy::http {
namespace {

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

std::string make_websocket_key() {
  return base64(random_bytes(16));
}

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  // SHA-1 only says that the server has understood the key; no secret depends on it.
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr) != 1) return {};
  return base64({reinterpret_cast<const char*>(digest.data()), length});
}

bool is_websocket_accept(std::string_view key, const ResponseHead& head) {
  int found = 0;
  bool right = true;
  for (const Field& field : head.fields) {
    if (!equals_ignoring_case(field.name, "sec-websocket-accept")) continue;
    ++found;
    right = right && field.value == websocket_accept(key);
  }
  return found == 1 && right;
}

bool is_websocket_handshake_field(std::string_view name) {
  return equals_ignoring_case(name, "sec-websocket-accept");
}

}  // namespace hedge::proxy::http
