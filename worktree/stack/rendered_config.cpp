#include "worktree/stack/rendered_config.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "worktree/stack/compose_mounts.h"
#include "worktree/stack/compose_yaml.h"

namespace hedge::worktree {
namespace {

using Json = nlohmann::json;

Error invalid(const std::string& what) {
  return Error(ErrorKind::invalid_input, what).with_id("compose_file_invalid");
}

Json& object_at(Json& json, const std::string& key) {
  if (!json.contains(key) || !json[key].is_object()) json[key] = Json::object();
  return json[key];
}

// Compose interpolates the generated file once more.
std::string escape_dollar(const std::string& text) {
  return replace_all(text, "$", "$$");
}

bool is_external(const Json& resource) {
  return resource.is_object() && resource.contains("external") && resource["external"] != Json(false);
}

bool is_inside_main(const std::filesystem::path& path, const RenderRequest& request) {
  const auto source = request.checkout / path;
  if (request.main_checkout.empty() || !is_within(source, request.main_checkout)) return false;
  const bool is_trust = !request.trust_directory.empty() && is_within(source, request.trust_directory);
  return !is_trust && !is_within(source, request.checkout) && !is_within(source, request.git_common_dir);
}

// Compose's older files have the name inside of `external`.
std::string external_name(const std::string& key, const Json& resource) {
  if (resource["external"].is_object() && resource["external"].contains("name")) return resource["external"]["name"];
  return resource.contains("name") && resource["name"].is_string() ? resource["name"].get<std::string>() : key;
}

// Which networks a service is on; Compose puts it on `default` if it says nothing.
std::vector<std::string> network_keys(const Json& service) {
  std::vector<std::string> out;
  if (service.contains("network_mode")) return out;
  const Json networks = service.value("networks", Json());
  if (networks.is_array()) return networks.get<std::vector<std::string>>();
  if (networks.is_object()) {
    for (const auto& [key, options] : networks.items()) out.push_back(key);
  }
  if (out.empty()) out.emplace_back("default");
  return out;
}

// A named volume may be a bind in disguise: the host path that it stands for; empty if it does not.
std::string device_of(const Json& volume) {
  if (!volume.is_object() || !volume.contains("driver_opts") || !volume["driver_opts"].is_object()) return {};
  const Json& options = volume["driver_opts"];
  if (!options.contains("device") || !options["device"].is_string()) return {};
  // With type nfs and the like it is not a path of this machine.
  const std::string kind = options.contains("type") && options["type"].is_string() ? options["type"] : Json("none");
  const std::string how = options.contains("o") && options["o"].is_string() ? options["o"] : Json("");
  const bool is_bind = kind == "none" || kind == "bind" || how.find("bind") != std::string::npos;
  return is_bind ? options["device"].get<std::string>() : std::string();
}

class Renderer {
 public:
  Renderer(Json config, const RenderRequest& request) : config_(std::move(config)), request_(request) {}

  Result<RenderedConfig> render() {
    if (!config_.is_object() || !config_.contains("services") || !config_["services"].is_object()) {
      return invalid("the compose files have no services");
    }
    if (auto known = require_services(); !known) return known.error();
    if (request_.compose.major >= 2) config_["name"] = request_.project;
    for (auto& [name, service] : config_["services"].items()) {
      if (!service.is_object()) return invalid("service " + name + " is not a map");
      adapt(name, service);
      describe(name, service);
    }
    check_files("configs");
    check_files("secrets");
    check_volumes();
    leave_shared_names();
    if (!problems_.empty()) return refusal();
    label_resources("volumes");
    name_default_network();
    label_resources("networks");
    out_.text = config_.dump(2) + "\n";
    return std::move(out_);
  }

 private:
  bool is_application(const std::string& name) const {
    return std::find(request_.services.begin(), request_.services.end(), name) != request_.services.end();
  }

  Result<void> require_services() const {
    std::vector<std::string> known;
    for (const auto& [name, service] : config_["services"].items()) known.push_back(name);
    for (const std::string& name : request_.services) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      return Error(ErrorKind::not_found, "the compose files have no service " + printable(name))
          .with_id("service_unknown")
          .with_hint("their services are " + join(known, ", "));
    }
    return {};
  }

  void adapt(const std::string& name, Json& service) {
    object_at(service, "labels").update(labels());
    make_harmless(name, service);
    if (is_application(name)) make_application(service);
  }

  // What would clash with another stack, or come back after the worktree is gone.
  void make_harmless(const std::string& name, Json& service) {
    reset(name, service, "container_name");
    reset(name, service, "ports");
    service["restart"] = "no";
    if (service.contains("deploy") && service["deploy"].is_object())
      service["deploy"].erase("restart_policy");
    if (service.contains("network_mode") && service["network_mode"] == "host") {
      problem("compose_host_network", "service " + name + " uses the host's network",
              {"services", name, "network_mode"});
    }
    for (const std::string& source : normalize_mounts(service, request_.compose)) {
      if (!is_inside_main(source, request_)) continue;
      problem("compose_bind_in_main", "service " + name + " mounts " + source + ", inside the main checkout",
              {"services", name, "volumes"});
    }
  }

  void make_application(Json& service) {
    Json& environment = object_at(service, "environment");
    for (const auto& [name, value] : request_.environment) environment[name] = escape_dollar(value);
    // Inside, the files belong to somebody else than git runs as.
    environment["GIT_CONFIG_COUNT"] = "1";
    environment["GIT_CONFIG_KEY_0"] = "safe.directory";
    environment["GIT_CONFIG_VALUE_0"] = escape_dollar(request_.checkout.string());
    // git's files hold absolute paths of the host.
    add_mount(service, request_.checkout, request_.compose);
    if (!is_within(request_.git_common_dir, request_.checkout)) {
      add_mount(service, request_.git_common_dir, request_.compose);
    }
    if (!request_.trust_directory.empty())
      add_mount(service, request_.trust_directory, request_.compose, MountMode::read_only);
    for (const std::string& host : request_.extra_hosts) add_extra_host(service, host);
  }

  // Beside the repository's own, which Compose gives as a list or as an object; its word for the same name stands.
  static void add_extra_host(Json& service, const std::string& host) {
    Json hosts = Json::array();
    const Json given = service.value("extra_hosts", Json::array());
    if (given.is_array()) hosts = given;
    if (given.is_object()) {
      for (const auto& [name, address] : given.items()) {
        for (const Json& one : address.is_array() ? address : Json::array({address}))
          if (one.is_string()) hosts.push_back(name + ":" + one.get<std::string>());
      }
    }
    const std::string name = host.substr(0, host.find(':'));
    const bool is_given = std::any_of(hosts.begin(), hosts.end(), [&name](const Json& one) {
      const std::string text = one.is_string() ? one.get<std::string>() : std::string();
      return text.starts_with(name + ":") || text.starts_with(name + "=");
    });
    if (!is_given) hosts.push_back(host);
    service["extra_hosts"] = hosts;
  }

  void describe(const std::string& name, const Json& service) {
    out_.services.push_back(name);
    if (service.contains("image") && service["image"].is_string() && !service.contains("build")) {
      out_.images[name] = service["image"];
    }
    if (!service.contains("depends_on") || !service["depends_on"].is_object()) return;
    for (const auto& [other, how] : service["depends_on"].items()) {
      if (how.is_object() && how.value("condition", "") == "service_completed_successfully")
        out_.one_shots.push_back(other);
    }
  }

  void check_files(const std::string& section) {
    if (!config_.contains(section) || !config_[section].is_object()) return;
    for (const auto& [key, value] : config_[section].items()) {
      if (!value.is_object() || !value.contains("file") || !is_inside_main(value.value("file", ""), request_))
        continue;
      problem("compose_bind_in_main", section + " " + key + " reads a file inside the main checkout",
              {section, key, "file"});
    }
  }

  void check_volumes() {
    if (!config_.contains("volumes") || !config_["volumes"].is_object()) return;
    for (const auto& [key, volume] : config_["volumes"].items()) {
      if (is_external(volume)) {
        note("volume " + key + " is external: it is shared with whoever else uses it", {"volumes", key, "external"});
        continue;
      }
      const std::string device = device_of(volume);
      if (device.empty() || !is_inside_main(device, request_)) continue;
      problem("compose_bind_in_main", "volume " + key + " is " + device + ", inside the main checkout",
              {"volumes", key, "driver_opts", "device"});
    }
  }

  // On networks that others use too, a service has the names that wanted_endpoints() gives it: none of its own, no address.
  void leave_shared_names() {
    std::set<std::string> noted;
    for (auto& [name, service] : config_["services"].items()) {
      for (const std::string& key : network_keys(service)) {
        const bool is_declared = config_.contains("networks") && config_["networks"].is_object();
        const Json network = is_declared ? config_["networks"].value(key, Json()) : Json();
        if (!is_external(network)) continue;
        out_.shared_networks[name].push_back(external_name(key, network));
        if (service.contains("networks") && service["networks"].is_object()) service["networks"][key] = nullptr;
        if (!noted.insert(key).second) continue;
        note("network " + key + " is external: others find the worktree's services there below its own name alone",
             {"networks", key, "external"});
      }
    }
  }

  Json labels() const {
    return {{std::string(kIdLabel), request_.id},
            {std::string(kAppLabel), request_.app},
            {std::string(kSlugLabel), request_.slug}};
  }

  void reset(const std::string& name, Json& service, const std::string& key) {
    if (!service.contains(key)) return;
    service.erase(key);
    note("service " + name + ": " + key + " is not used in a worktree", {"services", name, key});
  }

  // Networks that nothing but Compose itself declares carry our label only if they are declared.
  void name_default_network() {
    const auto uses_default = [](const Json& service) {
      return !service.contains("networks") && !service.contains("network_mode");
    };
    const Json& services = config_["services"];
    if (!std::any_of(services.begin(), services.end(), uses_default)) return;
    Json& networks = object_at(config_, "networks");
    if (!networks.contains("default")) networks["default"] = Json::object();
  }

  void label_resources(const std::string& section) {
    if (!config_.contains(section) || !config_[section].is_object()) return;
    for (auto& [key, resource] : config_[section].items()) {
      if (resource.is_null()) resource = Json::object();
      if (!resource.is_object() || is_external(resource)) continue;
      const bool is_pinned = resource.contains("name") && resource["name"] != request_.project + "_" + key;
      if (is_pinned) {
        note(section + " " + key + ": the fixed name is not used in a worktree", {section, key, "name"});
        resource.erase("name");
      }
      object_at(resource, "labels").update(labels());
    }
  }

  std::string with_line(const std::string& text, const std::vector<std::string>& keys) const {
    const std::string line = find_line(request_.files, keys);
    return line.empty() ? text : text + " (" + line + ")";
  }
  void note(const std::string& text, const std::vector<std::string>& keys) {
    out_.notes.push_back(with_line(text, keys));
  }
  void problem(std::string id, const std::string& text, const std::vector<std::string>& keys) {
    problems_.emplace_back(std::move(id), with_line(text, keys));
  }

  Error refusal() const {
    Error error = Error(ErrorKind::refused, problems_.front().second).with_id(problems_.front().first);
    for (const auto& [id, text] : problems_) error = std::move(error).with_hint("change " + text);
    return error;
  }

  Json config_;
  const RenderRequest& request_;
  RenderedConfig out_;
  std::vector<std::pair<std::string, std::string>> problems_;  // id, text
};

// What require_safe() finds wrong with one service; empty if nothing.
std::string unsafe_service(const Json& service, const RenderRequest& request) {
  if (service.contains("container_name")) return "a fixed container_name";
  if (service.contains("ports") && !service["ports"].empty()) return "published ports";
  if (!service.contains("restart") || service["restart"] != "no") return "a restart policy";
  if (service.contains("network_mode") && service["network_mode"] == "host") return "the host's network";
  for (const std::string& source : bind_sources(service)) {
    if (is_inside_main(source, request)) return "a mount of " + source + ", inside the main checkout";
  }
  const std::string label(kIdLabel);
  const bool is_labelled = service.contains("labels") && service["labels"].is_object() &&
                           service["labels"].value(label, "") == request.id;
  return is_labelled ? std::string() : "no label of its worktree";
}

std::string unsafe_resource(const std::string& key, const Json& resource, const RenderRequest& request) {
  if (!resource.is_object() || is_external(resource)) return {};
  const std::string device = device_of(resource);
  if (!device.empty() && is_inside_main(device, request)) return "its place " + device + " inside the main checkout";
  if (!resource.contains("name")) return {};
  return resource["name"] == request.project + "_" + key ? std::string()
                                                         : "the fixed name " + resource["name"].dump();
}

}  // namespace

Result<RenderedConfig> render_for_worktree(std::string_view rendered, const RenderRequest& request) {
  auto config = parse_yaml(rendered);
  if (!config) return std::move(config).error().with_context("read what compose rendered");
  try {
    return Renderer(std::move(*config), request).render();
  } catch (const Json::exception& problem) {
    return invalid(std::string("a value has an unexpected type: ") + problem.what());
  }
}

Result<void> require_safe(std::string_view rendered, const RenderRequest& request) {
  const auto config = parse_yaml(rendered);
  if (!config) return Error(config.error()).with_context("read back what compose rendered");
  const auto refuse = [](const std::string& what) {
    return Error(ErrorKind::refused, "compose would start " + what).with_id("compose_rendered_unsafe");
  };
  if (!config->is_object() || !config->contains("services")) return refuse("nothing");
  if (config->contains("name") && (*config)["name"] != request.project) return refuse("another project");
  for (const auto& [name, service] : (*config)["services"].items()) {
    const std::string problem = unsafe_service(service, request);
    if (!problem.empty()) return refuse("service " + name + " with " + problem);
  }
  for (const char* section : {"volumes", "networks"}) {
    if (!config->contains(section)) continue;
    for (const auto& [key, resource] : (*config)[section].items()) {
      const std::string problem = unsafe_resource(key, resource, request);
      if (!problem.empty()) return refuse(std::string(section) + " " + key + " with " + problem);
    }
  }
  return {};
}

}  // namespace hedge::worktree
