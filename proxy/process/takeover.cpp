#include "proxy/process/takeover.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/log.h"
#include "base/text.h"

namespace hedge::proxy {
namespace {

// The running edge answers at once; it does nothing slow for this.
constexpr std::chrono::seconds kAnswerLimit{10};

Error unresponsive(Error cause) {
  return std::move(cause).with_context("take over from the running edge").with_id("edge_unresponsive");
}

// A descriptor below zero: nothing listens there.
Result<UniqueFd> connect_to(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path)
    return Error(ErrorKind::invalid_input, "the control socket's path is longer than 107 bytes: " + text);
  std::memcpy(address.sun_path, text.data(), text.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return Error::from_errno(errno, "make a socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return socket;
  if (errno == ENOENT || errno == ECONNREFUSED) return UniqueFd();
  return Error::from_errno(errno, "connect to " + text);
}

Error refused(const std::string& reason) {
  return Error(ErrorKind::refused, "the running edge does not hand over: " + reason)
      .with_id("takeover_refused")
      .with_hint("stop it and start anew: hedge edge stop && hedge edge start");
}

bool is_same_directory(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code unreadable;
  return one == other || std::filesystem::equivalent(one, other, unreadable);
}

// What the edge says in the body of its refusal.
Error refusal(const std::string& status_line, const std::string& body) {
  const auto problem = nlohmann::json::parse(body, nullptr, false);
  std::string detail = status_line;
  if (problem.is_object() && problem.contains("detail") && problem["detail"].is_string())
    detail = problem["detail"].get<std::string>();
  return refused(detail);
}

}  // namespace

Takeover::Takeover(UniqueFd socket) : socket_(std::move(socket)), reader_(socket_.get()) {}

Result<std::optional<Takeover>> Takeover::begin(const std::filesystem::path& control_socket,
                                                const std::filesystem::path& state) {
  Result<UniqueFd> socket = connect_to(control_socket);
  if (!socket) return std::move(socket).error();
  if (!*socket) return std::optional<Takeover>();
  Takeover takeover(std::move(*socket));
  if (Result<void> asked = takeover.ask(); !asked) return std::move(asked).error();
  if (Result<void> received = takeover.receive_items(); !received)
    return unresponsive(std::move(received).error());
  // Its lock would be taken for that of a directory which nobody has locked.
  if (!takeover.its_state_.empty() && !is_same_directory(takeover.its_state_, state))
    return refused("it serves the state directory " + takeover.its_state_.string());
  return std::optional<Takeover>(std::move(takeover));
}

Result<void> Takeover::ask() {
  // send_line() ends the head's empty line.
  constexpr std::string_view kRequest =
      "POST /v1/takeover HTTP/1.1\r\nHost: edge\r\nContent-Length: 0\r\nConnection: Upgrade\r\n"
      "Upgrade: hedge-takeover\r\n\r";
  if (Result<void> sent = send_line(socket_.get(), kRequest); !sent)
    return unresponsive(std::move(sent).error());
  Result<std::string> status = reader_.read_line(kAnswerLimit);
  if (!status) return unresponsive(std::move(status).error());
  std::size_t length = 0;
  for (;;) {
    Result<std::string> line = reader_.read_line(kAnswerLimit);
    if (!line) return unresponsive(std::move(line).error());
    if (line->empty()) break;
    constexpr std::string_view kLength = "content-length:";
    if (ascii_lower(*line).starts_with(kLength))
      length = parse_number<std::size_t>(trim(std::string_view(*line).substr(kLength.size()))).value_or(0);
  }
  if (status->starts_with("HTTP/1.1 101 ")) return {};
  Result<std::string> body = reader_.read_bytes(length, kAnswerLimit);
  return refusal(*status, body ? *body : std::string());
}

Result<void> Takeover::receive_items() {
  for (;;) {
    Result<std::string> line = reader_.read_line(kAnswerLimit);
    if (!line) return std::move(line).error();
    Result<HandoverItem> item = decode_handover_item(*line);
    if (!item) return std::move(item).error();
    if (const auto* address = std::get_if<HandedAddress>(&*item)) {
      if (Result<void> taken = take_item(*address); !taken) return taken;
    } else if (const auto* control = std::get_if<HandedControl>(&*item)) {
      if (Result<void> taken = take_item(*control); !taken) return taken;
    } else {
      break;
    }
  }
  if (!control_) return Error(ErrorKind::io, "the running edge did not hand its control socket over");
  return {};
}

Result<void> Takeover::take_item(const HandedAddress& handed) {
  Result<std::vector<UniqueFd>> sockets = reader_.take_descriptors(handed.sockets);
  if (!sockets) return std::move(sockets).error();
  addresses_.push_back({handed.kind, handed.address, handed.asked, std::move(*sockets)});
  return {};
}

Result<void> Takeover::take_item(const HandedControl& handed) {
  Result<std::vector<UniqueFd>> descriptors = reader_.take_descriptors(handed.has_claim ? 3 : 2);
  if (!descriptors) return std::move(descriptors).error();
  control_.emplace(
      ControlSocket::adopt(handed.path, std::move((*descriptors)[1]), std::move((*descriptors)[0])));
  if (handed.has_claim) claim_lock_ = std::move((*descriptors)[2]);
  its_state_ = handed.state;
  return {};
}

Result<void> Takeover::wait_for_go() {
  Result<std::optional<std::string>> answer = say(kHandoverReady);
  if (!answer) return unresponsive(std::move(answer).error());
  if (!*answer) {
    log::warning("the edge that was to be taken over has died; its clients are served from here");
    return {};
  }
  if (**answer == kHandoverGo) return {};
  return unresponsive(Error(ErrorKind::io, "it takes its word back"));
}

bool Takeover::confirm() {
  const Result<std::optional<std::string>> answer = say(kHandoverServing);
  is_to_reload_ = answer && *answer && **answer == kHandoverReleasedToReload;
  // An edge that hangs has this word waiting, and looks for it before it takes its own back.
  return !answer || !*answer || **answer != kHandoverCancelled;
}

Result<std::optional<std::string>> Takeover::say(std::string_view word) {
  // It need not arrive: what the other has said before it closed can still be read.
  static_cast<void>(send_line(socket_.get(), word));
  Result<std::string> answer = reader_.read_line(kAnswerLimit);
  if (answer) return std::optional(std::move(*answer));
  if (answer.error().kind() == ErrorKind::unavailable) return std::optional<std::string>();
  return std::move(answer).error();
}

}  // namespace hedge::proxy
