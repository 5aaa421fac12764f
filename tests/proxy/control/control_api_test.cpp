#include "proxy/control/control_api.h"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace hedge::proxy {
namespace {

using nlohmann::json;
using router::Route;
using router::RouteTable;

class FakeStore final : public router::RouteStore {
 public:
  Result<router::LoadedRoutes> load_all() override {
    router::LoadedRoutes loaded;
    for (const auto& [host, route] : routes) loaded.routes.push_back(route);
    return loaded;
  }
  Result<void> put(const Route& route) override {
    if (failure) return *failure;
    routes[route.host] = route;
    return {};
  }
  Result<bool> remove(std::string_view host, std::string_view worktree) override {
    if (failure) return *failure;
    removed_for = std::string(worktree);
    return routes.erase(std::string(host)) > 0;
  }
  Result<int> set_state(std::string_view, router::RouteState) override { return 0; }
  Result<std::int64_t> version() override { return 0; }

  std::map<std::string, Route> routes;
  std::optional<Error> failure;
  std::string removed_for = "nobody";
};

class FakeActions final : public ControlActions {
 public:
  std::optional<Error> begin_handover() override { return std::nullopt; }
  bool end_handover(bool /*taken_over*/) override { return false; }
  ManagedEdge& edge() override { std::abort(); }
  int claim_descriptor() const override { return -1; }
  void refresh() override {
    ++refreshes;
    std::vector<Route> routes = {fixed};
    const auto stored = stored_routes.load_all();
    for (const Route& route : stored->routes) routes.push_back(route);
    table_ = RouteTable::build(std::move(routes));
  }
  router::RouteStore* store() override { return has_store ? &stored_routes : nullptr; }
  bool is_static(std::string_view host) const override { return host == fixed.host; }
  const RouteTable& table() const override { return *table_; }
  std::vector<std::string> warnings() const override { return {"careful \"you\""}; }
  EdgeFacts facts() const override {
    EdgeFacts facts;
    facts.listeners = {{"https", "127.0.0.1", 8443}};
    facts.workers = 2;
    facts.connections = 5;
    return facts;
  }
  EdgeMetrics metrics() const override { return counted; }
  ControlMetrics control_metrics() const override { return {}; }
  std::chrono::seconds uptime() const override { return std::chrono::seconds(90); }
  std::string state_directory() const override { return "/state"; }

  Route fixed = [] {
    Route route;
    route.host = "fixed.localhost";
    route.upstream = router::TcpUpstream{"127.0.0.1", 1};
    return route;
  }();
  FakeStore stored_routes;
  EdgeMetrics counted;
  bool has_store = true;
  int refreshes = 0;

 private:
  std::shared_ptr<const RouteTable> table_ = RouteTable::build({fixed});
};

class ControlApiTest : public testing::Test {
 protected:
  ApiAnswer call(const std::string& method, const std::string& target, const std::string& body = "",
                 const std::string& type = "application/json") {
    return answer_api(ApiRequest{method, target, type, body}, actions_);
  }
  // Every refusal has the same form.
  static void expect_problem(const ApiAnswer& answer, unsigned status, const std::string& id) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.content_type, "application/problem+json");
    const json body = json::parse(answer.body);
    EXPECT_EQ(body.at("status"), status);
    EXPECT_EQ(body.at("id"), id);
    EXPECT_FALSE(body.at("detail").get<std::string>().empty());
    EXPECT_FALSE(body.at("title").get<std::string>().empty());
    EXPECT_TRUE(body.at("hints").is_array());
  }
  FakeActions actions_;
};

TEST_F(ControlApiTest, TheStatusTellsHowTheEdgeIs) {
  const ApiAnswer answer = call("GET", "/v1/status");
  ASSERT_EQ(answer.status, 200U);
  const json body = json::parse(answer.body);
  EXPECT_EQ(body.at("pid"), ::getpid());
  EXPECT_EQ(body.at("version"), HEDGE_VERSION);
  EXPECT_EQ(body.at("state_directory"), "/state");
  EXPECT_EQ(body.at("uptime_seconds"), 90);
  EXPECT_EQ(body.at("workers"), 2);
  EXPECT_EQ(body.at("connections"), 5);
  EXPECT_EQ(body.at("routes"), 1);
  EXPECT_EQ(body.at("listeners"),
            json::parse(R"([{"scheme": "https", "address": "127.0.0.1", "port": 8443}])"));
  EXPECT_EQ(body.at("warnings"), json::parse(R"(["careful \"you\""])"));
}

TEST_F(ControlApiTest, ARouteCanBePutReadListedAndDeleted) {
  const ApiAnswer put =
      call("PUT", "/v1/routes/Alpha.Localhost", R"({"upstream": "3000", "worktree": "shop/alpha"})");
  ASSERT_EQ(put.status, 200U) << put.body;
  EXPECT_EQ(json::parse(put.body), json::parse(R"({"host": "alpha.localhost", "wildcard": false, "upstream":
      "tcp:127.0.0.1:3000", "protocol": "http1", "worktree": "shop/alpha", "state": "live", "static": false})"));
  EXPECT_EQ(actions_.refreshes, 1) << "a change is answered when it is in force";
  EXPECT_EQ(json::parse(call("GET", "/v1/routes/alpha.localhost").body), json::parse(put.body));

  const json list = json::parse(call("GET", "/v1/routes").body).at("routes");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].at("host"), "alpha.localhost") << "ordered by host";
  EXPECT_EQ(list[0].at("static"), false);
  EXPECT_EQ(list[1].at("host"), "fixed.localhost");
  EXPECT_EQ(list[1].at("static"), true);

  const ApiAnswer removed = call("DELETE", "/v1/routes/alpha.localhost?worktree=shop%2Falpha");
  EXPECT_EQ(removed.status, 204U);
  EXPECT_TRUE(removed.body.empty());
  EXPECT_EQ(actions_.stored_routes.removed_for, "shop/alpha");
  EXPECT_EQ(actions_.refreshes, 2);
  expect_problem(call("GET", "/v1/routes/alpha.localhost"), 404, "route_unknown");
  EXPECT_EQ(call("DELETE", "/v1/routes/alpha.localhost").status, 204U) << "removing the absent is success";
}

TEST_F(ControlApiTest, AWildcardIsNoRouteForItsChildren) {
  ASSERT_EQ(call("PUT", "/v1/routes/w.localhost", R"({"upstream": "3000", "wildcard": true})").status, 200U);
  EXPECT_EQ(call("GET", "/v1/routes/w.localhost").status, 200U);
  expect_problem(call("GET", "/v1/routes/x.w.localhost"), 404, "route_unknown");
}

TEST_F(ControlApiTest, ARefreshReadsTheStore) {
  const ApiAnswer answer = call("POST", "/v1/refresh");
  EXPECT_EQ(answer.status, 200U);
  EXPECT_EQ(json::parse(answer.body).at("routes"), 1);
  EXPECT_EQ(actions_.refreshes, 1);
}

TEST_F(ControlApiTest, StaticRoutesAreNotChangedHere) {
  expect_problem(call("PUT", "/v1/routes/fixed.localhost", R"({"upstream": "3000"})"), 409, "route_conflict");
  expect_problem(call("DELETE", "/v1/routes/FIXED.localhost"), 409, "route_conflict");
  EXPECT_EQ(actions_.refreshes, 0);
}

struct BadPut {
  std::string target;
  std::string body;
  std::string id;
};

TEST_F(ControlApiTest, BadBodiesAreRefused) {
  const std::vector<BadPut> cases = {
      {"/v1/routes/a.localhost", "", "bad_request"},
      {"/v1/routes/a.localhost", "[]", "bad_request"},
      {"/v1/routes/a.localhost", "{", "bad_request"},
      {"/v1/routes/a.localhost", "{}", "bad_request"},
      {"/v1/routes/a.localhost", R"({"upstream": "nonsense"})", "upstream_invalid"},
      {"/v1/routes/a.localhost", R"({"upstream": "3000", "host": "b.localhost"})", "bad_request"},
      {"/v1/routes/a.localhost", R"({"upstream": "3000", "hots": "b.localhost"})", "bad_request"},
      {"/v1/routes/a%20b", R"({"upstream": "3000"})", "host_invalid"},
      {"/v1/routes/a%2", R"({"upstream": "3000"})", "bad_request"},
      {"/v1/routes/a.localhost?x=y", R"({"upstream": "3000"})", "bad_request"},
  };
  for (const BadPut& row : cases) expect_problem(call("PUT", row.target, row.body), 400, row.id);
  expect_problem(call("PUT", "/v1/routes/a", R"({"upstream": "3000"})", "text/plain"), 415, "bad_request");
  expect_problem(call("PUT", "/v1/routes/a", R"({"upstream": "3000"})", ""), 415, "bad_request");
  EXPECT_EQ(call("PUT", "/v1/routes/a", R"({"upstream": "3000"})", "Application/JSON; charset=utf-8").status,
            200U);
  EXPECT_EQ(actions_.stored_routes.routes.size(), 1U);
}

struct StoreFailure {
  ErrorKind kind;
  std::string id;
  unsigned status;
};

TEST_F(ControlApiTest, TheStoresRefusalsKeepTheirIds) {
  const std::vector<StoreFailure> cases = {{ErrorKind::conflict, "route_conflict", 409},
                                           {ErrorKind::no_space, "disk_full", 507},
                                           {ErrorKind::busy, "busy", 503},
                                           {ErrorKind::corrupt, "state_unreadable", 500},
                                           {ErrorKind::unsupported, "state_newer", 500}};
  for (const StoreFailure& row : cases) {
    actions_.stored_routes.failure = Error(row.kind, "no").with_id(row.id);
    expect_problem(call("PUT", "/v1/routes/a", R"({"upstream": "3000"})"), row.status, row.id);
    expect_problem(call("DELETE", "/v1/routes/a"), row.status, row.id);
  }
  actions_.has_store = false;
  expect_problem(call("PUT", "/v1/routes/a", R"({"upstream": "3000"})"), 503, "state_unreadable");
  EXPECT_EQ(actions_.refreshes, 0);
}

TEST_F(ControlApiTest, OtherMethodsAndPlacesAreRefused) {
  const std::vector<std::pair<std::string, std::string>> allowed = {
      {"/v1/status", "GET"},   {"/v1/routes", "GET"},   {"/v1/routes/a", "GET, PUT, DELETE"},
      {"/v1/refresh", "POST"}, {"/v1/metrics", "GET"},  {"/v1/activity", "GET"},
      {"/v1/events", "GET"},   {"/v1/takeover", "POST"}};
  for (const auto& [target, methods] : allowed) {
    const ApiAnswer answer = call("PATCH", target);
    expect_problem(answer, 405, "bad_request");
    EXPECT_EQ(answer.allow, methods);
  }
  for (const std::string target : {"/", "", "/v1", "/v1/routes/", "/v2/status", "*", "/v1/status/x"}) {
    expect_problem(call("GET", target), 404, "bad_request");
  }
}

TEST_F(ControlApiTest, ABodyThatIsNoJsonIsToldWhereItStopsToBe) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"upstream\": oops}", "line 1, column 14"},
      {"{\n\n  \"upstream\" \"3000\"}", "line 3, column 19"},
      {"", "line 1, column 1"},
      {std::string(100'000, '['), "line 1, column 100001"},
      {"{\"n\": 1e9999}", "too large"},
  };
  for (const auto& [body, where] : cases) {
    const ApiAnswer answer = call("PUT", "/v1/routes/a", body);
    expect_problem(answer, 400, "bad_request");
    EXPECT_NE(answer.body.find(where), std::string::npos) << answer.body;
  }
}

TEST_F(ControlApiTest, ActivityNamesWorktreesAndWhatIsOpen) {
  WorktreeTotals& alpha = actions_.counted.traffic["alpha"];
  alpha.by_class = {1, 20, 0, 3, 0};
  alpha.requests_open = 2;
  alpha.tunnels_open = 1;
  alpha.last_request_seconds = 1'700'000'000;
  actions_.counted.traffic["beta"];
  actions_.counted.traffic["_unrouted"].by_class[3] = 9;
  const json list = json::parse(call("GET", "/v1/activity").body).at("worktrees");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0], json({{"worktree", "alpha"},
                           {"requests", 24},
                           {"requests_open", 2},
                           {"tunnels_open", 1},
                           {"last_request", "2023-11-14T22:13:20Z"}}));
  EXPECT_TRUE(list[1].at("last_request").is_null());
}

TEST_F(ControlApiTest, MetricsAreTextForPrometheus) {
  actions_.counted.workers = 3;
  const ApiAnswer answer = call("GET", "/v1/metrics");
  EXPECT_EQ(answer.status, 200U);
  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(answer.body.find("\nhedge_workers 3\n"), std::string::npos);
}

TEST_F(ControlApiTest, HostileBytesComeBackEscaped) {
  const ApiAnswer answer = call("GET", "/\xff\xfe\x01");
  EXPECT_EQ(answer.status, 404U);
  EXPECT_TRUE(json::accept(answer.body)) << answer.body;
}

}  // namespace
}  // namespace hedge::proxy
