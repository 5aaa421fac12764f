// The opening handshake of a WebSocket over HTTP/1, done in the place of a client that cannot see it (RFC
// 6455, section 4; RFC 8441).
#pragma once

#include <string>
#include <string_view>

#include "proxy/http/message.h"

namespace hedge::proxy::http {

// A fresh Sec-WebSocket-Key.
std::string make_websocket_key();
// The Sec-WebSocket-Accept that answers it.
std::string websocket_accept(std::string_view key);
// Whether exactly that stands in the response.
bool is_websocket_accept(std::string_view key, const ResponseHead& head);
// Fields of the HTTP/1 handshake that mean nothing over HTTP/2.
bool is_websocket_handshake_field(std::string_view name);

}  // namespace hedge::proxy::http
