#include "cli/edge_access.h"

#include <string>

#include <nlohmann/json.hpp>

namespace hedge::cli {
namespace {

std::string url_of(const router::EdgeListener& listener) {
  const bool is_ipv6 = listener.address.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + listener.address + "]" : listener.address;
  return listener.scheme + "://" + host + ":" + std::to_string(listener.port);
}

}  // namespace

Result<router::EdgeClient> edge_client(Services& services) {
  const auto paths = services.paths();
  if (!paths) return paths.error();
  return router::EdgeClient(router::find_control_socket(paths->state, paths->control_socket()));
}

Result<router::EdgeStatus> fetch_status(Services& services, std::chrono::milliseconds ending_limit) {
  const auto paths = services.paths();
  if (!paths) return paths.error();
  const auto client = edge_client(services);
  if (!client) return client.error();
  auto status = client->fetch_status();
  if (status || status.error().kind() != ErrorKind::unavailable) return status;
  if (auto none = router::require_no_edge(paths->state, ending_limit); !none) return none.error();
  return status;
}

std::string_view to_string(EdgeNotice notice) {
  switch (notice) {
    case EdgeNotice::told:
      return "told";
    case EdgeNotice::is_down:
      return "not_running";
    case EdgeNotice::will_look_itself:
      return "not_told";
  }
  return "not_told";
}

EdgeNotice tell_edge(Services& services) {
  const auto client = edge_client(services);
  if (!client) return EdgeNotice::will_look_itself;
  const auto poked = client->poke();
  if (!poked) {
    services.output().warn("the edge could not be told and will look within a second: " +
                           poked.error().to_string());
    return EdgeNotice::will_look_itself;
  }
  if (*poked == router::PokeResult::delivered) return EdgeNotice::told;
  services.output().progress("no edge is running; it will read this when it starts (hedge edge start)");
  return EdgeNotice::is_down;
}

nlohmann::json status_to_json(const router::EdgeStatus& status) {
  nlohmann::json listeners = nlohmann::json::array();
  for (const router::EdgeListener& listener : status.listeners) {
    listeners.push_back(
        {{"scheme", listener.scheme}, {"address", listener.address}, {"port", listener.port}});
  }
  return {{"pid", status.pid},
          {"version", status.version},
          {"state_directory", status.state_directory},
          {"uptime_seconds", status.uptime.count()},
          {"workers", status.workers},
          {"connections", status.connections},
          {"routes", status.routes},
          {"listeners", listeners},
          {"warnings", status.warnings}};
}

void print_status(Output& output, const router::EdgeStatus& status) {
  output.line("edge " + status.version + ", process " + std::to_string(status.pid) + ", up " +
              std::to_string(status.uptime.count()) + " s");
  for (const router::EdgeListener& listener : status.listeners) output.line("  " + url_of(listener));
  output.line("  " + std::to_string(status.routes) + " routes, " + std::to_string(status.connections) +
              " connections, " + std::to_string(status.workers) + " workers");
  for (const std::string& warning : status.warnings) output.warn(warning);
}

}  // namespace hedge::cli
