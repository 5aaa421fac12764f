#include "certs/issuer_source.h"

#include <sys/stat.h>

#include "base/log.h"
#include "certs/certificate.h"
#include "certs/certificate_authority.h"

namespace hedge::certs {

IssuerSource::IssuerSource(std::filesystem::path ca_directory, std::chrono::milliseconds interval,
                           const Clock& clock)
    : directory_(std::move(ca_directory)), interval_(interval), clock_(clock) {}

std::optional<IssuerSource::Stamp> IssuerSource::look() const {
  struct stat info {};
  if (::stat(AuthorityLocation{directory_, {}}.intermediate().c_str(), &info) != 0) return std::nullopt;
#ifdef __APPLE__
  const timespec modified = info.st_mtimespec;
#else
  const timespec modified = info.st_mtim;
#endif
  return Stamp{info.st_dev, info.st_ino, info.st_size,
               std::int64_t{modified.tv_sec} * 1'000'000'000 + modified.tv_nsec};
}

void IssuerSource::refresh() {
  const auto stamp = look();
  if (loaded_stamp_ && stamp == loaded_stamp_) return;
  auto loaded = load_issuer(directory_);
  if (!loaded) {
    // Tried again at the next look, also when the file's stamp stays the same: what kept it from being read
    // (no descriptor left, a permission) leaves no trace in it.
    const bool was_told = failure_ && failure_->to_string() == loaded.error().to_string();
    if (!was_told) log::warning("certificates: {}", loaded.error().to_string());
    failure_ = std::move(loaded).error();
    return;
  }
  loaded_stamp_ = stamp;
  log::info("certificates: signing with \"{}\"", common_name(*loaded->certificate));
  issuer_ = std::make_shared<const Issuer>(std::move(*loaded));
  failure_.reset();
}

Result<std::shared_ptr<const Issuer>> IssuerSource::current() {
  const std::scoped_lock lock(mutex_);
  const SteadyTime now = clock_.steady();
  if (!looked_at_ || now - *looked_at_ >= interval_) {
    refresh();
    looked_at_ = now;
  }
  if (issuer_) return issuer_;
  return *failure_;
}

}  // namespace hedge::certs
