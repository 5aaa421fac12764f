// From a field's name to the identity that the edge branches on.
#pragma once

#include <string_view>

#include "proxy/http/message.h"

namespace hedge::proxy::http {

// In any case of letters.
FieldId identify_field(std::string_view name);
// The same, where Beast's parser has looked the name up already: the number of its `field`, 0 for an unknown
// one.
FieldId identify_field(std::string_view name, unsigned short beast_field);

}  // namespace hedge::proxy::http
