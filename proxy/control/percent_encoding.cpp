#include "proxy/control/percent_encoding.h"

#include <charconv>

#include "base/text.h"

namespace hedge::proxy {

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_ascii_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += '%';
      out += to_hex(std::string_view(&c, 1));
    }
  }
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    unsigned char byte = 0;
    const char* const begin = text.data() + i + 1;
    const auto [stop, failure] = std::from_chars(begin, begin + 2, byte, 16);
    if (failure != std::errc() || stop != begin + 2) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

}  // namespace hedge::proxy
