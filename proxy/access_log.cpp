#include "proxy/access_log.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

namespace hedge::proxy {
namespace {

// The writer is woken by the first line and then waits this long for company.
constexpr std::chrono::milliseconds kGatherTime{50};
// For a reader that is slow; then lines are lost.
constexpr std::chrono::milliseconds kRoomLimit{1000};

// Every byte may become six; 10 texts, 8 numbers, and the keys.
constexpr std::size_t kLongestLine =
    6 * (AccessLineFormatter::kMaxTargetBytes + 10 * AccessLineFormatter::kMaxTextBytes) + 8 * 20 + 512;

// Writes without asking for room: the line's buffer holds the longest that a record can make.
class LineWriter {
 public:
  explicit LineWriter(char* at) : at_(at) {}

  void put(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

  void text(std::string_view key, std::string_view value,
            std::size_t most = AccessLineFormatter::kMaxTextBytes) {
    put(key);
    *at_++ = '"';
    escaped(value.substr(0, most));
    *at_++ = '"';
  }

  void number(std::string_view key, std::uint64_t value) {
    put(key);
    at_ = std::to_chars(at_, at_ + 20, value).ptr;
  }

  void micros(std::string_view key, std::chrono::microseconds value) {
    number(key, static_cast<std::uint64_t>(value.count() < 0 ? 0 : value.count()));
  }

  char* at() const { return at_; }

 private:
  // RFC 8259, section 7. Bytes above ASCII are escaped as if they were Latin-1, so that a line is valid JSON
  // whatever a client sends.
  void escaped(std::string_view value) {
    static constexpr char kHex[] = "0123456789abcdef";
    for (const char byte : value) {
      const auto c = static_cast<unsigned char>(byte);
      if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') [[likely]] {
        *at_++ = byte;
      } else if (c == '"' || c == '\\') {
        *at_++ = '\\';
        *at_++ = byte;
      } else {
        put("\\u00");
        *at_++ = kHex[c >> 4];
        *at_++ = kHex[c & 15];
      }
    }
  }

  char* at_;
};

Result<UniqueFd> open_for_append(const std::filesystem::path& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return Error::from_errno(errno, "open the access log " + path.string());
  return file;
}

// A supervisor may have given us a pipe or socket that does not block.
bool has_room_soon(int descriptor) {
  pollfd wait{descriptor, POLLOUT, 0};
  return ::poll(&wait, 1, static_cast<int>(kRoomLimit.count())) > 0;
}

}  // namespace

void AccessRecord::clear() {
  std::string kept_worktree = std::move(worktree);
  std::string kept_upstream = std::move(upstream);
  *this = AccessRecord();
  kept_worktree.clear();
  kept_upstream.clear();
  worktree = std::move(kept_worktree);
  upstream = std::move(kept_upstream);
}

AccessLineFormatter::AccessLineFormatter() : line_(std::make_unique_for_overwrite<char[]>(kLongestLine)) {}

std::string_view AccessLineFormatter::format(const AccessRecord& record) {
  LineWriter line(line_.get());
  line.put("{\"time\":\"");
  line.put(time_text(record.start));
  line.text("\",\"peer\":", record.peer);
  line.text(",\"host\":", record.host);
  line.text(",\"worktree\":", record.worktree);
  line.text(",\"scheme\":", record.scheme);
  line.text(",\"method\":", record.method);
  line.text(",\"target\":", record.target, kMaxTargetBytes);
  line.number(",\"status\":", record.status);
  line.number(",\"bytes_in\":", record.bytes_in);
  line.number(",\"bytes_out\":", record.bytes_out);
  line.micros(",\"resolve_us\":", record.resolve);
  line.micros(",\"connect_us\":", record.connect);
  line.micros(",\"first_byte_us\":", record.first_byte);
  line.micros(",\"total_us\":", record.total);
  line.text(",\"upstream\":", record.upstream);
  line.text(",\"request_id\":", record.request_id);
  if (record.retried) line.put(",\"retried\":true");
  if (!record.error_id.empty()) line.text(",\"error\":", record.error_id);
  line.put("}\n");
  return {line_.get(), static_cast<std::size_t>(line.at() - line_.get())};
}

std::string_view AccessLineFormatter::time_text(std::chrono::system_clock::time_point time) {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  if (const std::int64_t second = millis / 1000; second != second_) {
    second_ = second;
    time_text_ = format_utc_millis(time);
  }
  // "….123Z"
  char* fraction = time_text_.data() + time_text_.size() - 4;
  const auto rest = static_cast<unsigned>(millis % 1000);
  fraction[0] = static_cast<char>('0' + rest / 100);
  fraction[1] = static_cast<char>('0' + rest / 10 % 10);
  fraction[2] = static_cast<char>('0' + rest % 10);
  return time_text_;
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::filesystem::path& path) {
  Result<UniqueFd> file = open_for_append(path);
  if (!file) return std::move(file).error();
  return std::unique_ptr<AccessLog>(new AccessLog(path, std::move(*file)));
}

Result<std::unique_ptr<AccessLog>> AccessLog::open_descriptor(int descriptor) {
  // Not through /dev/fd: that is a second open(), which a socket refuses and a pipe of another user, too.
  UniqueFd file(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!file) return Error::from_errno(errno, "use descriptor " + std::to_string(descriptor));
  return std::unique_ptr<AccessLog>(new AccessLog({}, std::move(file)));
}

AccessLog::AccessLog(std::filesystem::path path, UniqueFd file)
    : path_(std::move(path)), file_(std::move(file)) {
  writer_ = std::thread([this] { run(); });
}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  writer_.join();
}

void AccessLog::write(std::string_view line) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (pending_.size() + line.size() > kMaxPendingBytes) {
      ++dropped_;
      return;
    }
    first = pending_.empty();
    pending_.append(line);
  }
  // One wake-up for many lines: the writer sleeps on after the first to gather more.
  if (first) wake_.notify_one();
}

void AccessLog::reopen() {
  {
    const std::lock_guard lock(mutex_);
    reopen_ = true;
  }
  wake_.notify_one();
}

std::uint64_t AccessLog::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void AccessLog::run() {
  std::string lines;
  std::uint64_t reported = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return !pending_.empty() || reopen_ || stopping_; });
    if (!stopping_ && !reopen_) wake_.wait_for(lock, kGatherTime, [this] { return stopping_ || reopen_; });
    lines.swap(pending_);
    const bool reopening = std::exchange(reopen_, false);
    const bool last = stopping_;
    const std::uint64_t dropped = dropped_;
    lock.unlock();
    if (dropped != reported) {
      log::warning("access log: {} lines dropped, the disk is too slow", dropped - reported);
      reported = dropped;
    }
    store(lines);
    lines.clear();
    if (reopening && !path_.empty()) open_anew();
    lock.lock();
    if (last && pending_.empty()) return;
  }
}

void AccessLog::open_anew() {
  Result<UniqueFd> file = open_for_append(path_);
  if (file) {
    file_ = std::move(*file);
  } else {
    log::error("access log: {}; the old file stays in use", file.error().to_string());
  }
}

void AccessLog::store(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t written = ::write(file_.get(), lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN && has_room_soon(file_.get())) continue;
    if (written <= 0) {
      // A full disk must not stop the edge; the next batch tries again.
      log::error("access log: {} bytes lost: {}", lines.size(),
                 Error::from_errno(errno, "write").to_string());
      return;
    }
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace hedge::proxy
