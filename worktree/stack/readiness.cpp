#include "worktree/stack/readiness.h"

#include <cerrno>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/http_client.h"
#include "base/unique_fd.h"

namespace hedge::worktree {
namespace {

constexpr std::chrono::milliseconds kConnectLimit{1000};
// A development server may build something before its first answer.
constexpr std::chrono::milliseconds kAnswerLimit{5000};
constexpr std::chrono::milliseconds kPause{25};

Error not_yet(ErrorKind kind, const ReadinessProbe& probe, std::string_view why) {
  return Error(kind, "port " + std::to_string(probe.port) + ": " + std::string(why));
}

Result<void> connect_once(const ReadinessProbe& probe) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return Error::from_errno(errno, "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(probe.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // The sockets API takes every family through one pointer type.
  const auto* any = reinterpret_cast<const sockaddr*>(&address);  // NOLINT
  if (::connect(socket.get(), any, sizeof address) == 0) return {};
  if (errno != EINPROGRESS) return not_yet(ErrorKind::unavailable, probe, "nothing listens");
  pollfd wait{socket.get(), POLLOUT, 0};
  if (::poll(&wait, 1, static_cast<int>(kConnectLimit.count())) <= 0) {
    return not_yet(ErrorKind::timed_out, probe, "no connection within 1 s");
  }
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
  if (problem != 0) return not_yet(ErrorKind::unavailable, probe, "nothing listens");
  return {};
}

}  // namespace

Result<void> probe_once(const ReadinessProbe& probe) {
  if (!probe.path) return connect_once(probe);
  HttpRequest request;
  request.target = *probe.path;
  request.host = "127.0.0.1:" + std::to_string(probe.port);
  const auto response = http_fetch(TcpAddress{"127.0.0.1", probe.port}, request, kAnswerLimit);
  if (!response) return response.error();
  constexpr unsigned kServerError = 500;
  if (response->status < kServerError) return {};
  return not_yet(ErrorKind::unavailable, probe, *probe.path + " answers " + std::to_string(response->status));
}

Result<void> wait_until_ready(const ReadinessProbe& probe, const std::function<Result<void>()>& still_alive) {
  const auto deadline = std::chrono::steady_clock::now() + probe.limit;
  while (true) {
    auto answer = probe_once(probe);
    if (answer) return {};
    if (auto alive = still_alive(); !alive) return alive;
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error(ErrorKind::timed_out, "not ready within " + std::to_string(probe.limit.count()) + " ms")
          .with_id("process_not_ready")
          .with_cause(std::move(answer).error());
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace hedge::worktree
