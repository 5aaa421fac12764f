#include "proxy/cookie_scope.h"

#include "base/text.h"

namespace hedge::proxy {
namespace {

bool is_domain_attribute(std::string_view attribute) {
  return equals_ignoring_case(trim(attribute.substr(0, attribute.find('='))), "domain");
}

std::string_view attribute_value(std::string_view attribute) {
  const std::size_t equals = attribute.find('=');
  return equals == std::string_view::npos ? std::string_view() : trim(attribute.substr(equals + 1));
}

// Whether `domain` is a proper parent of `host`.
bool is_wider(std::string_view domain, std::string_view host) {
  if (domain.starts_with('.')) domain.remove_prefix(1);
  if (domain.ends_with('.')) domain.remove_suffix(1);
  if (domain.empty() || domain.size() >= host.size()) return false;
  const std::string_view tail = host.substr(host.size() - domain.size());
  return equals_ignoring_case(tail, domain) && host[host.size() - domain.size() - 1] == '.';
}

}  // namespace

std::optional<NarrowedCookie> narrow_cookie(std::string_view set_cookie, std::string_view host) {
  bool wide = false;
  for (const std::string_view attribute : split(set_cookie, ';')) {
    if (is_domain_attribute(attribute)) wide = wide || is_wider(attribute_value(attribute), host);
  }
  if (!wide) return std::nullopt;
  NarrowedCookie narrowed;
  bool first = true;
  for (const std::string_view attribute : split(set_cookie, ';')) {
    // The pair itself may be called "domain".
    if (!first && is_domain_attribute(attribute)) continue;
    if (!first) narrowed.value.push_back(';');
    narrowed.value.append(attribute);
    if (first) narrowed.name = std::string(trim(attribute.substr(0, attribute.find('='))));
    first = false;
  }
  narrowed.value.append("; Domain=").append(host);
  return narrowed;
}

}  // namespace hedge::proxy
