// What a client may send as a server name before anything is done with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hedge::certs {

// Lower-cased and without a trailing dot. Absent: not a hostname (labels of 1 to 63 letters, digits and
// hyphens, not at a label's ends; at most 253 bytes; the last label not all digits, because that is an
// address).
std::optional<std::string> canonical_server_name(std::string_view text);

// The suffix itself or a name below it, label by label: "nottest" is not below "test".
// Requires: both are canonical.
bool is_at_or_below(std::string_view name, std::string_view suffix);
bool is_at_or_below_any(std::string_view name, const std::vector<std::string>& suffixes);

}  // namespace hedge::certs
