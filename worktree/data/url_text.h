// Text inside of URLs. Source: RFC 3986, sections 2.1 and 3.
#pragma once

#include <string>
#include <string_view>

namespace hedge::worktree {

// Percent-encoded, but for what may stand in a path as it is: also "/". No more than necessary, since not every reader
// decodes.
std::string url_path(std::string_view path);
// As one name: user information, or one segment of a path.
std::string url_name(std::string_view name);
// As a value of the query; "/" stays.
std::string url_value(std::string_view value);

}  // namespace hedge::worktree
