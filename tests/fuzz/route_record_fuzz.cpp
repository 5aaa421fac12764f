// Upstreams and route records of arbitrary bytes: what is accepted is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "router/route_json.h"
#include "tests/fuzz/require.h"

namespace hedge::router {
namespace {

using test::require;

void check_upstream(std::string_view text) {
  const auto upstream = parse_upstream(text);
  if (!upstream) return;
  const std::string written = to_string(*upstream);
  const auto again = parse_upstream(written);
  require(again.has_value(), "a written upstream is accepted");
  require(to_string(*again) == written, "and is the same");
}

void check_record(std::string_view text) {
  const auto value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded()) return;
  const auto route = route_from_json(value);
  if (!route) return;
  const nlohmann::json written = to_json(*route);
  const auto again = route_from_json(written);
  require(again.has_value(), "a written route is accepted");
  require(to_json(*again) == written, "and is the same");
}

}  // namespace
}  // namespace hedge::router

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  hedge::router::check_upstream(text);
  hedge::router::check_record(text);
  return 0;
}
