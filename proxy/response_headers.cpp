#include "proxy/response_headers.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "proxy/cookie_scope.h"

namespace hedge::proxy {
namespace {

using http::Field;
using http::FieldId;

// The policy without what would reach beyond the host itself (RFC 6797, section 6.1).
std::string host_only_transport_security(std::string_view policy) {
  std::string kept;
  for (const std::string_view directive : split(policy, ';')) {
    const std::string_view trimmed = trim(directive);
    if (equals_ignoring_case(trimmed, "includesubdomains") || equals_ignoring_case(trimmed, "preload"))
      continue;
    if (trimmed.empty()) continue;
    if (!kept.empty()) kept.append("; ");
    kept.append(trimmed);
  }
  return kept;
}

void narrow(Field& field, std::string_view host, ScratchTexts& texts, std::string& narrowed_names) {
  auto narrowed = narrow_cookie(field.value, host);
  if (!narrowed) return;
  field.value = texts.emplace_back(std::move(narrowed->value));
  narrowed_names.append(narrowed_names.empty() ? "narrowed=" : ", narrowed=").append(narrowed->name);
}

}  // namespace

void prepare_response_fields(http::ResponseHead& response, const ResponseRules& rules, ScratchTexts& texts) {
  std::string narrowed_names;
  for (Field& field : response.fields) {
    switch (field.id) {
      case FieldId::alt_svc:
      case FieldId::hedge:
        field.omit = true;
        break;
      case FieldId::strict_transport_security:
        if (is_development_host(rules.route_host))
          field.value = texts.emplace_back(host_only_transport_security(field.value));
        break;
      case FieldId::set_cookie:
        if (rules.narrow_cookies) narrow(field, rules.route_host, texts, narrowed_names);
        break;
      default:
        break;
    }
  }
  if (narrowed_names.empty()) return;
  const std::string& value = texts.emplace_back(std::move(narrowed_names));
  response.fields.push_back(Field{"Hedge-Cookie", value, FieldId::other, false});
}

bool is_development_host(std::string_view host) {
  static constexpr std::array<std::string_view, 5> kSuffixes = {"localhost", "test", "internal", "local",
                                                                "home.arpa"};
  for (const std::string_view suffix : kSuffixes) {
    if (host.size() < suffix.size()) continue;
    const std::string_view tail = host.substr(host.size() - suffix.size());
    if (!equals_ignoring_case(tail, suffix)) continue;
    if (host.size() == suffix.size() || host[host.size() - suffix.size() - 1] == '.') return true;
  }
  return false;
}

std::optional<std::uint64_t> keep_alive_seconds(const http::ResponseHead& response) {
  std::optional<std::uint64_t> seconds;
  http::for_each_list_element(response.first(FieldId::keep_alive), [&seconds](std::string_view parameter) {
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos ||
        !equals_ignoring_case(trim(parameter.substr(0, equals)), "timeout"))
      return;
    seconds = parse_number<std::uint64_t>(trim(parameter.substr(equals + 1)));
  });
  return seconds;
}

}  // namespace hedge::proxy
