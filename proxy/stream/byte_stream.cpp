#include "proxy/stream/byte_stream.h"

#include <cerrno>

namespace hedge::proxy {

Error to_error(const IoResult& result, std::string_view doing) {
  std::string text(doing);
  switch (result.status) {
    case IoStatus::end:
      return Error(ErrorKind::closed, text + ": the peer closed the connection");
    case IoStatus::timed_out:
      return Error(ErrorKind::timed_out, text + ": the deadline passed");
    case IoStatus::cancelled:
      return Error(ErrorKind::cancelled, text + ": cancelled");
    case IoStatus::ok:
    case IoStatus::would_block:
    case IoStatus::failed:
      break;
  }
  return Error::from_errno(result.error != 0 ? result.error : EIO, doing);
}

IoResult ByteStream::try_splice_read(Pipe& /*pipe*/, std::size_t /*most*/) {
  return IoResult::failure(EINVAL);
}

IoResult ByteStream::try_splice_write(Pipe& /*pipe*/) {
  return IoResult::failure(EINVAL);
}

bool ReadAwaiter::attempt_read(PendingIo& pending) {
  auto& self = static_cast<ReadAwaiter&>(pending);
  self.result_ = self.stream_.try_read(self.into_);
  return !self.result_.would_block();
}

bool ReadableAwaiter::attempt_readable(PendingIo& pending) {
  auto& self = static_cast<ReadableAwaiter&>(pending);
  const IoStatus interrupted = self.stream_.waiters().interrupted();
  if (interrupted != IoStatus::ok) {
    self.result_ = IoResult::interrupted(interrupted);
    return true;
  }
  return self.stream_.is_readable();
}

bool WriteAwaiter::attempt_write(PendingIo& pending) {
  auto& self = static_cast<WriteAwaiter&>(pending);
  while (!self.first_.empty() || !self.second_.empty()) {
    self.result_ = self.stream_.try_write(self.first_, self.second_);
    if (self.result_.would_block()) return false;
    if (!self.result_.ok()) return true;
    const std::size_t bytes = self.result_.bytes;
    self.written_ += bytes;
    const std::size_t of_first = bytes < self.first_.size() ? bytes : self.first_.size();
    self.first_.remove_prefix(of_first);
    self.second_.remove_prefix(bytes - of_first);
  }
  return true;
}

bool ShutdownAwaiter::attempt_shutdown(PendingIo& pending) {
  auto& self = static_cast<ShutdownAwaiter&>(pending);
  self.result_ = self.stream_.try_shutdown_write();
  return !self.result_.would_block();
}

}  // namespace hedge::proxy
