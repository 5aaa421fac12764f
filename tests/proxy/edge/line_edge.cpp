#include "tests/proxy/edge/line_edge.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "certs/certificate_authority.h"
#include "tests/support/reactor_loop.h"

namespace hedge::test {

using namespace std::chrono_literals;
using proxy::IoResult;

namespace {

std::string facts_of(proxy::DownstreamConnection& connection) {
  const proxy::StreamIdentity& identity = connection.stream().identity();
  return std::string("tls=") + (identity.tls ? "1" : "0") +
         " https=" + (connection.wants_https() ? "1" : "0") + " alpn=" + identity.alpn +
         " name=" + identity.server_name + " ip=" + identity.peer_ip + "\n";
}

}  // namespace

Task<void> LineService::serve(proxy::EdgeWorker& worker, proxy::DownstreamConnection& connection) {
  proxy::ByteStream& stream = connection.stream();
  std::string text;
  for (;;) {
    if (text.empty()) {
      connection.begin_idle();
      const IoResult ready = co_await stream.readable();
      if (!ready.ok()) co_return;
    }
    connection.begin_request_head();
    while (text.find('\n') == std::string::npos) {
      const proxy::Block block = worker.buffers().lease_head();
      const IoResult got = co_await stream.read_some(block.bytes());
      if (!got.ok()) co_return;
      text.append(block.data(), got.bytes);
    }
    connection.end_request_head();
    const std::size_t end = text.find('\n') + 1;
    const std::string line = text.substr(0, end);
    text.erase(0, end);
    const bool goes_on = co_await answer(worker, connection, line);
    if (!goes_on) co_return;
  }
}

Task<bool> LineService::answer(proxy::EdgeWorker& worker, proxy::DownstreamConnection& connection,
                               const std::string& line) {
  proxy::ByteStream& stream = connection.stream();
  std::string head = "ok:";
  std::string body = line;
  if (line == "who\n") {
    head = facts_of(connection);
    body.clear();
  } else if (line.starts_with("route ")) {
    const std::string host = line.substr(6, line.size() - 7);
    head = worker.routes()->find(host) != nullptr ? "known\n" : "unknown\n";
    body.clear();
  } else if (line == "stuck\n") {
    static_cast<void>(co_await stream.write("stuck\n"));
    co_await pause_for(worker.reactor(), 500ms);
    co_return false;
  } else if (line == "hold\n") {
    const IoResult told = co_await stream.write("holding\n");
    if (!told.ok()) co_return false;
    const proxy::Block block = worker.buffers().lease_head();
    const IoResult got = co_await stream.read_some(block.bytes());
    if (!got.ok()) co_return false;
    head = "held\n";
    body.clear();
  }
  const IoResult sent = co_await stream.write(head, body);
  co_return sent.ok() && !worker.draining();
}

LineEdge::LineEdge(proxy::EdgeLimits limits, std::size_t workers) {
  const certs::AuthorityLocation location{directory_ / "ca", directory_ / "ca.lock"};
  EXPECT_TRUE(certs::ensure_authority(location, {"dev.localhost"}, clock_));
  certs::CertificateStoreOptions options;
  options.ca_directory = location.directory;
  options.suffixes = {"dev.localhost"};
  certificates_ = certs::CertificateStore::open(options, clock_).value();
  tls_ = proxy::TlsContext::create(*certificates_).value();
  proxy::ListenPlan plan;
  plan.workers = workers;
  plan.plain = {config::SocketAddress{"127.0.0.1", 0}};
  plan.tls = {config::SocketAddress{"127.0.0.1", 0}};
  proxy::BoundAddresses bound = proxy::open_listening_sockets(plan).value();
  proxy::EdgeSettings settings;
  settings.limits = limits;
  proxy::WorkerShared shared;
  shared.tls = tls_.get();
  shared.service = &service_;
  server_ = proxy::EdgeServer::create(settings, shared, std::move(bound.addresses), workers).value();
  server_->start();
}

LineEdge::~LineEdge() {
  drain_and_join();
}

void LineEdge::drain_and_join() {
  server_->begin_drain();
  server_->join();
}

bool LineEdge::wait_for_open(std::uint64_t count) const {
  const auto limit = std::chrono::steady_clock::now() + 10s;
  while (server_->facts().connections != count) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

proxy::EdgeLimits short_limits() {
  proxy::EdgeLimits limits;
  limits.handshake = 100ms;
  limits.request_head = 100ms;
  limits.idle_keep_alive = 100ms;
  limits.drain = 200ms;
  limits.sweep = 20ms;
  return limits;
}

}  // namespace hedge::test
