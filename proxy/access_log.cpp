#include "proxy/access_log.h"

#include <cerrno>
#include <charconv>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

namespace hedge::proxy {
namespace {

// The writer is woken by the first line and then waits this long for company.
constexpr std::chrono::milliseconds kGatherTime{50};

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  const auto written = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, written.ptr);
}

// RFC 8259, section 7. Bytes above ASCII are escaped as if they were Latin-1, so that a line is valid JSON
// whatever a client sends.
void append_escaped(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(text[i]);
    } else {
      out.append("\\u00");
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
    }
  }
  out.append(text, plain, text.size() - plain);
}

void append_text(std::string& out, std::string_view key, std::string_view value) {
  out.append(",\"").append(key).append("\":\"");
  append_escaped(out, value);
  out.push_back('"');
}

void append_field(std::string& out, std::string_view key, std::uint64_t value) {
  out.append(",\"").append(key).append("\":");
  append_number(out, value);
}

void append_micros(std::string& out, std::string_view key, std::chrono::microseconds value) {
  append_field(out, key, static_cast<std::uint64_t>(value.count() < 0 ? 0 : value.count()));
}

Result<UniqueFd> open_for_append(const std::filesystem::path& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return Error::from_errno(errno, "open the access log " + path.string());
  return file;
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

void AccessLineFormatter::append(std::string& out, const AccessRecord& record) {
  out.append("{\"time\":\"");
  append_time(out, record.start);
  out.push_back('"');
  append_text(out, "peer", record.peer);
  append_text(out, "host", record.host);
  append_text(out, "worktree", record.worktree);
  append_text(out, "scheme", record.scheme);
  append_text(out, "method", record.method);
  append_text(out, "target", record.target.substr(0, kMaxTargetBytes));
  append_field(out, "status", record.status);
  append_field(out, "bytes_in", record.bytes_in);
  append_field(out, "bytes_out", record.bytes_out);
  append_micros(out, "resolve_us", record.resolve);
  append_micros(out, "connect_us", record.connect);
  append_micros(out, "first_byte_us", record.first_byte);
  append_micros(out, "total_us", record.total);
  append_text(out, "upstream", record.upstream);
  append_text(out, "request_id", record.request_id);
  if (record.retried) out.append(",\"retried\":true");
  if (!record.error_id.empty()) append_text(out, "error", record.error_id);
  out.append("}\n");
}

void AccessLineFormatter::append_time(std::string& out, std::chrono::system_clock::time_point time) {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::int64_t second = millis / 1000;
  if (second != second_) {
    second_ = second;
    second_text_ = format_utc(time);
    second_text_.pop_back();  // the Z
  }
  const auto fraction = static_cast<unsigned>(millis % 1000);
  out.append(second_text_);
  out.push_back('.');
  out.push_back(static_cast<char>('0' + fraction / 100));
  out.push_back(static_cast<char>('0' + fraction / 10 % 10));
  out.push_back(static_cast<char>('0' + fraction % 10));
  out.push_back('Z');
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::filesystem::path& path) {
  Result<UniqueFd> file = open_for_append(path);
  if (!file) return std::move(file).error();
  return std::unique_ptr<AccessLog>(new AccessLog(path, std::move(*file)));
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
    if (reopening) {
      Result<UniqueFd> file = open_for_append(path_);
      if (file) {
        file_ = std::move(*file);
      } else {
        log::error("access log: {}; the old file stays in use", file.error().to_string());
      }
    }
    lock.lock();
    if (last && pending_.empty()) return;
  }
}

void AccessLog::store(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t written = ::write(file_.get(), lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
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
