// One place where programs of this machine look for roots, and what can be done about ours in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "certs/certificate_authority.h"

namespace hedge::certs {

enum class TrustStatus {
  trusted,     // our root is there; it was before
  installed,   // it is there since just now
  removed,     // none of our roots is there any more
  absent,      // it is not there
  skipped,     // there is no such store here
  needs_root,  // only the administrator may change it; `command` is what to run
  failed,      // it should have worked; `detail` says why it did not
};
std::string_view to_string(TrustStatus status);

struct TrustFinding {
  std::string store;     // "system", "nss", "firefox", "java", "windows", "keychain"
  std::string place;     // the file or directory
  bool required = true;  // the store counts for the exit code
  TrustStatus status = TrustStatus::absent;
  std::string error;        // stable id of the cause; empty if there is none
  std::string detail;       // for people; empty if the status says it all
  std::string command;      // the exact command that a person can run; empty if there is nothing to do
  std::string fingerprint;  // of the root of ours that the store holds; empty if none
};

// True if nothing is left to do in this store.
bool is_right(const TrustFinding& finding);

// The root as stores need it.
struct TrustedRoot {
  std::filesystem::path file;  // its PEM file, which outlives the call
  std::string pem;
  std::string fingerprint;
  std::string installation;  // the tag of all roots of this CA directory
  bool keeps_older = false;  // older roots stay beside it: the edge still signs below one of them
};
Result<TrustedRoot> load_trusted_root(const AuthorityLocation& location);

// Every verb looks at the store itself, is repeatable, has a bound, and never asks anybody anything.
class TrustStore {
 public:
  virtual ~TrustStore() = default;
  virtual TrustFinding check(const TrustedRoot& root) = 0;
  // Also takes out older roots of the same installation, unless it keeps them. What it reports as installed was read back.
  virtual TrustFinding install(const TrustedRoot& root) = 0;
  // Takes out every root of this installation, and nothing else.
  virtual TrustFinding remove(std::string_view installation) = 0;
  // The commands that a person would run to install it by hand, one a line.
  virtual std::vector<std::string> manual_steps(const TrustedRoot& root) const = 0;
};

// An argument list as a line for a shell, quoted where it must be.
std::string shell_line(const std::vector<std::string>& argv);

}  // namespace hedge::certs
