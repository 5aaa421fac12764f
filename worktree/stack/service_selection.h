// Which services a worktree needs: only what its branch touches, unless somebody asks for more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hedge::worktree {

struct SelectableService {
  std::string name;
  std::vector<std::string> when_changed;  // globs; empty: it always starts
};

struct ServiceWish {
  enum class Kind { needed, all, named };
  Kind kind = Kind::needed;
  std::vector<std::string> names;  // of Kind::named
};

struct ServiceChoice {
  std::string name;
  bool starts = false;
  std::string reason;  // for people: "always", "src/api.py changed", "asked for by name"
};

// `changed_paths`: relative to the top of the checkout.
// Errors: not_found `service_unknown`, if a named service does not exist (the hint lists the known ones).
Result<std::vector<ServiceChoice>> select_services(const std::vector<SelectableService>& services,
                                                   const std::vector<std::string>& changed_paths,
                                                   const ServiceWish& wish);

// `?` and `*` match within one path component, `**` as a whole component matches any number of them, `[a-z]`
// and `[!a-z]` one byte; a pattern that ends in "/" matches everything below. The whole path must match.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace hedge::worktree
