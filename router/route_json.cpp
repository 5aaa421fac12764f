#include "router/route_json.h"

#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "router/host_pattern.h"

namespace hedge::router {
namespace {

constexpr std::array<std::string_view, 6> kMembers = {"host",     "wildcard", "upstream",
                                                      "protocol", "worktree", "state"};

Error member_error(std::string_view name, std::string_view what) {
  return Error(ErrorKind::invalid_input, "route: " + std::string(name) + " " + std::string(what));
}

// Absent: not there.
Result<std::optional<std::string>> text_member(const nlohmann::json& value, const char* name) {
  const auto found = value.find(name);
  if (found == value.end()) return std::optional<std::string>();
  if (!found->is_string()) return member_error(name, "must be a string");
  return std::optional(found->get<std::string>());
}

// It is a label of metrics, on dozens of lines, where a name with an underscore in front stands for no worktree.
Result<void> check_worktree(std::string_view worktree) {
  constexpr std::size_t kLongest = 64;
  constexpr std::string_view kAlphabet =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/";
  if (worktree.size() <= kLongest && !worktree.starts_with('_') &&
      worktree.find_first_not_of(kAlphabet) == std::string_view::npos)
    return {};
  return member_error("worktree",
                      "must be at most 64 letters, digits, '-', '.', '/' and '_', the last not in front");
}

Result<void> check_members(const nlohmann::json& value) {
  if (!value.is_object()) return Error(ErrorKind::invalid_input, "a route is a JSON object");
  for (const auto& [name, unused] : value.items()) {
    bool known = false;
    for (const std::string_view member : kMembers) known = known || name == member;
    if (!known) return member_error(printable(name), "is not a member of a route");
  }
  return {};
}

Result<void> read_choices(const nlohmann::json& value, Route& route) {
  auto protocol = text_member(value, "protocol");
  if (!protocol) return protocol.error();
  if (*protocol) {
    auto parsed = parse_protocol(**protocol);
    if (!parsed) return parsed.error();
    route.protocol = *parsed;
  }
  auto state = text_member(value, "state");
  if (!state) return state.error();
  if (*state) {
    auto parsed = parse_route_state(**state);
    if (!parsed) return parsed.error();
    route.state = *parsed;
  }
  const auto wildcard = value.find("wildcard");
  if (wildcard == value.end()) return {};
  if (!wildcard->is_boolean()) return member_error("wildcard", "must be true or false");
  route.match = wildcard->get<bool>() ? HostMatch::exact_and_below : HostMatch::exact;
  return {};
}

}  // namespace

nlohmann::json to_json(const Route& route) {
  return {{"host", route.host},
          {"wildcard", route.match == HostMatch::exact_and_below},
          {"upstream", to_string(route.upstream)},
          {"protocol", std::string(to_string(route.protocol))},
          {"worktree", route.worktree},
          {"state", std::string(to_string(route.state))}};
}

Result<Route> route_from_json(const nlohmann::json& value) {
  if (auto checked = check_members(value); !checked) return checked.error();
  Route route;
  auto host = text_member(value, "host");
  if (!host) return host.error();
  if (!*host) return member_error("host", "is missing");
  auto canonical = canonical_host(**host);
  if (!canonical) return canonical.error();
  route.host = std::move(*canonical);
  auto upstream = text_member(value, "upstream");
  if (!upstream) return upstream.error();
  if (!*upstream) return member_error("upstream", "is missing");
  auto parsed = parse_upstream(**upstream);
  if (!parsed) return parsed.error();
  route.upstream = std::move(*parsed);
  auto worktree = text_member(value, "worktree");
  if (!worktree) return worktree.error();
  route.worktree = std::move(*worktree).value_or("");
  if (auto checked = check_worktree(route.worktree); !checked) return checked.error();
  if (auto read = read_choices(value, route); !read) return read.error();
  return route;
}

}  // namespace hedge::router
