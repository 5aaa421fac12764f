#include "certs/nss_trust_store.h"

#include "base/file.h"
#include "base/text.h"
#include "certs/certificate.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

constexpr auto kCommandLimit = std::chrono::seconds(10);
// More certificates of one nickname than anybody will ever make; bounds the loop that deletes them.
constexpr int kMostOfOneNickname = 32;

// The same for every root of one CA directory, so that an older one is found without listing the database.
std::string nickname(std::string_view installation) {
  return "Hedge local CA " + std::string(installation);
}

bool is_database(const fs::path& directory) {
  return path_exists(directory / "cert9.db");
}

}  // namespace

std::vector<fs::path> nss_databases(const NssPlaces& places) {
  const fs::path old_place = places.home / ".pki/nssdb";
  const fs::path new_place = places.data_home / "pki/nssdb";
  std::vector<fs::path> found;
  for (const fs::path& place : {old_place, new_place}) {
    if (is_database(place)) found.push_back(place);
  }
  // Chromium before version 146 knows the old place only; later ones read the new place unless the old one
  // exists. So the old place, where there is neither, serves them all.
  if (found.empty())
    found.push_back(path_exists(new_place) && !path_exists(old_place) ? new_place : old_place);
  return found;
}

NssTrustStore::NssTrustStore(fs::path database, bool browser_present, CommandRunner& runner)
    : database_(std::move(database)), browser_present_(browser_present), runner_(runner) {}

bool NssTrustStore::exists() const {
  return is_database(database_);
}

TrustFinding NssTrustStore::finding() const {
  TrustFinding finding;
  finding.store = "nss";
  finding.place = database_.string();
  finding.required = browser_present_ || exists();
  return finding;
}

std::vector<std::string> NssTrustStore::certutil(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), "certutil");
  arguments.insert(arguments.end(), {"-d", "sql:" + database_.string()});
  return arguments;
}

Result<CommandOutput> NssTrustStore::run(std::vector<std::string> arguments) {
  CommandLine command;
  command.argv = certutil(std::move(arguments));
  command.limit = kCommandLimit;
  return runner_.run(command);
}

void NssTrustStore::fail(TrustFinding& finding, const Result<CommandOutput>& output,
                         const std::vector<std::string>& arguments) const {
  if (!output && output.error().kind() == ErrorKind::not_found) {
    // Without a browser that reads it, a missing tool costs nobody anything.
    finding.status = finding.required ? TrustStatus::failed : TrustStatus::skipped;
    finding.error = "missing_tool";
    finding.detail = "certutil is not installed; it is in the package libnss3-tools";
    finding.command = "sudo apt-get install libnss3-tools";
    return;
  }
  finding.status = TrustStatus::failed;
  finding.error = "trust_failed";
  finding.detail = output ? tail_of(output->err, 2) : output.error().to_string();
  finding.command = shell_line(certutil(arguments));
}

NssTrustStore::Held NssTrustStore::look(std::string_view installation, std::string_view wanted,
                                        TrustFinding& finding) {
  const std::vector<std::string> arguments{"-L", "-a", "-n", nickname(installation)};
  const auto output = run(arguments);
  if (!output) {
    fail(finding, output, arguments);
    return Held::unreadable;
  }
  if (!output->ok()) {
    // "No such nickname" and "unreadable database" have the same exit code; only one of them can be listed.
    const auto listing = run({"-L"});
    if (listing && listing->ok()) return Held::nothing;
    fail(finding, listing, {"-L"});
    return Held::unreadable;
  }
  const auto held = parse_certificates(output->out);
  if (held.empty()) return Held::nothing;
  finding.fingerprint = fingerprint(*held.front());
  if (held.size() != 1 || finding.fingerprint != wanted) return Held::other;
  // A certificate can stand there without being trusted: ask whether it may sign for servers.
  const auto valid = run({"-V", "-u", "L", "-n", nickname(installation)});
  return valid && valid->ok() ? Held::ours : Held::other;
}

TrustFinding NssTrustStore::check(const TrustedRoot& root) {
  TrustFinding result = finding();
  if (!exists()) {
    result.status = TrustStatus::absent;
    result.error = result.required ? "ca_untrusted" : "";
    result.detail = "the database does not exist yet";
    if (!result.required) result.status = TrustStatus::skipped;
    return result;
  }
  const Held held = look(root.installation, root.fingerprint, result);
  if (held == Held::unreadable) return result;
  result.status = held == Held::ours ? TrustStatus::trusted : TrustStatus::absent;
  if (held != Held::ours) result.error = "ca_untrusted";
  if (held == Held::other) {
    const bool same = result.fingerprint == root.fingerprint;
    result.detail =
        same ? "holds the root, but does not trust it" : "holds an older root of this installation";
  }
  return result;
}

bool NssTrustStore::clear(std::string_view installation, TrustFinding& finding) {
  for (int i = 0; i < kMostOfOneNickname; ++i) {
    const std::vector<std::string> arguments{"-D", "-n", nickname(installation), "-f", "/dev/null"};
    finding.fingerprint.clear();
    const Held held = look(installation, {}, finding);
    if (held == Held::unreadable) return false;
    if (held == Held::nothing) return true;
    const auto output = run(arguments);
    if (!output || !output->ok()) {
      fail(finding, output, arguments);
      return false;
    }
  }
  finding.status = TrustStatus::failed;
  finding.error = "trust_failed";
  finding.detail = "certificates named \"" + nickname(installation) + "\" keep coming back";
  return false;
}

TrustFinding NssTrustStore::install(const TrustedRoot& root) {
  TrustFinding result = finding();
  if (!exists()) {
    const std::vector<std::string> arguments{"-N", "--empty-password"};
    if (auto made = ensure_directory(database_, 0700); !made) {
      fail(result, made.error(), arguments);
      return result;
    }
    if (const auto output = run(arguments); !output || !output->ok()) {
      fail(result, output, arguments);
      return result;
    }
  }
  const Held before = look(root.installation, root.fingerprint, result);
  if (before == Held::unreadable) return result;
  if (before == Held::ours) {
    result.status = TrustStatus::trusted;
    return result;
  }
  if (before == Held::other && !clear(root.installation, result)) return result;
  // -f keeps certutil from asking for the password of a protected database on the terminal: it fails instead.
  const std::vector<std::string> arguments{
      "-A", "-t", "C,,", "-n", nickname(root.installation), "-i", root.file.string(), "-f", "/dev/null"};
  const auto output = run(arguments);
  if (!output || !output->ok()) {
    fail(result, output, arguments);
    return result;
  }
  const Held after = look(root.installation, root.fingerprint, result);
  if (after == Held::unreadable) return result;
  result.status = after == Held::ours ? TrustStatus::installed : TrustStatus::failed;
  if (after != Held::ours) {
    result.error = "trust_failed";
    result.detail = "certutil reported success, but the root is not trusted; is it there under another name?";
    result.command = shell_line(certutil({"-L"}));
  }
  return result;
}

TrustFinding NssTrustStore::remove(std::string_view installation) {
  TrustFinding result = finding();
  if (!exists()) {
    result.status = TrustStatus::removed;
    result.detail = "the database does not exist";
    return result;
  }
  if (clear(installation, result)) result.status = TrustStatus::removed;
  return result;
}

std::vector<std::string> NssTrustStore::manual_steps(const TrustedRoot& root) const {
  std::vector<std::string> lines;
  if (!exists()) {
    lines.push_back(shell_line({"mkdir", "-p", database_.string()}));
    lines.push_back(shell_line(certutil({"-N", "--empty-password"})));
  }
  lines.push_back(
      shell_line(certutil({"-A", "-t", "C,,", "-n", nickname(root.installation), "-i", root.file.string()})));
  return lines;
}

}  // namespace hedge::certs
