// The control API asked with arbitrary bytes: METHOD, target, content type and body, a line each. Every answer
// is one that the API's description has, and its body is JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proxy/control/control_api.h"
#include "tests/fuzz/require.h"

namespace hedge::proxy {
namespace {

using router::Route;
using router::RouteTable;

class MemoryStore final : public router::RouteStore {
 public:
  Result<router::LoadedRoutes> load_all() override {
    router::LoadedRoutes loaded;
    for (const auto& [host, route] : routes_) loaded.routes.push_back(route);
    return loaded;
  }
  Result<void> put(const Route& route) override {
    routes_[route.host] = route;
    return {};
  }
  Result<bool> remove(std::string_view host, std::string_view /*worktree*/) override {
    return routes_.erase(std::string(host)) > 0;
  }
  Result<int> set_state(std::string_view, router::RouteState) override { return 0; }
  Result<std::int64_t> version() override { return 0; }

 private:
  std::map<std::string, Route> routes_;
};

class Actions final : public ControlActions {
 public:
  std::optional<Error> begin_handover() override { return Error(ErrorKind::busy, "not here").with_id("busy"); }
  bool end_handover(bool /*taken_over*/) override { return false; }
  ManagedEdge& edge() override { std::abort(); }
  int claim_descriptor() const override { return -1; }
  void refresh() override { table_ = RouteTable::build(store_.load_all().value().routes); }
  router::RouteStore* store() override { return &store_; }
  bool is_static(std::string_view host) const override { return host == "fixed.localhost"; }
  const RouteTable& table() const override { return *table_; }
  std::vector<std::string> warnings() const override { return {}; }
  EdgeFacts facts() const override { return {}; }
  EdgeMetrics metrics() const override { return {}; }
  ControlMetrics control_metrics() const override { return {}; }
  std::chrono::seconds uptime() const override { return std::chrono::seconds(1); }
  std::string state_directory() const override { return "/state"; }

 private:
  MemoryStore store_;
  std::shared_ptr<const RouteTable> table_ = RouteTable::build({});
};

std::string take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  return std::string(line);
}

void check(std::string_view text) {
  ApiRequest request;
  request.method = take_line(text);
  request.target = take_line(text);
  request.content_type = take_line(text);
  request.body = std::string(text);
  Actions actions;
  // Twice, so that the second finds what the first has made.
  for (int i = 0; i < 2; ++i) {
    const ApiAnswer answer = answer_api(request, actions);
    test::require(answer.status >= 200 && answer.status < 600, "the status is one");
    test::require(answer.body.empty() == (answer.status == 204), "only 204 has no body");
    if (answer.content_type.find("json") == std::string::npos) continue;
    test::require(answer.body.empty() || nlohmann::json::accept(answer.body), "the body is JSON");
    if (answer.status >= 400)
      test::require(nlohmann::json::parse(answer.body).contains("id"), "a refusal has its id");
  }
}

}  // namespace
}  // namespace hedge::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size <= 8192) hedge::proxy::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
