// The small parsers around the Docker engine: addresses, events, lines, percent encoding, where this process
// runs.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/control/docker_client.h"
#include "proxy/control/docker_event.h"
#include "proxy/control/edge_surroundings.h"
#include "proxy/control/percent_encoding.h"

namespace hedge::proxy {
namespace {

TEST(EngineAddress, TheStandardSocketIsTheDefault) {
  const auto address = parse_engine_address(std::nullopt);
  ASSERT_TRUE(address);
  EXPECT_EQ(address->unix_path, "/var/run/docker.sock");
  EXPECT_FALSE(address->is_explicit);
}

TEST(EngineAddress, SocketsAndAddressesAreAccepted) {
  EXPECT_EQ(parse_engine_address("unix:///run/user/1000/docker.sock")->unix_path,
            "/run/user/1000/docker.sock");
  EXPECT_EQ(parse_engine_address("tcp://10.0.0.1:2375")->ip, "10.0.0.1");
  EXPECT_EQ(parse_engine_address("tcp://10.0.0.1:2375")->port, 2375);
  EXPECT_EQ(parse_engine_address("tcp://localhost:2375")->ip, "127.0.0.1");
  EXPECT_EQ(parse_engine_address("tcp://[::1]:2375")->ip, "::1");
  EXPECT_TRUE(parse_engine_address("tcp://[::1]:2375")->is_explicit);
}

TEST(EngineAddress, EverythingElseIsUnsupported) {
  for (const std::string text : {"", "ssh://host", "npipe:////./pipe/docker_engine", "unix://relative",
                                 "unix://", "tcp://", "tcp://10.0.0.1", "tcp://10.0.0.1:0",
                                 "tcp://10.0.0.1:x", "tcp://engine.example:2375", "http://10.0.0.1:2375"}) {
    const auto address = parse_engine_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().id(), "engine_unsupported");
  }
  EXPECT_FALSE(parse_engine_address("unix:///" + std::string(107, 'a')));
}

TEST(EngineAddress, TlsIsUnsupportedAndNamedAndOnlyOnTcp) {
  const auto address = parse_engine_address("tcp://10.0.0.1:2376", EngineTransport::tls);
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().id(), "engine_unsupported");
  EXPECT_NE(address.error().text().find("DOCKER_TLS_VERIFY"), std::string::npos) << address.error().text();
  EXPECT_TRUE(parse_engine_address("unix:///run/docker.sock", EngineTransport::tls));
  EXPECT_TRUE(parse_engine_address(std::nullopt, EngineTransport::tls));
}

struct EventRow {
  std::string line;
  std::string expected;  // "altered ID", "ended ID" or "nothing"
};

TEST(DockerEvents, TellWhatChanged) {
  const std::vector<EventRow> cases = {
      {R"({"Type":"container","Action":"start","Actor":{"ID":"a"}})", "altered a"},
      {R"({"Type":"container","Action":"pause","Actor":{"ID":"a"}})", "altered a"},
      {R"({"Type":"container","Action":"unpause","Actor":{"ID":"a"}})", "altered a"},
      {R"({"Type":"container","Action":"rename","Actor":{"ID":"a"}})", "altered a"},
      {R"({"status":"die","id":"a","Type":"container","Action":"die","Actor":{"ID":"a","Attributes":{"exitCode":"137"}}})",
       "ended a"},
      {R"({"Type":"container","Action":"destroy","Actor":{"ID":"a"}})", "ended a"},
      {R"({"Type":"network","Action":"connect","Actor":{"ID":"n","Attributes":{"container":"a"}}})",
       "altered a"},
      {R"({"Type":"network","Action":"disconnect","Actor":{"ID":"n","Attributes":{"container":"a"}}})",
       "ended a"},
      {R"({"Type":"network","Action":"disconnect","Actor":{"ID":"n"}})", "nothing"},
      {R"({"Type":"container","Action":"exec_start: sh","Actor":{"ID":"a"}})", "nothing"},
      {R"({"Type":"container","Action":"die"})", "nothing"},
      {R"({"Type":"container","Action":"die","Actor":[]})", "nothing"},
      {R"({"Type":"network","Action":"disconnect","Actor":{"Attributes":"x"}})", "nothing"},
      {R"({"Type":"image","Action":"pull"})", "nothing"},
      {R"({"Type":1,"Action":2})", "nothing"},
      {"", "nothing"},
      {"[]", "nothing"},
      {"{", "nothing"},
  };
  for (const EventRow& row : cases) {
    const auto event = parse_docker_event(row.line);
    std::string found = "nothing";
    if (event) found = (event->change == DockerChange::ended ? "ended " : "altered ") + event->container_id;
    EXPECT_EQ(found, row.expected) << row.line;
  }
}

TEST(DockerEvents, ThePathCarriesItsFilterEscaped) {
  const std::string path = docker_events_path();
  EXPECT_TRUE(path.starts_with("/events?filters=%7b")) << path;
  EXPECT_EQ(path.find_first_of("\"{} "), std::string::npos) << path;
}

TEST(Lines, AreCutWhateverThePieces) {
  const std::string text = "one\ntwo\r\n\nlong line\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    LineSplitter lines;
    std::vector<std::string> found;
    for (const std::string& piece : {text.substr(0, cut), text.substr(cut)}) {
      EXPECT_TRUE(lines.add(piece));
      while (const auto line = lines.next()) found.push_back(*line);
    }
    EXPECT_EQ(found, (std::vector<std::string>{"one", "two", "", "long line"})) << cut;
  }
}

TEST(Lines, AreBounded) {
  LineSplitter lines;
  EXPECT_TRUE(lines.add(std::string(LineSplitter::kLongestLine, 'x')));
  EXPECT_FALSE(lines.add("x"));
  LineSplitter many;
  EXPECT_TRUE(many.add(std::string(LineSplitter::kLongestLine, 'x') + "\n" + "y"))
      << "the limit is a line's, not the block's";
}

TEST(PercentEncoding, GoesThereAndBack) {
  std::string every;
  for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
  const std::string encoded = percent_encode(every);
  EXPECT_EQ(encoded.find_first_of(" /?#&=\"\r\n"), std::string::npos);
  EXPECT_EQ(*percent_decode(encoded), every);
  EXPECT_EQ(percent_encode("a-z_A.Z~9"), "a-z_A.Z~9");
  EXPECT_EQ(*percent_decode("%41%7e%7E"), "A~~");
  for (const std::string text : {"%", "%4", "%zz", "a%", "%-1", "% 1"})
    EXPECT_FALSE(percent_decode(text)) << text;
}

TEST(EdgeSurroundings, TheOwnContainerIsFoundInItsMounts) {
  const std::string id = std::string(60, 'a') + "0123";
  EXPECT_EQ(own_container_in("611 600 8:1 /var/lib/docker/containers/" + id +
                             "/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"),
            id);
  EXPECT_EQ(own_container_in("1 1 8:1 /containers/short/hosts / rw\n2 1 8:1 /x/containers/" + id +
                             "/resolv.conf / rw\n"),
            id);
  EXPECT_FALSE(own_container_in(""));
  EXPECT_FALSE(own_container_in("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"));
  EXPECT_FALSE(own_container_in("/containers/" + std::string(64, 'Z') + "/hosts"));
  EXPECT_FALSE(own_container_in("/containers/" + std::string(65, 'a') + "/hosts"));
  EXPECT_FALSE(own_container_in("/containers/" + std::string(64, 'a')));
}

TEST(EdgeSurroundings, LoopbackIsConnectedAndStrangersAreNot) {
  EXPECT_TRUE(is_on_connected_network("127.0.0.1"));
  EXPECT_TRUE(is_on_connected_network("127.9.9.9"));
  EXPECT_FALSE(is_on_connected_network("240.0.0.1")) << "a reserved address is in nobody's network";
  EXPECT_FALSE(is_on_connected_network("not an address"));
  EXPECT_FALSE(is_on_connected_network(""));
}

TEST(EdgeSurroundings, LoopbackIsThisHostAndStrangersAreNot) {
  EXPECT_TRUE(is_address_of_this_host("127.0.0.1"));
  EXPECT_TRUE(is_address_of_this_host("127.9.9.9"));
  EXPECT_TRUE(is_address_of_this_host("::1"));
  EXPECT_FALSE(is_address_of_this_host("192.0.2.1")) << "an address of documentation is nobody's";
  EXPECT_FALSE(is_address_of_this_host("2001:db8::1"));
  EXPECT_FALSE(is_address_of_this_host("not an address"));
  EXPECT_FALSE(is_address_of_this_host(""));
}

}  // namespace
}  // namespace hedge::proxy
