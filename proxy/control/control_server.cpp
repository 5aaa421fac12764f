#include "proxy/control/control_server.h"

#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/log.h"
#include "base/task_group.h"
#include "proxy/control/asio_await.h"
#include "proxy/control/handover.h"
#include "proxy/process/handover_channel.h"

namespace hedge::proxy {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::local::stream_protocol;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds kLinger{1000};
constexpr std::string_view kTakeoverTarget = "/v1/takeover";
constexpr std::string_view kTakeoverHead =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: hedge-takeover\r\n\r\n";
constexpr std::string_view kEventsTarget = "/v1/events";
// Its end is that of the connection.
constexpr std::string_view kEventStreamHead =
    "HTTP/1.1 200 OK\r\nServer: hedge/" HEDGE_VERSION
    "\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";

using Stream = beast::basic_stream<stream_protocol>;
using Parser = http::request_parser<http::string_body>;
using Response = http::response<http::string_body>;

Response to_beast(ApiAnswer answer, bool keep_alive) {
  Response response(http::int_to_status(answer.status), 11);
  response.set(http::field::server, "hedge/" HEDGE_VERSION);
  response.set(http::field::cache_control, "no-store");
  if (!answer.allow.empty()) response.set(http::field::allow, answer.allow);
  if (!answer.body.empty()) response.set(http::field::content_type, answer.content_type);
  response.body() = std::move(answer.body);
  response.keep_alive(keep_alive);
  response.prepare_payload();
  return response;
}

ApiRequest from_beast(const http::request<http::string_body>& request) {
  ApiRequest out;
  out.method = std::string(request.method_string());
  out.target = std::string(request.target());
  out.content_type = std::string(request[http::field::content_type]);
  out.body = request.body();
  return out;
}

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

// The refusal that a failed read gets. Absent: nobody is there to read one (a deadline closes the connection,
// too).
std::optional<ApiAnswer> refusal_for(const error_code& failure) {
  if (failure == http::error::body_limit)
    return api_problem(413, "bad_request", "the body is larger than 1 MiB");
  if (failure == http::error::header_limit)
    return api_problem(431, "headers_too_large", "the header is too large");
  const bool is_gone = failure == http::error::end_of_stream || failure == http::error::partial_message ||
                       failure.category() != http::make_error_code(http::error::bad_version).category();
  if (is_gone) return std::nullopt;
  return api_problem(400, "bad_request", "the request is not HTTP/1.1: " + failure.message());
}

}  // namespace

class ControlServer::Impl {
 public:
  Impl(asio::io_context& io, ControlSocket socket, ControlActions& actions, EventFeed& events,
       ControlLimits limits)
      : socket_(std::move(socket)),
        acceptor_(io),
        room_(io),
        actions_(actions),
        events_(events),
        limits_(limits) {
    acceptor_.assign(stream_protocol(), socket_.release_descriptor());
  }

  void start() { tasks_.spawn(accept()); }
  void own_socket() { socket_.own(); }
  void cancel_handover() {
    if (handover_ != nullptr) handover_->cancel();
  }

  void shut_down() {
    is_shut_down_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    room_.cancel();
    events_.close();
    for (Stream* stream : sessions_) stream->close();
  }

 private:
  // Another process has the socket now: it is not accepted from any more, and its file stays.
  void leave_to_successor() {
    is_left_ = true;
    socket_.leave();
    error_code ignored;
    acceptor_.close(ignored);
  }

  // A connection on the list of those that shut_down() ends, for as long as it is served, however that ends.
  class Session {
   public:
    Session(Impl& server, stream_protocol::socket peer) : server_(server), stream_(std::move(peer)) {
      server_.sessions_.push_back(&stream_);
    }
    ~Session() {
      std::erase(server_.sessions_, &stream_);
      server_.room_.cancel();
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    Stream& stream() { return stream_; }

   private:
    Impl& server_;
    Stream stream_;
  };

  // Control clients wait in the queue, which may go over with the socket.
  void pause_accepting() {
    is_paused_ = true;
    error_code ignored;
    acceptor_.cancel(ignored);
  }

  Task<void> accept() {
    while (!is_shut_down_ && !is_left_) {
      if (sessions_.size() >= limits_.max_sessions || is_paused_) {
        co_await pause(limits_.idle);
        continue;
      }
      stream_protocol::socket peer(acceptor_.get_executor());
      auto [failure] = co_await await_asio([&](auto done) { acceptor_.async_accept(peer, std::move(done)); });
      if (!failure) {
        tasks_.spawn(serve(std::move(peer)));
      } else if (!is_shut_down_ && !is_left_ && !is_paused_) {
        // Descriptors are used up: some will come back.
        log::warning("control socket: {}", failure.message());
        co_await pause(std::chrono::milliseconds(100));
      }
    }
  }

  // Until a session has ended, at most `limit`.
  Task<void> pause(std::chrono::milliseconds limit) {
    room_.expires_after(limit);
    co_await await_asio([this](auto done) { room_.async_wait(std::move(done)); });
  }

  Task<void> serve(stream_protocol::socket peer) {
    Session session(*this, std::move(peer));
    beast::flat_buffer buffer(limits_.max_header_bytes + limits_.max_body_bytes);
    bool goes_on = true;
    while (goes_on && !is_shut_down_) goes_on = co_await serve_one(session.stream(), buffer);
  }

  Task<bool> serve_one(Stream& stream, beast::flat_buffer& buffer) {
    if (buffer.size() == 0) {
      const bool has_begun = co_await wait_for_request(stream, buffer);
      if (!has_begun) co_return false;
    }
    Parser parser;
    parser.header_limit(limits_.max_header_bytes);
    parser.body_limit(limits_.max_body_bytes);
    stream.expires_after(limits_.request);
    auto [failure, bytes] = co_await await_asio<std::size_t>(
        [&](auto done) { http::async_read(stream, buffer, parser, std::move(done)); });
    std::optional<ApiAnswer> answer;
    if (failure) {
      answer = refusal_for(failure);
    } else if (parser.get().method() == http::verb::get && path_of(parser.get().target()) == kEventsTarget) {
      if (events_.listeners() < limits_.max_listeners) {
        co_await serve_events(stream);
        co_return false;
      }
      answer = api_problem(503, "busy", "there are as many listeners as the edge serves");
    } else if (parser.get().method() == http::verb::post &&
               path_of(parser.get().target()) == kTakeoverTarget) {
      answer = co_await hand_over(stream, parser.get());
    } else {
      answer = answer_api(from_beast(parser.get()), actions_);
    }
    if (!answer) co_return false;
    const bool keep_alive = !failure && parser.get().keep_alive();
    const Response response = to_beast(std::move(*answer), keep_alive);
    stream.expires_after(limits_.request);
    auto [write_failure, written] = co_await await_asio<std::size_t>(
        [&](auto done) { http::async_write(stream, response, std::move(done)); });
    if (failure && !write_failure) co_await linger(stream);
    co_return keep_alive && !write_failure;
  }

  // Absent: the connection was the handover's.
  Task<std::optional<ApiAnswer>> hand_over(Stream& stream, const http::request<http::string_body>& request) {
    if (request[http::field::upgrade] != kHandoverProtocol) {
      co_return api_problem(426, "bad_request",
                            "a takeover asks for `Upgrade: " + std::string(kHandoverProtocol) + "`");
    }
    if (const auto refused = actions_.begin_handover()) co_return api_problem(*refused);
    Handover handover(stream, actions_.edge(), [this] { pause_accepting(); });
    handover_ = &handover;
    stream.expires_after(limits_.request);
    auto [failure, written] = co_await await_asio<std::size_t>(
        [&](auto done) { asio::async_write(stream, asio::buffer(kTakeoverHead), std::move(done)); });
    bool taken_over = false;
    if (!failure) {
      const Handover::ControlDescriptors control{socket_.path(), actions_.state_directory(),
                                                 acceptor_.native_handle(), socket_.lock_descriptor(),
                                                 actions_.claim_descriptor()};
      taken_over = co_await handover.run(control);
      is_paused_ = false;
    }
    handover_ = nullptr;
    if (taken_over) leave_to_successor();
    room_.cancel();
    const bool reload = actions_.end_handover(taken_over);
    if (taken_over) handover.release(reload);
    co_return std::nullopt;
  }

  // Until the listener goes away or the edge ends.
  Task<void> serve_events(Stream& stream) {
    asio::steady_timer woken(acceptor_.get_executor());
    EventFeed::Subscription events(events_, [&woken] { woken.cancel(); });
    std::string text(kEventStreamHead);
    text += EventFeed::format("status", status_json(actions_));
    while (!text.empty()) {
      stream.expires_after(limits_.request);
      auto [failure, written] = co_await await_asio<std::size_t>(
          [&](auto done) { asio::async_write(stream, asio::buffer(text), std::move(done)); });
      if (failure) co_return;
      text = events.take();
      if (text.empty() && !events.ended()) {
        woken.expires_after(limits_.heartbeat);
        co_await await_asio([&woken](auto done) { woken.async_wait(std::move(done)); });
        text = events.take();
        if (text.empty() && !events.ended()) text = ":\n\n";
      }
    }
  }

  // A refused client may still be sending: closing now would take the answer away from it (RFC 9112, 9.6).
  Task<void> linger(Stream& stream) {
    constexpr int kMostBlocks = 256;
    error_code ignored;
    stream.socket().shutdown(stream_protocol::socket::shutdown_send, ignored);
    stream.expires_after(kLinger);
    std::vector<char> block(16384);
    for (int i = 0; i < kMostBlocks; ++i) {
      auto [failure, bytes] = co_await await_asio<std::size_t>(
          [&](auto done) { stream.async_read_some(asio::buffer(block), std::move(done)); });
      if (failure) co_return;
    }
  }

  // The first bytes of the next request. False: the peer went away, or was silent for too long.
  Task<bool> wait_for_request(Stream& stream, beast::flat_buffer& buffer) {
    stream.expires_after(limits_.idle);
    constexpr std::size_t kFirstBytes = 4096;
    auto [failure, bytes] = co_await await_asio<std::size_t>(
        [&](auto done) { stream.async_read_some(buffer.prepare(kFirstBytes), std::move(done)); });
    if (failure || bytes == 0) co_return false;
    buffer.commit(bytes);
    co_return true;
  }

  ControlSocket socket_;
  stream_protocol::acceptor acceptor_;
  asio::steady_timer room_;  // cancelled when a session ends
  ControlActions& actions_;
  EventFeed& events_;
  ControlLimits limits_;
  std::vector<Stream*> sessions_;
  Handover* handover_ = nullptr;  // the one that runs
  TaskGroup tasks_;
  bool is_shut_down_ = false;
  bool is_paused_ = false;
  bool is_left_ = false;
};

ControlServer::ControlServer(asio::io_context& io, ControlSocket socket, ControlActions& actions,
                             EventFeed& events, ControlLimits limits)
    : impl_(std::make_unique<Impl>(io, std::move(socket), actions, events, limits)) {}
ControlServer::~ControlServer() = default;

void ControlServer::start() {
  impl_->start();
}
void ControlServer::own_socket() {
  impl_->own_socket();
}
void ControlServer::cancel_handover() {
  impl_->cancel_handover();
}
void ControlServer::shut_down() {
  impl_->shut_down();
}

}  // namespace hedge::proxy
