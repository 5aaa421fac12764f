// What an idle connection and a silent tunnel cost. Everything that the program itself allocates is counted; the kernel's buffers
// are not the edge's.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "proxy/stream/socket_address.h"
#include "proxy/upstream/endpoint.h"
#include "tests/support/edge_fixture.h"

namespace {

std::atomic<std::int64_t> live_bytes = 0;

void* counted_allocate(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += static_cast<std::int64_t>(malloc_usable_size(memory));
  return memory;
}

void counted_free(void* memory) noexcept {
  live_bytes -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted_allocate(bytes);
}
void operator delete(void* memory) noexcept {
  counted_free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  counted_free(memory);
}

namespace hedge::test {
namespace {

constexpr int kBatch = 64;
constexpr int kBatches = 6;
constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: nobody.dev.localhost\r\n\r\n";

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = proxy::Endpoint::from_ip("127.0.0.1", port).value();
  EXPECT_EQ(::connect(socket.get(), address.address(), address.length()), 0);
  return socket;
}

// Reads until what has come ends with `end`, without allocating anything.
void read_until(int socket, std::string_view end) {
  std::array<char, 8192> received{};
  std::size_t size = 0;
  while (!std::string_view(received.data(), size).ends_with(end)) {
    pollfd wait{socket, POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 10'000), 1);
    const ssize_t got = ::recv(socket, received.data() + size, received.size() - size, 0);
    ASSERT_GT(got, 0);
    size += static_cast<std::size_t>(got);
  }
}

void send_all(int socket, std::string_view bytes) {
  ASSERT_EQ(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

// One exchange, without allocating anything. The answer to an unknown host is whole once it ends with "}\n".
void exchange(int socket) {
  send_all(socket, kRequest);
  read_until(socket, "}\n");
}

// Bytes for each connection that has had a request and waits for the next. What is kept for all connections
// together (free buffers, the log's lines) grows now and then and is in some batches; what each connection
// holds is in every one, so the least counts.
std::int64_t bytes_for_each_idle_connection() {
  EdgeFixture edge({});
  std::vector<UniqueFd> sockets;
  sockets.reserve(std::size_t{kBatch} * kBatches);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::int64_t before = live_bytes;
    for (int i = 0; i < kBatch; ++i) {
      sockets.push_back(connect_to(edge.plain_port()));
      exchange(sockets.back().get());
    }
    least = std::min(least, (live_bytes - before) / kBatch);
  }
  return least;
}

TEST(IdleMemory, APlainConnectionCostsLessThanAKibibyte) {
  const std::int64_t bytes = bytes_for_each_idle_connection();
  RecordProperty("bytes", std::to_string(bytes));
  EXPECT_GT(bytes, 200) << "nothing was counted";
  EXPECT_LE(bytes, 1024);
}

constexpr std::string_view kAsk =
    "GET /ws?token=1 HTTP/1.1\r\nHost: alpha.dev.localhost\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n";
constexpr std::string_view kSwitch =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhi";

// Both ends of tunnels through the edge; the upstream's are accepted here.
class Tunnels {
 public:
  Tunnels() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto any = proxy::Endpoint::from_ip("127.0.0.1", 0).value();
    EXPECT_EQ(::bind(listener_.get(), any.address(), any.length()), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    sockets_.reserve(std::size_t{2} * kBatch * kBatches);
  }
  std::string route() const {
    return "tcp:127.0.0.1:" + std::to_string(proxy::SocketAddress::of_local(listener_.get()).port);
  }
  // The first bytes of both sides come with the heads; then nobody says anything.
  void open(std::uint16_t edge_port) {
    UniqueFd client = connect_to(edge_port);
    send_all(client.get(), kAsk);
    send_all(client.get(), "ho");
    UniqueFd upstream(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(upstream);
    read_until(upstream.get(), "\r\n\r\n");
    send_all(upstream.get(), kSwitch);
    read_until(client.get(), "hi");
    read_until(upstream.get(), "ho");
    sockets_.push_back(std::move(client));
    sockets_.push_back(std::move(upstream));
  }
  void close() { sockets_.clear(); }

 private:
  UniqueFd listener_;
  std::vector<UniqueFd> sockets_;
};

std::int64_t bytes_for_each_silent_tunnel() {
  Tunnels tunnels;
  EdgeFixture edge({route_to("alpha.dev.localhost", tunnels.route())});
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::int64_t before = live_bytes;
    for (int i = 0; i < kBatch; ++i) tunnels.open(edge.plain_port());
    least = std::min(least, (live_bytes - before) / kBatch);
  }
  tunnels.close();
  return least;
}

// A block for heads is 16 KiB, and there are two heads.
TEST(IdleMemory, ASilentTunnelHoldsNoBlock) {
  const std::int64_t bytes = bytes_for_each_silent_tunnel();
  RecordProperty("bytes", std::to_string(bytes));
  EXPECT_GT(bytes, 500) << "nothing was counted";
  EXPECT_LE(bytes, 10 * 1024);
}

}  // namespace
}  // namespace hedge::test
