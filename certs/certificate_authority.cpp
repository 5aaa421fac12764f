#include "certs/certificate_authority.h"

#include <array>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "certs/authority_profile.h"
#include "certs/certificate.h"
#include "certs/key_pair.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

constexpr auto kLockLimit = std::chrono::seconds(10);
constexpr std::size_t kMaxFile = 64UL << 10;
constexpr std::string_view kStagingPrefix = ".ca-new-";

Error invalid(const fs::path& file, std::string_view what) {
  return Error(ErrorKind::corrupt, file.string() + " " + std::string(what))
      .with_id("ca_invalid")
      .with_hint("move " + file.parent_path().string() + " aside, then run hedge ca init and hedge ca trust");
}

Error missing(const fs::path& directory) {
  return Error(ErrorKind::not_found, "no CA in " + directory.string())
      .with_id("ca_missing")
      .with_hint("run hedge ca init");
}

Error unreadable(Error cause) {
  if (cause.kind() == ErrorKind::permission) return std::move(cause).with_id("state_unreadable");
  if (cause.kind() == ErrorKind::no_space) return std::move(cause).with_id("disk_full");
  return cause;
}

// Root's, after a run by root that did not come through sudo.
Error with_owner(Error cause, const fs::path& directory) {
  struct stat info {};
  const bool is_foreign = ::stat(directory.c_str(), &info) == 0 && info.st_uid != ::geteuid();
  if (cause.kind() != ErrorKind::permission || !is_foreign) return cause;
  return std::move(cause).with_hint("run sudo chown -R " + std::to_string(::geteuid()) + " " +
                                    directory.string());
}

// A file of a CA that is there: its absence means damage, not "no CA yet".
Result<std::string> read_part(const fs::path& file) {
  auto content = read_file(file, kMaxFile);
  if (content) return content;
  if (content.error().kind() != ErrorKind::not_found)
    return with_owner(unreadable(std::move(content).error()), file.parent_path());
  if (path_exists(file.parent_path())) return invalid(file, "is missing");
  return missing(file.parent_path());
}

Result<X509Ptr> read_certificate(const fs::path& file) {
  const auto content = read_part(file);
  if (!content) return content.error();
  auto certificate = parse_certificate(*content);
  if (!certificate) return invalid(file, "holds no readable certificate");
  return certificate;
}

Result<PkeyPtr> read_key(const fs::path& file) {
  const auto content = read_part(file);
  if (!content) return content.error();
  auto key = parse_private_key(*content);
  if (!key) return invalid(file, "holds no readable private key");
  return key;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Result<void> write_part(const fs::path& file, const Result<std::string>& content, mode_t mode) {
  if (!content) return content.error();
  auto written = write_file_atomically(file, *content, mode);
  if (!written) return unreadable(std::move(written).error());
  return {};
}

Result<void> write_intermediate(const fs::path& file, const X509& certificate, const EVP_PKEY& key) {
  auto pem = certificate_pem(certificate);
  const auto key_pem = private_key_pem(key);
  if (!key_pem) return key_pem.error();
  if (pem) *pem += *key_pem;
  return write_part(file, pem, 0600);
}

Result<void> renew_intermediate(const fs::path& file, const X509& root, EVP_PKEY& root_key, WallTime now) {
  const auto key = generate_key();
  if (!key) return key.error();
  const auto certificate = make_intermediate(**key, root, root_key, now);
  if (!certificate) return certificate.error();
  return write_intermediate(file, **certificate, **key);
}

// All files of a new CA, in a directory that nobody looks at yet.
Result<void> write_new_authority(const AuthorityLocation& staging, const std::vector<std::string>& suffixes,
                                 const std::string& installation, WallTime now) {
  if (auto made = ensure_directory(staging.directory, 0700); !made)
    return unreadable(std::move(made).error());
  const auto root_key = generate_key();
  if (!root_key) return root_key.error();
  const AuthorityIdentity identity{installation, host_name()};
  const auto root = make_root(**root_key, identity, suffixes, now);
  if (!root) return root.error();
  if (auto done = write_part(staging.root_key(), private_key_pem(**root_key), 0400); !done) return done;
  if (auto done = write_part(staging.root_certificate(), certificate_pem(**root), 0644); !done) return done;
  return renew_intermediate(staging.intermediate(), **root, **root_key, now);
}

// Left by processes that were killed. Requires: the lock is held.
void remove_stale_staging(const fs::path& parent) {
  std::error_code failure;
  for (fs::directory_iterator at(parent, failure), end; !failure && at != end; at.increment(failure)) {
    if (!at->path().filename().string().starts_with(kStagingPrefix)) continue;
    // What cannot be removed now is tried again next time; it harms nobody.
    [[maybe_unused]] const auto removed = remove_tree(at->path());
  }
}

Result<void> publish_directory(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::rename(from, to, failure);
  if (failure) return unreadable(Error::from_errno(failure.value(), "create " + to.string()));
  const UniqueFd parent(::open(to.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent || ::fsync(parent.get()) != 0)
    return Error::from_errno(errno, "sync " + to.parent_path().string());
  return {};
}

bool needs_renewal(const Authority& authority, WallTime now) {
  const WallTime ends = not_after(*authority.intermediate.certificate);
  // Near the root's own end a new intermediate would not live longer than this one.
  return ends - now < kRenewalMargin && ends < not_after(*authority.root);
}

Result<EnsuredAuthority> ensure_under_lock(const AuthorityLocation& location,
                                           const std::vector<std::string>& suffixes, WallTime now) {
  auto found = load_authority(location, now);
  AuthorityChange change = AuthorityChange::none;
  if (!found && found.error().kind() == ErrorKind::not_found) {
    const std::string installation = installation_id(location.directory);
    if (auto created = make_authority_at(location, installation, suffixes, now); !created)
      return created.error();
    change = AuthorityChange::created;
  } else if (!found) {
    return found.error();
  } else if (needs_renewal(*found, now)) {
    const auto root_key = read_key(location.root_key());
    if (!root_key) return root_key.error();
    if (!has_key(*found->root, **root_key))
      return invalid(location.root_key(), "does not belong to root.crt");
    if (auto renewed = renew_intermediate(location.intermediate(), *found->root, **root_key, now); !renewed) {
      return renewed.error();
    }
    change = AuthorityChange::intermediate_renewed;
  } else {
    return EnsuredAuthority{std::move(*found), AuthorityChange::none};
  }
  auto reloaded = load_authority(location, now);
  if (!reloaded) return reloaded.error();
  return EnsuredAuthority{std::move(*reloaded), change};
}

}  // namespace

AuthorityLocation authority_location(const config::Paths& paths) {
  return {paths.ca_directory(), paths.state / "ca.lock"};
}

std::string installation_id(const fs::path& ca_directory) {
  constexpr std::size_t kCharacters = 10;
  return to_base32(sha256(ca_directory.lexically_normal().string())).substr(0, kCharacters);
}

Result<X509Ptr> load_root(const AuthorityLocation& location) {
  auto root = read_certificate(location.root_certificate());
  if (!root) return root;
  if (!is_authority(**root) || !is_signed_by(**root, **root)) {
    return invalid(location.root_certificate(), "is not a self-signed CA certificate");
  }
  return root;
}

Result<Issuer> load_issuer(const fs::path& ca_directory) {
  const fs::path file = AuthorityLocation{ca_directory, {}}.intermediate();
  const auto content = read_part(file);
  if (!content) return content.error();
  auto certificate = parse_certificate(*content);
  if (!certificate) return invalid(file, "holds no readable certificate");
  auto key = parse_private_key(*content);
  if (!key) return invalid(file, "holds no readable private key");
  if (!has_key(**certificate, **key))
    return invalid(file, "holds a key that does not belong to its certificate");
  if (!is_authority(**certificate)) return invalid(file, "holds a certificate that may not sign");
  Issuer issuer{std::move(*certificate), std::move(*key), {}};
  issuer.fingerprint = fingerprint(*issuer.certificate);
  // Fills the lazily computed extension cache before leaves of several threads share it.
  X509_check_purpose(issuer.certificate.get(), -1, 0);
  return issuer;
}

Result<Authority> load_authority(const AuthorityLocation& location, WallTime now) {
  auto root = load_root(location);
  if (!root) return root.error();
  if (now >= not_after(**root)) {
    return Error(ErrorKind::unavailable,
                 "Hedge's own CA \"" + common_name(**root) + "\" ended at " + format_utc(not_after(**root)))
        .with_id("ca_expired")
        .with_hint("run hedge ca rotate");
  }
  auto issuer = load_issuer(location.directory);
  if (!issuer) return issuer.error();
  if (!is_signed_by(*issuer->certificate, **root)) {
    return invalid(location.intermediate(), "is not signed by root.crt");
  }
  return Authority{std::move(*root), std::move(*issuer)};
}

Result<void> make_authority_at(const AuthorityLocation& location, const std::string& installation,
                               const std::vector<std::string>& suffixes, WallTime now) {
  const fs::path parent = location.directory.parent_path();
  remove_stale_staging(parent);
  AuthorityLocation staging;
  staging.directory = parent / (std::string(kStagingPrefix) + to_hex(random_bytes(6)));
  auto done = write_new_authority(staging, suffixes, installation, now);
  if (done) done = publish_directory(staging.directory, location.directory);
  if (!done) [[maybe_unused]]
    const auto removed = remove_tree(staging.directory);
  return done;
}

Result<EnsuredAuthority> ensure_authority(const AuthorityLocation& location,
                                          const std::vector<std::string>& suffixes, const Clock& clock) {
  // Most calls find everything in order and need no lock.
  if (auto found = load_authority(location, clock.wall()); found && !needs_renewal(*found, clock.wall())) {
    return EnsuredAuthority{std::move(*found), AuthorityChange::none};
  }
  if (auto made = ensure_directory(location.directory.parent_path(), 0700); !made) {
    return unreadable(std::move(made).error());
  }
  const auto lock = FileLock::acquire(location.lock, FileLock::Mode::exclusive, kLockLimit);
  if (!lock) return unreadable(lock.error());
  return ensure_under_lock(location, suffixes, clock.wall());
}

}  // namespace hedge::certs
