// The edge's limits and modes, as every worker reads them. Defaults are the product's; tests shorten the
// times.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hedge::proxy {

struct EdgeLimits {
  std::chrono::milliseconds handshake{10'000};
  std::chrono::milliseconds request_head{30'000};  // from its first byte
  std::chrono::milliseconds idle_keep_alive{300'000};
  std::chrono::milliseconds drain{10'000};
  std::chrono::milliseconds drain_first_request{1'000};  // for a client that a drain met before its request
  std::chrono::milliseconds connect{2'000};              // over all addresses of an upstream
  std::chrono::milliseconds connect_stagger{250};        // until the next address is tried beside the first
  std::chrono::milliseconds resolve{1'000};              // until a resolution is given up
  std::chrono::milliseconds resolve_ttl{1'000};          // how long an answer is reused, whatever DNS says
  std::chrono::milliseconds resolve_failure_ttl{250};
  std::chrono::milliseconds upstream_idle{4'000};  // below Node's 5 s
  std::chrono::milliseconds sweep{1'000};          // how coarse deadlines are
};

struct NameServer {
  std::string ip;
  std::uint16_t port = 53;
};

struct EdgeSettings {
  EdgeLimits limits;
  std::vector<NameServer> name_servers;  // empty: the system's
  bool narrow_cookies = true;
  bool upstream_verify = true;  // certificates of https upstreams
  std::string upstream_ca;      // a PEM file with their roots; empty: the system's
  // Open connections of clients over all workers; further ones wait in the queue, so that there are
  // descriptors left for upstreams. 0: no limit.
  std::uint64_t most_connections = 0;
};

}  // namespace hedge::proxy
