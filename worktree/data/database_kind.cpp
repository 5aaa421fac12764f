#include "worktree/data/database_kind.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "config/project_config.h"
#include "worktree/data/postgres.h"
#include "worktree/data/sqlite_data.h"
#include "worktree/data/sqlite_files.h"
#include "worktree/data/url_text.h"
#include "worktree/parameters.h"

namespace hedge::worktree {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kSecret = "postgres";

std::string admin_url_of(const config::DatabaseConfig& database, const Environment& environment) {
  const auto given = environment.find(database.admin_url_variable);
  if (given != environment.end() && !given->second.empty()) return given->second;
  return database.admin_url.value_or("");
}

std::string golden_name_of(const config::DatabaseConfig& database, const std::string& app) {
  return database.golden.value_or(replace_all(app, "-", "_") + "_golden");
}

// As an application reads it: without the administrator's name and password.
ValueText postgres_url(const ValueText& user, const PgAddress& server,
                       const std::optional<std::string>& app_address, const std::string& database) {
  if (!app_address && server.host.starts_with('/')) {
    const std::string port = server.port.empty() ? std::string() : "&port=" + server.port;
    return "postgresql://" + user + "@/" + url_name(database) + "?host=" + url_value(server.host) + port;
  }
  const bool is_ipv6 = server.host.find(':') != std::string::npos;
  const std::string address = server.host.empty() ? "localhost" : is_ipv6 ? "[" + server.host + "]" : server.host;
  const std::string port = server.port.empty() ? "5432" : server.port;
  return "postgresql://" + user + "@" + app_address.value_or(address + ":" + port) + "/" + url_name(database);
}

void publish_pair(Values& values, const std::string& app, const std::string& test, const ValueText& app_url,
                  const ValueText& test_url) {
  values["database.name"] = app;
  values["database.test_name"] = test;
  values["database.url"] = app_url;
  values["database.direct_url"] = app_url;
  values["database.test_url"] = test_url;
}

void publish_sqlite(const PlanInput& input, Values& values) {
  const config::DatabaseConfig& database = input.config.database;
  const std::string test = test_source_of(database);
  publish_pair(values, database.source, test, "sqlite://" + url_path((input.record.path / database.source).string()),
               "sqlite://" + url_path((input.record.path / test).string()));
}

void publish_postgres(const PlanInput& input, const Environment& environment, Values& values) {
  const config::DatabaseConfig& database = input.config.database;
  const PgAddress server = address_of(admin_url_of(database, environment));
  const bool is_main = input.record.kind == WorktreeKind::main;
  const std::string app = is_main ? database.source : input.names.database;
  const std::string test = is_main ? test_source_of(database) : input.names.test_database;
  const ValueText user =
      is_main ? ValueText(url_name(server.user)) : input.names.role + ":" + ValueText::secret(kSecret);
  publish_pair(values, app, test, postgres_url(user, server, database.app_address, app),
               postgres_url(user, server, database.app_address, test));
}

SqliteSpec sqlite_from(const Json& json, const WorktreeRecord& record, const fs::path& state) {
  const auto file = [&](const char* key) {
    const fs::path relative(json.at(key).get<std::string>());
    const fs::path source = record.main_checkout.empty() ? fs::path() : record.main_checkout / relative;
    return SqliteFile{record.path / relative, source, state / (record.id + "." + key)};
  };
  return {record.id, record.path, file("app"), file("test")};
}

// "host:port", the same for all names of this machine.
std::string server_of(const std::string& url) {
  const PgAddress address = address_of(url);
  const bool is_loopback = address.host == "localhost" || address.host == "127.0.0.1" || address.host == "::1";
  return (is_loopback ? "localhost" : address.host) + ":" + (address.port.empty() ? "5432" : address.port);
}

std::string given_url(const std::string& variable, const Environment& environment) {
  const auto given = environment.find(variable);
  return given == environment.end() ? std::string() : given->second;
}

// What the worktree's hedge.toml says today, and main's: a destroy or gc works from a ledger that may know less.
std::vector<config::DatabaseConfig> configured_databases(const WorktreeRecord& record) {
  std::vector<config::DatabaseConfig> out;
  for (const fs::path& checkout : {record.path, record.main_checkout}) {
    if (checkout.empty()) continue;
    const auto config = config::load_project_config(checkout);
    if (config && config->database.engine == config::DatabaseEngine::postgres) out.push_back(config->database);
  }
  return out;
}

// The administrator's URL from the environment, from the configuration, or from an earlier run's. Where the databases
// were made is where they are: today's may bring another name or password, but no other server.
void find_admin(const Json& json, const WorktreeRecord& record, const Environment& environment, PostgresSpec& spec) {
  const std::string recorded = json.at("admin_url").get<std::string>();
  const std::string given = given_url(json.at("admin_variable").get<std::string>(), environment);
  const auto kept = read_file(spec.kept_url);
  if (!kept || kept->empty()) {
    spec.golden.admin.url = given.empty() ? recorded : given;
    return;
  }
  spec.former_url = *kept;
  std::vector<std::string> urls{given};
  for (const config::DatabaseConfig& database : configured_databases(record)) {
    urls.push_back(given_url(database.admin_url_variable, environment));
    urls.push_back(database.admin_url.value_or(""));
  }
  urls.insert(urls.end(), {recorded, *kept});
  for (const std::string& url : urls) {
    const bool is_there = !url.empty() && server_of(url) == server_of(*kept);
    if (is_there && std::ranges::find(spec.other_urls, url) == spec.other_urls.end()) spec.other_urls.push_back(url);
  }
  if (!given.empty() && server_of(given) != server_of(*kept)) spec.other_server = server_of(given);
  spec.golden.admin.url = spec.other_urls.front();
}

PostgresSpec postgres_from(const Json& json, const WorktreeRecord& record, const Environment& environment,
                           const fs::path& state) {
  PostgresSpec spec;
  spec.id = record.id;
  spec.role = json.at("role").get<std::string>();
  spec.password = derive_secret(record, kSecret);
  spec.database = json.at("database").get<std::string>();
  spec.test_database = json.at("test_database").get<std::string>();
  spec.kept_url = state / (record.id + ".url");
  find_admin(json, record, environment, spec);
  spec.golden.admin.database = "postgres";  // nobody needs to be disturbed who works in another
  spec.golden.source = json.at("source").get<std::string>();
  spec.golden.name = json.at("golden").get<std::string>();
  spec.golden.scratch = state;
  spec.golden.environment = environment;
  return spec;
}

}  // namespace

DatabaseKind::DatabaseKind(Environment environment, const config::Paths& paths, CommandRunner& runner)
    : environment_(std::move(environment)), paths_(paths), runner_(runner) {}

void DatabaseKind::publish(const PlanInput& input, Values& values) const {
  switch (input.config.database.engine) {
    case config::DatabaseEngine::none:
      return;
    case config::DatabaseEngine::sqlite:
      return publish_sqlite(input, values);
    case config::DatabaseEngine::postgres:
      return publish_postgres(input, environment_, values);
  }
}

Result<std::vector<ResourceSpec>> DatabaseKind::plan(const PlanInput& input, const Values&) const {
  const config::DatabaseConfig& database = input.config.database;
  // Main's databases are its own: nothing of them is made or removed here.
  if (database.engine == config::DatabaseEngine::none || input.record.kind == WorktreeKind::main) {
    return std::vector<ResourceSpec>();
  }
  Json json;
  if (database.engine == config::DatabaseEngine::sqlite) {
    json = {{"engine", "sqlite"}, {"app", database.source}, {"test", test_source_of(database)}};
  } else {
    json = {{"engine", "postgres"},
            {"role", input.names.role},
            {"database", input.names.database},
            {"test_database", input.names.test_database},
            {"admin_url", database.admin_url.value_or("")},
            {"admin_variable", database.admin_url_variable},
            {"source", database.source},
            {"golden", golden_name_of(database, input.names.app)}};
  }
  return std::vector<ResourceSpec>{{kind(), input.names.database, write_parameters(json)}};
}

bool DatabaseKind::is_same_thing(const ResourceSpec& recorded, const ResourceSpec& wanted) const {
  return agree_on("engine", recorded, wanted);
}

Result<std::unique_ptr<Resource>> DatabaseKind::make(const ResourceSpec& spec,
                                                     const WorktreeRecord& record) const {
  try {
    const Json json = Json::parse(spec.parameters);
    const fs::path state = paths_.state / "databases";
    if (json.at("engine") == "sqlite") {
      return std::unique_ptr<Resource>(std::make_unique<SqliteData>(sqlite_from(json, record, state)));
    }
    return std::unique_ptr<Resource>(
        std::make_unique<PostgresData>(postgres_from(json, record, environment_, state), runner_));
  } catch (const Json::exception& problem) {
    return Error(ErrorKind::corrupt,
                 std::string("the recorded database cannot be understood: ") + problem.what())
        .with_id("state_unreadable");
  }
}

GoldenSpec golden_of(const config::ProjectConfig& config, const std::string& app,
                     const Environment& environment, const config::Paths& paths) {
  GoldenSpec golden;
  golden.admin.url = admin_url_of(config.database, environment);
  golden.admin.database = "postgres";
  golden.source = config.database.source;
  golden.name = golden_name_of(config.database, app);
  golden.scratch = paths.state / "databases";
  golden.environment = environment;
  return golden;
}

}  // namespace hedge::worktree
