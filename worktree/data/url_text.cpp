#include "worktree/data/url_text.h"

#include <algorithm>

#include "base/text.h"

namespace hedge::worktree {
namespace {

constexpr std::string_view kUnreservedMarks = "-._~";
constexpr std::string_view kValueMarks = "-._~/";
constexpr std::string_view kPathMarks = "-._~/!$&'()*+,;=:@";

std::string encode(std::string_view text, std::string_view marks) {
  std::string out;
  for (const char c : text) {
    if (is_ascii_alnum(c) || marks.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    std::string code = to_hex(std::string_view(&c, 1));
    std::ranges::transform(code, code.begin(), [](char digit) {
      return digit >= 'a' && digit <= 'f' ? static_cast<char>(digit - 'a' + 'A') : digit;
    });
    out += "%" + code;
  }
  return out;
}

}  // namespace

std::string url_path(std::string_view path) {
  return encode(path, kPathMarks);
}

std::string url_name(std::string_view name) {
  return encode(name, kUnreservedMarks);
}

std::string url_value(std::string_view value) {
  return encode(value, kValueMarks);
}

}  // namespace hedge::worktree
