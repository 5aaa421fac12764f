#include "worktree/stack/service_selection.h"

#include <algorithm>

#include "base/text.h"

namespace hedge::worktree {
namespace {

// A set such as "a-z0-9" or "!abc", without its brackets.
bool in_set(std::string_view set, char byte) {
  const bool negated = !set.empty() && set.front() == '!';
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t at = 0; at < set.size(); ++at) {
    if (at + 2 < set.size() && set[at + 1] == '-') {
      found = found || (set[at] <= byte && byte <= set[at + 2]);
      at += 2;
    } else {
      found = found || set[at] == byte;
    }
  }
  return found != negated;
}

bool component_matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    for (std::size_t skipped = 0; skipped <= name.size(); ++skipped) {
      if (component_matches(pattern.substr(1), name.substr(skipped))) return true;
    }
    return false;
  }
  if (name.empty()) return false;
  if (pattern.front() == '[') {
    const auto end = pattern.find(']', 2);
    if (end != std::string_view::npos) {
      return in_set(pattern.substr(1, end - 1), name.front()) &&
             component_matches(pattern.substr(end + 1), name.substr(1));
    }
  }
  return (pattern.front() == '?' || pattern.front() == name.front()) &&
         component_matches(pattern.substr(1), name.substr(1));
}

using Components = std::vector<std::string_view>;

bool components_match(const Components& pattern, std::size_t at, const Components& path, std::size_t from) {
  if (at == pattern.size()) return from == path.size();
  if (pattern[at] == "**") {
    for (std::size_t next = from; next <= path.size(); ++next) {
      if (components_match(pattern, at + 1, path, next)) return true;
    }
    return false;
  }
  return from < path.size() && component_matches(pattern[at], path[from]) &&
         components_match(pattern, at + 1, path, from + 1);
}

ServiceChoice choose_needed(const SelectableService& service, const std::vector<std::string>& changed_paths) {
  if (service.when_changed.empty()) return {service.name, true, "always"};
  for (const std::string& path : changed_paths) {
    for (const std::string& pattern : service.when_changed) {
      if (glob_matches(pattern, path)) return {service.name, true, path + " changed"};
    }
  }
  return {service.name, false, "nothing changed in " + join(service.when_changed, ", ")};
}

Result<void> require_known(const std::vector<SelectableService>& services,
                           const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const SelectableService& service : services) known.push_back(service.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Error(ErrorKind::not_found, "no service " + printable(name))
        .with_id("service_unknown")
        .with_hint("the services are " + join(known, ", "));
  }
  return {};
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view path) {
  const std::string below = pattern.ends_with('/') ? std::string(pattern) + "**" : std::string(pattern);
  return components_match(split(below, '/'), 0, split(path, '/'), 0);
}

Result<std::vector<ServiceChoice>> select_services(const std::vector<SelectableService>& services,
                                                   const std::vector<std::string>& changed_paths,
                                                   const ServiceWish& wish) {
  if (auto known = require_known(services, wish.names); !known) return known.error();
  std::vector<ServiceChoice> choices;
  for (const SelectableService& service : services) {
    const bool named = std::find(wish.names.begin(), wish.names.end(), service.name) != wish.names.end();
    switch (wish.kind) {
      case ServiceWish::Kind::needed:
        choices.push_back(choose_needed(service, changed_paths));
        break;
      case ServiceWish::Kind::all:
        choices.push_back({service.name, true, "all were asked for"});
        break;
      case ServiceWish::Kind::named:
        choices.push_back({service.name, named, named ? "asked for by name" : "not asked for"});
        break;
    }
  }
  return choices;
}

}  // namespace hedge::worktree
