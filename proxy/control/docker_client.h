// Requests to a Docker engine: its address, its API version, and what its silence means.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "proxy/proxy_error.h"

namespace boost::asio {
class io_context;
}

namespace hedge::proxy {

struct EngineAddress {
  std::string unix_path;  // set for unix://
  std::string ip;         // set for tcp://
  std::uint16_t port = 0;
  bool is_explicit = false;  // somebody chose it, so that its absence is not "nothing installed"
  std::string text;          // as written, for messages
};

enum class EngineTransport { plain, tls };

// `chosen`: the settings' docker_host or DOCKER_HOST. Absent: the standard socket. `tcp`: what the engine
// speaks on a tcp:// address.
// Errors: unsupported `engine_unsupported` (TLS; ssh://, a host name: the edge resolves nothing here;
// anything else).
Result<EngineAddress> parse_engine_address(const std::optional<std::string>& chosen,
                                           EngineTransport tcp = EngineTransport::plain);

struct EngineReply {
  unsigned status = 0;
  std::string body;
};
template <class T>
using EngineResult = std::variant<T, ProxyError>;

// One engine. Single-threaded, on the io_context's thread. Each request has a connection of its own.
class DockerClient {
 public:
  DockerClient(boost::asio::io_context& io, EngineAddress address);
  ~DockerClient();

  // `path` begins after the version: "/containers/x/json". The version is the one that the engine names in
  // its answer to /_ping, asked for again after a failure and when an engine says that it no longer speaks
  // it.
  // Errors: the engine_… reasons, none later than `deadline`.
  Task<EngineResult<EngineReply>> get(std::string path, SteadyTime deadline);

  // The answer to a GET that goes on for ever, in pieces.
  class Stream {
   public:
    virtual ~Stream() = default;
    // The next bytes of the body. Empty: the engine ended it. Errors: as get(); `limit` without a byte is
    // one.
    virtual Task<EngineResult<std::string>> read(std::chrono::milliseconds limit) = 0;
  };
  Task<EngineResult<std::unique_ptr<Stream>>> open(std::string path, SteadyTime deadline);

  // Ends every request and stream with engine_unresponsive; later ones fail at once.
  void shut_down();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hedge::proxy
