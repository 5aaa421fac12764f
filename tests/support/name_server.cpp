#include "tests/support/name_server.h"

#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace hedge::test {
namespace {

constexpr std::size_t kHeader = 12;
constexpr std::uint8_t kTypeIpv4 = 1;
constexpr std::uint8_t kTypeIpv6 = 28;

struct Question {
  std::string name;
  std::uint8_t type = 0;
  std::size_t end = 0;  // of the question section
};

Question parse_question(std::string_view query) {
  Question question;
  std::size_t at = kHeader;
  while (at < query.size() && query[at] != 0) {
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(query[at]));
    if (!question.name.empty()) question.name += '.';
    question.name += query.substr(at + 1, length);
    at += length + 1;
  }
  question.end = at + 5;
  if (question.end <= query.size()) question.type = static_cast<std::uint8_t>(query[at + 2]);
  return question;
}

void append_address(std::string& answer, std::uint8_t type, const std::string& ip) {
  std::array<char, 16> bytes{};
  const bool ipv4 = type == kTypeIpv4;
  ::inet_pton(ipv4 ? AF_INET : AF_INET6, ip.c_str(), bytes.data());
  const std::size_t length = ipv4 ? 4 : 16;
  answer += std::string("\xc0\x0c\x00", 3) + static_cast<char>(type);  // the question's name, type
  answer += std::string("\x00\x01\x00\x00\x02\x58\x00", 7);            // class IN, 600 s
  answer += static_cast<char>(length);
  answer.append(bytes.data(), length);
}

}  // namespace

NameServer::NameServer()
    : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    ADD_FAILURE() << "bind: " << std::strerror(errno);
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

NameServer::~NameServer() {
  const std::uint64_t one = 1;
  EXPECT_EQ(::write(stop_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  thread_.join();
}

void NameServer::set(const std::string& name, Record record) {
  const std::lock_guard lock(mutex_);
  records_[name] = std::move(record);
}

void NameServer::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  records_.erase(name);
}

int NameServer::questions(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find(name);
  return found == questions_.end() ? 0 : found->second;
}

std::vector<std::string> NameServer::names_asked() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, count] : questions_) names.push_back(name);
  return names;
}

void NameServer::run() {
  for (;;) {
    std::array<pollfd, 2> waits = {pollfd{socket_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[1].revents != 0) return;
    std::array<char, 512> query{};
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t got =
        ::recvfrom(socket_.get(), query.data(), query.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
    if (got <= 0) continue;
    const std::string answer = answer_to(std::string_view(query.data(), static_cast<std::size_t>(got)));
    if (answer.empty()) continue;
    ::sendto(socket_.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
  }
}

std::string NameServer::answer_to(std::string_view query) {
  const Question question = parse_question(query);
  const bool ipv4 = question.type == kTypeIpv4;
  const std::lock_guard lock(mutex_);
  if (ipv4) ++questions_[question.name];
  const auto found = records_.find(question.name);
  const bool exists = found != records_.end();
  if (exists && (found->second.silent || (!ipv4 && found->second.silent_ipv6))) return {};
  std::vector<std::string> addresses;
  if (exists && ipv4) addresses = found->second.ipv4;
  if (exists && question.type == kTypeIpv6) addresses = found->second.ipv6;
  std::string answer(query.substr(0, 2));
  answer += exists ? std::string("\x81\x80", 2) : std::string("\x81\x83", 2);  // an answer; NXDOMAIN
  answer += std::string("\x00\x01\x00", 3) + static_cast<char>(addresses.size());
  answer += std::string("\x00\x00\x00\x00", 4);
  answer += query.substr(kHeader, question.end - kHeader);
  for (const std::string& ip : addresses) append_address(answer, question.type, ip);
  return answer;
}

}  // namespace hedge::test
