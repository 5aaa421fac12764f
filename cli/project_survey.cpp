#include "cli/project_survey.h"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "base/file.h"
#include "base/text.h"

namespace hedge::cli {
namespace fs = std::filesystem;

namespace {

std::string app_name_of(const fs::path& checkout) {
  std::string name;
  for (const char c : ascii_lower(checkout.filename().string())) {
    if (is_ascii_alnum(c)) name += c;
    else if (!name.empty() && name.back() != '-') name += '-';
  }
  name.resize(std::min<std::size_t>(name.size(), 16));
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "app" : name;
}

// "8080:80", "127.0.0.1:8080:80/tcp", "80" or {target: 80}: the port inside the container.
std::uint16_t target_port(const YAML::Node& port) {
  std::string text;
  if (port.IsScalar()) text = port.Scalar();
  else if (port.IsMap() && port["target"] && port["target"].IsScalar()) text = port["target"].Scalar();
  text = text.substr(0, text.find('/'));
  const std::size_t colon = text.rfind(':');
  return parse_number<std::uint16_t>(colon == std::string::npos ? text : text.substr(colon + 1)).value_or(0);
}

std::vector<SurveyedService> services_of(const fs::path& file) {
  std::vector<SurveyedService> out;
  const auto text = read_file(file, 1U << 20);
  if (!text) return out;
  try {  // yaml-cpp reports by throwing
    const YAML::Node services = YAML::Load(*text)["services"];
    if (!services || !services.IsMap()) return out;
    for (const auto& entry : services) {
      SurveyedService service{entry.first.Scalar(), 0};
      for (const char* key : {"ports", "expose"}) {
        const YAML::Node ports = entry.second.IsMap() ? entry.second[key] : YAML::Node();
        if (service.port == 0 && ports && ports.IsSequence() && ports.size() > 0) service.port = target_port(ports[0]);
      }
      out.push_back(std::move(service));
    }
  } catch (const YAML::Exception&) {
    out.clear();
  }
  return out;
}

void survey_package(const fs::path& checkout, ProjectSurvey& survey) {
  const auto text = read_file(checkout / "package.json", 1U << 20);
  if (!text) return;
  const auto package = nlohmann::json::parse(*text, nullptr, false);
  if (!package.is_object()) return;
  survey.install_command = {"npm", path_exists(checkout / "package-lock.json") ? "ci" : "install"};
  if (path_exists(checkout / "pnpm-lock.yaml")) survey.install_command = {"pnpm", "install", "--frozen-lockfile"};
  if (path_exists(checkout / "yarn.lock")) survey.install_command = {"yarn", "install", "--frozen-lockfile"};
  const auto scripts = package.find("scripts");
  if (scripts == package.end() || !scripts->is_object()) return;
  for (const char* script : {"dev", "start"}) {
    if (!scripts->contains(script)) continue;
    survey.process_command = {survey.install_command.front(), "run", script};
    return;
  }
}

std::string argv_text(const std::vector<std::string>& argv) {
  std::vector<std::string> quoted;
  for (const std::string& word : argv) quoted.push_back("\"" + printable(word, 1000) + "\"");
  return "[" + join(quoted, ", ") + "]";
}

std::string stack_text(const ProjectSurvey& survey) {
  if (survey.compose_file) {
    std::string out = "[stack]\nruntime = \"compose\"\ncompose = [\"" + *survey.compose_file + "\"]\n";
    for (const SurveyedService& service : survey.services) {
      out += "\n[[stack.services]]\nname = \"" + printable(service.name) + "\"\n";
      if (service.port != 0) out += "port = " + std::to_string(service.port) + "\n";
      out += "# when_changed = [\"src/**\"]     # starts only if the branch touches one of these\n";
    }
    return out + "# The first service with a port gets the worktree's hostname.\n";
  }
  if (!survey.process_command.empty()) {
    return "[stack]\nruntime = \"process\"\n\n[[stack.processes]]\nname = \"web\"\ncommand = " +
           argv_text(survey.process_command) +
           "     # must listen on 127.0.0.1:$PORT\n# ready_path = \"/\"              # asked until it answers below 500\n";
  }
  return "[stack]\nruntime = \"none\"               # \"compose\" for containers, \"process\" for programs of this machine\n"
         "# [[stack.processes]]\n# name = \"web\"\n# command = [\"./serve\"]           # must listen on 127.0.0.1:$PORT\n";
}

}  // namespace

ProjectSurvey survey_project(const fs::path& checkout) {
  ProjectSurvey survey;
  survey.app = app_name_of(checkout);
  for (const char* name : {"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"}) {
    if (!path_exists(checkout / name)) continue;
    survey.compose_file = name;
    survey.services = services_of(checkout / name);
    break;
  }
  survey_package(checkout, survey);
  if (path_exists(checkout / "composer.json") && survey.install_command.empty()) survey.install_command = {"composer", "install"};
  return survey;
}

std::string starting_config(const ProjectSurvey& survey) {
  std::string out =
      "# What Hedge does for a worktree of this repository. Every key: docs/config.md; what it comes to: hedge config --effective.\n\n"
      "[app]\nname = \"" +
      survey.app +
      "\"\n# host = \"{app}.{slug}.localhost\"\n# health = \"/\"                   # any answer below 500 counts\n\n" +
      stack_text(survey) +
      "\n[database]\nengine = \"none\"              # \"sqlite\" or \"postgres\"\n"
      "# source = \"data/app.sqlite3\"    # the main checkout's own database\n\n"
      "[env.variables]\n# DATABASE_URL = \"{database.url}\"\n# SESSION_COOKIE = \"{cookies.session}\"\n\n[commands]\n";
  if (!survey.install_command.empty()) out += "install = " + argv_text(survey.install_command) + "\n";
  return out + "# migrate = [\"./migrate\"]\n# migrate_check = [\"./migrate\", \"--check\"]\n";
}

}  // namespace hedge::cli
