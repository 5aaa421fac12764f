#include "router/edge_settings.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::router {
namespace {

using namespace std::chrono_literals;

// The problems of a text, one a line.
std::string problems(std::string_view text) {
  const auto settings = parse_edge_settings(text, "edge.toml");
  if (settings) return "none";
  EXPECT_TRUE(settings.error().id() == "config_invalid") << settings.error().id();
  std::string out = settings.error().text() + "\n";
  for (const std::string& hint : settings.error().hints()) out += hint + "\n";
  return out;
}

TEST(EdgeSettings, AnEmptyFileHasTheDefaults) {
  const auto settings = parse_edge_settings("", "edge.toml");
  ASSERT_TRUE(settings) << settings.error().to_string();
  EXPECT_TRUE(settings->routes.empty());
  EXPECT_FALSE(settings->edge.http);
  EXPECT_FALSE(settings->edge.https);
  EXPECT_EQ(settings->edge.resolve_ttl, 1s);
  EXPECT_EQ(settings->edge.connect_timeout, 2s);
  EXPECT_EQ(settings->edge.suffixes, std::vector<std::string>{"localhost"});
  EXPECT_EQ(settings->edge.cookies, config::CookieMode::narrow);
}

TEST(EdgeSettings, ReadsEveryKey) {
  const auto settings = parse_edge_settings(R"(
[edge]
state_dir = "/var/lib/hedge"
control = "/run/hedge.sock"
workers = 3
http = "127.0.0.1:8080"
https = ["127.0.0.1:8443", "[::1]:0"]
certificate = "/etc/cert.pem"
private_key = "/etc/key.pem"
access_log = "/var/log/hedge.log"
dns_servers = ["127.0.0.1:5353", "10.0.0.1", "[::1]:53"]
resolve_ttl = "250ms"
connect_timeout = "5s"
cookies = "pass"
trusted_proxies = ["10.0.0.0/8", "::1", "192.168.1.1"]
upstream_verify = false
upstream_ca = "root.pem"
suffixes = ["Dev.Localhost", "shop.test"]
docker_host = "unix:///run/docker.sock"
network = "edge"

[[routes]]
host = "Alpha.Localhost"
upstream = "tcp:127.0.0.1:3000"

[[routes]]
host = "beta.localhost"
upstream = "4000"
wildcard = true
protocol = "h2c"
)",
                                            "edge.toml");
  ASSERT_TRUE(settings) << settings.error().to_string();
  const config::EdgeConfig& edge = settings->edge;
  EXPECT_EQ(edge.state_dir, "/var/lib/hedge");
  EXPECT_EQ(edge.control, "/run/hedge.sock");
  EXPECT_EQ(edge.workers, 3U);
  EXPECT_EQ(edge.http, (std::vector<config::SocketAddress>{{"127.0.0.1", 8080}}));
  EXPECT_EQ(edge.https, (std::vector<config::SocketAddress>{{"127.0.0.1", 8443}, {"::1", 0}}));
  EXPECT_EQ(edge.certificate, "/etc/cert.pem");
  EXPECT_EQ(edge.private_key, "/etc/key.pem");
  EXPECT_EQ(edge.access_log, "/var/log/hedge.log");
  EXPECT_FALSE(edge.access_log_off);
  EXPECT_EQ(edge.dns_servers,
            (std::vector<config::SocketAddress>{{"127.0.0.1", 5353}, {"10.0.0.1", 53}, {"::1", 53}}));
  EXPECT_EQ(edge.resolve_ttl, 250ms);
  EXPECT_EQ(edge.connect_timeout, 5s);
  EXPECT_EQ(edge.cookies, config::CookieMode::pass);
  EXPECT_EQ(edge.trusted_proxies.size(), 3U);
  EXPECT_FALSE(edge.upstream_verify);
  EXPECT_EQ(edge.upstream_ca->filename(), "root.pem");
  EXPECT_EQ(edge.suffixes, (std::vector<std::string>{"dev.localhost", "shop.test"}));
  EXPECT_EQ(edge.docker_host, "unix:///run/docker.sock");
  EXPECT_EQ(edge.network, "edge");
  EXPECT_TRUE(edge.warnings.empty());
  ASSERT_EQ(settings->routes.size(), 2U);
  EXPECT_EQ(settings->routes[0].host, "alpha.localhost");
  EXPECT_EQ(settings->routes[0].match, HostMatch::exact);
  EXPECT_EQ(settings->routes[1].match, HostMatch::exact_and_below);
  EXPECT_EQ(settings->routes[1].protocol, Protocol::h2c);
  EXPECT_EQ(to_string(settings->routes[1].upstream), "tcp:127.0.0.1:4000");
}

TEST(EdgeSettings, AFileWithAddressesOfOneKindListensOnThatAlone) {
  const auto plain = parse_edge_settings("[edge]\nhttp = \"127.0.0.1:0\"\n", "e");
  ASSERT_TRUE(plain);
  ASSERT_TRUE(plain->edge.https);
  EXPECT_TRUE(plain->edge.https->empty());
  const auto tls = parse_edge_settings("[edge]\nhttps = \"127.0.0.1:0\"\n", "e");
  ASSERT_TRUE(tls);
  ASSERT_TRUE(tls->edge.http);
  EXPECT_TRUE(tls->edge.http->empty());
}

TEST(EdgeSettings, TheAccessLogMayBeOffOrStandardOutput) {
  EXPECT_TRUE(parse_edge_settings("[edge]\naccess_log = \"off\"\n", "e")->edge.access_log_off);
  EXPECT_FALSE(parse_edge_settings("[edge]\naccess_log = \"off\"\n", "e")->edge.access_log);
  EXPECT_EQ(parse_edge_settings("[edge]\naccess_log = \"-\"\n", "e")->edge.access_log, "-");
}

TEST(EdgeSettings, RelativePathsAreTakenFromTheFilesDirectory) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "edge.toml") << "[edge]\nstate_dir = \"state\"\naccess_log = \"log/a.json\"\n";
  const auto settings = load_edge_settings(directory / "edge.toml");
  ASSERT_TRUE(settings) << settings.error().to_string();
  EXPECT_EQ(settings->edge.state_dir, directory / "state");
  EXPECT_EQ(settings->edge.access_log, directory / "log/a.json");
}

TEST(EdgeSettings, EveryProblemIsToldAtItsPlace) {
  const std::string text =
      "[edge]\n"                               // 1
      "workers = 0\n"                          // 2
      "http = \"127.0.0.1\"\n"                 // 3
      "https = [\"localhost:443\"]\n"          // 4
      "certificate = \"c.pem\"\n"              // 5
      "resolve_ttl = \"2s\"\n"                 // 6
      "connect_timeout = \"0ms\"\n"            // 7
      "cookies = \"eat\"\n"                    // 8
      "trusted_proxies = [\"10.0.0.0/33\"]\n"  // 9
      "suffixes = [\"a_b\"]\n"                 // 10
      "docker_host = \"ssh://host\"\n"         // 11
      "wokers = 1\n"                           // 12
      "dns_servers = [\"ns.example\"]\n"       // 13
      "network = \"\"\n"                       // 14
      "state_dir = \"\"\n"                     // 15
      "access_log = \"\"\n"                    // 16
      "control = \"/" +
      std::string(107, 'c') +
      "\"\n"                                 // 17
      "[[routes]]\n"                         // 18
      "host = \"a b\"\n"                     // 19
      "upstream = \"dns:x.localhost:80\"\n"  // 20
      "[[routes]]\n"                         // 21
      "protocol = \"spdy\"\n"                // 22
      "weight = 1\n"                         // 23
      "[[routes]]\n"                         // 24
      "host = \"twice.localhost\"\n"         // 25
      "upstream = \"1\"\n"                   // 26
      "[[routes]]\n"                         // 27
      "host = \"TWICE.localhost\"\n"         // 28
      "upstream = \"2\"\n"                   // 29
      "[other]\n";                           // 30
  const std::string found = problems(text);
  const std::vector<std::string> expected = {
      "edge.toml:2:",  "edge.toml:3:",  "edge.toml:4:",  "edge.toml:5:",  "edge.toml:6:",  "edge.toml:7:",
      "edge.toml:8:",  "edge.toml:9:",  "edge.toml:10:", "edge.toml:11:", "edge.toml:12:", "edge.toml:13:",
      "edge.toml:14:", "edge.toml:15:", "edge.toml:16:", "edge.toml:17:", "edge.toml:19:", "edge.toml:20:",
      "edge.toml:21:", "edge.toml:22:", "edge.toml:23:", "edge.toml:28:", "edge.toml:30:"};
  for (const std::string& place : expected)
    EXPECT_NE(found.find(place), std::string::npos) << place << "\n" << found;
  EXPECT_NE(found.find("twice.localhost stands twice"), std::string::npos) << found;
  EXPECT_NE(found.find("a route needs a host"), std::string::npos) << found;
  EXPECT_NE(found.find("a route needs an upstream"), std::string::npos) << found;
  EXPECT_NE(found.find("did you mean \"workers\""), std::string::npos) << found;
}

TEST(EdgeSettings, ASyntaxErrorIsToldAtItsPlace) {
  EXPECT_NE(problems("[edge]\nworkers = \n").find("edge.toml:2:"), std::string::npos);
}

TEST(EdgeSettings, AMissingFileIsNotFound) {
  EXPECT_EQ(load_edge_settings("/nonexistent/edge.toml").error().kind(), ErrorKind::not_found);
}

TEST(EdgeSettings, E37_RefusesHttpOnlyDomainsThatBrowsersOpenOnlyOverHttps) {
  for (const std::string suffix : {"foo.dev", "foo.app", "foo.page", "FOO.DEV", "zip"}) {
    const std::string plain = "[edge]\nhttp = \"127.0.0.1:80\"\nsuffixes = [\"" + suffix + "\"]\n";
    const std::string found = problems(plain);
    EXPECT_NE(found.find("edge.toml:3:"), std::string::npos) << found;
    EXPECT_NE(found.find("domain_preloaded"), std::string::npos) << found;
    EXPECT_EQ(problems(plain + "https = \"127.0.0.1:443\"\n"), "none") << suffix;
  }
  for (const std::string suffix : {"dev.localhost", "foo.test", "dev.example"}) {
    EXPECT_EQ(problems("[edge]\nhttp = \"127.0.0.1:80\"\nsuffixes = [\"" + suffix + "\"]\n"), "none");
  }
}

TEST(EdgeSettings, E37_WarnsAboutDomainsOfMulticastDns) {
  const auto settings = parse_edge_settings("[edge]\nsuffixes = [\"shop.local\"]\n", "edge.toml");
  ASSERT_TRUE(settings);
  ASSERT_EQ(settings->edge.warnings.size(), 1U);
  EXPECT_EQ(settings->edge.warnings[0].find("edge.toml:2:"), 0U) << settings->edge.warnings[0];
}

std::string example() {
  return std::string(HEDGE_SOURCE_DIR) + "/config/examples/edge.toml";
}

TEST(EdgeSettings, TheExampleIsAccepted) {
  const auto settings = load_edge_settings(example());
  ASSERT_TRUE(settings) << settings.error().to_string();
  EXPECT_EQ(settings->routes.size(), 2U);
}

// The example shows each key with its default in a comment; without the comment sign it has to be right as
// well.
TEST(EdgeSettings, TheExamplesCommentedKeysAreAccepted) {
  std::ifstream file(example());
  std::string text;
  for (std::string line; std::getline(file, line);) {
    const bool is_key = line.starts_with("# ") && line.find(" = ") != std::string::npos;
    text += (is_key ? line.substr(2) : line) + "\n";
  }
  EXPECT_EQ(problems(text), "none") << text;
}

TEST(EdgeSettings, TheSchemaKnowsTheKeysThatTheReaderKnows) {
  const auto schema_text = read_file(std::string(HEDGE_SOURCE_DIR) + "/config/schema/edge.schema.json");
  ASSERT_TRUE(schema_text);
  const auto schema = nlohmann::json::parse(*schema_text);
  const auto& edge = schema.at("properties").at("edge").at("properties");
  // Every key of the wrong type is a problem that names it; an unknown key is one that says so.
  for (const auto& [key, unused] : edge.items()) {
    const std::string found = problems("[edge]\n" + key + " = 1979-05-27\n");
    EXPECT_EQ(found.find("unknown key"), std::string::npos) << found;
  }
  EXPECT_EQ(edge.size(), 18U) << "a new key belongs into the schema, the example and this number";
  const auto& route = schema.at("properties").at("routes").at("items").at("properties");
  for (const auto& [key, unused] : route.items()) {
    const std::string found = problems("[[routes]]\n" + key + " = 1979-05-27\n");
    EXPECT_EQ(found.find("unknown key"), std::string::npos) << found;
  }
  EXPECT_EQ(route.size(), 4U);
}

}  // namespace
}  // namespace hedge::router
