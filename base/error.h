// What went wrong, in a form that callers branch on and people can read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hedge {

// Each kind exists because some caller branches on it.
enum class ErrorKind {
  invalid_input,   // what the caller or a file said makes no sense; repeating it is useless
  not_found,       // the thing does not exist
  already_exists,  // the thing exists and must not
  conflict,        // somebody else owns the thing
  refused,         // a guard said no; the state is fine
  permission,      // the operating system or a server said no
  unavailable,     // a peer is not there now; later may work
  timed_out,       // a bound was reached
  busy,            // a lock is held by a living process
  cancelled,       // the caller gave up
  closed,          // the peer ended the conversation
  no_space,        // disk, quota or descriptors are used up
  corrupt,         // stored state cannot be read
  unsupported,     // this build or peer cannot do it
  io,              // any other failure of the outside world
};

std::string_view to_string(ErrorKind kind);

class Error {
 public:
  // `text`: lower case, no full stop, never read by code.
  Error(ErrorKind kind, std::string text);

  // From errno or a system error number; the kind follows the number.
  static Error from_errno(int number, std::string_view doing);

  // Sets the stable identifier that `hedge explain` knows.
  Error with_id(std::string_view id) &&;
  // Puts what was being done in front: "what: text". Once per layer on the way up.
  Error with_context(std::string_view what) &&;
  Error with_hint(std::string hint) &&;
  Error with_cause(Error cause) &&;

  ErrorKind kind() const { return kind_; }
  // Empty where the error has no identifier of its own; then the nearest cause's.
  std::string_view id() const;
  const std::string& text() const { return text_; }
  const Error* cause() const { return cause_.get(); }
  const std::vector<std::string>& hints() const { return hints_; }

  // The whole chain on one line: "text: cause: cause".
  std::string to_string() const;

 private:
  ErrorKind kind_;
  std::string id_;
  std::string text_;
  std::vector<std::string> hints_;
  std::shared_ptr<const Error> cause_;  // an immutable snapshot, so that errors copy cheaply
};

}  // namespace hedge
