#include "worktree/stack/process_plan.h"

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace hedge::worktree {
namespace {

using Json = nlohmann::json;

constexpr mode_t kPrivate = 0600;

Json to_json(const ProcessIdentity& process) {
  return {{"pid", process.pid}, {"start_time", process.start_time}, {"boot", process.boot}};
}

ProcessIdentity identity_from(const Json& json) {
  return {json.at("pid").get<pid_t>(), json.at("start_time").get<std::uint64_t>(),
          json.at("boot").get<std::string>()};
}

Json to_json(const PlannedProcess& process) {
  return {{"name", process.name},
          {"argv", process.argv},
          {"directory", process.directory.string()},
          {"environment", process.environment},
          {"log", process.log.string()},
          {"stop_limit_ms", process.stop_limit.count()},
          {"port", process.port},
          {"fingerprint", process.fingerprint}};
}

PlannedProcess planned_from(const Json& json) {
  PlannedProcess process;
  process.name = json.at("name").get<std::string>();
  process.argv = json.at("argv").get<std::vector<std::string>>();
  process.directory = json.at("directory").get<std::string>();
  process.environment = json.at("environment").get<Environment>();
  process.log = json.at("log").get<std::string>();
  process.stop_limit = std::chrono::milliseconds(json.at("stop_limit_ms").get<std::int64_t>());
  process.port = json.at("port").get<std::uint16_t>();
  process.fingerprint = json.at("fingerprint").get<std::string>();
  return process;
}

Json to_json(const SupervisedProcess& process) {
  Json json = {{"name", process.name},
               {"identity", to_json(process.identity)},
               {"fingerprint", process.fingerprint},
               {"port", process.port},
               {"exit_code", nullptr},
               {"problem", process.problem}};
  if (process.exit_code) json["exit_code"] = *process.exit_code;
  return json;
}

SupervisedProcess supervised_from(const Json& json) {
  SupervisedProcess process;
  process.name = json.at("name").get<std::string>();
  process.identity = identity_from(json.at("identity"));
  process.fingerprint = json.at("fingerprint").get<std::string>();
  process.port = json.at("port").get<std::uint16_t>();
  if (!json.at("exit_code").is_null()) process.exit_code = json.at("exit_code").get<int>();
  process.problem = json.at("problem").get<std::string>();
  return process;
}

// The one place where the JSON library's exceptions become an Error.
template <class T, class Decode>
Result<std::optional<T>> load(const std::filesystem::path& path, const Decode& decode) {
  const auto text = read_file(path);
  if (!text && text.error().kind() == ErrorKind::not_found) return std::optional<T>();
  if (!text) return text.error();
  try {
    return std::optional<T>(decode(Json::parse(*text)));
  } catch (const Json::exception& problem) {
    return Error(ErrorKind::corrupt, "cannot read " + path.string() + ": " + problem.what())
        .with_id("state_unreadable");
  }
}

// Argument lists may hold bytes that are not UTF-8; they are data, not a reason to fail.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<std::optional<ProcessPlan>> load_plan(const StackFiles& files) {
  return load<ProcessPlan>(files.plan(), [](const Json& json) {
    ProcessPlan plan;
    plan.generation = json.at("generation").get<std::uint64_t>();
    plan.mark = json.at("mark").get<std::string>();
    for (const Json& process : json.at("processes")) plan.processes.push_back(planned_from(process));
    return plan;
  });
}

Result<std::optional<SupervisorState>> load_state(const StackFiles& files) {
  return load<SupervisorState>(files.state(), [](const Json& json) {
    SupervisorState state;
    state.supervisor = identity_from(json.at("supervisor"));
    state.generation = json.at("generation").get<std::uint64_t>();
    state.mark = json.at("mark").get<std::string>();
    state.stopped = json.at("stopped").get<bool>();
    for (const Json& process : json.at("processes")) state.processes.push_back(supervised_from(process));
    return state;
  });
}

Result<void> store_plan(const StackFiles& files, const ProcessPlan& plan) {
  Json json = {{"generation", plan.generation}, {"mark", plan.mark}, {"processes", Json::array()}};
  for (const PlannedProcess& process : plan.processes) json["processes"].push_back(to_json(process));
  return write_file_atomically(files.plan(), dump(json), kPrivate);
}

Result<void> store_state(const StackFiles& files, const SupervisorState& state) {
  Json json = {{"supervisor", to_json(state.supervisor)},
               {"generation", state.generation},
               {"mark", state.mark},
               {"stopped", state.stopped},
               {"processes", Json::array()}};
  for (const SupervisedProcess& process : state.processes) json["processes"].push_back(to_json(process));
  return write_file_atomically(files.state(), dump(json), kPrivate);
}

}  // namespace hedge::worktree
