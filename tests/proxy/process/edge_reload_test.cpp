#include "proxy/process/edge_reload.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hedge::proxy {
namespace {

using Names = std::vector<std::string>;

TEST(SettingsForANewProcess, AreNamedWhenTheyDiffer) {
  const config::EdgeConfig in_use;
  EXPECT_EQ(settings_for_a_new_process(in_use, in_use), Names{});
  config::EdgeConfig wanted;
  wanted.state_dir = "/state";
  wanted.control = "/control";
  wanted.workers = 3;
  wanted.certificate = wanted.private_key = "/pem";
  wanted.access_log_off = true;
  wanted.dns_servers = {{"127.0.0.1", 53}};
  wanted.trusted_proxies = {"10.0.0.0/8"};
  wanted.suffixes = {"test"};
  wanted.docker_host = "unix:///x";
  wanted.network = "edge";
  EXPECT_EQ(settings_for_a_new_process(in_use, wanted),
            (Names{"workers", "certificate", "private_key", "access_log", "dns_servers", "trusted_proxies",
                   "suffixes", "docker_host", "network"}));
}

TEST(SettingsForANewProcess, AreApartFromThoseThatMakeItAnotherEdge) {
  config::EdgeConfig wanted;
  EXPECT_EQ(settings_for_another_edge({}, wanted), Names{});
  wanted.state_dir = "/state";
  wanted.control = "/control";
  wanted.workers = 3;
  EXPECT_EQ(settings_for_another_edge({}, wanted), (Names{"state_dir", "control"}));
}

TEST(SettingsForANewProcess, AreNoneOfThoseThatTheEdgeTakesUpItself) {
  config::EdgeConfig wanted;
  wanted.http = {{"127.0.0.1", 81}};
  wanted.https.emplace();
  wanted.resolve_ttl = std::chrono::milliseconds(1);
  wanted.connect_timeout = std::chrono::milliseconds(1);
  wanted.cookies = config::CookieMode::pass;
  EXPECT_EQ(settings_for_a_new_process({}, wanted), Names{});
}

TEST(ListenPlans, AFileThatGivesOneKindListensOnThatAlone) {
  config::EdgeConfig edge;
  edge.http = {{"127.0.0.1", 81}};
  EXPECT_TRUE(listen_plan(edge).tls && listen_plan(edge).tls->empty());
  edge.http.reset();
  EXPECT_FALSE(listen_plan(edge).tls || listen_plan(edge).plain);
  edge.workers = 7;
  EXPECT_EQ(listen_plan(edge).workers, 7U);
}

TEST(WorkerSettings, TakeWhatTheFileSays) {
  config::EdgeConfig edge;
  edge.resolve_ttl = std::chrono::milliseconds(3);
  edge.connect_timeout = std::chrono::milliseconds(4);
  edge.cookies = config::CookieMode::pass;
  edge.dns_servers = {{"::1", 5353}};
  EdgeLimits limits;
  limits.drain = std::chrono::milliseconds(5);
  const EdgeSettings settings = worker_settings(edge, limits);
  EXPECT_EQ(settings.limits.resolve_ttl.count(), 3);
  EXPECT_EQ(settings.limits.connect.count(), 4);
  EXPECT_EQ(settings.limits.drain.count(), 5);
  EXPECT_FALSE(settings.narrow_cookies);
  ASSERT_EQ(settings.name_servers.size(), 1U);
  EXPECT_EQ(settings.name_servers[0].port, 5353);
}

}  // namespace
}  // namespace hedge::proxy
