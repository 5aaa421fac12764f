#include "certs/system_trust_store.h"

#include <algorithm>
#include <system_error>

#include <unistd.h>

#include "base/file.h"
#include "certs/certificate.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

constexpr auto kCommandLimit = std::chrono::seconds(60);
constexpr std::size_t kMaxBundle = 16UL << 20;

std::string prefix_of(std::string_view installation) {
  return "hedge-" + std::string(installation) + "-";
}

std::vector<X509Ptr> certificates_in(const fs::path& file) {
  const auto content = read_file(file, kMaxBundle);
  return content ? parse_certificates(*content) : std::vector<X509Ptr>();
}

std::string issuer_unit(const X509& certificate) {
  const X509_NAME* name = X509_get_issuer_name(&certificate);
  const int at = X509_NAME_get_index_by_NID(name, NID_organizationalUnitName, -1);
  if (at < 0) return {};
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
          static_cast<std::size_t>(ASN1_STRING_length(value))};
}

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code failure;
  for (fs::directory_iterator at(directory, failure), end; !failure && at != end; at.increment(failure)) {
    if (at->path().extension() == ".crt") files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool may_write(const fs::path& directory) {
  return ::access(directory.c_str(), W_OK) == 0;
}

std::string manual_line(const std::vector<std::vector<std::string>>& commands) {
  std::string line;
  for (const auto& command : commands) {
    if (!line.empty()) line += " && ";
    line += "sudo " + shell_line(command);
  }
  return line;
}

}  // namespace

std::optional<SystemStoreLayout> find_system_store_layout() {
  SystemStoreLayout debian{"/usr/local/share/ca-certificates",
                           "/etc/ssl/certs/ca-certificates.crt",
                           {"/usr/sbin/update-ca-certificates"}};
  if (::access(debian.update_command.front().c_str(), X_OK) != 0) return std::nullopt;
  return debian;
}

SystemTrustStore::SystemTrustStore(SystemStoreLayout layout, CommandRunner& runner)
    : layout_(std::move(layout)), runner_(runner) {}

TrustFinding SystemTrustStore::finding() const {
  TrustFinding finding;
  finding.store = "system";
  finding.place = layout_.anchors.string();
  return finding;
}

// Named after the root too: update-ca-certificates does not notice that a file of the same name has another
// content.
fs::path SystemTrustStore::anchor_of(const TrustedRoot& root) const {
  constexpr std::size_t kShort = 12;
  return layout_.anchors / (prefix_of(root.installation) + root.fingerprint.substr(0, kShort) + ".crt");
}

std::vector<fs::path> SystemTrustStore::anchors_of(std::string_view installation,
                                                   const fs::path& except) const {
  std::vector<fs::path> found;
  for (const fs::path& file : files_in(layout_.anchors)) {
    if (file != except && file.filename().string().starts_with(prefix_of(installation)))
      found.push_back(file);
  }
  return found;
}

std::vector<fs::path> SystemTrustStore::misplaced(std::string_view installation) const {
  std::vector<fs::path> found;
  for (const fs::path& file : files_in(layout_.anchors)) {
    for (const X509Ptr& certificate : certificates_in(file)) {
      if (issuer_unit(*certificate) == installation && !is_self_issued(*certificate)) found.push_back(file);
    }
  }
  return found;
}

bool SystemTrustStore::bundle_has(const TrustedRoot& root, std::string_view installation,
                                  std::string& found) const {
  bool ours = false;
  for (const X509Ptr& certificate : certificates_in(layout_.bundle)) {
    if (organizational_unit(*certificate) != installation || !is_self_issued(*certificate)) continue;
    found = fingerprint(*certificate);
    if (found == root.fingerprint) ours = true;
  }
  if (ours) found = root.fingerprint;
  return ours;
}

TrustFinding SystemTrustStore::check(const TrustedRoot& root) {
  TrustFinding result = finding();
  const bool listed = bundle_has(root, root.installation, result.fingerprint);
  const auto older = anchors_of(root.installation, anchor_of(root));
  const auto wrong = misplaced(root.installation);
  result.status = listed ? TrustStatus::trusted : TrustStatus::absent;
  if (!listed) result.error = "ca_untrusted";
  if (!wrong.empty()) {
    result.detail =
        wrong.front().string() + " holds a leaf or an intermediate, not the root: it makes nothing trusted";
  } else if (!listed && !result.fingerprint.empty()) {
    result.detail = "holds an older root of this installation";
  } else if (!older.empty()) {
    result.detail = "also holds an older root: " + older.front().string();
  }
  return result;
}

SystemTrustStore::Commands SystemTrustStore::install_commands(const TrustedRoot& root) const {
  Commands commands;
  for (const fs::path& file : anchors_of(root.installation, anchor_of(root)))
    commands.push_back({"rm", "-f", file.string()});
  commands.push_back({"install", "-D", "-m", "0644", root.file.string(), anchor_of(root).string()});
  commands.push_back(layout_.update_command);
  return commands;
}

SystemTrustStore::Commands SystemTrustStore::remove_commands(std::string_view installation) const {
  Commands commands;
  for (const fs::path& file : anchors_of(installation, {})) commands.push_back({"rm", "-f", file.string()});
  if (!commands.empty()) commands.push_back(layout_.update_command);
  return commands;
}

bool SystemTrustStore::change(const Commands& commands, TrustFinding& finding) {
  const bool direct = ::geteuid() == 0 || may_write(layout_.anchors);
  for (const auto& argv : commands) {
    CommandLine command;
    command.argv = argv;
    command.limit = kCommandLimit;
    // -n: sudo must fail rather than ask. A person reads the printed command and decides.
    if (!direct) command.argv.insert(command.argv.begin(), {"sudo", "-n"});
    const auto output = runner_.run(command);
    if (output && output->ok()) continue;
    finding.status = direct ? TrustStatus::failed : TrustStatus::needs_root;
    finding.error = direct ? "trust_failed" : "needs_root";
    finding.detail =
        output ? tail_of(output->err.empty() ? output->out : output->err, 2) : output.error().to_string();
    finding.command = manual_line(commands);
    return false;
  }
  return true;
}

TrustFinding SystemTrustStore::install(const TrustedRoot& root) {
  TrustFinding result = check(root);
  if (result.status == TrustStatus::trusted && anchors_of(root.installation, anchor_of(root)).empty())
    return result;
  result = finding();
  if (!change(install_commands(root), result)) return result;
  if (bundle_has(root, root.installation, result.fingerprint)) {
    result.status = TrustStatus::installed;
  } else {
    result.status = TrustStatus::failed;
    result.error = "trust_failed";
    result.detail = layout_.bundle.string() + " does not hold the root although the update succeeded";
    result.command = manual_line(install_commands(root));
  }
  return result;
}

TrustFinding SystemTrustStore::remove(std::string_view installation) {
  TrustFinding result = finding();
  const Commands commands = remove_commands(installation);
  if (!change(commands, result)) return result;
  const TrustedRoot none;
  bundle_has(none, installation, result.fingerprint);
  const bool gone = result.fingerprint.empty();
  result.status = gone ? TrustStatus::removed : TrustStatus::failed;
  if (commands.empty()) result.detail = "held no root of this installation";
  if (!gone) {
    result.error = "trust_failed";
    result.detail = layout_.bundle.string() + " still holds a root of this installation";
    result.command = manual_line({layout_.update_command});
  }
  return result;
}

std::vector<std::string> SystemTrustStore::manual_steps(const TrustedRoot& root) const {
  std::vector<std::string> lines;
  for (const auto& command : install_commands(root)) lines.push_back("sudo " + shell_line(command));
  return lines;
}

}  // namespace hedge::certs
