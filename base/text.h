// Small, locale-free operations on ASCII text.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hedge {

constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_ascii_alnum(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string ascii_lower(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);
// Without spaces, tabs, CR and LF at both ends.
std::string_view trim(std::string_view text);
// Empty pieces are kept: split("a,,b", ',') has three.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& pieces, std::string_view separator);
std::string replace_all(std::string text, std::string_view from, std::string_view to);

// The whole text as a decimal number; nothing else may stand in it.
template <std::integral T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

std::string to_hex(std::string_view bytes);
// Crockford's alphabet in lower case, 5 bits a character, no padding; without i, l, o and u.
std::string to_base32(std::string_view bytes);
// Control characters, quotes and backslashes as escapes, cut to `max_bytes`: for logs and messages about hostile input.
std::string printable(std::string_view text, std::size_t max_bytes = 200);
// How many bytes at the beginning are whole UTF-8 characters: text.size() if all of it is. Source: RFC 3629, section 4
// (no surrogates, nothing over-long, nothing above U+10FFFF).
std::size_t utf8_prefix(std::string_view text);
// &, <, >, " and ' as entities.
std::string escape_html(std::string_view text);

}  // namespace hedge
