#include "proxy/http/message.h"

#include <algorithm>
#include <array>

namespace hedge::proxy::http {
namespace {

std::string_view first_of(const std::vector<Field>& fields, FieldId id) {
  const auto found = std::find_if(fields.begin(), fields.end(), [id](const Field& f) { return f.id == id; });
  return found == fields.end() ? std::string_view() : found->value;
}

}  // namespace

void RequestHead::clear() {
  std::vector<Field> kept = std::move(fields);
  kept.clear();
  *this = RequestHead();
  fields = std::move(kept);
}

std::string_view RequestHead::first(FieldId id) const {
  return first_of(fields, id);
}

void ResponseHead::clear() {
  std::vector<Field> kept = std::move(fields);
  kept.clear();
  *this = ResponseHead();
  fields = std::move(kept);
}

std::string_view ResponseHead::first(FieldId id) const {
  return first_of(fields, id);
}

bool is_idempotent(std::string_view method) {
  static constexpr std::array<std::string_view, 6> kMethods = {"GET",   "HEAD", "OPTIONS",
                                                               "TRACE", "PUT",  "DELETE"};
  return std::find(kMethods.begin(), kMethods.end(), method) != kMethods.end();
}

}  // namespace hedge::proxy::http
