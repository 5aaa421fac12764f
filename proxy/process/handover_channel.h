// Lines of text with descriptors beside them, between a process that hands over and the one that takes over.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace hedge::proxy {

inline constexpr std::string_view kHandoverProtocol = "hedge-takeover";
// What the two say after the listeners were sent, in this order.
inline constexpr std::string_view kHandoverReady = "ready";      // new: everything but accepting is prepared
inline constexpr std::string_view kHandoverGo = "go";            // old: nobody is accepted here any more
inline constexpr std::string_view kHandoverServing = "serving";  // new: clients are accepted
inline constexpr std::string_view kHandoverReleased = "released";  // old: it is yours, I finish what is open
// The same, and: read your settings again, I was told to and could not.
inline constexpr std::string_view kHandoverReleasedToReload = "released reload";
inline constexpr std::string_view kHandoverCancelled = "cancelled";  // old: I go on, end yourself

// More than that does not go with one line (SCM_MAX_FD is 253).
inline constexpr std::size_t kMostDescriptors = 128;

// Sends the line and copies of the descriptors at once; never waits. Errors: io (the peer is gone, or takes
// nothing), invalid_input (too many descriptors).
Result<void> send_line(int socket, std::string_view line, const std::vector<int>& descriptors = {});

// The receiving side of a blocking or non-blocking stream socket. Not for an event loop's thread.
class HandoverReader {
 public:
  // Lifetime: the socket outlives the reader.
  explicit HandoverReader(int socket) : socket_(socket) {}

  // Without its end ("\n" or "\r\n"). Errors: timed_out, unavailable (the peer has closed), io.
  Result<std::string> read_line(std::chrono::milliseconds limit);
  // Errors: those of read_line.
  Result<std::string> read_bytes(std::size_t count, std::chrono::milliseconds limit);
  // The next descriptors that came with what was read. Errors: io, if there are fewer.
  Result<std::vector<UniqueFd>> take_descriptors(std::size_t count);

 private:
  Result<void> receive(std::chrono::steady_clock::time_point until);

  int socket_;
  std::string unread_;
  std::deque<UniqueFd> descriptors_;
};

}  // namespace hedge::proxy
