// One JSON line for each request. Formatted on the worker, written by a thread of its own; a slow disk costs
// lines, which are counted, and never a request its time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"

namespace hedge::proxy {

// What is told about one request. Never cookies, authorization or any other field of it.
struct AccessRecord {
  std::chrono::system_clock::time_point start;
  std::string_view peer;
  std::string_view host;
  std::string_view method;
  std::string_view target;  // with its query, bounded when it is written
  std::string_view scheme;
  std::string_view request_id;
  std::string worktree;
  std::string upstream;  // identity; empty if none was reached
  std::string_view error_id;
  unsigned status = 0;          // 499: the client went away before an answer
  std::uint64_t bytes_in = 0;   // of the request's body
  std::uint64_t bytes_out = 0;  // of the response's body
  std::chrono::microseconds resolve{0};
  std::chrono::microseconds connect{0};
  std::chrono::microseconds first_byte{0};
  std::chrono::microseconds total{0};
  bool retried = false;

  // Keeps the memory of its strings.
  void clear();
};

// Makes lines. One a worker: it keeps its buffer and the text of the current second.
class AccessLineFormatter {
 public:
  static constexpr std::size_t kMaxTargetBytes = 2048;  // longer ones are cut
  static constexpr std::size_t kMaxTextBytes = 256;     // of any other text

  AccessLineFormatter();
  // One line with its end. Lifetime: until the next call.
  std::string_view format(const AccessRecord& record);

 private:
  std::string_view time_text(std::chrono::system_clock::time_point time);

  std::unique_ptr<char[]> line_;
  std::int64_t second_ = -1;
  std::string time_text_;
};

class AccessLog {
 public:
  // Lines that wait for the disk, at most; further ones are dropped and counted.
  static constexpr std::size_t kMaxPendingBytes = 4UL << 20;

  // Appends to the file (0600). Errors: permission, no_space, io.
  static Result<std::unique_ptr<AccessLog>> open(const std::filesystem::path& path);
  // Appends to what is open already, also a pipe or a socket, and never opens it anew. Errors: io.
  static Result<std::unique_ptr<AccessLog>> open_descriptor(int descriptor);
  // Writes what is pending.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // From any thread; never waits for the disk.
  void write(std::string_view line);
  // From any thread: opens the file anew, after it was moved away. Nothing to do for a descriptor.
  void reopen();
  std::uint64_t dropped() const;

 private:
  AccessLog(std::filesystem::path path, UniqueFd file);
  void run();
  void store(std::string_view lines);
  void open_anew();

  const std::filesystem::path path_;  // empty: a descriptor that was given
  UniqueFd file_;  // the writer thread's
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string pending_;        // guarded by mutex_
  bool reopen_ = false;        // guarded by mutex_
  bool stopping_ = false;      // guarded by mutex_
  std::uint64_t dropped_ = 0;  // guarded by mutex_
  std::thread writer_;
};

}  // namespace hedge::proxy
