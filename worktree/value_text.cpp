#include "worktree/value_text.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace hedge::worktree {
namespace {

constexpr const char* kSecretKey = "secret";

}  // namespace

ValueText::ValueText(std::string literal) { append({std::move(literal), false}); }

ValueText ValueText::secret(std::string purpose) {
  ValueText out;
  out.parts_.push_back({std::move(purpose), true});
  return out;
}

void ValueText::append(Part part) {
  if (!part.is_secret && part.text.empty()) return;
  const bool is_continued = !part.is_secret && !parts_.empty() && !parts_.back().is_secret;
  if (is_continued) parts_.back().text += part.text;
  else parts_.push_back(std::move(part));
}

ValueText& ValueText::operator+=(const ValueText& more) {
  const std::vector<Part> parts = more.parts_;  // `more` may be this one
  for (const Part& part : parts) append(part);
  return *this;
}

bool ValueText::has_secret() const { return std::ranges::any_of(parts_, &Part::is_secret); }

std::string ValueText::literals() const {
  std::string out;
  for (const Part& part : parts_) out += part.is_secret ? std::string() : part.text;
  return out;
}

std::string ValueText::outline() const {
  std::string out;
  for (const Part& part : parts_) out += part.is_secret ? "{secret." + part.text + "}" : part.text;
  return out;
}

std::string ValueText::reveal(const WorktreeRecord& record) const {
  std::string out;
  for (const Part& part : parts_) out += part.is_secret ? derive_secret(record, part.text) : part.text;
  return out;
}

void to_json(nlohmann::json& json, const ValueText& text) {
  if (!text.has_secret()) {
    json = text.literals();
    return;
  }
  json = nlohmann::json::array();
  for (const ValueText::Part& part : text.parts_) {
    if (part.is_secret) json.push_back(nlohmann::json::object({{kSecretKey, part.text}}));
    else json.push_back(part.text);
  }
}

void from_json(const nlohmann::json& json, ValueText& text) {
  text = ValueText();
  if (!json.is_array()) {
    text += json.get<std::string>();
    return;
  }
  for (const nlohmann::json& part : json) {
    text += part.is_object() ? ValueText::secret(part.at(kSecretKey).get<std::string>()) : ValueText(part.get<std::string>());
  }
}

}  // namespace hedge::worktree
