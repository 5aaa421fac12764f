// The intermediate as it is on disk now, read again when the file changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include <sys/types.h>

#include "base/clock.h"
#include "base/result.h"
#include "certs/leaf_profile.h"

namespace hedge::certs {

// Thread-safe.
class IssuerSource {
 public:
  // Looks at the file at most every `interval`. Lifetime: `clock` outlives it.
  IssuerSource(std::filesystem::path ca_directory, std::chrono::milliseconds interval, const Clock& clock);

  // The last readable state of the file: a CA that was removed or damaged under a running edge costs nothing
  // that worked. Errors: of load_issuer(), while none was ever readable.
  Result<std::shared_ptr<const Issuer>> current();

 private:
  // Tells two states of the file apart without reading it.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  std::optional<Stamp> look() const;
  void refresh();

  const std::filesystem::path directory_;
  const std::chrono::milliseconds interval_;
  const Clock& clock_;

  std::mutex mutex_;
  std::shared_ptr<const Issuer> issuer_;
  std::optional<Error> failure_;       // of the last attempt
  std::optional<Stamp> loaded_stamp_;  // what issuer_ was read from
  std::optional<SteadyTime> looked_at_;
};

}  // namespace hedge::certs
