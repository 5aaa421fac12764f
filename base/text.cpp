#include "base/text.h"

namespace hedge {

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ascii_lower(c);
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (ascii_lower(a[i]) != ascii_lower(b[i])) return false;
  }
  return true;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const auto at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string out;
  for (const std::string& piece : pieces) {
    if (&piece != pieces.data()) out += separator;
    out += piece;
  }
  return out;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15U];
  }
  return out;
}

std::string to_base32(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string out;
  unsigned buffer = 0;
  int bits = 0;
  for (const char c : bytes) {
    buffer = (buffer << 8) | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      out += kAlphabet[(buffer >> bits) & 31U];
    }
    buffer &= (1U << bits) - 1U;
  }
  if (bits > 0) out += kAlphabet[(buffer << (5 - bits)) & 31U];
  return out;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (const char c : text.substr(0, max_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += "\\x";
      out += to_hex(std::string_view(&c, 1));
    } else {
      out += c;
    }
  }
  if (text.size() > max_bytes) out += "...";
  return out;
}

namespace {

// What a lead byte asks for. No length: it cannot begin a character.
struct Utf8Lead {
  std::size_t length = 0;
  unsigned char second_least = 0x80;  // only the second byte's range depends on the first
  unsigned char second_most = 0xbf;
};

Utf8Lead utf8_lead(unsigned char byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte < 0xc2) return {};
  if (byte < 0xe0) return {.length = 2};
  if (byte == 0xe0) return {.length = 3, .second_least = 0xa0};
  if (byte == 0xed) return {.length = 3, .second_most = 0x9f};
  if (byte < 0xf0) return {.length = 3};
  if (byte == 0xf0) return {.length = 4, .second_least = 0x90};
  if (byte == 0xf4) return {.length = 4, .second_most = 0x8f};
  if (byte < 0xf4) return {.length = 4};
  return {};
}

}  // namespace

std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  while (at < text.size()) {
    const Utf8Lead lead = utf8_lead(byte(at));
    if (lead.length == 0 || lead.length > text.size() - at) return at;
    for (std::size_t i = 1; i < lead.length; ++i) {
      const unsigned char least = i == 1 ? lead.second_least : 0x80;
      const unsigned char most = i == 1 ? lead.second_most : 0xbf;
      if (byte(at + i) < least || byte(at + i) > most) return at;
    }
    at += lead.length;
  }
  return at;
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace hedge
