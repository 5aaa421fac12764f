// Results on standard output, everything else on standard error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "base/unique_fd.h"

namespace hedge::cli {

enum class Tone { plain, good, bad, warning, dim, strong };

// Takes standard output away from everybody else: descriptor 1 becomes a copy of standard error, so that neither a library
// nor a child can add a byte to the result. One object a process, made first thing in main().
class Output {
 public:
  // Also makes sure that the descriptors 0, 1 and 2 exist: a file opened later must never become "standard output".
  static Output claim_standard_output();

  void set_json(bool on) { json_ = on; }
  void set_color(bool on) { color_ = on; }

  bool json() const { return json_; }          // --json was given
  bool terminal() const { return terminal_; }  // standard output is a terminal
  // Contract verbs print the object unless a person looks at it.
  bool wants_object() const { return json_ || !terminal_; }

  // The result as one line of JSON. Requires: nothing was printed before. The second call is dropped (a signal may have
  // printed the first).
  void object(const nlohmann::json& value);
  // Text as it is.
  void text(std::string_view text);
  void line(std::string_view text);
  // Columns as wide as their widest cell; headings are dim. Control characters in cells are escaped.
  void table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows);

  // To standard error: "hedge: creating the checkout".
  void progress(std::string_view text);
  void warn(std::string_view text);
  // An error with its id, hints and next step, to standard error.
  void error(const Error& error);
  // With `command` as the next step; empty: none.
  void error(const Error& error, std::string_view command);

  // `text` in that tone, if standard output shows colours.
  std::string paint(Tone tone, std::string_view text) const;

  // The real standard output, for a child that shares it (`hedge run`). -1 if the caller closed it.
  int descriptor() const { return fd_.get(); }
  // False if something could not be written (closed, full): the exit code must not be 0 then.
  bool delivered() const { return delivered_; }

 private:
  Output(UniqueFd fd, bool terminal) : fd_(std::move(fd)), terminal_(terminal) {}

  UniqueFd fd_;
  bool terminal_ = false;
  bool json_ = false;
  bool color_ = false;
  bool delivered_ = true;
};

}  // namespace hedge::cli
