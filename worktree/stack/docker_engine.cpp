#include "worktree/stack/docker_engine.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hedge::worktree {
namespace {

using Json = nlohmann::json;

constexpr int kOldestMinor = 40;  // Docker 19.03
constexpr int kNewestMinor = 47;  // what this was written against; newer engines still speak it
constexpr std::size_t kShortIdBytes = 12;

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_ascii_alnum(c) || c == '-' || c == '_' || c == '.' || c == ':' || c == '@') {
      out.push_back(c);
    } else {
      out += "%" + to_hex(std::string(1, c));
    }
  }
  return out;
}

std::string label_filter(const Labels& labels) {
  Json wanted = Json::array();
  for (const auto& [name, value] : labels) wanted.push_back(value.empty() ? name : name + "=" + value);
  return percent_encode(Json({{"label", wanted}}).dump());
}

// The engine's answers are not ours: a field of another shape reads as absent.
std::string text_at(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>()
                                                                         : std::string();
}

const Json& object_at(const Json& json, const char* key) {
  static const Json kEmpty = Json::object();
  return json.is_object() && json.contains(key) && json[key].is_object() ? json[key] : kEmpty;
}

const Json& array_at(const Json& json, const char* key) {
  static const Json kEmpty = Json::array();
  return json.is_object() && json.contains(key) && json[key].is_array() ? json[key] : kEmpty;
}

Labels labels_of(const Json& json) {
  Labels out;
  for (const auto& [name, value] : object_at(json, "Labels").items()) {
    if (value.is_string()) out.emplace(name, value.get<std::string>());
  }
  return out;
}

std::vector<std::string> texts_at(const Json& json, const char* key) {
  std::vector<std::string> out;
  for (const Json& text : array_at(json, key)) {
    if (text.is_string()) out.push_back(text);
  }
  return out;
}

// Older engines add the short id to what was asked for.
Endpoint endpoint_of(const Json& network, const std::string& id) {
  Endpoint out{texts_at(network, "Aliases"), texts_at(network, "Links")};
  std::erase(out.aliases, id.substr(0, kShortIdBytes));
  return out;
}

bool have_same(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
}

// Of "NAME=value" lines; a name alone has no value in the container.
Environment environment_of(const Json& config) {
  Environment out;
  if (!config.contains("Env") || !config["Env"].is_array()) return out;
  for (const Json& line : config["Env"]) {
    if (!line.is_string()) continue;
    const std::string text = line.get<std::string>();
    const auto equals = text.find('=');
    if (equals != std::string::npos) out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

ContainerFacts facts_of(const Json& json) {
  ContainerFacts facts;
  facts.id = text_at(json, "Id");
  facts.name = text_at(json, "Name");
  if (facts.name.starts_with('/')) facts.name.erase(0, 1);
  const Json& state = object_at(json, "State");
  facts.state = text_at(state, "Status");
  if (state.contains("ExitCode") && state["ExitCode"].is_number_integer())
    facts.exit_code = state["ExitCode"].get<int>();
  facts.labels = labels_of(object_at(json, "Config"));
  facts.environment = environment_of(object_at(json, "Config"));
  for (const auto& [name, network] : object_at(object_at(json, "NetworkSettings"), "Networks").items()) {
    facts.networks[name] = endpoint_of(network, facts.id);
  }
  return facts;
}

Error from_answer(const HttpResponse& answer, const std::string& target) {
  const std::string said = text_at(Json::parse(answer.body, nullptr, false), "message");
  constexpr unsigned kForbidden = 403, kConflict = 409;
  const bool in_use = answer.status == kConflict || answer.status == kForbidden;
  return {in_use ? ErrorKind::conflict : ErrorKind::io,
          "the engine answers " + std::to_string(answer.status) + " to " +
              target.substr(0, target.find('?')) + (said.empty() ? std::string() : ": " + printable(said))};
}

}  // namespace

std::string ContainerFacts::service() const {
  const auto found = labels.find("com.docker.compose.service");
  return found == labels.end() ? std::string() : found->second;
}

Result<DockerEngine> DockerEngine::connect(const EngineFacts& facts) {
  const std::string_view version = facts.api_version;
  const auto minor = version.starts_with("1.") ? parse_number<int>(version.substr(2)) : std::nullopt;
  if (!minor || *minor < kOldestMinor) {
    return Error(ErrorKind::unsupported, "the engine speaks API version " + printable(version) + "; 1." +
                                             std::to_string(kOldestMinor) + " is needed")
        .with_id("engine_unsupported");
  }
  return DockerEngine(facts.address.address, "/v1." + std::to_string(std::min(*minor, kNewestMinor)));
}

Result<HttpResponse> DockerEngine::call(std::string method, const std::string& target, std::string body,
                                        std::chrono::milliseconds limit) {
  HttpRequest request;
  request.method = std::move(method);
  request.target = prefix_ + target;
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  auto answer = http_fetch(address_, request, limit);
  if (!answer) return std::move(answer).error().with_context("ask the container engine");
  return answer;
}

Result<HttpResponse> DockerEngine::require(std::initializer_list<unsigned> expected, std::string method,
                                           const std::string& target, std::string body,
                                           std::chrono::milliseconds limit) {
  auto answer = call(std::move(method), target, std::move(body), limit);
  if (!answer) return answer;
  if (std::find(expected.begin(), expected.end(), answer->status) == expected.end())
    return from_answer(*answer, target);
  return answer;
}

Result<std::optional<ContainerFacts>> DockerEngine::inspect(const std::string& id) {
  const auto answer = require({200, 404}, "GET", "/containers/" + percent_encode(id) + "/json");
  if (!answer) return answer.error();
  if (answer->status == 404) return std::optional<ContainerFacts>();
  return std::optional<ContainerFacts>(facts_of(Json::parse(answer->body, nullptr, false)));
}

Result<std::vector<ContainerFacts>> DockerEngine::fetch_containers(const Labels& labels) {
  return fetch_filtered(label_filter(labels));
}

Result<std::vector<ContainerFacts>> DockerEngine::fetch_attached(const std::string& network) {
  return fetch_filtered(percent_encode(Json({{"network", Json::array({network})}}).dump()));
}

Result<std::vector<ContainerFacts>> DockerEngine::fetch_filtered(const std::string& filters) {
  const auto answer = require({200}, "GET", "/containers/json?all=1&filters=" + filters);
  if (!answer) return answer.error();
  std::vector<ContainerFacts> out;
  for (const Json& listed : Json::parse(answer->body, nullptr, false)) {
    auto container = inspect(text_at(listed, "Id"));
    if (!container) return container.error();
    if (*container) out.push_back(std::move(**container));  // it may have gone in between
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

Result<void> DockerEngine::stop_container(std::string_view id, std::chrono::seconds grace) {
  const std::string target = "/containers/" + percent_encode(id) + "/stop?t=" + std::to_string(grace.count());
  const auto answer = require({204, 304, 404}, "POST", target, {}, grace + std::chrono::seconds(20));
  if (!answer) return answer.error();
  return {};
}

Result<void> DockerEngine::remove_container(std::string_view id) {
  const auto answer = require({204, 404}, "DELETE", "/containers/" + percent_encode(id) + "?v=1&force=1");
  if (!answer) return answer.error();
  return {};
}

Result<std::vector<std::string>> DockerEngine::fetch_networks(const Labels& labels) {
  const auto answer = require({200}, "GET", "/networks?filters=" + label_filter(labels));
  if (!answer) return answer.error();
  std::vector<std::string> out;
  for (const Json& network : Json::parse(answer->body, nullptr, false)) out.push_back(text_at(network, "Id"));
  return out;
}

Result<std::vector<std::string>> DockerEngine::fetch_volumes(const Labels& labels) {
  const auto answer = require({200}, "GET", "/volumes?filters=" + label_filter(labels));
  if (!answer) return answer.error();
  const Json json = Json::parse(answer->body, nullptr, false);
  std::vector<std::string> out;
  for (const Json& volume : array_at(json, "Volumes")) out.push_back(text_at(volume, "Name"));
  return out;
}

Result<void> DockerEngine::remove_network(std::string_view id) {
  const auto answer = require({204, 404}, "DELETE", "/networks/" + percent_encode(id));
  if (!answer) return answer.error();
  return {};
}

Result<void> DockerEngine::remove_volume(std::string_view name) {
  const auto answer = require({204, 404}, "DELETE", "/volumes/" + percent_encode(name));
  if (!answer) return answer.error();
  return {};
}

Result<bool> DockerEngine::has_image(const std::string& name) {
  // A name may hold slashes, which the engine's router takes as they are.
  std::string path;
  for (const std::string_view part : split(name, '/'))
    path += (path.empty() ? "" : "/") + percent_encode(part);
  const auto answer = require({200, 404}, "GET", "/images/" + path + "/json");
  if (!answer) return answer.error();
  return answer->status == 200;
}

Result<bool> DockerEngine::ensure_network(const std::string& name, const Labels& labels) {
  const auto present = require({200, 404}, "GET", "/networks/" + percent_encode(name));
  if (!present) return present.error();
  // The engine also finds networks by the beginning of their id.
  const bool is_there =
      present->status == 200 && text_at(Json::parse(present->body, nullptr, false), "Name") == name;
  if (is_there) return false;
  const Json wanted = {{"Name", name}, {"CheckDuplicate", true}, {"Driver", "bridge"}, {"Labels", labels}};
  auto made = require({201, 409}, "POST", "/networks/create", wanted.dump());
  if (!made) return explain_pool_exhaustion(std::move(made).error());
  return made->status == 201;
}

Result<std::string> DockerEngine::fetch_gateway(const std::string& network) {
  const auto answer = require({200}, "GET", "/networks/" + percent_encode(network));
  if (!answer) return answer.error();
  const Json json = Json::parse(answer->body, nullptr, false);
  const Json& ipam = object_at(json, "IPAM");
  if (!ipam.contains("Config") || !ipam["Config"].is_array()) return std::string();
  for (const Json& range : ipam["Config"]) {
    std::string gateway = text_at(range, "Gateway");
    if (gateway.find('.') != std::string::npos) return gateway;
  }
  return std::string();
}

Result<bool> DockerEngine::ensure_attached(const std::string& network, const ContainerFacts& container,
                                           const Endpoint& wanted) {
  const std::string target = "/networks/" + percent_encode(network);
  if (const auto present = container.networks.find(network); present != container.networks.end()) {
    if (have_same(present->second.aliases, wanted.aliases) && have_same(present->second.links, wanted.links)) return false;
    const Json detach = {{"Container", container.id}, {"Force", true}};
    if (const auto gone = require({200, 404}, "POST", target + "/disconnect", detach.dump()); !gone)
      return gone.error();
  }
  const Json attach = {{"Container", container.id}, {"EndpointConfig", {{"Aliases", wanted.aliases}, {"Links", wanted.links}}}};
  if (const auto attached = require({200}, "POST", target + "/connect", attach.dump()); !attached)
    return attached.error();
  return true;
}

Error explain_pool_exhaustion(Error error) {
  // The engine has no code for it; these are the words of its two generations.
  const bool is_exhausted =
      error.to_string().find("non-overlapping IPv4 address pool") != std::string::npos ||
      error.to_string().find("address pools have been fully subnetted") != std::string::npos;
  if (!is_exhausted) return error;
  return Error(ErrorKind::no_space, "the engine has no address range left for another network")
      .with_id("docker_network_pool_exhausted")
      .with_hint("hedge gc removes what nobody uses; docker network prune the rest")
      .with_cause(std::move(error));
}

}  // namespace hedge::worktree
