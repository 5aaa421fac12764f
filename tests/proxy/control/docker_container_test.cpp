#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/control/container.h"

namespace hedge::proxy {
namespace {

// As an engine of API 1.41 and one of 1.51 write it, less what nobody here reads.
constexpr std::string_view kInspect = R"({
  "Id": "4f2d0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab",
  "Name": "/wt-alpha-app", "RestartCount": 0,
  "State": {"Status": "running", "Running": true, "Paused": false},
  "HostConfig": {"NetworkMode": "wt-alpha_default", "Memory": 0},
  "NetworkSettings": {
    "Bridge": "", "Ports": {"8000/tcp": [{"HostIp": "0.0.0.0", "HostPort": "32768"}, {"HostIp": "::", "HostPort": "32768"}],
                            "53/udp": [{"HostIp": "0.0.0.0", "HostPort": "5353"}], "9000/tcp": null},
    "Networks": {"zz-private": {"NetworkID": "zz-id", "IPAddress": "172.20.0.2", "GlobalIPv6Address": "", "Aliases": null},
                 "edge": {"NetworkID": "edge-id", "IPAddress": "172.18.0.4", "GlobalIPv6Address": "fd00::4"}}}})";

Container sample() {
  return *parse_container(kInspect);
}

std::vector<std::string> endpoints(const UpstreamAnswer& answer) {
  std::vector<std::string> out;
  const auto* found = std::get_if<ResolvedUpstreamPtr>(&answer);
  if (found == nullptr) {
    ADD_FAILURE() << std::get<ProxyError>(answer).detail;
    return out;
  }
  for (const Endpoint& endpoint : (*found)->endpoints) out.push_back(endpoint.to_string());
  return out;
}

ProxyError error_of(const UpstreamAnswer& answer) {
  const auto* error = std::get_if<ProxyError>(&answer);
  EXPECT_NE(error, nullptr);
  return error == nullptr ? ProxyError{} : *error;
}

// On a host that reaches the networks of these addresses.
EdgePlace host(std::vector<std::string> reachable = {}) {
  EdgePlace place;
  place.is_connected = [reachable = std::move(reachable)](const std::string& ip) {
    return std::find(reachable.begin(), reachable.end(), ip) != reachable.end();
  };
  return place;
}

using Addresses = std::vector<std::string>;

TEST(DockerContainer, IsReadFromWhatTheEngineSays) {
  const Container container = sample();
  EXPECT_EQ(container.name, "wt-alpha-app");
  EXPECT_EQ(container.status, "running");
  EXPECT_EQ(container.network_mode, "wt-alpha_default");
  ASSERT_EQ(container.networks.size(), 2U);
  EXPECT_EQ(container.networks[0].name, "edge");
  EXPECT_EQ(container.networks[0].id, "edge-id");
  EXPECT_EQ(container.networks[0].ipv6, "fd00::4");
  ASSERT_EQ(container.published.size(), 2U);
  EXPECT_EQ(container.published[0].host_port, 32768);
}

TEST(DockerContainer, WhatIsNoContainerIsRefused) {
  for (const std::string text : {"", "null", "[]", "{}", R"({"Id": 1})", R"({"Id": ""})", R"({"Id": "a"})",
                                 R"({"Id": "a", "State": "running"})", R"({"Id": "a", "State": )"}) {
    EXPECT_FALSE(parse_container(text)) << text;
  }
  const auto bare =
      parse_container(R"({"Id": "a", "State": {}, "NetworkSettings": {"Networks": [], "Ports": [1]}})");
  ASSERT_TRUE(bare);
  EXPECT_TRUE(bare->networks.empty());
  EXPECT_TRUE(bare->published.empty());
}

TEST(DockerAddress, E05_WithAConfiguredNetworkItIsTheOneOnIt) {
  EdgePlace place = host({"172.20.0.2"});
  place.configured_network = "edge";
  EXPECT_EQ(endpoints(choose_address(sample(), 8000, place)),
            (Addresses{"172.18.0.4:8000", "[fd00::4]:8000"}));
  place.configured_network = "zz-private";
  EXPECT_EQ(endpoints(choose_address(sample(), 8000, place)), (Addresses{"172.20.0.2:8000"}));
}

TEST(DockerAddress, AConfiguredNetworkMayBeGivenById) {
  Container container = sample();
  container.networks[0].id = "0123456789abcdef";
  EdgePlace place = host();
  place.configured_network = "0123456789ab";
  EXPECT_EQ(endpoints(choose_address(container, 80, place))[0], "172.18.0.4:80");
  place.configured_network = "0123";  // too short to be meant as an id
  EXPECT_EQ(error_of(choose_address(container, 80, place)).reason, ProxyReason::upstream_off_network);
}

TEST(DockerAddress, E05_AContainerThatLeftTheConfiguredNetworkIsOffIt) {
  Container container = sample();
  container.networks.erase(container.networks.begin());
  EdgePlace place = host({"172.20.0.2"});
  place.configured_network = "edge";
  const ProxyError error = error_of(choose_address(container, 8000, place));
  EXPECT_EQ(error.reason, ProxyReason::upstream_off_network);
  EXPECT_NE(error.detail.find("not on the edge network edge"), std::string::npos) << error.detail;
  EXPECT_NE(error.detail.find("zz-private"), std::string::npos) << error.detail;
  EXPECT_EQ(error.fix, "docker network connect edge wt-alpha-app");
}

TEST(DockerAddress, E05_InAContainerItIsTheOneOnTheEdgesOwnNetworkById) {
  EdgePlace place = host({"172.20.0.2"});
  place.own_networks = std::vector<std::string>{"edge-id", "other-id"};
  EXPECT_EQ(endpoints(choose_address(sample(), 8000, place))[0], "172.18.0.4:8000");
  place.own_networks = std::vector<std::string>{"other-id"};
  EXPECT_EQ(error_of(choose_address(sample(), 8000, place)).reason, ProxyReason::upstream_off_network);
}

TEST(DockerAddress, OnAHostItIsOneThatTheHostReaches) {
  EXPECT_EQ(endpoints(choose_address(sample(), 8000, host({"172.20.0.2"}))), Addresses{"172.20.0.2:8000"});
  EXPECT_EQ(endpoints(choose_address(sample(), 8000, host({"172.18.0.4", "172.20.0.2"})))[0],
            "172.18.0.4:8000")
      << "the first by name, whatever the order of attachment";
}

TEST(DockerAddress, OnAHostWithoutARouteItIsThePublishedPort) {
  EXPECT_EQ(endpoints(choose_address(sample(), 8000, host())), (Addresses{"127.0.0.1:32768", "[::1]:32768"}));
  const ProxyError error = error_of(choose_address(sample(), 9000, host()));
  EXPECT_EQ(error.reason, ProxyReason::upstream_off_network);
  EXPECT_NE(error.detail.find("port 9000 is not published"), std::string::npos) << error.detail;
}

// The host reaches addresses like those of the container's networks: its own engine's networks have the same.
EdgePlace beside_engine(const std::string& engine) {
  EdgePlace place = host({"172.18.0.4", "172.20.0.2"});
  place.remote_engine = engine;
  return place;
}

TEST(DockerAddress, OfARemoteEngineItIsThePortPublishedThere) {
  EXPECT_EQ(endpoints(choose_address(sample(), 8000, beside_engine("192.0.2.7"))),
            Addresses{"192.0.2.7:32768"});
  EXPECT_EQ(endpoints(choose_address(sample(), 8000, beside_engine("2001:db8::7"))),
            Addresses{"[2001:db8::7]:32768"});
  Container container = sample();
  container.published = {{8000, "", 32768}, {8000, "192.0.2.9", 32769}, {9000, "0.0.0.0", 32770}};
  EXPECT_EQ(endpoints(choose_address(container, 8000, beside_engine("192.0.2.7"))),
            (Addresses{"192.0.2.7:32768", "192.0.2.9:32769"}));
  container.network_mode = "host";
  EXPECT_EQ(endpoints(choose_address(container, 8000, beside_engine("192.0.2.7"))),
            Addresses{"192.0.2.7:8000"});
}

TEST(DockerAddress, OfARemoteEngineWhatIsNotPublishedForOthersIsNotReached) {
  Container container = sample();
  container.published = {{8000, "127.0.0.1", 32768}, {8000, "::1", 32768}, {9000, "0.0.0.0", 32770}};
  const ProxyError error = error_of(choose_address(container, 8000, beside_engine("192.0.2.7")));
  EXPECT_EQ(error.reason, ProxyReason::upstream_off_network);
  EXPECT_NE(error.detail.find("another machine (192.0.2.7)"), std::string::npos) << error.detail;
  EXPECT_NE(error.fix.find("--publish 8000"), std::string::npos) << error.fix;
}

TEST(DockerAddress, InTheHostsOwnNetworkItIsLoopback) {
  Container container = sample();
  container.network_mode = "host";
  container.networks = {{"host", "host-id", "", ""}};
  EXPECT_EQ(endpoints(choose_address(container, 8000, host())), (Addresses{"127.0.0.1:8000", "[::1]:8000"}));
}

TEST(DockerAddress, E39_AContainerThatDoesNotRunIsNamedWithItsState) {
  for (const std::string status : {"exited", "created", "dead", "restarting", "paused", "removing"}) {
    Container container = sample();
    container.status = status;
    const ProxyError error = error_of(choose_address(container, 8000, host({"172.18.0.4"})));
    EXPECT_EQ(error.reason, ProxyReason::container_stopped) << status;
    EXPECT_NE(error.detail.find(status), std::string::npos) << error.detail;
    EXPECT_EQ(error.fix, (status == "paused" ? "docker unpause " : "docker start ") + container.name);
  }
}

TEST(DockerAddress, E03_TheIdentityIsTheContainerAndPortAndNeverTheAddress) {
  const auto answer = choose_address(sample(), 8000, host({"172.18.0.4"}));
  const auto& found = std::get<ResolvedUpstreamPtr>(answer);
  EXPECT_EQ(found->identity, sample().id + ":8000");
  EXPECT_NE(found->description.find("wt-alpha-app"), std::string::npos);
}

TEST(DockerLabels, ExactlyOneRunningContainerMayHaveThem) {
  const std::vector<ContainerSummary> one = {{"id1", "old", "exited"}, {"id2", "new", "running"}};
  const auto chosen = choose_container(one, "a=b");
  ASSERT_TRUE(std::holds_alternative<ContainerSummary>(chosen));
  EXPECT_EQ(std::get<ContainerSummary>(chosen).id, "id2");

  const std::vector<ContainerSummary> two = {{"id1", "x2", "running"}, {"id2", "x1", "running"}};
  const auto ambiguous = std::get<ProxyError>(choose_container(two, "a=b"));
  EXPECT_EQ(ambiguous.reason, ProxyReason::upstream_ambiguous);
  EXPECT_NE(ambiguous.detail.find("x1, x2"), std::string::npos) << ambiguous.detail;

  EXPECT_EQ(std::get<ProxyError>(choose_container({{"id", "x", "exited"}}, "a=b")).reason,
            ProxyReason::container_stopped);
  EXPECT_EQ(std::get<ProxyError>(choose_container({}, "a=b")).reason, ProxyReason::upstream_unresolved);
}

TEST(DockerLabels, TheListIsReadFromWhatTheEngineSays) {
  const auto list = parse_container_list(R"([{"Id": "id1", "Names": ["/a"], "State": "running"},
      {"Id": "0123456789abcdef", "Names": null, "State": "created"}])");
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ((*list)[0].name, "a");
  EXPECT_EQ((*list)[1].name, "0123456789ab") << "a container that is being removed has no name";
  for (const std::string text : {"", "{}", "null", "[1]", "[{}]"})
    EXPECT_FALSE(parse_container_list(text)) << text;
}

}  // namespace
}  // namespace hedge::proxy
