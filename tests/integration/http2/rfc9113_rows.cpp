#include "tests/integration/http2/rfc9113_rows.h"

#include <optional>

namespace hedge::test {

void Rfc9113::run() {
  ScriptedUpstream upstream([](PeerConnection& connection, int /*number*/) {
    for (;;) {
      const std::string head = connection.read_head();
      if (head.empty()) return;
      // Answers at once what has no body, and bodies of a known length after them; "/sink" never.
      if (head.find(" /sink ") != std::string::npos) {
        connection.wait_for_end();
        return;
      }
      if (head.find("\r\nTransfer-Encoding: chunked") != std::string::npos)
        connection.read_until("0\r\n\r\n");
      if (!connection.send(ok_response("ok"))) return;
    }
  });
  EdgeFixture edge({route_to(kAlpha, upstream.route())});
  Http2Peer peer(edge.plain_port());
  peer.start();
  const Row& row = GetParam();
  row.send(peer);
  const Wanted& wanted = row.wanted;
  const auto is_wanted = [&wanted](std::optional<std::uint32_t> code) {
    return code == wanted.code || (wanted.other != 0 && code == wanted.other);
  };
  switch (wanted.kind) {
    case Wanted::answered:
      EXPECT_EQ(peer.answer(1).status(), wanted.status);
      EXPECT_TRUE(peer.ping());
      break;
    case Wanted::stream_error:
      ASSERT_TRUE(peer.read_until([&peer] { return peer.so_far(1).reset.has_value(); }));
      EXPECT_TRUE(is_wanted(peer.so_far(1).reset)) << *peer.so_far(1).reset;
      EXPECT_TRUE(peer.ping()) << "the connection goes on";
      break;
    case Wanted::connection_error:
      ASSERT_TRUE(peer.wait_for_end());
      EXPECT_TRUE(is_wanted(peer.goaway_code())) << peer.goaway_code().value_or(999);
      break;
    case Wanted::either_error: {
      peer.read_until([&peer] { return peer.so_far(1).reset.has_value() || peer.goaways() > 0; });
      const auto code = peer.so_far(1).reset ? peer.so_far(1).reset : peer.goaway_code();
      EXPECT_TRUE(is_wanted(code)) << code.value_or(999);
      break;
    }
    case Wanted::alive:
      EXPECT_TRUE(peer.ping());
      break;
  }
  // Whatever came of it, the edge serves the next one.
  EXPECT_EQ(status_of(get(edge.plain_port(), kAlpha)), 200);
}

}  // namespace hedge::test
