#include "proxy/process/service_manager.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/log.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace hedge::proxy {

ServiceManager::ServiceManager(const Environment& environment) {
  const auto found = environment.find("NOTIFY_SOCKET");
  if (found == environment.end()) return;
  const std::string& address = found->second;
  const bool is_usable = address.size() > 1 && address.size() < sizeof(sockaddr_un::sun_path) &&
                         (address.front() == '/' || address.front() == '@');
  if (is_usable) address_ = address;
}

void ServiceManager::notify(std::string_view state) const {
  if (address_.empty()) return;
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  // An abstract name is as long as it is said to be, without a zero at its end.
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const ssize_t sent = ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                reinterpret_cast<const sockaddr*>(&to), length);
  if (sent < 0)
    log::warning("the service manager is not told: {}", Error::from_errno(errno, "notify").to_string());
}

}  // namespace hedge::proxy
