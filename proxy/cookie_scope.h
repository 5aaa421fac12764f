// Keeps a worktree's cookies to itself: a Domain that siblings would share is narrowed to the worktree's own
// host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hedge::proxy {

struct NarrowedCookie {
  std::string name;
  std::string value;  // the whole Set-Cookie value, its Domain replaced
};

// `set_cookie`: the field's value; `host`: the route's host, in lower case. Absent: the cookie is no wider
// than the host (no Domain, the host itself, a name below it), or the Domain has nothing to do with the host
// and browsers refuse it anyway. Source: RFC 6265, section 5.2.3: the last Domain attribute counts, a leading
// dot does not, case neither.
std::optional<NarrowedCookie> narrow_cookie(std::string_view set_cookie, std::string_view host);

}  // namespace hedge::proxy
