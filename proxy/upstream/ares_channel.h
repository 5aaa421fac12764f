// c-ares on the worker's reactor: the addresses of one absolute name, asked of the configured name servers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "proxy/edge_settings.h"
#include "proxy/stream/reactor.h"

namespace hedge::proxy {

enum class DnsStatus : std::uint8_t {
  found,      // at least one address
  not_found,  // a server said that the name, or any address of it, does not exist
  no_answer,  // no server answered, or none could
};

struct DnsAnswer {
  DnsStatus status = DnsStatus::no_answer;
  std::vector<std::string> addresses;  // IP literals, IPv4 first
  std::string reason;                  // for people, where nothing was found
};

// Single-threaded. No search list, no cache, no address sorting.
class AresChannel {
 public:
  // `servers` empty: the system's, read anew when its file has changed.
  // Errors: io, if c-ares cannot start.
  static Result<std::unique_ptr<AresChannel>> create(Reactor& reactor, std::vector<NameServer> servers);
  ~AresChannel();
  AresChannel(const AresChannel&) = delete;
  AresChannel& operator=(const AresChannel&) = delete;

  // Asks for IPv4 and IPv6 addresses. `on_answer` is called once: when both are known, or IPv4 is and IPv6 is
  // 50 ms late, or after `limit`; from the reactor, and not when the channel dies first. From inside this
  // call only when the system's list of name servers cannot be read, which is an answer at once.
  void find_addresses(const std::string& name, std::chrono::milliseconds limit,
                      std::function<void(DnsAnswer)> on_answer);

 private:
  class Impl;
  explicit AresChannel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hedge::proxy
