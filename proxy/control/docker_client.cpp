#include "proxy/control/docker_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/text.h"
#include "proxy/control/asio_await.h"

namespace hedge::proxy {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::string_view kStandardSocket = "/var/run/docker.sock";
constexpr std::size_t kLongestUnixPath = 107;  // sun_path less its NUL
constexpr std::uint64_t kMaxBodyBytes = 16U << 20;
constexpr std::size_t kBlockBytes = 16384;

using EngineSocket = beast::basic_stream<asio::generic::stream_protocol>;

bool is_engine_installed() {
  constexpr std::array<const char*, 4> kPlaces = {"/usr/bin/dockerd", "/usr/sbin/dockerd",
                                                  "/usr/local/bin/dockerd", "/usr/bin/docker"};
  return std::any_of(kPlaces.begin(), kPlaces.end(), [](const char* place) {
    std::error_code failure;
    return std::filesystem::exists(place, failure);
  });
}

ProxyError connect_error(const EngineAddress& address, const error_code& failure) {
  const std::string at = "the Docker engine at " + printable(address.text);
  if (failure == beast::error::timeout)
    return {ProxyReason::engine_unresponsive, at + " accepts no connection", ""};
  switch (failure.value()) {
    case ENOENT:
      if (!address.is_explicit && !is_engine_installed()) {
        return {ProxyReason::engine_not_installed, "no Docker engine is installed (no " + address.text + ")",
                "install Docker, or use a tcp:, unix: or dns: upstream"};
      }
      [[fallthrough]];
    case ECONNREFUSED:
      return {ProxyReason::engine_not_running, at + " is not running", "start it: systemctl start docker"};
    case EACCES:
    case EPERM:
      return {ProxyReason::engine_permission, "the edge may not open " + printable(address.text),
              "add the edge's user to the socket's group: usermod --append --groups docker USER"};
    default:
      return {ProxyReason::engine_unresponsive, at + ": " + failure.message(), ""};
  }
}

ProxyError exchange_error(const EngineAddress& address, const error_code& failure) {
  const std::string at = "the Docker engine at " + printable(address.text);
  if (failure == beast::error::timeout)
    return {ProxyReason::engine_unresponsive, at + " does not answer", ""};
  if (failure == http::error::end_of_stream || failure == http::error::partial_message ||
      failure == asio::error::connection_reset || failure == asio::error::broken_pipe) {
    return {ProxyReason::engine_unresponsive, at + " closed the connection without an answer", ""};
  }
  return {ProxyReason::engine_unresponsive,
          at + " gave an answer that is not understood: " + failure.message(), ""};
}

// "1.41". Anything else is not a version to put into a path.
bool is_version(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos || text.size() > 16) return false;
  return parse_number<unsigned>(text.substr(0, dot)) && parse_number<unsigned>(text.substr(dot + 1));
}

http::request<http::empty_body> request_for(const std::string& target) {
  http::request<http::empty_body> request(http::verb::get, target, 11);
  request.set(http::field::host, "docker");
  request.set(http::field::connection, "close");
  request.set(http::field::user_agent, "hedge/" HEDGE_VERSION);
  return request;
}

// Source: Docker's API, 400 with "client version 1.24 is too old. Minimum supported API version is 1.44" and
// its twin; the status says that the request is wrong, which ours are only if the version is.
bool is_version_refused(const EngineReply& reply) {
  return reply.status == 400;
}

}  // namespace

Result<EngineAddress> parse_engine_address(const std::optional<std::string>& chosen, EngineTransport tcp) {
  EngineAddress address;
  address.is_explicit = chosen.has_value();
  address.text = chosen.value_or("unix://" + std::string(kStandardSocket));
  const std::string_view text = address.text;
  const auto unsupported = [&](std::string_view what) {
    return Error(ErrorKind::unsupported, "Docker engine \"" + printable(text) + "\": " + std::string(what))
        .with_id("engine_unsupported")
        .with_hint("use unix:///path or tcp://ADDRESS:PORT");
  };
  if (text.starts_with("unix://")) {
    address.unix_path = text.substr(7);
    if (!address.unix_path.starts_with('/') || address.unix_path.size() > kLongestUnixPath) {
      return unsupported("the socket's path must be absolute and at most 107 bytes long");
    }
    return address;
  }
  if (!text.starts_with("tcp://")) return unsupported("this way of connecting is not supported");
  if (tcp == EngineTransport::tls) {
    return unsupported("DOCKER_TLS_VERIFY or DOCKER_TLS is set, and TLS to the engine is not supported");
  }
  const std::string_view rest = text.substr(6);
  const auto colon = rest.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : parse_number<std::uint16_t>(rest.substr(colon + 1));
  if (!port || *port == 0) return unsupported("the port is missing");
  std::string_view host = rest.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  error_code failure;
  asio::ip::make_address(host, failure);
  if (failure) return unsupported("an address is needed, names are not looked up here");
  address.ip = host;
  address.port = *port;
  return address;
}

struct DockerClient::Impl {
  // A connection that shut_down() can end while a coroutine waits on it.
  class Connection {
   public:
    explicit Connection(Impl& impl) : impl_(impl), socket_(impl.io) { impl_.connections.push_back(this); }
    ~Connection() { std::erase(impl_.connections, this); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    EngineSocket& socket() { return socket_; }

   private:
    Impl& impl_;
    EngineSocket socket_;
  };

  Impl(asio::io_context& context, EngineAddress where) : io(context), address(std::move(where)) {}

  asio::generic::stream_protocol::endpoint endpoint() const {
    if (!address.unix_path.empty()) return asio::local::stream_protocol::endpoint(address.unix_path);
    error_code failure;
    return asio::ip::tcp::endpoint(asio::ip::make_address(address.ip, failure), address.port);
  }

  Task<std::optional<ProxyError>> send(Connection& connection, std::string target, SteadyTime deadline);
  Task<EngineResult<EngineReply>> fetch(std::string target, SteadyTime deadline, std::string* api_version);
  Task<std::optional<ProxyError>> negotiate(SteadyTime deadline);

  class BodyStream;

  asio::io_context& io;
  EngineAddress address;
  std::optional<std::string>
      version;  // absent: not asked yet. Empty: the engine names none, paths go without
  std::vector<Connection*> connections;
  bool is_shut_down = false;
};

// Connects and writes the request. What the caller reads next is under the same deadline.
Task<std::optional<ProxyError>> DockerClient::Impl::send(Connection& connection, std::string target,
                                                         SteadyTime deadline) {
  if (is_shut_down) {
    ProxyError stopped{ProxyReason::engine_unresponsive, "the edge is stopping", ""};
    co_return stopped;
  }
  EngineSocket& socket = connection.socket();
  socket.expires_at(deadline);
  const auto where = endpoint();
  auto [connect_failure] =
      co_await await_asio([&](auto done) { socket.async_connect(where, std::move(done)); });
  if (connect_failure) co_return connect_error(address, connect_failure);
  const auto request = request_for(target);
  auto [write_failure, written] = co_await await_asio<std::size_t>(
      [&](auto done) { http::async_write(socket, request, std::move(done)); });
  if (write_failure) co_return exchange_error(address, write_failure);
  co_return std::nullopt;
}

Task<EngineResult<EngineReply>> DockerClient::Impl::fetch(std::string target, SteadyTime deadline,
                                                          std::string* api_version) {
  Connection connection(*this);
  auto unsent = co_await send(connection, std::move(target), deadline);
  if (unsent) co_return std::move(*unsent);
  beast::flat_buffer buffer;
  buffer.reserve(kBlockBytes);
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMaxBodyBytes);
  auto [failure, bytes] = co_await await_asio<std::size_t>(
      [&](auto done) { http::async_read(connection.socket(), buffer, parser, std::move(done)); });
  if (failure) co_return exchange_error(address, failure);
  if (api_version != nullptr) *api_version = std::string(parser.get()["Api-Version"]);
  EngineReply reply;
  reply.status = parser.get().result_int();
  reply.body = std::move(parser.get().body());
  co_return reply;
}

Task<std::optional<ProxyError>> DockerClient::Impl::negotiate(SteadyTime deadline) {
  if (version) co_return std::nullopt;
  std::string named;
  auto reply = co_await fetch("/_ping", deadline, &named);
  if (auto* failure = std::get_if<ProxyError>(&reply)) co_return std::move(*failure);
  if (!named.empty() && !is_version(named)) {
    ProxyError strange{
        ProxyReason::engine_unsupported,
        "the Docker engine at " + printable(address.text) + " names the API version " + printable(named), ""};
    co_return strange;
  }
  version = named;
  co_return std::nullopt;
}

namespace {

std::string versioned(const std::string& version, const std::string& path) {
  return version.empty() ? path : "/v" + version + path;
}

ProxyError refused_version(const EngineAddress& address, const std::string& version) {
  return {ProxyReason::engine_unsupported,
          "the Docker engine at " + printable(address.text) + " refuses its own API version " + version, ""};
}

}  // namespace

class DockerClient::Impl::BodyStream final : public DockerClient::Stream {
 public:
  explicit BodyStream(Impl& impl) : impl_(impl), connection_(impl) {
    parser_.body_limit(boost::none);
    // Beast reads as much as there is room for, and 512 bytes where nothing was reserved.
    buffer_.reserve(kBlockBytes);
  }

  Task<std::optional<ProxyError>> start(std::string target, SteadyTime deadline) {
    auto unsent = co_await impl_.send(connection_, std::move(target), deadline);
    if (unsent) co_return unsent;
    auto [failure, bytes] = co_await await_asio<std::size_t>(
        [&](auto done) { http::async_read_header(connection_.socket(), buffer_, parser_, std::move(done)); });
    if (failure) co_return exchange_error(impl_.address, failure);
    co_return std::nullopt;
  }
  unsigned status() const { return parser_.get().result_int(); }

  Task<EngineResult<std::string>> read(std::chrono::milliseconds limit) override {
    connection_.socket().expires_after(limit);
    std::string block;
    // A chunk's head alone yields no bytes, which the caller must not take for the end.
    while (block.empty() && !parser_.is_done()) {
      block.resize(kBlockBytes);
      auto& body = parser_.get().body();
      body.data = block.data();
      body.size = block.size();
      auto [failure, bytes] = co_await await_asio<std::size_t>(
          [&](auto done) { http::async_read_some(connection_.socket(), buffer_, parser_, std::move(done)); });
      block.resize(block.size() - body.size);
      // need_buffer: the block is full, the rest comes with the next call.
      if (failure && failure != http::error::need_buffer) co_return exchange_error(impl_.address, failure);
    }
    co_return block;
  }

 private:
  Impl& impl_;
  Connection connection_;
  beast::flat_buffer buffer_;
  http::response_parser<http::buffer_body> parser_;
};

DockerClient::DockerClient(asio::io_context& io, EngineAddress address)
    : impl_(std::make_unique<Impl>(io, std::move(address))) {}
DockerClient::~DockerClient() = default;

Task<EngineResult<EngineReply>> DockerClient::get(std::string path, SteadyTime deadline) {
  constexpr int kAttempts = 2;  // the second after an upgrade of the engine under us
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto failure = co_await impl_->negotiate(deadline);
    if (failure) co_return std::move(*failure);
    auto reply = co_await impl_->fetch(versioned(*impl_->version, path), deadline, nullptr);
    if (std::holds_alternative<ProxyError>(reply)) impl_->version.reset();
    const auto* answer = std::get_if<EngineReply>(&reply);
    if (answer == nullptr || !is_version_refused(*answer)) co_return reply;
    if (attempt + 1 == kAttempts) co_return refused_version(impl_->address, impl_->version.value_or(""));
    impl_->version.reset();
  }
  co_return refused_version(impl_->address, "");
}

Task<EngineResult<std::unique_ptr<DockerClient::Stream>>> DockerClient::open(std::string path,
                                                                             SteadyTime deadline) {
  auto unknown = co_await impl_->negotiate(deadline);
  if (unknown) co_return std::move(*unknown);
  auto stream = std::make_unique<Impl::BodyStream>(*impl_);
  auto failure = co_await stream->start(versioned(*impl_->version, path), deadline);
  if (failure || stream->status() != 200) impl_->version.reset();
  if (failure) co_return std::move(*failure);
  if (stream->status() != 200) {
    ProxyError refused{ProxyReason::engine_unresponsive,
                       "the Docker engine answers " + std::to_string(stream->status()) + " to " + path, ""};
    co_return refused;
  }
  co_return std::unique_ptr<Stream>(std::move(stream));
}

void DockerClient::shut_down() {
  impl_->is_shut_down = true;
  for (Impl::Connection* connection : impl_->connections) connection->socket().close();
}

}  // namespace hedge::proxy
