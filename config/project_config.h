// hedge.toml: what a repository says about itself. docs/config.md is made from the comments of these fields.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/load.h"

namespace hedge::config {

// Where a user writes text, these placeholders are filled in when the worktree is made; see [env].
using Template = std::string;
// A command as an argument list; run without a shell.
using Argv = std::vector<std::string>;

// [app]
struct AppConfig {
  // Short name of the application: lower-case letters, digits and `-`, at most 16 bytes. Part of every name that Hedge makes.
  // Required.
  std::string name;
  // Hostname of a worktree. Placeholders `{app}` and `{slug}`; `{slug}` must be there.
  Template host = "{app}.{slug}.localhost";
  // Hostname of the main checkout. Placeholder `{app}`.
  Template main_host = "{app}.localhost";
  // Directory of a new worktree, relative to the main checkout. Placeholders `{repo}` (the main checkout's directory name),
  // `{app}`, `{slug}`.
  Template directory = "../{repo}.{slug}";
  // Kinds of cookies of which each worktree gets a name of its own (`<app>_<slug>_<kind>`), as `{cookies.<kind>}`.
  std::vector<std::string> cookies = {"session", "remember", "device"};
  // Path that `hedge verify` requests through the edge. Any answer below 500 counts.
  std::string health = "/";
  // True: the body of that answer must be the worktree's nonce (`HEDGE_NONCE` in its environment), which proves that the
  // process that answers was started for this very worktree. A `Hedge-Nonce` header of the answer is compared in any case.
  bool health_nonce = false;
  // Ask no further than this for an answer through the edge.
  std::chrono::milliseconds health_timeout = std::chrono::seconds(5);
};

enum class StackRuntime { none, process, compose };

// [[stack.services]]: services of the compose file that Hedge knows more about.
struct ServiceConfig {
  // Name of the service in the compose file. Required.
  std::string name;
  // Port that it listens on inside its container. The first service with a port gets the worktree's hostname. Default none.
  std::uint16_t port = 0;
  // Globs; the service starts only if the branch or the working tree touches one. Default: it always starts.
  std::vector<std::string> when_changed;
};

// [[stack.processes]]: programs that run on the host under Hedge's supervisor.
struct ProcessConfig {
  // Short name of the process. Required.
  std::string name;
  // Its command. Placeholders as in [env] except those with a secret in them, and `{port}`. Required.
  Argv command;
  // Directory to run in, relative to the checkout.
  std::string directory = ".";
  // Variable that tells the process its port. The first process with one gets the worktree's hostname. Empty: it listens on
  // none.
  std::string port_variable = "PORT";
  // Path to ask on that port until it answers below 500. Default: a connection is enough.
  std::optional<std::string> ready_path;
  // How long it may take until it is ready.
  std::chrono::milliseconds ready_timeout = std::chrono::seconds(60);
  // How long it may take to end after SIGTERM; then SIGKILL.
  std::chrono::milliseconds stop_timeout = std::chrono::seconds(10);
  // Further variables of this process alone. Placeholders as in [env].
  std::vector<std::pair<std::string, Template>> environment;
};

// [stack]
struct StackConfig {
  // What runs the application: `none`, `process` (programs on this machine) or `compose` (containers).
  StackRuntime runtime = StackRuntime::none;
  // Compose files, relative to the checkout, in order. Default: compose.yaml, compose.yml, docker-compose.yaml or
  // docker-compose.yml, whichever exists.
  std::vector<std::string> compose;
  // Project name of the main checkout's own stack. Default: what Compose derives itself.
  std::optional<std::string> main_project;
  // External Docker network that worktrees share with the edge. Default: `hedge`.
  std::string network = "hedge";
  std::vector<ServiceConfig> services;
  std::vector<ProcessConfig> processes;
};

// [seed]: ignored files that a new worktree gets from the main checkout.
struct SeedConfig {
  // Directories to copy (copy-on-write where the file system can). Absent ones are passed over.
  std::vector<std::string> paths = {"node_modules", "vendor", "var/cache", ".venv", "target"};
  // File that lists further ignored files to copy, as gitignore patterns.
  std::string include = ".worktreeinclude";
  // Texts (`*` matches anything) that a copied environment file must not contain, such as a production host. One hit stops
  // the run. Default none.
  std::vector<std::string> deny;
  // Lockfiles: where one differs from the main checkout's, the copied dependencies count as stale.
  std::vector<std::string> lockfiles = {"package-lock.json", "yarn.lock",  "pnpm-lock.yaml",   "composer.lock", "Gemfile.lock",
                                        "poetry.lock",       "uv.lock",    "requirements.txt", "Cargo.lock",    "go.sum"};
};

// [env]
struct EnvConfig {
  // File with the worktree's environment, relative to the checkout; mode 0600, kept out of git.
  std::string file = ".env.hedge";
  // [env.variables]: variables to write beside the `HEDGE_*` ones. Placeholders: `{app.name}`, `{app.slug}`, `{app.url}`, `{app.host}`,
  // `{app.branch}`, `{app.id}`, `{app.nonce}`, `{database.url}`, `{database.direct_url}`, `{database.name}`, `{database.test_url}`,
  // `{database.test_name}`, `{cookies.<kind>}`, `{worktree.path}`, `{ca.root}`, `{ca.bundle}`, `{ca.java}`. A literal brace is doubled.
  std::vector<std::pair<std::string, Template>> variables;
};

enum class DatabaseEngine { none, sqlite, postgres };

// [database]
struct DatabaseConfig {
  // `none`, `sqlite` (a file in each worktree) or `postgres` (databases on the main checkout's server).
  DatabaseEngine engine = DatabaseEngine::none;
  // postgres: URL of a role that may create roles and databases, without the password (use ~/.pgpass or `admin_url_variable`).
  std::optional<std::string> admin_url;
  // postgres: variable of the caller's environment that holds that URL; it outranks `admin_url`.
  std::string admin_url_variable = "HEDGE_POSTGRES_ADMIN_URL";
  // postgres: host and port as the application sees the server, if they differ from the admin URL's (inside a container).
  // Default: as in the admin URL.
  std::optional<std::string> app_address;
  // The main checkout's database: its name (postgres), or its file relative to the checkout (sqlite; a worktree has its own
  // at the same place). Required if there is an engine.
  std::string source;
  // The main checkout's test database, likewise. Default: the name with `_test` at its end (before a file's extension).
  std::optional<std::string> test_source;
  // postgres: name of the golden copy. Default: `<app>_golden`.
  std::optional<std::string> golden;
};

// [commands]: named commands, run by the wrappers. Well-known names: `install` (dependencies), `build`, `migrate`,
// `migrate_check` (exit 0: nothing is pending).
struct NamedCommand {
  std::string name;
  Argv argv;
};

enum class CheckSeverity { required, optional };

// [[checks]]: the repository's own requirements, run in the worktree's environment.
struct CheckConfig {
  // Stable identifier; shown as `checks.<id>`. Lower-case letters, digits, `_`. Required.
  std::string id;
  // One line for people. Default: the identifier.
  std::string title;
  // The command; exit code 0 is a pass. Required.
  Argv command;
  // Compose service to run it in. Default: on the host.
  std::optional<std::string> service;
  // `required` or `optional`.
  CheckSeverity severity = CheckSeverity::required;
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  // What to do when it fails.
  std::string remediation;
};

// [provider]
struct ProviderConfig {
  // Provider to use without asking further. Default: detected.
  std::optional<std::string> provider;
};

struct ProjectConfig {
  AppConfig app;
  StackConfig stack;
  SeedConfig seed;
  EnvConfig env;
  DatabaseConfig database;
  std::vector<NamedCommand> commands;
  std::vector<CheckConfig> checks;
  ProviderConfig provider;

  // Where every value came from, for `hedge config --effective`.
  std::vector<EffectiveValue> effective;

  // Null if there is no such command.
  const NamedCommand* find_command(std::string_view name) const;
};

inline constexpr std::string_view kProjectConfigFile = "hedge.toml";

// That there is a top level for `hedge.toml` to be in: a bare repository's is empty. Errors: invalid_input `checkout_needed`.
Result<void> require_checkout(const std::filesystem::path& checkout);

// Reads `hedge.toml` in `checkout`. Errors: also those of require_checkout().
// Errors: not_found `config_missing`; invalid_input `config_invalid`, with every problem; unsupported `config_unsupported`,
// for sections whose machinery this version does not have.
Result<ProjectConfig> load_project_config(const std::filesystem::path& checkout);
Result<ProjectConfig> parse_project_config(std::string_view text, std::string name = std::string(kProjectConfigFile));

}  // namespace hedge::config
