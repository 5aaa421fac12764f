// Set-Cookie values of arbitrary bytes: what the edge makes of one is no wider than the worktree's host, and
// nothing else of it changes line or meaning.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "proxy/cookie_scope.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using hedge::test::require;
  if (size > 4096) return 0;
  const std::string_view value(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kHost = "shop.login.dev.localhost";
  const auto narrowed = hedge::proxy::narrow_cookie(value, kHost);
  if (!narrowed) return 0;
  require(!hedge::proxy::narrow_cookie(narrowed->value, kHost), "what was narrowed is not wide any more");
  require(hedge::trim(value).starts_with(narrowed->name), "the name is the cookie's own");
  require(narrowed->value.size() <= value.size() + kHost.size(), "nothing is added but the host");
  const bool had_break = value.find_first_of("\r\n") != std::string_view::npos;
  require(had_break || narrowed->value.find_first_of("\r\n") == std::string_view::npos, "one line stays one line");
  return 0;
}
