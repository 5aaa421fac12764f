#include "base/error.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace hedge {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_input: return "invalid_input";
    case ErrorKind::not_found: return "not_found";
    case ErrorKind::already_exists: return "already_exists";
    case ErrorKind::conflict: return "conflict";
    case ErrorKind::refused: return "refused";
    case ErrorKind::permission: return "permission";
    case ErrorKind::unavailable: return "unavailable";
    case ErrorKind::timed_out: return "timed_out";
    case ErrorKind::busy: return "busy";
    case ErrorKind::cancelled: return "cancelled";
    case ErrorKind::closed: return "closed";
    case ErrorKind::no_space: return "no_space";
    case ErrorKind::corrupt: return "corrupt";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::io: return "io";
  }
  return "io";
}

namespace {

ErrorKind kind_of_errno(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR: return ErrorKind::not_found;
    case EEXIST:
    case ENOTEMPTY: return ErrorKind::already_exists;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorKind::permission;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE: return ErrorKind::no_space;
    case ETIMEDOUT: return ErrorKind::timed_out;
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH: return ErrorKind::unavailable;
    case ECONNRESET:
    case EPIPE: return ErrorKind::closed;
    case ECANCELED: return ErrorKind::cancelled;
    case EINVAL:
    case ENAMETOOLONG: return ErrorKind::invalid_input;
    case ENOSYS:
    case EOPNOTSUPP: return ErrorKind::unsupported;
    default: return ErrorKind::io;
  }
}

}  // namespace

Error::Error(ErrorKind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

Error Error::from_errno(int number, std::string_view doing) {
  std::string text(doing);
  text += ": ";
  text += std::generic_category().message(number);
  return Error(kind_of_errno(number), std::move(text));
}

Error Error::with_id(std::string_view id) && {
  id_ = id;
  return std::move(*this);
}

Error Error::with_context(std::string_view what) && {
  text_.insert(0, ": ");
  text_.insert(0, what);
  return std::move(*this);
}

Error Error::with_hint(std::string hint) && {
  hints_.push_back(std::move(hint));
  return std::move(*this);
}

Error Error::with_cause(Error cause) && {
  cause_ = std::make_shared<const Error>(std::move(cause));
  return std::move(*this);
}

std::string_view Error::id() const {
  if (!id_.empty() || cause_ == nullptr) return id_;
  return cause_->id();
}

std::string Error::to_string() const {
  std::string out = text_;
  for (const Error* cause = cause_.get(); cause != nullptr; cause = cause->cause()) {
    out += ": ";
    out += cause->text();
  }
  return out;
}

}  // namespace hedge
