#include "certs/system_trust_store.h"

#include <algorithm>
#include <system_error>

#include <unistd.h>

#include "base/file.h"
#include "certs/certificate.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

// The update starts hundreds of processes; on a busy machine that takes its time.
constexpr auto kCommandLimit = std::chrono::seconds(180);
constexpr std::size_t kMaxBundle = 16UL << 20;

std::string prefix_of(std::string_view installation) {
  return "hedge-" + std::string(installation) + "-";
}

std::vector<X509Ptr> certificates_in(const fs::path& file) {
  const auto content = read_file(file, kMaxBundle);
  return content ? parse_certificates(*content) : std::vector<X509Ptr>();
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

}  // namespace

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
    if (find_own(certificates_in(file), installation, {}).has_issued) found.push_back(file);
  }
  return found;
}

OwnCertificates SystemTrustStore::own_in_bundle(std::string_view installation,
                                                std::string_view wanted) const {
  return find_own(certificates_in(layout_.bundle), installation, wanted);
}

TrustFinding SystemTrustStore::check(const TrustedRoot& root) {
  TrustFinding result = finding();
  const OwnCertificates own = own_in_bundle(root.installation, root.fingerprint);
  describe_own(own, root.fingerprint, result);
  const auto wrong = misplaced(root.installation);
  const auto older = anchors_of(root.installation, anchor_of(root));
  if (!wrong.empty()) {
    result.detail =
        wrong.front().string() + " holds a leaf or an intermediate, not the root: it makes nothing trusted";
    result.error = "ca_misplaced";
    result.command = manual_line({{"rm", "-f", wrong.front().string()}, layout_.update_command}, false);
  } else if (own.has_root && !older.empty()) {
    result.detail = "also holds an older root: " + older.front().string();
  }
  return result;
}

StoreCommands SystemTrustStore::install_commands(const TrustedRoot& root) const {
  StoreCommands commands;
  if (!root.keeps_older) {
    for (const fs::path& file : anchors_of(root.installation, anchor_of(root)))
      commands.push_back({"rm", "-f", file.string()});
  }
  commands.push_back({"install", "-D", "-m", "0644", root.file.string(), anchor_of(root).string()});
  commands.push_back(layout_.update_command);
  return commands;
}

StoreCommands SystemTrustStore::remove_commands(std::string_view installation) const {
  StoreCommands commands;
  for (const fs::path& file : anchors_of(installation, {})) commands.push_back({"rm", "-f", file.string()});
  if (!commands.empty()) commands.push_back(layout_.update_command);
  return commands;
}

bool SystemTrustStore::change(const StoreCommands& commands, TrustFinding& finding) {
  const bool is_direct = ::geteuid() == 0 || may_write(layout_.anchors);
  return run_change(runner_, {commands, is_direct, kCommandLimit}, finding);
}

TrustFinding SystemTrustStore::install(const TrustedRoot& root) {
  TrustFinding result = check(root);
  const bool is_alone = root.keeps_older || anchors_of(root.installation, anchor_of(root)).empty();
  if (result.status == TrustStatus::trusted && is_alone) return result;
  result = finding();
  const StoreCommands commands = install_commands(root);
  if (!change(commands, result)) return result;
  if (own_in_bundle(root.installation, root.fingerprint).has_root) {
    result.status = TrustStatus::installed;
    result.fingerprint = root.fingerprint;
  } else {
    result.status = TrustStatus::failed;
    result.error = "trust_failed";
    result.detail = layout_.bundle.string() + " does not hold the root although the update succeeded";
    result.command = manual_line(commands, false);
  }
  return result;
}

TrustFinding SystemTrustStore::remove(std::string_view installation) {
  TrustFinding result = finding();
  const StoreCommands commands = remove_commands(installation);
  if (!change(commands, result)) return result;
  const OwnCertificates left = own_in_bundle(installation, {});
  result.status = left.older.empty() ? TrustStatus::removed : TrustStatus::failed;
  if (commands.empty()) result.detail = "held no root of this installation";
  if (!left.older.empty()) {
    result.error = "trust_failed";
    result.fingerprint = left.older.front();
    result.detail = layout_.bundle.string() + " still holds a root of this installation";
    result.command = manual_line({layout_.update_command}, false);
  }
  return result;
}

std::vector<std::string> SystemTrustStore::manual_steps(const TrustedRoot& root) const {
  std::vector<std::string> lines;
  for (const auto& command : install_commands(root)) lines.push_back("sudo " + shell_line(command));
  return lines;
}

}  // namespace hedge::certs
