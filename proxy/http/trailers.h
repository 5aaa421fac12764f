// The trailer section of a chunked body.
#pragma once

#include <string_view>
#include <vector>

#include "proxy/http/message.h"

namespace hedge::proxy::http {

// `section`: field lines, each ending in CRLF, without the empty line. Fields that frame, route or
// authenticate are left out (RFC 9110, section 6.5.1). False: a malformed line. Lifetime: the fields refer
// into `section`.
bool parse_trailers(std::string_view section, std::vector<Field>& out);
// Whether a field may stand in a trailer section at all.
bool may_trail(const Field& field);

}  // namespace hedge::proxy::http
