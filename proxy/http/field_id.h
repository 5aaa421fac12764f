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

// Fields that every writer of a message makes itself, or that concern one connection only (RFC 9110, section
// 7.6.1; RFC 9113, section 8.2.2): they are never copied from one message to the next.
constexpr bool is_made_anew(FieldId id) {
  switch (id) {
    case FieldId::connection:
    case FieldId::content_length:
    case FieldId::keep_alive:
    case FieldId::proxy:
    case FieldId::te:
    case FieldId::transfer_encoding:
    case FieldId::upgrade:
      return true;
    default:
      return false;
  }
}

}  // namespace hedge::proxy::http
