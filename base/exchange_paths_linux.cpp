#include "base/exchange_paths.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace hedge {

Result<void> exchange_paths(const std::filesystem::path& one, const std::filesystem::path& other) {
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) != 0)
    return Error::from_errno(errno, "exchange " + one.string() + " and " + other.string());
  const UniqueFd parent(::open(one.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent || ::fsync(parent.get()) != 0)
    return Error::from_errno(errno, "sync " + one.parent_path().string());
  return {};
}

}  // namespace hedge
