// The lines in which an edge describes what it hands over. JSON, so that either side may be newer.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "proxy/listening_sockets.h"

namespace hedge::proxy {

// Followed by that many descriptors.
struct HandedAddress {
  ListenerKind kind = ListenerKind::plain;
  config::SocketAddress address;
  config::SocketAddress asked;
  std::size_t sockets = 0;
};
// Followed by two descriptors: the control socket, and the lock beside it; and the state directory's lock, if
// there is one.
struct HandedControl {
  std::filesystem::path path;
  std::filesystem::path state;  // that directory; empty: an older edge, which does not say it
  bool has_claim = false;
};
// Nothing follows.
struct HandoverComplete {};

using HandoverItem = std::variant<HandedAddress, HandedControl, HandoverComplete>;

std::string encode(const HandoverItem& item);
// Errors: invalid_input.
Result<HandoverItem> decode_handover_item(std::string_view line);

}  // namespace hedge::proxy
