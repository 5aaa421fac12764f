#include "proxy/cookie_scope.h"

#include <algorithm>
#include <vector>

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
  // The first element is the cookie itself, which may be called "domain", too.
  const std::vector<std::string_view> elements = split(set_cookie, ';');
  const bool wide = std::any_of(elements.begin() + 1, elements.end(), [host](std::string_view attribute) {
    return is_domain_attribute(attribute) && is_wider(attribute_value(attribute), host);
  });
  if (!wide) return std::nullopt;
  NarrowedCookie narrowed;
  narrowed.name = std::string(trim(elements[0].substr(0, elements[0].find('='))));
  narrowed.value = std::string(elements[0]);
  for (auto attribute = elements.begin() + 1; attribute != elements.end(); ++attribute) {
    if (!is_domain_attribute(*attribute)) narrowed.value.append(";").append(*attribute);
  }
  narrowed.value.append("; Domain=").append(host);
  return narrowed;
}

}  // namespace hedge::proxy
