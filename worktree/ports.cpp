#include "worktree/ports.h"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/digest.h"
#include "base/unique_fd.h"

namespace hedge::worktree {
namespace {

using ByService = Ports::ByService;

constexpr std::uint32_t kPortCount = kLastPort - kFirstPort + 1U;

bool can_bind(const sockaddr* address, socklen_t size) {
  const UniqueFd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno == EAFNOSUPPORT;
  const int yes = 1;
  // Without it a port with connections in TIME_WAIT would look taken; a listener is refused all the same.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd.get(), address, size) == 0) return true;
  return errno == EADDRNOTAVAIL;  // no such address on this machine: nothing can listen there either
}

Result<bool> is_recorded(sqlite::Database& database, std::uint16_t port) {
  auto statement = database.prepare("SELECT 1 FROM ports WHERE port = ?");
  if (!statement) return statement.error();
  statement->bind(1, std::int64_t{port});
  return statement->step();
}

// Starts at a place that the worktree's id decides, so that its ports tend to be the same after destroy and
// create.
std::uint32_t first_candidate(std::string_view worktree, std::string_view service) {
  const std::string digest = sha256(std::string(worktree) + "\n" + std::string(service));
  std::uint32_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return number % kPortCount;
}

Result<std::uint16_t> find_free(sqlite::Database& database, std::string_view worktree,
                                std::string_view service) {
  const std::uint32_t start = first_candidate(worktree, service);
  for (std::uint32_t step = 0; step < kPortCount; ++step) {
    const auto port = static_cast<std::uint16_t>(kFirstPort + (start + step) % kPortCount);
    auto recorded = is_recorded(database, port);
    if (!recorded) return recorded.error();
    if (!*recorded && can_bind_loopback(port)) return port;
  }
  return Error(ErrorKind::no_space, "every port from " + std::to_string(kFirstPort) + " to " +
                                        std::to_string(kLastPort) + " is taken")
      .with_id("ports_exhausted");
}

Result<void> record_port(sqlite::Database& database, std::string_view worktree, std::string_view service,
                         std::uint16_t port) {
  auto statement = database.prepare("INSERT INTO ports (port, worktree, service) VALUES (?, ?, ?)");
  if (!statement) return statement.error();
  statement->bind(1, std::int64_t{port}).bind(2, worktree).bind(3, service);
  auto done = statement->step();
  if (!done) return done.error();
  return {};
}

Result<ByService> read_ports(sqlite::Database& database, std::string_view worktree) {
  auto statement = database.prepare("SELECT service, port FROM ports WHERE worktree = ?");
  if (!statement) return as_state_error(std::move(statement).error());
  statement->bind(1, worktree);
  ByService ports;
  while (true) {
    auto row = statement->step();
    if (!row) return as_state_error(std::move(row).error());
    if (!*row) return ports;
    ports.emplace(statement->text(0), static_cast<std::uint16_t>(statement->number(1)));
  }
}

enum class Recording { yes, no };

Result<ByService> complete(sqlite::Database& database, std::string_view worktree,
                           const std::vector<std::string>& services, Recording recording) {
  auto known = read_ports(database, worktree);
  if (!known) return known.error();
  ByService wanted;
  for (const std::string& service : services) {
    if (const auto found = known->find(service); found != known->end()) {
      wanted.insert(*found);
      continue;
    }
    auto port = find_free(database, worktree, service);
    if (!port) return port.error();
    wanted.emplace(service, *port);
    if (recording == Recording::no) continue;
    if (auto done = record_port(database, worktree, service, *port); !done) return done.error();
  }
  return wanted;
}

}  // namespace

bool can_bind_loopback(std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_addr = in6addr_loopback;
  return can_bind(reinterpret_cast<const sockaddr*>(&v4), sizeof v4) &&
         can_bind(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

Result<ByService> Ports::load(std::string_view worktree) {
  return read_ports(state_.database(), worktree);
}

Result<ByService> Ports::ensure(std::string_view worktree, const std::vector<std::string>& services) {
  ByService ports;
  auto done = state_.change([&](sqlite::Database& database) -> Result<void> {
    auto complete_ports = complete(database, worktree, services, Recording::yes);
    if (!complete_ports) return complete_ports.error();
    ports = std::move(*complete_ports);
    return {};
  });
  if (!done) return done.error();
  return ports;
}

Result<ByService> Ports::propose(std::string_view worktree, const std::vector<std::string>& services) {
  ByService ports;
  auto done = state_.rehearse([&](sqlite::Database& database) -> Result<void> {
    auto complete_ports = complete(database, worktree, services, Recording::no);
    if (!complete_ports) return complete_ports.error();
    ports = std::move(*complete_ports);
    return {};
  });
  if (!done) return done.error();
  return ports;
}

Result<std::uint16_t> Ports::replace(std::string_view worktree, std::string_view service) {
  std::uint16_t port = 0;
  auto done = state_.change([&](sqlite::Database& database) -> Result<void> {
    auto found = find_free(database, worktree, service);
    if (!found) return found.error();
    port = *found;
    auto removed =
        database.execute("DELETE FROM ports WHERE worktree = ? AND service = ?", {worktree, service});
    if (!removed) return removed;
    return record_port(database, worktree, service, port);
  });
  if (!done) return done.error();
  return port;
}

}  // namespace hedge::worktree
