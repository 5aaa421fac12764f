#include "proxy/process/descriptor_limit.h"

#include <sys/resource.h>

#include "base/log.h"

namespace hedge::proxy {

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) log::debug("the limit of open files stays as it is");
}

std::uint64_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return limit.rlim_cur;
}

std::uint64_t most_connections(std::uint64_t descriptors, std::size_t workers, std::size_t addresses) {
  constexpr std::uint64_t kProcess = 64;
  constexpr std::uint64_t kWorker = 4;  // epoll, wake-up, the resolver's sockets
  constexpr std::uint64_t kFewest = 16;
  if (descriptors == 0) return 0;
  const std::uint64_t reserved = kProcess + workers * (kWorker + addresses);
  return descriptors > reserved + 2 * kFewest ? (descriptors - reserved) / 2 : kFewest;
}

}  // namespace hedge::proxy
