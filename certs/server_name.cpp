#include "certs/server_name.h"

#include <algorithm>

#include "base/text.h"

namespace hedge::certs {
namespace {

constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxLabel = 63;

bool is_label(std::string_view label) {
  if (label.empty() || label.size() > kMaxLabel || label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(), [](char c) { return is_ascii_alnum(c) || c == '-'; });
}

}  // namespace

std::optional<std::string> canonical_server_name(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty() || text.size() > kMaxName) return std::nullopt;
  const auto labels = split(text, '.');
  if (!std::all_of(labels.begin(), labels.end(), is_label)) return std::nullopt;
  if (std::all_of(labels.back().begin(), labels.back().end(), is_ascii_digit)) return std::nullopt;
  return ascii_lower(text);
}

bool is_at_or_below(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  return name.size() == suffix.size() || name[name.size() - suffix.size() - 1] == '.';
}

bool is_at_or_below_any(std::string_view name, const std::vector<std::string>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [name](const std::string& suffix) { return is_at_or_below(name, suffix); });
}

}  // namespace hedge::certs
