#include "proxy/process/handover_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace hedge::proxy {
namespace {

// A peer that sends more than that in a line is none of ours.
constexpr std::size_t kLongestLine = 64UL << 10;

}  // namespace

Result<void> send_line(int socket, std::string_view line, const std::vector<int>& descriptors) {
  if (descriptors.size() > kMostDescriptors)
    return Error(ErrorKind::invalid_input, "too many descriptors for one message");
  std::string text(line);
  text.push_back('\n');
  iovec bytes{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  if (!descriptors.empty()) {
    const std::size_t length = descriptors.size() * sizeof(int);
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(length);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(length);
    std::memcpy(CMSG_DATA(header), descriptors.data(), length);
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(text.size())) return {};
  if (sent >= 0) return Error(ErrorKind::io, "the other process does not take the message");
  return Error::from_errno(errno, "send to the other process");
}

Result<void> HandoverReader::receive(std::chrono::steady_clock::time_point until) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
  pollfd readable{socket_, POLLIN, 0};
  const int ready = left > 0 ? ::poll(&readable, 1, static_cast<int>(left)) : 0;
  if (ready < 0 && errno == EINTR) return {};
  if (ready <= 0) return Error(ErrorKind::timed_out, "the other process does not answer");
  std::array<char, 4096> block{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  iovec bytes{block.data(), block.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0) {
    if (errno == EINTR || errno == EAGAIN) return {};
    // Closed, with something of ours that nobody has read.
    if (errno == ECONNRESET)
      return Error(ErrorKind::unavailable, "the other process has closed the connection");
    return Error::from_errno(errno, "read from the other process");
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      descriptors_.emplace_back(descriptor);
    }
  }
  if (got == 0) return Error(ErrorKind::unavailable, "the other process has closed the connection");
  unread_.append(block.data(), static_cast<std::size_t>(got));
  return {};
}

Result<std::string> HandoverReader::read_line(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  std::size_t end = unread_.find('\n');
  while (end == std::string::npos) {
    if (unread_.size() > kLongestLine) return Error(ErrorKind::io, "the other process sends too long a line");
    if (Result<void> received = receive(until); !received) return std::move(received).error();
    end = unread_.find('\n');
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

Result<std::string> HandoverReader::read_bytes(std::size_t count, std::chrono::milliseconds limit) {
  if (count > kLongestLine) return Error(ErrorKind::io, "the other process sends too much");
  const auto until = std::chrono::steady_clock::now() + limit;
  while (unread_.size() < count) {
    if (Result<void> received = receive(until); !received) return std::move(received).error();
  }
  std::string bytes = unread_.substr(0, count);
  unread_.erase(0, count);
  return bytes;
}

Result<std::vector<UniqueFd>> HandoverReader::take_descriptors(std::size_t count) {
  if (descriptors_.size() < count)
    return Error(ErrorKind::io, "the other process sent fewer descriptors than it said");
  std::vector<UniqueFd> taken;
  for (std::size_t i = 0; i < count; ++i) {
    taken.push_back(std::move(descriptors_.front()));
    descriptors_.pop_front();
  }
  return taken;
}

}  // namespace hedge::proxy
