#include "proxy/control/docker_event.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "proxy/control/percent_encoding.h"

namespace hedge::proxy {
namespace {

using nlohmann::json;

std::string text(const json& value, const char* name) {
  const auto found = value.is_object() ? value.find(name) : value.end();
  return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string docker_events_path() {
  const json filters = {
      {"type", {"container", "network"}},
      {"event", {"start", "die", "destroy", "pause", "unpause", "rename", "connect", "disconnect"}}};
  return "/events?filters=" + percent_encode(filters.dump());
}

std::optional<DockerEvent> parse_docker_event(std::string_view line) {
  const json event = json::parse(line, nullptr, false);
  if (!event.is_object()) return std::nullopt;
  const std::string type = text(event, "Type");
  const std::string action = text(event, "Action");
  const json actor = event.value("Actor", json::object());
  if (type == "network") {
    const json attributes = actor.is_object() ? actor.value("Attributes", json::object()) : json::object();
    const std::string container = text(attributes, "container");
    if (action == "connect") return DockerEvent{DockerChange::altered, container};
    if (action == "disconnect" && !container.empty()) return DockerEvent{DockerChange::ended, container};
    return std::nullopt;
  }
  if (type != "container") return std::nullopt;
  const std::string id = text(actor, "ID");
  if ((action == "die" || action == "destroy") && !id.empty()) return DockerEvent{DockerChange::ended, id};
  if (action == "start" || action == "pause" || action == "unpause" || action == "rename") {
    return DockerEvent{DockerChange::altered, id};
  }
  return std::nullopt;
}

bool LineSplitter::add(std::string_view bytes) {
  pending_.erase(0, consumed_);
  consumed_ = 0;
  pending_ += bytes;
  // Only the new bytes are looked at: a long line arrives in many pieces.
  const auto last_end = bytes.rfind('\n');
  open_ = last_end == std::string_view::npos ? open_ + bytes.size() : bytes.size() - last_end - 1;
  return open_ <= kLongestLine;
}

std::optional<std::string> LineSplitter::next() {
  const auto end = pending_.find('\n', consumed_);
  if (end == std::string::npos) return std::nullopt;
  std::string line(trim(std::string_view(pending_).substr(consumed_, end - consumed_)));
  consumed_ = end + 1;
  return line;
}

}  // namespace hedge::proxy
