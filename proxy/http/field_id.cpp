// Which fields the edge treats specially; kept apart because Beast's table of names costs seconds to compile.
#include "proxy/http/field_id.h"

#include <array>

#include <boost/beast/http/field.hpp>

#include "base/text.h"

namespace hedge::proxy::http {
namespace {

namespace beast = boost::beast::http;

struct Known {
  beast::field field;
  FieldId id;
};
constexpr Known kKnown[] = {
    {beast::field::accept, FieldId::accept},
    {beast::field::alt_svc, FieldId::alt_svc},
    {beast::field::connection, FieldId::connection},
    {beast::field::content_length, FieldId::content_length},
    {beast::field::expect, FieldId::expect},
    {beast::field::forwarded, FieldId::forwarded},
    {beast::field::host, FieldId::host},
    {beast::field::keep_alive, FieldId::keep_alive},
    {beast::field::proxy_authenticate, FieldId::proxy},
    {beast::field::proxy_authentication_info, FieldId::proxy},
    {beast::field::proxy_authorization, FieldId::proxy},
    {beast::field::proxy_connection, FieldId::proxy},
    {beast::field::proxy_features, FieldId::proxy},
    {beast::field::proxy_instruction, FieldId::proxy},
    {beast::field::set_cookie, FieldId::set_cookie},
    {beast::field::strict_transport_security, FieldId::strict_transport_security},
    {beast::field::te, FieldId::te},
    {beast::field::trailer, FieldId::trailer},
    {beast::field::transfer_encoding, FieldId::transfer_encoding},
    {beast::field::upgrade, FieldId::upgrade},
    {beast::field::via, FieldId::via},
};

constexpr std::size_t kFieldValues = static_cast<std::size_t>(beast::field::xref) + 1;

constexpr std::array<FieldId, kFieldValues> kIds = [] {
  std::array<FieldId, kFieldValues> ids{};
  for (const Known& known : kKnown) ids[static_cast<std::size_t>(known.field)] = known.id;
  return ids;
}();

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// What Beast has no name for.
FieldId identify_unknown(std::string_view name) {
  switch (name.front()) {
    case 'x':
    case 'X':
      if (name.size() < 12) return FieldId::other;
      if (equals_ignoring_case(name, "x-request-id")) return FieldId::x_request_id;
      if (!starts_with_ignoring_case(name, "x-forwarded-")) return FieldId::other;
      for (const std::string_view ours : {"for", "proto", "host", "port"}) {
        if (equals_ignoring_case(name.substr(12), ours)) return FieldId::x_forwarded;
      }
      return FieldId::other;
    case 'p':
    case 'P':
      return equals_ignoring_case(name, "proxy") || starts_with_ignoring_case(name, "proxy-")
                 ? FieldId::proxy
                 : FieldId::other;
    case 'h':
    case 'H':
      return starts_with_ignoring_case(name, "hedge-") ? FieldId::hedge : FieldId::other;
    default:
      return FieldId::other;
  }
}

}  // namespace

FieldId identify_field(std::string_view name) {
  return identify_field(name,
                        static_cast<unsigned short>(beast::string_to_field({name.data(), name.size()})));
}

FieldId identify_field(std::string_view name, unsigned short beast_field) {
  if (beast_field != 0) return beast_field < kIds.size() ? kIds[beast_field] : FieldId::other;
  return name.empty() ? FieldId::other : identify_unknown(name);
}

}  // namespace hedge::proxy::http
