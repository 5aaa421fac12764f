#include "tests/proxy/control/fake_engine.h"

#include <array>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "proxy/control/percent_encoding.h"

namespace hedge::test {
namespace {

using nlohmann::json;

std::string plain_answer(const std::string& status, const std::string& body, const std::string& fields = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

// In chunks of a few bytes, as nobody sends it and everybody may.
std::string chunked_answer(const std::string& body) {
  constexpr std::size_t kChunk = 7;
  std::string out = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += kChunk) {
    const std::string piece = body.substr(at, kChunk);
    out += std::to_string(piece.size()) + "\r\n" + piece + "\r\n";
  }
  return out + "0\r\n\r\n";
}

std::string chunk(const std::string& bytes) {
  std::array<char, 16> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return size.data() + bytes + "\r\n";
}

void write_all(int fd, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

json inspect_json(const FakeContainer& container) {
  json networks = json::object();
  for (const auto& [name, ip] : container.networks) {
    networks[name] = {{"NetworkID", name + "-id"}, {"IPAddress", ip}, {"GlobalIPv6Address", ""}};
  }
  return {{"Id", container.id},
          {"Name", "/" + container.name},
          {"State", {{"Status", container.status}, {"Running", container.status == "running"}}},
          {"HostConfig", {{"NetworkMode", "default"}}},
          {"NetworkSettings", {{"Networks", networks}, {"Ports", json::object()}}}};
}

}  // namespace

FakeEngine::FakeEngine(std::filesystem::path socket) : socket_(std::move(socket)) {}
FakeEngine::~FakeEngine() {
  stop();
}

void FakeEngine::set_version(std::string version, std::string minimum) {
  const std::lock_guard lock(mutex_);
  version_ = std::move(version);
  minimum_ = std::move(minimum);
}
void FakeEngine::set_mode(Mode mode) {
  const std::lock_guard lock(mutex_);
  mode_ = mode;
}
void FakeEngine::put(FakeContainer container) {
  const std::lock_guard lock(mutex_);
  const std::string id = container.id;
  containers_[id] = std::move(container);
}
void FakeEngine::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  containers_.erase(id);
}
void FakeEngine::before_inspected(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  before_inspected_ = std::move(hook);
}

void FakeEngine::start() {
  listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener_.get(), 64), 0);
  acceptor_ = std::thread([this] { accept(); });
}

void FakeEngine::stop() {
  if (!acceptor_.joinable()) return;
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  listener_.reset();
  {
    const std::lock_guard lock(mutex_);
    for (Peer& peer : peers_) ::shutdown(peer.fd.get(), SHUT_RDWR);
  }
  for (Peer& peer : peers_) peer.thread.join();
  peers_.clear();
  std::filesystem::remove(socket_);
}

void FakeEngine::accept() {
  while (true) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) return;
    const std::lock_guard lock(mutex_);
    Peer& peer = peers_.emplace_back();
    peer.fd = std::move(fd);
    peer.thread = std::thread([this, &peer] { serve(peer); });
  }
}

void FakeEngine::serve(Peer& peer) {
  std::string head;
  std::array<char, 4096> block{};
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = ::read(peer.fd.get(), block.data(), block.size());
    if (got <= 0) return;
    head.append(block.data(), static_cast<std::size_t>(got));
  }
  const std::string first_line = head.substr(0, head.find('\r'));
  answer(peer, std::string(split(first_line, ' ').at(1)));
  // The descriptor stays open until stop(), which shuts it down; ending the sending side is what the client
  // sees.
  if (!peer.is_stream) {
    const std::lock_guard lock(mutex_);
    if (mode_ != Mode::silent) ::shutdown(peer.fd.get(), SHUT_RDWR);
  }
}

void FakeEngine::answer(Peer& peer, const std::string& target) {
  std::function<void()> hook;
  std::string out;
  {
    const std::lock_guard lock(mutex_);
    targets_.push_back(target);
    out = make_answer(peer, target);
    if (target.find("/containers/") != std::string::npos) hook = before_inspected_;
  }
  changed_.notify_all();
  // The answer is what was true before the hook: a test makes it stale here.
  if (hook) hook();
  write_all(peer.fd.get(), out);
  const std::lock_guard lock(mutex_);
  if (peer.is_stream) ++streams_;
  changed_.notify_all();
}

std::string FakeEngine::make_answer(Peer& peer, const std::string& target) {
  switch (mode_) {
    case Mode::silent:
    case Mode::hangs_up:
      return "";
    case Mode::garbage:
      return "220 mail.example ESMTP\r\n\r\n";
    case Mode::no_json:
      return plain_answer("200 OK", "<html>");
    case Mode::failing:
      return plain_answer("500 Oops", R"({"message": "disk on fire"})");
    case Mode::normal:
      break;
  }
  std::string version;
  std::string path = target;
  if (target.starts_with("/v") && target.find('/', 1) != std::string::npos) {
    version = target.substr(2, target.find('/', 1) - 2);
    path = target.substr(target.find('/', 1));
  }
  if (!version.empty() && version < minimum_) {
    return plain_answer("400 Bad Request", R"({"message": "client version is too old"})");
  }
  if (path == "/_ping") return ping();
  if (path.starts_with("/containers/json")) return list(path);
  if (path.starts_with("/containers/")) return inspect(path);
  if (!path.starts_with("/events")) return plain_answer("404 Not Found", R"({"message": "page not found"})");
  peer.is_stream = true;
  return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
}

std::string FakeEngine::ping() const {
  return plain_answer("200 OK", "OK", version_.empty() ? "" : "Api-Version: " + version_ + "\r\n");
}

// Like the engine: by id, by name, then by the beginning of an id.
std::string FakeEngine::inspect(const std::string& path) const {
  const std::string wanted = path.substr(12, path.rfind('/') - 12);
  for (const auto& [id, container] : containers_) {
    if (id == wanted || container.name == wanted) return chunked_answer(inspect_json(container).dump());
  }
  for (const auto& [id, container] : containers_) {
    if (id.starts_with(wanted)) return chunked_answer(inspect_json(container).dump());
  }
  return plain_answer("404 Not Found", R"({"message": "No such container"})");
}

std::string FakeEngine::list(const std::string& target) const {
  const auto filters = json::parse(*proxy::percent_decode(target.substr(target.find("filters=") + 8)));
  json out = json::array();
  for (const auto& [id, container] : containers_) {
    bool fits = true;
    for (const std::string label : filters.at("label")) {
      const auto found = container.labels.find(label.substr(0, label.find('=')));
      fits = fits && found != container.labels.end() && found->second == label.substr(label.find('=') + 1);
    }
    if (fits) out.push_back({{"Id", id}, {"Names", {"/" + container.name}}, {"State", container.status}});
  }
  return chunked_answer(out.dump());
}

void FakeEngine::emit(const std::string& type, const std::string& action, const std::string& id) {
  json actor = {{"ID", type == "network" ? "edge-id" : id}, {"Attributes", json::object()}};
  if (type == "network") actor["Attributes"]["container"] = id;
  emit_raw(json({{"Type", type}, {"Action", action}, {"Actor", actor}}).dump() + "\n");
}

void FakeEngine::emit_raw(const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  for (Peer& peer : peers_) {
    if (peer.is_stream) write_all(peer.fd.get(), chunk(bytes));
  }
}

void FakeEngine::end_streams() {
  const std::lock_guard lock(mutex_);
  for (Peer& peer : peers_) {
    if (peer.is_stream) ::shutdown(peer.fd.get(), SHUT_RDWR);
  }
}

bool FakeEngine::wait_for_streams(int count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(5), [&] { return streams_ >= count; });
}

std::vector<std::string> FakeEngine::targets() const {
  const std::lock_guard lock(mutex_);
  return targets_;
}

int FakeEngine::requests_for(const std::string& part) const {
  int count = 0;
  for (const std::string& target : targets()) count += target.find(part) != std::string::npos ? 1 : 0;
  return count;
}

bool FakeEngine::wait_for_requests(const std::string& part, int count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(5), [&] {
    int found = 0;
    for (const std::string& target : targets_) found += target.find(part) != std::string::npos ? 1 : 0;
    return found >= count;
  });
}

}  // namespace hedge::test
