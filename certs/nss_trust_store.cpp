#include "certs/nss_trust_store.h"

#include <array>

#include "base/file.h"
#include "base/text.h"
#include "certs/certificate.h"
#include "certs/store_change.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

constexpr auto kCommandLimit = std::chrono::seconds(10);
// More certificates of one nickname than anybody will ever make; bounds the loop that deletes them.
constexpr int kMostOfOneNickname = 32;

// The same for every root of one CA directory, so that an older one is found without listing the database. Two,
// because one nickname cannot have two subjects: while a root is replaced, the old one and the new one stand there.
std::array<std::string, 2> nicknames(std::string_view installation) {
  const std::string first = "Hedge local CA " + std::string(installation);
  return {first, first + " (2)"};
}

bool is_database(const fs::path& directory) {
  return path_exists(directory / "cert9.db");
}

}  // namespace

std::vector<fs::path> nss_databases(const NssPlaces& places) {
  const fs::path old_place = places.home / ".pki/nssdb";
  const fs::path new_place = places.data_home / "pki/nssdb";
  const fs::path snap_place = places.home / "snap/chromium/current/.pki/nssdb";
  std::vector<fs::path> found;
  for (const fs::path& place : {old_place, new_place}) {
    if (is_database(place)) found.push_back(place);
  }
  const bool has_own = !found.empty();
  if (is_database(snap_place)) found.push_back(snap_place);
  // Chromium before version 146 knows the old place only; later ones read the new place unless the old one
  // exists. So the old place, where there is neither, serves them all.
  if (!has_own) found.push_back(path_exists(new_place) && !path_exists(old_place) ? new_place : old_place);
  return found;
}

struct NssTrustStore::Slots {
  std::array<std::string, 2> nicknames;
  std::array<Held, 2> held{Held::nothing, Held::nothing};
  std::array<TrustFinding, 2> details;

  // The nickname that has the wanted root, if one has.
  std::optional<std::size_t> ours() const {
    for (std::size_t i = 0; i < held.size(); ++i)
      if (held[i] == Held::ours) return i;
    return std::nullopt;
  }
  std::optional<std::size_t> other() const {
    for (std::size_t i = 0; i < held.size(); ++i)
      if (held[i] == Held::other) return i;
    return std::nullopt;
  }
  // Where a root can be put beside what is there; the second one, if both are taken.
  std::size_t free() const { return held[0] == Held::nothing ? 0 : 1; }
};

NssTrustStore::NssTrustStore(fs::path database, NssNeed need, CommandRunner& runner, NssOwner owner)
    : database_(std::move(database)), need_(need), owner_(owner), runner_(runner) {}

bool NssTrustStore::exists() const {
  return is_database(database_);
}

TrustFinding NssTrustStore::finding() const {
  TrustFinding finding;
  finding.store = owner_ == NssOwner::firefox ? "firefox" : "nss";
  finding.place = database_.string();
  finding.required = need_ == NssNeed::required || exists();
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
    const PackageNames package{"libnss3-tools", "nss-tools", "nss", "mozilla-nss-tools", "nss-tools"};
    finding.command = install_line(package);
    finding.detail = "certutil, which changes this database, is not installed";
    return;
  }
  finding.status = TrustStatus::failed;
  finding.error = "trust_failed";
  finding.detail = output ? tail_of(output->err, 2) : output.error().to_string();
  finding.command = shell_line(certutil(arguments));
}

NssTrustStore::Held NssTrustStore::look(const std::string& nickname, std::string_view wanted,
                                        TrustFinding& finding) {
  const std::vector<std::string> arguments{"-L", "-a", "-n", nickname};
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
  if (!is_self_issued(*held.front())) {
    finding.error = "ca_misplaced";
    finding.detail = "holds a leaf or an intermediate, not the root: it makes nothing trusted";
  }
  if (held.size() != 1 || finding.fingerprint != wanted) return Held::other;
  // A certificate can stand there without being trusted: ask whether it may sign for servers.
  const auto valid = run({"-V", "-u", "L", "-n", nickname});
  if (valid && valid->ok()) return Held::ours;
  finding.detail = "holds the root, but does not trust it";
  return Held::other;
}

std::optional<NssTrustStore::Slots> NssTrustStore::look_at_all(const TrustedRoot& root,
                                                               TrustFinding& finding) {
  Slots slots;
  slots.nicknames = nicknames(root.installation);
  for (std::size_t i = 0; i < slots.nicknames.size(); ++i) {
    slots.details[i] = finding;
    slots.held[i] = look(slots.nicknames[i], root.fingerprint, slots.details[i]);
    if (slots.held[i] != Held::unreadable) continue;
    finding = slots.details[i];
    return std::nullopt;
  }
  return slots;
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
  const auto slots = look_at_all(root, result);
  if (!slots) return result;
  const auto ours = slots->ours();
  const auto other = slots->other();
  if (ours || other) result = slots->details[ours.value_or(other.value_or(0))];
  result.status = ours ? TrustStatus::trusted : TrustStatus::absent;
  if (!ours && result.error.empty()) result.error = "ca_untrusted";
  if (other && result.detail.empty())
    result.detail =
        ours ? "also holds an older root of this installation" : "holds an older root of this installation";
  return result;
}

bool NssTrustStore::clear(const std::string& nickname, TrustFinding& finding) {
  for (int i = 0; i < kMostOfOneNickname; ++i) {
    const std::vector<std::string> arguments{"-D", "-n", nickname, "-f", "/dev/null"};
    TrustFinding seen = finding;
    const Held held = look(nickname, {}, seen);
    if (held == Held::nothing) return true;
    if (held == Held::unreadable) {
      finding = seen;
      return false;
    }
    const auto output = run(arguments);
    if (!output || !output->ok()) {
      fail(finding, output, arguments);
      return false;
    }
  }
  finding.status = TrustStatus::failed;
  finding.error = "trust_failed";
  finding.detail = "certificates named \"" + nickname + "\" keep coming back";
  return false;
}

bool NssTrustStore::make_database(TrustFinding& finding) {
  const std::vector<std::string> arguments{"-N", "--empty-password"};
  if (auto made = ensure_directory(database_, 0700); !made) {
    finding.status = TrustStatus::failed;
    finding.error = "trust_failed";
    finding.detail = made.error().to_string();
    return false;
  }
  if (const auto output = run(arguments); !output || !output->ok()) {
    fail(finding, output, arguments);
    return false;
  }
  return true;
}

bool NssTrustStore::add(const std::string& nickname, const TrustedRoot& root, TrustFinding& finding) {
  // -f keeps certutil from asking for the password of a protected database on the terminal: it fails instead.
  const std::vector<std::string> arguments{"-A", "-t",       "C,,", "-n", nickname, "-i", root.file.string(),
                                           "-f", "/dev/null"};
  const auto output = run(arguments);
  if (!output || !output->ok()) {
    fail(finding, output, arguments);
    return false;
  }
  const Held held = look(nickname, root.fingerprint, finding);
  if (held == Held::ours) {
    finding.status = TrustStatus::installed;
    return true;
  }
  if (held == Held::unreadable) return false;
  finding.status = TrustStatus::failed;
  finding.error = "trust_failed";
  finding.detail = "certutil reported success, but the root is not trusted; is it there under another name?";
  finding.command = shell_line(certutil({"-L"}));
  return false;
}

TrustFinding NssTrustStore::install(const TrustedRoot& root) {
  TrustFinding result = finding();
  if (!exists() && !make_database(result)) return result;
  const auto slots = look_at_all(root, result);
  if (!slots) return result;
  const auto ours = slots->ours();
  const std::size_t target = ours ? *ours : root.keeps_older ? slots->free() : 0;
  for (std::size_t i = 0; i < slots->nicknames.size(); ++i) {
    const bool is_in_the_way = i == target ? !ours : !root.keeps_older;
    if (slots->held[i] == Held::nothing || !is_in_the_way) continue;
    if (!clear(slots->nicknames[i], result)) return result;
  }
  if (!ours) {
    add(slots->nicknames[target], root, result);
    return result;
  }
  result.status = TrustStatus::trusted;
  result.fingerprint = root.fingerprint;
  return result;
}

TrustFinding NssTrustStore::remove(std::string_view installation) {
  TrustFinding result = finding();
  if (!exists()) {
    result.status = TrustStatus::removed;
    result.detail = "the database does not exist";
    return result;
  }
  for (const std::string& nickname : nicknames(installation))
    if (!clear(nickname, result)) return result;
  result.status = TrustStatus::removed;
  return result;
}

std::vector<std::string> NssTrustStore::manual_steps(const TrustedRoot& root) const {
  std::vector<std::string> lines;
  if (!exists()) {
    lines.push_back(shell_line({"mkdir", "-p", database_.string()}));
    lines.push_back(shell_line(certutil({"-N", "--empty-password"})));
  }
  lines.push_back(shell_line(
      certutil({"-A", "-t", "C,,", "-n", nicknames(root.installation).front(), "-i", root.file.string()})));
  return lines;
}

}  // namespace hedge::certs
