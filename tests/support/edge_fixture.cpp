#include "tests/support/edge_fixture.h"

#include <cstdlib>
#include <fstream>
#include <utility>

#include <gtest/gtest.h>

#include "base/text.h"
#include "certs/certificate_authority.h"
#include "proxy/listening_sockets.h"
#include "router/route_table.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {
namespace {

template <class T>
T require(Result<T> result, const char* what) {
  if (!result) {
    ADD_FAILURE() << what << ": " << result.error().to_string();
    std::abort();
  }
  return std::move(*result);
}

}  // namespace

router::Route route_to(const std::string& host, const std::string& upstream) {
  router::Route route;
  route.host = host;
  route.upstream = require(router::parse_upstream(upstream), "upstream");
  route.worktree = host.substr(0, host.find('.'));
  return route;
}

EdgeFixture::EdgeFixture(std::vector<router::Route> routes, EdgeOptions options) {
  if (options.tls) open_tls();
  access_log_ = require(proxy::AccessLog::open(directory_ / "access.log"), "access log");
  proxy::http::HttpServiceOptions service;
  service.access_log = access_log_.get();
  service.trusted_proxies = options.trusted_proxies;
  service_ = std::make_unique<proxy::http::HttpService>(service);

  proxy::ListenPlan plan;
  plan.workers = options.workers;
  plan.plain = {config::SocketAddress{"127.0.0.1", 0}};
  plan.tls.emplace();
  if (options.tls) plan.tls->push_back(config::SocketAddress{"127.0.0.1", 0});
  proxy::BoundAddresses bound = require(proxy::open_listening_sockets(plan), "listen");
  proxy::WorkerShared shared;
  shared.tls = tls_.get();
  shared.service = service_.get();
  server_ = require(proxy::EdgeServer::create(std::move(options.settings), shared, std::move(bound.addresses),
                                              options.workers),
                    "edge");
  server_->publish(router::RouteTable::build(std::move(routes)));
  server_->start();
}

EdgeFixture::~EdgeFixture() {
  stop();
}

void EdgeFixture::stop() {
  if (server_ == nullptr) return;
  server_->begin_drain();
  server_->join();
  server_.reset();
}

void EdgeFixture::open_tls() {
  const certs::AuthorityLocation location{directory_ / "ca", directory_ / "ca.lock"};
  require(certs::ensure_authority(location, {"dev.localhost"}, clock_), "CA");
  certs::CertificateStoreOptions options;
  options.ca_directory = location.directory;
  options.suffixes = {"dev.localhost"};
  certificates_ = require(certs::CertificateStore::open(options, clock_), "certificates");
  tls_ = require(proxy::TlsContext::create(*certificates_), "TLS");
}

std::filesystem::path EdgeFixture::root_certificate() const {
  return directory_ / "ca" / "root.crt";
}

std::uint64_t EdgeFixture::open_tunnels() const {
  std::uint64_t sum = 0;
  for (const auto& worker : server_->workers()) sum += worker->stats().tunnels_open.value();
  return sum;
}

std::uint64_t EdgeFixture::retries() const {
  std::uint64_t sum = 0;
  for (const auto& worker : server_->workers()) sum += worker->stats().upstream_retries.value();
  return sum;
}

std::vector<std::string> EdgeFixture::stop_and_read_log() {
  stop();
  service_.reset();
  access_log_.reset();
  std::ifstream file(directory_ / "access.log");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string fetch(std::uint16_t port, const std::string& head) {
  PeerConnection client = PeerConnection::to(port);
  client.send(head + "Connection: close\r\n\r\n");
  return client.read_all();
}

std::string get(std::uint16_t port, const std::string& host, const std::string& target) {
  return fetch(port, "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n");
}

std::string body_of(const std::string& response) {
  const std::size_t end = response.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : response.substr(end + 4);
}

std::string field_of(const std::string& text, const std::string& name) {
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view field = trim(line);
    if (field.empty()) break;
    const std::size_t colon = field.find(':');
    if (colon != std::string_view::npos && equals_ignoring_case(field.substr(0, colon), name))
      return std::string(trim(field.substr(colon + 1)));
  }
  return {};
}

int status_of(const std::string& response) {
  if (!response.starts_with("HTTP/1.1 ") || response.size() < 12) return 0;
  return parse_number<int>(std::string_view(response).substr(9, 3)).value_or(0);
}

}  // namespace hedge::test
