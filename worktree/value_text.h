// Text of which some parts are secrets. A secret is known by its purpose alone until the moment of use, and nothing that a
// literal part holds can become one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "worktree/record.h"

namespace hedge::worktree {

class ValueText {
 public:
  ValueText() = default;
  // Implicit: whatever is text already is literal. `{secret.x}` in it stays what it is.
  ValueText(std::string literal);
  ValueText(const char* literal) : ValueText(std::string(literal)) {}
  // The secret of that purpose, such as "postgres".
  static ValueText secret(std::string purpose);

  ValueText& operator+=(const ValueText& more);
  friend ValueText operator+(ValueText left, const ValueText& right) { return left += right; }
  friend bool operator==(const ValueText&, const ValueText&) = default;

  bool empty() const { return parts_.empty(); }
  bool has_secret() const;
  // The literal parts alone.
  std::string literals() const;
  // With `{secret.PURPOSE}` where a secret stands: for people to look at, never to be read back.
  std::string outline() const;
  // With its secrets, for the moment of use. Keep it out of plans, logs and argv.
  std::string reveal(const WorktreeRecord& record) const;

  // In plans and the ledger: a string, or a list of strings and of {"secret": PURPOSE}.
  friend void to_json(nlohmann::json& json, const ValueText& text);
  // Throws nlohmann's exceptions.
  friend void from_json(const nlohmann::json& json, ValueText& text);

 private:
  struct Part {
    std::string text;  // or the secret's purpose
    bool is_secret = false;
    friend bool operator==(const Part&, const Part&) = default;
  };
  void append(Part part);

  std::vector<Part> parts_;  // none is empty, and no two literal ones are neighbours
};

}  // namespace hedge::worktree
