#include "base/http_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>

#include "base/text.h"

namespace hedge {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t kLongestUnixPath = 107;  // sun_path less its NUL

Error error_of(const error_code& failure, std::string_view doing) {
  if (failure == http::error::end_of_stream || failure == http::error::partial_message ||
      failure == asio::error::eof || failure == asio::ssl::error::stream_truncated) {
    return Error(ErrorKind::closed, std::string(doing) + ": the peer closed the connection");
  }
  if (failure.category() == boost::system::system_category()) return Error::from_errno(failure.value(), doing);
  return Error(ErrorKind::io, std::string(doing) + ": " + failure.message());
}

http::request<http::string_body> to_beast(const HttpRequest& request) {
  http::request<http::string_body> out(http::string_to_verb(request.method), request.target, 11);
  if (out.method() == http::verb::unknown) out.method_string(request.method);
  out.set(http::field::host, request.host);
  out.set(http::field::connection, "close");
  for (const auto& [name, value] : request.headers) out.set(name, value);
  out.body() = request.body;
  out.prepare_payload();
  return out;
}

HttpResponse from_beast(http::response<http::string_body> response) {
  HttpResponse out;
  out.status = response.result_int();
  for (const auto& field : response) out.headers.emplace_back(field.name_string(), field.value());
  out.body = std::move(response.body());
  return out;
}

// One exchange, run to its end or to the deadline on a private io_context: blocking outside, asynchronous inside,
// because only asynchronous operations can be bounded.
template <class Socket>
class Exchange {
 public:
  template <class... More>
  Exchange(const HttpRequest& request, std::uint64_t max_body_bytes, More&... more)
      : socket_(io_, more...), request_(to_beast(request)) {
    parser_.body_limit(max_body_bytes);
    // Asking HEAD announces a length without a body.
    if (request_.method() == http::verb::head) parser_.skip(true);
  }

  asio::io_context& io() { return io_; }
  Socket& socket() { return socket_; }

  void connected(const error_code& failure) {
    if (failure) return finish(failure, "connect");
    http::async_write(socket_, request_, [this](const error_code& write_failure, std::size_t) {
      if (write_failure) return finish(write_failure, "send request");
      http::async_read(socket_, buffer_, parser_, [this](const error_code& read_failure, std::size_t) {
        finish(read_failure, "read answer");
      });
    });
  }

  Result<HttpResponse> run(std::chrono::milliseconds limit) {
    io_.run_for(limit);
    if (!finished_) return Error(ErrorKind::timed_out, "no answer within " + std::to_string(limit.count()) + " ms");
    if (failure_) return error_of(failure_, doing_);
    return from_beast(parser_.release());
  }

  void finish(const error_code& failure, std::string_view doing) {
    finished_ = true;
    failure_ = failure;
    doing_ = doing;
    io_.stop();
  }

 private:
  asio::io_context io_{1};
  Socket socket_;
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> parser_;
  boost::beast::flat_buffer buffer_;
  bool finished_ = false;
  error_code failure_;
  std::string_view doing_;
};

Result<HttpResponse> fetch(const UnixAddress& address, const HttpRequest& request, std::chrono::milliseconds limit,
                           std::uint64_t max_body_bytes) {
  const std::string path = address.path.string();
  if (path.size() > kLongestUnixPath) {
    return Error(ErrorKind::invalid_input, "socket path is longer than 107 bytes: " + path);
  }
  Exchange<asio::local::stream_protocol::socket> exchange(request, max_body_bytes);
  exchange.socket().async_connect(asio::local::stream_protocol::endpoint(path),
                                  [&exchange](const error_code& failure) { exchange.connected(failure); });
  return exchange.run(limit).with_context(path);
}

Result<HttpResponse> fetch(const TcpAddress& address, const HttpRequest& request, std::chrono::milliseconds limit,
                           std::uint64_t max_body_bytes) {
  using asio::ip::tcp;
  Exchange<tcp::socket> exchange(request, max_body_bytes);
  tcp::resolver resolver(exchange.io());
  resolver.async_resolve(address.host, std::to_string(address.port),
                         [&exchange](const error_code& failure, const tcp::resolver::results_type& found) {
                           if (failure) return exchange.finish(failure, "resolve");
                           asio::async_connect(exchange.socket(), found,
                                               [&exchange](const error_code& connect_failure, const tcp::endpoint&) {
                                                 exchange.connected(connect_failure);
                                               });
                         });
  return exchange.run(limit).with_context(address.host + ":" + std::to_string(address.port));
}

namespace ssl = asio::ssl;
using TlsStream = ssl::stream<asio::ip::tcp::socket>;

Result<void> configure(ssl::context& context, const std::filesystem::path& root) {
  error_code failure;
  context.set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, failure);
  if (!failure) context.set_verify_mode(ssl::verify_peer, failure);
  if (!failure) context.set_default_verify_paths(failure);
  std::error_code problem;
  if (!failure && !root.empty() && std::filesystem::exists(root, problem)) context.load_verify_file(root.string(), failure);
  if (failure) return Error(ErrorKind::io, "prepare TLS with " + root.string() + ": " + failure.message());
  return {};
}

Error handshake_error(TlsStream& stream, const std::string& name, const error_code& failure) {
  const long verified = ::SSL_get_verify_result(stream.native_handle());
  if (verified != X509_V_OK) {
    const char* id = verified == X509_V_ERR_PERMITTED_VIOLATION ? "ca_suffix_missing" : "certificate_unverified";
    return Error(ErrorKind::io, "the certificate for " + name + " does not verify: " +
                                    ::X509_verify_cert_error_string(verified))
        .with_id(id);
  }
  Error error = error_of(failure, "TLS handshake for " + name);
  if (failure.category() != asio::error::get_ssl_category()) return error;
  switch (ERR_GET_REASON(static_cast<unsigned long>(failure.value()))) {
    case SSL_R_TLSV1_UNRECOGNIZED_NAME: return std::move(error).with_id("name_unrecognized");
    // The peer's own trouble: this edge has no certificate to give.
    case SSL_R_TLSV1_ALERT_INTERNAL_ERROR: return std::move(error).with_id("certificate_unavailable");
    default: return std::move(error).with_id("tls_failed");
  }
}

Result<HttpResponse> fetch(const TlsAddress& address, const HttpRequest& request, std::chrono::milliseconds limit,
                           std::uint64_t max_body_bytes) {
  using asio::ip::tcp;
  ssl::context context(ssl::context::tls_client);
  if (auto ready = configure(context, address.root); !ready) return ready.error();
  Exchange<TlsStream> exchange(request, max_body_bytes, context);
  TlsStream& stream = exchange.socket();
  // As SSL_set_tlsext_host_name(), a macro with a cast in it. OpenSSL copies the name.
  std::string name = address.name;
  const bool is_name = ::SSL_ctrl(stream.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1 &&
                       ::SSL_set1_host(stream.native_handle(), name.c_str()) == 1;
  if (!is_name) {
    return Error(ErrorKind::invalid_input, "\"" + printable(address.name) + "\" cannot be asked for over TLS");
  }
  std::optional<Error> refused;
  const auto shake = [&](const error_code& connect_failure, const tcp::endpoint&) {
    if (connect_failure) return exchange.finish(connect_failure, "connect");
    stream.async_handshake(ssl::stream_base::client, [&](const error_code& handshake_failure) {
      if (handshake_failure) refused = handshake_error(stream, address.name, handshake_failure);
      exchange.connected(handshake_failure);
    });
  };
  tcp::resolver resolver(exchange.io());
  resolver.async_resolve(address.server.host, std::to_string(address.server.port),
                         [&](const error_code& resolve_failure, const tcp::resolver::results_type& found) {
                           if (resolve_failure) return exchange.finish(resolve_failure, "resolve");
                           asio::async_connect(stream.next_layer(), found, shake);
                         });
  auto response = exchange.run(limit);
  if (refused) return *refused;
  return std::move(response).with_context(address.server.host + ":" + std::to_string(address.server.port));
}

}  // namespace

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equals_ignoring_case(key, name)) return value;
  }
  return {};
}

Result<HttpResponse> http_fetch(const HttpAddress& address, const HttpRequest& request,
                                std::chrono::milliseconds limit, std::uint64_t max_body_bytes) {
  return std::visit([&](const auto& where) { return fetch(where, request, limit, max_body_bytes); }, address);
}

}  // namespace hedge
