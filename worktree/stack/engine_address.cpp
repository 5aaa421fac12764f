#include "worktree/stack/engine_address.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace {

using Json = nlohmann::json;

constexpr const char* kDefaultSocket = "/var/run/docker.sock";
constexpr std::uint16_t kDefaultPort = 2375;

std::string variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

Error invalid(const std::string& text) {
  return Error(ErrorKind::invalid_input, "not an engine address: " + printable(text))
      .with_id("engine_address_invalid")
      .with_hint("unix:///path/to/docker.sock or tcp://host:port");
}

Result<HttpAddress> parse_tcp(std::string_view rest, const std::string& whole) {
  rest = rest.substr(0, rest.find('/'));
  const auto colon = rest.rfind(':');
  if (rest.empty() || colon == 0) return invalid(whole);
  if (colon == std::string_view::npos) return HttpAddress(TcpAddress{std::string(rest), kDefaultPort});
  const auto port = parse_number<std::uint16_t>(rest.substr(colon + 1));
  if (!port || *port == 0) return invalid(whole);
  return HttpAddress(TcpAddress{std::string(rest.substr(0, colon)), *port});
}

Result<HttpAddress> parse_address(const std::string& text) {
  constexpr std::string_view kUnix = "unix://", kTcp = "tcp://";
  if (text.starts_with(kUnix) && text.size() > kUnix.size())
    return HttpAddress(UnixAddress{text.substr(kUnix.size())});
  if (text.starts_with(kTcp)) return parse_tcp(std::string_view(text).substr(kTcp.size()), text);
  if (text.starts_with("ssh://") || text.starts_with("https://")) {
    return Error(ErrorKind::unsupported, "an engine behind " + printable(text) + " is not supported")
        .with_id("engine_unsupported");
  }
  return invalid(text);
}

std::filesystem::path docker_directory(const Environment& environment) {
  if (const auto configured = variable(environment, "DOCKER_CONFIG"); !configured.empty()) return configured;
  return std::filesystem::path(variable(environment, "HOME")) / ".docker";
}

// A text below nested keys of a JSON file; empty if the file or the text is not there.
std::string text_in(const std::filesystem::path& file, const std::vector<std::string>& keys) {
  const auto content = read_file(file);
  if (!content) return {};
  Json json = Json::parse(*content, nullptr, false);
  for (const std::string& key : keys) {
    if (!json.is_object() || !json.contains(key)) return {};
    json = Json(json[key]);
  }
  return json.is_string() ? json.get<std::string>() : std::string();
}

// The address that the docker command keeps for a context. Source: docker/cli, cli/context/store.
std::string context_host(const std::filesystem::path& directory, const std::string& name) {
  const auto file = directory / "contexts" / "meta" / to_hex(sha256(name)) / "meta.json";
  return text_in(file, {"Endpoints", "docker", "Host"});
}

}  // namespace

Result<EngineAddress> find_engine_address(const Environment& environment) {
  EngineAddress out{UnixAddress{kDefaultSocket}, EngineOrigin::default_socket,
                    "unix://" + std::string(kDefaultSocket)};
  if (const std::string host = variable(environment, "DOCKER_HOST"); !host.empty()) {
    out.origin = EngineOrigin::host_variable;
    out.text = host;
  } else {
    const auto directory = docker_directory(environment);
    std::string context = variable(environment, "DOCKER_CONTEXT");
    if (context.empty()) context = text_in(directory / "config.json", {"currentContext"});
    if (context.empty() || context == "default") return out;
    out.origin = EngineOrigin::context;
    out.text = context_host(directory, context);
    if (out.text.empty()) {
      return Error(ErrorKind::invalid_input, "the docker context " + printable(context) + " has no address")
          .with_id("engine_address_invalid");
    }
  }
  auto address = parse_address(out.text);
  if (!address) return address.error();
  out.address = std::move(*address);
  return out;
}

}  // namespace hedge::worktree
