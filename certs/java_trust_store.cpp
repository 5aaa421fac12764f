#include "certs/java_trust_store.h"

#include <algorithm>
#include <optional>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "certs/certificate.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

// Java starts slowly on a busy machine.
constexpr auto kCommandLimit = std::chrono::seconds(60);
// Of every Java's own store; it is no secret, it only guards against accidents.
constexpr const char* kPassword = "changeit";

std::string variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

bool is_roots(const fs::path& path) {
  struct stat info {};
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  return ::stat(path.c_str(), &info) == 0 && info.st_uid == 0 && (info.st_mode & kOthersWrite) == 0;
}

std::optional<JavaInstallation> installation_at(const fs::path& home) {
  const fs::path keytool = home / "bin/keytool";
  if (::access(keytool.c_str(), X_OK) != 0) return std::nullopt;
  for (const char* place : {"lib/security/cacerts", "jre/lib/security/cacerts"}) {
    std::error_code failure;
    const fs::path cacerts = fs::canonical(home / place, failure);
    if (failure) continue;
    std::error_code unresolved;
    const fs::path program = fs::canonical(keytool, unresolved);
    return JavaInstallation{keytool, cacerts, !unresolved && is_roots(program) && is_roots(cacerts)};
  }
  return std::nullopt;
}

// The home of the `java` that PATH finds: <home>/bin/java, behind the links of alternatives.
fs::path home_of_java_in_path(const Environment& environment) {
  const std::string path = variable(environment, "PATH");
  for (const std::string_view directory : split(path, ':')) {
    const fs::path candidate = fs::path(directory) / "java";
    if (!candidate.is_absolute() || ::access(candidate.c_str(), X_OK) != 0) continue;
    std::error_code failure;
    const fs::path program = fs::canonical(candidate, failure);
    if (!failure) return program.parent_path().parent_path();
  }
  return {};
}

std::string alias_of(std::string_view installation, std::string_view fingerprint) {
  constexpr std::size_t kShort = 12;
  return "hedge-" + std::string(installation) + "-" + std::string(fingerprint.substr(0, kShort));
}

// The names under which `listing` has that root: ours, and the one that Debian's hook gives to what it takes from the
// system's store, where the file has our name too. Ours alone, if it has neither: keytool then tells what is wrong.
std::vector<std::string> aliases_in(std::string_view listing, std::string_view installation,
                                    std::string_view fingerprint) {
  const std::string own = alias_of(installation, fingerprint);
  const std::string debians = "debian:" + own + ".pem";
  std::vector<std::string> found;
  if (listing.find(debians) != std::string_view::npos) found.push_back(debians);
  if (found.empty() || listing.find(" " + own + "\n") != std::string_view::npos) found.push_back(own);
  return found;
}

}  // namespace

std::vector<JavaInstallation> java_installations(const Environment& environment) {
  std::vector<JavaInstallation> found;
  for (const fs::path& home :
       {fs::path(variable(environment, "JAVA_HOME")), home_of_java_in_path(environment)}) {
    if (!home.is_absolute()) continue;
    auto java = installation_at(home);
    const auto has_its_store = [&java](const JavaInstallation& one) { return one.cacerts == java->cacerts; };
    if (java && std::none_of(found.begin(), found.end(), has_its_store)) found.push_back(std::move(*java));
  }
  return found;
}

JavaTrustStore::JavaTrustStore(JavaInstallation java, const Environment& environment, CommandRunner& runner)
    : java_(std::move(java)), environment_(environment), runner_(runner) {
  // What they hold would be printed into the output, and may name another store.
  for (const char* name : {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
    environment_.erase(name);
}

TrustFinding JavaTrustStore::finding() const {
  TrustFinding finding;
  finding.store = "java";
  finding.place = java_.cacerts.string();
  return finding;
}

std::vector<std::string> JavaTrustStore::keytool(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), java_.keytool.string());
  arguments.insert(arguments.end(), {"-keystore", java_.cacerts.string(), "-storepass", kPassword});
  return arguments;
}

bool JavaTrustStore::look(std::string_view installation, std::string_view wanted, Held& held,
                          TrustFinding& finding) {
  CommandLine command;
  command.argv = keytool({"-list", "-rfc"});
  command.environment = environment_;
  command.limit = kCommandLimit;
  const auto output = runner_.run(command);
  if (output && output->ok()) {
    held = {find_own(parse_certificates(output->out), installation, wanted), output->out};
    return true;
  }
  finding.status = TrustStatus::failed;
  finding.error = "trust_failed";
  // keytool tells its failures on standard output.
  finding.detail =
      output ? tail_of(output->err.empty() ? output->out : output->err, 2) : output.error().to_string();
  finding.command = shell_line(command.argv);
  return false;
}

std::vector<std::string> JavaTrustStore::add_command(const TrustedRoot& root) const {
  return keytool({"-importcert", "-noprompt", "-trustcacerts", "-alias",
                  alias_of(root.installation, root.fingerprint), "-file", root.file.string()});
}

StoreCommands JavaTrustStore::delete_commands(std::string_view installation, const Held& held) const {
  StoreCommands commands;
  for (const std::string& older : held.own.older) {
    for (const std::string& alias : aliases_in(held.listing, installation, older))
      commands.push_back(keytool({"-delete", "-noprompt", "-alias", alias}));
  }
  return commands;
}

bool JavaTrustStore::change(const StoreCommands& commands, TrustFinding& finding) {
  const bool is_direct = ::geteuid() == 0 || ::access(java_.cacerts.c_str(), W_OK) == 0;
  return run_change(runner_, {commands, is_direct, kCommandLimit, environment_}, finding);
}

TrustFinding JavaTrustStore::check(const TrustedRoot& root) {
  TrustFinding result = finding();
  Held held;
  if (look(root.installation, root.fingerprint, held, result))
    describe_own(held.own, root.fingerprint, result);
  return result;
}

TrustFinding JavaTrustStore::install(const TrustedRoot& root) {
  TrustFinding result = finding();
  Held held;
  if (!look(root.installation, root.fingerprint, held, result)) return result;
  StoreCommands commands;
  if (!root.keeps_older) commands = delete_commands(root.installation, held);
  if (!held.own.has_root) commands.push_back(add_command(root));
  if (!change(commands, result)) return result;
  const bool was_there = held.own.has_root;
  if (!commands.empty() && !look(root.installation, root.fingerprint, held, result)) return result;
  if (held.own.has_root) {
    result.status = was_there ? TrustStatus::trusted : TrustStatus::installed;
    result.fingerprint = root.fingerprint;
    return result;
  }
  result.status = TrustStatus::failed;
  result.error = "trust_failed";
  result.detail = "keytool reported success, but the root is not there";
  result.command = manual_line(commands, false);
  return result;
}

TrustFinding JavaTrustStore::remove(std::string_view installation) {
  TrustFinding result = finding();
  Held held;
  if (!look(installation, {}, held, result)) return result;
  const StoreCommands commands = delete_commands(installation, held);
  if (!change(commands, result)) return result;
  if (!commands.empty() && !look(installation, {}, held, result)) return result;
  result.status = held.own.older.empty() ? TrustStatus::removed : TrustStatus::failed;
  if (commands.empty()) result.detail = "held no root of this installation";
  if (!held.own.older.empty()) {
    result.error = "trust_failed";
    result.fingerprint = held.own.older.front();
    result.detail = "it still holds a root of this installation";
    result.command = shell_line(keytool({"-list"}));
  }
  return result;
}

std::vector<std::string> JavaTrustStore::manual_steps(const TrustedRoot& root) const {
  const bool is_direct = ::access(java_.cacerts.c_str(), W_OK) == 0;
  return {manual_line({add_command(root)}, is_direct && ::geteuid() != 0)};
}

}  // namespace hedge::certs
