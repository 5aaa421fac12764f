#include "config/project_config.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace hedge::config {
namespace {

constexpr std::size_t kMaxAppNameBytes = 16;

bool is_short_name(std::string_view text, std::size_t most, std::string_view also) {
  if (text.empty() || text.size() > most || !is_ascii_alnum(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || also.find(c) != std::string_view::npos;
  });
}

bool is_variable_name(std::string_view text) {
  if (text.empty() || is_ascii_digit(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_ascii_alnum(c) || c == '_'; });
}

// Relative, and not above where it starts.
bool stays_below(std::string_view path) {
  const auto normal = std::filesystem::path(path).lexically_normal();
  return !path.empty() && path.find('\0') == std::string_view::npos && !normal.is_absolute() && *normal.begin() != "..";
}

void require_below(TomlTable& table, std::string_view key, std::string_view path) {
  if (!stays_below(path)) table.problem(key, "\"" + printable(path) + "\" must be a path below the checkout");
}

void require_command(TomlTable& table, const Argv& command) {
  if (!table.has("command")) table.problem("command", "[" + table.path() + "] needs a \"command\"", "an array of strings");
  else if (command.empty() || command.front().empty()) table.problem("command", "the command is empty");
}

// As routes are stored and browsers send it.
Template canonical_host_template(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  return ascii_lower(text);
}

void read_app(TomlTable app, AppConfig& out) {
  app.read("name", out.name);
  app.read("host", out.host);
  app.read("main_host", out.main_host);
  app.read("directory", out.directory);
  app.read("cookies", out.cookies);
  app.read("health", out.health);
  app.read("health_nonce", out.health_nonce);
  app.read("health_timeout", out.health_timeout);
  if (!app.has("name")) {
    app.problem("name", "[app] needs a \"name\"");
  } else if (!is_short_name(out.name, kMaxAppNameBytes, "-") || out.name.back() == '-' ||
             out.name.find("--") != std::string::npos) {
    app.problem("name", "\"" + printable(out.name) + "\" is not an application name",
                "1 to 16 of a-z, 0-9 and single - inside, beginning with a letter or digit");
  }
  if (out.host.find("{slug}") == std::string::npos) {
    app.problem("host", "the hostname of a worktree needs {slug}", "such as \"{app}.{slug}.localhost\"");
  }
  out.host = canonical_host_template(out.host);
  out.main_host = canonical_host_template(out.main_host);
  if (out.main_host.find("{slug}") != std::string::npos) app.problem("main_host", "the main checkout has no {slug}");
  if (out.directory.find("{slug}") == std::string::npos) app.problem("directory", "the directory of a worktree needs {slug}");
  if (!out.health.starts_with('/')) app.problem("health", "the path must begin with /");
  for (const std::string& cookie : out.cookies) {
    if (!is_short_name(cookie, 32, "_")) app.problem("cookies", "\"" + printable(cookie) + "\" is not a kind of cookie", "a-z, 0-9 and _");
  }
}

void read_services(TomlTable& stack, StackConfig& out) {
  for (TomlTable& table : stack.tables("services")) {
    ServiceConfig service;
    table.read("name", service.name);
    table.read("port", service.port, {1, 65535});
    table.read("when_changed", service.when_changed);
    if (service.name.empty()) table.problem("name", "[[stack.services]] needs a \"name\"");
    out.services.push_back(std::move(service));
  }
}

void read_environment(TomlTable table, std::vector<std::pair<std::string, Template>>& out) {
  for (const std::string& name : table.keys()) {
    std::string value;
    table.read(name, value);
    if (!is_variable_name(name)) table.problem(name, "\"" + printable(name) + "\" is not the name of a variable");
    out.emplace_back(name, std::move(value));
  }
}

void read_processes(TomlTable& stack, StackConfig& out) {
  std::set<std::string> names;
  for (TomlTable& table : stack.tables("processes")) {
    ProcessConfig process;
    table.read("name", process.name);
    table.read("command", process.command);
    table.read("directory", process.directory);
    table.read("port_variable", process.port_variable);
    table.read("ready_path", process.ready_path);
    table.read("ready_timeout", process.ready_timeout);
    table.read("stop_timeout", process.stop_timeout);
    if (auto environment = table.table("environment")) read_environment(*environment, process.environment);
    if (!is_short_name(process.name, 32, "-_")) {
      table.problem("name", "[[stack.processes]] needs a \"name\" of a-z, 0-9, - and _, at most 32");
    } else if (!names.insert(process.name).second) {
      table.problem("name", "two processes are called \"" + process.name + "\"");
    }
    require_command(table, process.command);
    require_below(table, "directory", process.directory);
    if (process.ready_path && !process.ready_path->starts_with('/')) table.problem("ready_path", "the path must begin with /");
    if (!process.port_variable.empty() && !is_variable_name(process.port_variable)) {
      table.problem("port_variable", "\"" + printable(process.port_variable) + "\" is not the name of a variable");
    }
    out.processes.push_back(std::move(process));
  }
}

void read_stack(TomlTable stack, StackConfig& out) {
  stack.read_choice("runtime", out.runtime,
                    {{"none", StackRuntime::none}, {"process", StackRuntime::process}, {"compose", StackRuntime::compose}});
  stack.read("compose", out.compose);
  stack.read("main_project", out.main_project);
  stack.read("network", out.network);
  read_services(stack, out);
  read_processes(stack, out);
  for (const std::string& file : out.compose) require_below(stack, "compose", file);
  if (out.runtime == StackRuntime::process && out.processes.empty()) {
    stack.problem("runtime", "runtime \"process\" needs [[stack.processes]]");
  }
  if (out.runtime != StackRuntime::process && !out.processes.empty()) {
    stack.problem("processes", "[[stack.processes]] needs runtime = \"process\"");
  }
  if (out.runtime != StackRuntime::compose && !(out.services.empty() && out.compose.empty())) {
    stack.problem(out.services.empty() ? "compose" : "services", "compose services need runtime = \"compose\"");
  }
}

void read_seed(TomlTable seed, SeedConfig& out) {
  seed.read("paths", out.paths);
  seed.read("include", out.include);
  seed.read("deny", out.deny);
  seed.read("lockfiles", out.lockfiles);
  for (const std::string& path : out.paths) require_below(seed, "paths", path);
  for (const std::string& path : out.lockfiles) require_below(seed, "lockfiles", path);
  require_below(seed, "include", out.include);
}

void read_env(TomlTable env, EnvConfig& out) {
  env.read("file", out.file);
  require_below(env, "file", out.file);
  if (auto variables = env.table("variables")) read_environment(*variables, out.variables);
  for (const auto& [name, value] : out.variables) {
    if (name.starts_with("HEDGE_")) env.problem("variables", "\"" + name + "\" is a name that Hedge sets itself");
  }
}

void read_database(TomlTable database, DatabaseConfig& out) {
  database.read_choice("engine", out.engine,
                       {{"none", DatabaseEngine::none}, {"sqlite", DatabaseEngine::sqlite}, {"postgres", DatabaseEngine::postgres}});
  database.read("admin_url", out.admin_url);
  database.read("admin_url_variable", out.admin_url_variable);
  database.read("app_address", out.app_address);
  database.read("source", out.source);
  database.read("test_source", out.test_source);
  database.read("golden", out.golden);
  if (out.engine == DatabaseEngine::none) return;
  if (out.source.empty()) database.problem("source", "[database] needs the \"source\", the main checkout's own database");
  if (out.engine == DatabaseEngine::sqlite) {
    if (!out.source.empty()) require_below(database, "source", out.source);
    if (out.test_source) require_below(database, "test_source", *out.test_source);
  }
  if (!is_variable_name(out.admin_url_variable)) {
    database.problem("admin_url_variable", "\"" + printable(out.admin_url_variable) + "\" is not the name of a variable");
  }
  // postgres://user:password@host: a password does not belong into a file that is committed.
  if (out.admin_url) {
    const std::string_view url = *out.admin_url;
    const std::size_t authority = url.find("://");
    const std::size_t at = url.find('@');
    const std::size_t colon = authority == std::string_view::npos ? authority : url.find(':', authority + 3);
    if (colon != std::string_view::npos && at != std::string_view::npos && colon < at) {
      database.problem("admin_url", "the administrator's URL has a password in it",
                       "put the URL into the variable " + out.admin_url_variable + ", or the password into ~/.pgpass");
    }
  }
}

void read_commands(TomlTable commands, std::vector<NamedCommand>& out) {
  for (const std::string& name : commands.keys()) {
    NamedCommand command{name, {}};
    commands.read(name, command.argv);
    if (!is_short_name(name, 32, "-_")) commands.problem(name, "\"" + printable(name) + "\" is not a name for a command", "a-z, 0-9, - and _");
    if (command.argv.empty() || command.argv.front().empty()) commands.problem(name, "the command is empty");
    out.push_back(std::move(command));
  }
}

void read_checks(TomlTable& root, std::vector<CheckConfig>& out) {
  std::set<std::string> ids;
  for (TomlTable& table : root.tables("checks")) {
    CheckConfig check;
    table.read("id", check.id);
    check.title = check.id;
    table.read("title", check.title);
    table.read("command", check.command);
    table.read("service", check.service);
    table.read_choice("severity", check.severity,
                      {{"required", CheckSeverity::required}, {"optional", CheckSeverity::optional}});
    table.read("timeout", check.timeout);
    table.read("remediation", check.remediation);
    if (!is_short_name(check.id, 48, "_")) table.problem("id", "[[checks]] needs an \"id\" of a-z, 0-9 and _");
    else if (!ids.insert(check.id).second) table.problem("id", "two checks are called \"" + check.id + "\"");
    require_command(table, check.command);
    out.push_back(std::move(check));
  }
}

// Sections that the format has and this version has no machinery for: refused, because a setting without effect would be
// believed.
void refuse_later_sections(TomlTable& root) {
  for (const std::string_view name : {"pooler", "redis", "queue", "review", "limits"}) {
    if (auto section = root.table(name)) {
      root.unsupported(name, "[" + std::string(name) + "] is not available in this version of Hedge", "remove the section");
      section->keys();
    }
  }
}

void read_root(TomlTable root, ProjectConfig& out) {
  if (auto app = root.table("app")) read_app(*app, out.app);
  else root.problem("app", "the section [app] with its \"name\" is missing");
  if (auto stack = root.table("stack")) read_stack(*stack, out.stack);
  if (auto seed = root.table("seed")) read_seed(*seed, out.seed);
  if (auto env = root.table("env")) read_env(*env, out.env);
  if (auto database = root.table("database")) read_database(*database, out.database);
  if (auto commands = root.table("commands")) read_commands(*commands, out.commands);
  read_checks(root, out.checks);
  if (auto provider = root.table("provider")) provider->read("default", out.provider.provider);
  refuse_later_sections(root);
}

Result<ProjectConfig> read_file_contents(TomlFile& file) {
  ProjectConfig config;
  read_root(file.root(), config);
  if (auto finished = file.finish(); !finished) return finished.error();
  config.effective = file.effective();
  return config;
}

}  // namespace

const NamedCommand* ProjectConfig::find_command(std::string_view name) const {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const NamedCommand& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

Result<void> require_checkout(const std::filesystem::path& checkout) {
  if (!checkout.empty()) return {};
  return Error(ErrorKind::invalid_input, "a bare repository has no checkout with a hedge.toml").with_id("checkout_needed");
}

Result<ProjectConfig> load_project_config(const std::filesystem::path& checkout) {
  // An empty path would name the current directory's file.
  if (auto known = require_checkout(checkout); !known) return known.error();
  auto file = TomlFile::load(checkout / kProjectConfigFile, std::string(kProjectConfigFile));
  if (!file) {
    if (file.error().kind() != ErrorKind::not_found) return file.error();
    return Error(ErrorKind::not_found, "there is no hedge.toml in " + checkout.string())
        .with_id("config_missing")
        .with_hint("write one with: hedge init");
  }
  return read_file_contents(**file);
}

Result<ProjectConfig> parse_project_config(std::string_view text, std::string name) {
  auto file = TomlFile::parse(text, std::move(name));
  if (!file) return file.error();
  return read_file_contents(**file);
}

}  // namespace hedge::config
