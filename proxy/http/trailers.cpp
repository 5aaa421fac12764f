#include "proxy/http/trailers.h"

#include <algorithm>

#include "base/text.h"
#include "proxy/http/field_id.h"

namespace hedge::proxy::http {
namespace {

// RFC 9110, section 5.6.2.
bool is_token_char(char c) {
  return is_ascii_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_value_char(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != '\x7f');
}

}  // namespace

bool may_trail(const Field& field) {
  if (field.id == FieldId::other)
    return !equals_ignoring_case(field.name, "authorization") &&
           !equals_ignoring_case(field.name, "content-encoding") &&
           !equals_ignoring_case(field.name, "content-type") &&
           !equals_ignoring_case(field.name, "content-range");
  return false;
}

bool parse_trailers(std::string_view section, std::vector<Field>& out) {
  while (!section.empty()) {
    const std::size_t end = section.find("\r\n");
    if (end == std::string_view::npos) return false;
    const std::string_view line = section.substr(0, end);
    section.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos) return false;
    Field field{line.substr(0, colon), trim(line.substr(colon + 1)), FieldId::other, false};
    if (!std::all_of(field.name.begin(), field.name.end(), is_token_char)) return false;
    if (!std::all_of(field.value.begin(), field.value.end(), is_value_char)) return false;
    field.id = identify_field(field.name);
    if (may_trail(field)) out.push_back(field);
  }
  return true;
}

}  // namespace hedge::proxy::http
