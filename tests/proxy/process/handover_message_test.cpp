#include "proxy/process/handover_message.h"

#include <string>

#include <gtest/gtest.h>

namespace hedge::proxy {
namespace {

TEST(HandoverMessages, SayTheSameAfterTheWay) {
  const HandedAddress sent{ListenerKind::tls, {"::1", 8443}, {"::1", 443}, 64};
  const auto address = decode_handover_item(encode(sent));
  ASSERT_TRUE(address);
  const auto& got = std::get<HandedAddress>(*address);
  EXPECT_EQ(got.kind, sent.kind);
  EXPECT_EQ(got.address, sent.address);
  EXPECT_EQ(got.asked, sent.asked);
  EXPECT_EQ(got.sockets, sent.sockets);
  const auto control =
      decode_handover_item(encode(HandedControl{"/run/hedge \"x\"/edge.sock", "/state", true}));
  EXPECT_TRUE(std::get<HandedControl>(*control).has_claim);
  EXPECT_EQ(std::get<HandedControl>(*control).state, "/state");
  EXPECT_EQ(std::get<HandedControl>(*control).path, "/run/hedge \"x\"/edge.sock");
  EXPECT_TRUE(std::holds_alternative<HandoverComplete>(*decode_handover_item(encode(HandoverComplete()))));
}

TEST(HandoverMessages, IgnoreWhatANewerEdgeAdds) {
  EXPECT_TRUE(
      decode_handover_item(R"({"item":"address","tls":false,"address":{"ip":"127.0.0.1","port":80,"zone":1},)"
                           R"("asked":{"ip":"127.0.0.1","port":80},"sockets":1,"quic":true})"));
}

TEST(HandoverMessages, ThatAreNotUnderstoodAreRefused) {
  for (
      const std::string text :
      {"", "[]", "{}", "{\"item\":1}", "{\"item\":\"surprise\"}", "{\"item\":\"control\"}",
       "{\"item\":\"control\",\"path\":3}", "{\"item\":\"address\"}",
       R"({"item":"address","tls":1,"address":{"ip":"a","port":1},"asked":{"ip":"a","port":1},"sockets":1})",
       R"({"item":"address","tls":true,"address":{"ip":"a","port":70000},"asked":{"ip":"a","port":1},"sockets":1})",
       R"({"item":"address","tls":true,"address":{"ip":"a","port":-1},"asked":{"ip":"a","port":1},"sockets":1})",
       R"({"item":"address","tls":true,"address":{"ip":"a","port":1},"sockets":1})",
       R"({"item":"address","tls":true,"address":{"ip":"a","port":1},"asked":{"ip":"a","port":1},"sockets":0})",
       R"({"item":"address","tls":true,"address":{"ip":"a","port":1},"asked":{"ip":"a","port":1},"sockets":999})"})
    EXPECT_FALSE(decode_handover_item(text)) << text;
}

}  // namespace
}  // namespace hedge::proxy
