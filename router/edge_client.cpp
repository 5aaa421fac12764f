#include "router/edge_client.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/http_client.h"
#include "base/text.h"
#include "router/route_json.h"

namespace hedge::router {
namespace {

constexpr std::string_view kNoteName = "edge-control";
// 100,000 routes are 15 MB of JSON.
constexpr std::uint64_t kMaxAnswerBytes = 64U << 20;

Error unresponsive(std::string what) {
  return Error(ErrorKind::io, "the edge gave an answer that is not understood: " + std::move(what))
      .with_id("edge_unresponsive");
}

Error connection_error(Error error) {
  switch (error.kind()) {
    case ErrorKind::not_found:
    case ErrorKind::unavailable:
      return Error(ErrorKind::unavailable, "the edge is not running")
          .with_id("edge_not_running")
          .with_hint("start it with `hedge edge start`")
          .with_cause(std::move(error));
    case ErrorKind::permission:
    case ErrorKind::invalid_input:
      return std::move(error).with_context("ask the edge");
    default:
      return std::move(error).with_context("ask the edge").with_id("edge_unresponsive");
  }
}

// The detail of a problem+json body, or the status alone.
Error refusal(const HttpResponse& response) {
  const auto body = nlohmann::json::parse(response.body, nullptr, false);
  std::string detail = "status " + std::to_string(response.status);
  std::string id;
  if (body.is_object()) {
    if (body.contains("detail") && body["detail"].is_string()) detail = body["detail"].get<std::string>();
    if (body.contains("id") && body["id"].is_string()) id = body["id"].get<std::string>();
  }
  return Error(ErrorKind::refused, "the edge refused: " + detail)
      .with_id(id.empty() ? "edge_unresponsive" : id);
}

Result<nlohmann::json> call(const std::filesystem::path& socket, const HttpRequest& request,
                            std::chrono::milliseconds limit) {
  auto response = http_fetch(UnixAddress{socket}, request, limit, kMaxAnswerBytes);
  if (!response) return connection_error(std::move(response).error());
  if (response->status >= 300) return refusal(*response);
  if (response->body.empty()) return nlohmann::json();
  auto body = nlohmann::json::parse(response->body, nullptr, false);
  if (body.is_discarded()) return unresponsive("not JSON");
  return body;
}

// Members that are missing or of another type keep their default: an older or newer edge is still worth
// asking.
template <class T>
void read_number(const nlohmann::json& value, const char* name, T& out) {
  const auto found = value.find(name);
  if (found != value.end() && found->is_number_integer()) out = found->get<T>();
}

void read_text(const nlohmann::json& value, const char* name, std::string& out) {
  const auto found = value.find(name);
  if (found != value.end() && found->is_string()) out = found->get<std::string>();
}

EdgeListener listener_from(const nlohmann::json& value) {
  EdgeListener listener;
  if (!value.is_object()) return listener;
  read_text(value, "scheme", listener.scheme);
  read_text(value, "address", listener.address);
  read_number(value, "port", listener.port);
  return listener;
}

}  // namespace

EdgeClient::EdgeClient(std::filesystem::path control_socket, std::chrono::milliseconds limit)
    : control_socket_(std::move(control_socket)), limit_(limit) {}

Result<EdgeStatus> EdgeClient::fetch_status() const {
  HttpRequest request;
  request.target = "/v1/status";
  auto body = call(control_socket_, request, limit_);
  if (!body) return body.error();
  if (!body->is_object()) return unresponsive("status is not an object");
  EdgeStatus status;
  read_number(*body, "pid", status.pid);
  read_text(*body, "version", status.version);
  read_text(*body, "state_directory", status.state_directory);
  std::int64_t uptime = 0;
  read_number(*body, "uptime_seconds", uptime);
  status.uptime = std::chrono::seconds(uptime);
  read_number(*body, "workers", status.workers);
  read_number(*body, "connections", status.connections);
  read_number(*body, "routes", status.routes);
  for (const auto& listener : body->value("listeners", nlohmann::json::array())) {
    status.listeners.push_back(listener_from(listener));
  }
  for (const auto& warning : body->value("warnings", nlohmann::json::array())) {
    if (warning.is_string()) status.warnings.push_back(warning.get<std::string>());
  }
  return status;
}

Result<std::vector<Route>> EdgeClient::fetch_routes() const {
  HttpRequest request;
  request.target = "/v1/routes";
  auto body = call(control_socket_, request, limit_);
  if (!body) return body.error();
  const auto list = body->is_object() ? body->find("routes") : body->end();
  if (list == body->end() || !list->is_array()) return unresponsive("no list of routes");
  std::vector<Route> routes;
  for (auto& entry : *list) {
    // Where the route comes from is the edge's affair.
    if (entry.is_object()) entry.erase("static");
    auto route = route_from_json(entry);
    if (!route) return unresponsive(route.error().to_string());
    routes.push_back(std::move(*route));
  }
  return routes;
}

Result<bool> EdgeClient::fetch_is_static(const std::string& host) const {
  HttpRequest request;
  request.target = "/v1/routes/" + host;  // a canonical host has nothing to escape
  const auto body = call(control_socket_, request, limit_);
  if (!body && body.error().id() == "route_unknown") return false;
  if (!body) return body.error();
  if (!body->is_object()) return unresponsive("no route");
  const auto is_static = body->find("static");
  return is_static != body->end() && is_static->is_boolean() && is_static->get<bool>();
}

Result<PokeResult> EdgeClient::poke() const {
  HttpRequest request;
  request.method = "POST";
  request.target = "/v1/refresh";
  const auto body = call(control_socket_, request, limit_);
  if (body) return PokeResult::delivered;
  if (body.error().id() == "edge_not_running") return PokeResult::edge_is_down;
  return body.error();
}

std::filesystem::path find_control_socket(const std::filesystem::path& state,
                                          const std::filesystem::path& standard) {
  constexpr std::size_t kMaxNoteBytes = 4096;
  const auto note = read_file(state / kNoteName, kMaxNoteBytes);
  if (!note) return standard;
  const std::filesystem::path noted(trim(*note));
  return noted.is_absolute() ? noted : standard;
}

Result<void> note_control_socket(const std::filesystem::path& state, const std::filesystem::path& socket) {
  return write_file_atomically(state / kNoteName, socket.string() + "\n", 0600);
}

Result<void> forget_control_socket(const std::filesystem::path& state) {
  return remove_file(state / kNoteName);
}

std::filesystem::path edge_lock(const std::filesystem::path& state) {
  return state / "edge.lock";
}

Result<void> require_no_edge(const std::filesystem::path& state, std::chrono::milliseconds limit) {
  // Looking makes nothing: a file of this user's would keep an edge of the directory's owner from its lock.
  if (!path_exists(edge_lock(state))) return {};
  // Shared, so that two commands that ask at once do not take each other for an edge.
  const auto lock = FileLock::acquire(edge_lock(state), FileLock::Mode::shared, limit);
  if (lock || lock.error().kind() != ErrorKind::busy) return {};
  Error error(ErrorKind::io, "an edge runs for " + state.string() +
                                 ", but its control socket is gone or another edge's");
  for (const std::string& hint : lock.error().hints()) error = std::move(error).with_hint(hint);
  return std::move(error).with_id("edge_unresponsive").with_hint("end that process, then start the edge again");
}

}  // namespace hedge::router
