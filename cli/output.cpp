#include "cli/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "contract/errors.h"

namespace hedge::cli {
namespace {

// Whoever prints the result first (the verb, or the thread that a signal woke) prints the only one.
std::atomic_flag object_printed;

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void fill_missing_descriptors() {
  // The lowest free number is given out first, so this loop fills exactly the gaps below 3. Opened for reading: whoever
  // writes into such a gap is told so.
  int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && fd < 3) {
    ::fcntl(fd, F_SETFD, 0);
    fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  if (fd >= 0) ::close(fd);
}

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::good: return "\x1b[32m";
    case Tone::bad: return "\x1b[31m";
    case Tone::warning: return "\x1b[33m";
    case Tone::dim: return "\x1b[2m";
    case Tone::strong: return "\x1b[1m";
    case Tone::plain: break;
  }
  return "";
}

// Columns on a terminal: bytes that are not UTF-8 continuations. Wide characters count as one; good enough for names.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string without_controls(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return out;
}

}  // namespace

Output Output::claim_standard_output() {
  fill_missing_descriptors();
  UniqueFd own(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return {std::move(own), terminal};
}

void Output::object(const nlohmann::json& value) {
  if (object_printed.test_and_set()) return;
  // Paths and git's refs may hold bytes that are not UTF-8: they are replaced, the object stays valid.
  text(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void Output::text(std::string_view text) {
  if (!write_all(fd_.get(), text)) delivered_ = false;
}

void Output::line(std::string_view text) { this->text(std::string(text) + "\n"); }

void Output::table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::string& heading : headings) widths.push_back(width_of(heading));
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(without_controls(row[i])));
    }
  }
  const auto format = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
      const std::string cell = without_controls(cells[i]);
      out += cell;
      if (i + 1 < cells.size()) out.append(widths[i] - width_of(cell) + 2, ' ');
    }
    return out;
  };
  line(paint(Tone::dim, format(headings)));
  for (const auto& row : rows) line(format(row));
}

void Output::progress(std::string_view text) { write_all(STDERR_FILENO, "hedge: " + without_controls(text) + "\n"); }

void Output::warn(std::string_view text) {
  write_all(STDERR_FILENO, "hedge: warning: " + without_controls(text) + "\n");
}

void Output::error(const Error& error) {
  const auto* entry = contract::find_error(contract::id_of(error));
  this->error(error, entry != nullptr ? entry->command : std::string_view());
}

void Output::error(const Error& error, std::string_view command) {
  const std::string_view id = contract::id_of(error);
  std::string out = "hedge: " + without_controls(error.to_string()) + " [" + std::string(id) + "]\n";
  for (const std::string& hint : error.hints()) out += "  " + without_controls(hint) + "\n";
  const auto* entry = contract::find_error(id);
  if (entry != nullptr && error.hints().empty()) out += "  " + std::string(entry->remediation) + "\n";
  if (!command.empty()) out += "  next: " + without_controls(command) + "\n";
  write_all(STDERR_FILENO, out);
}

std::string Output::paint(Tone tone, std::string_view text) const {
  if (!color_ || !terminal_ || tone == Tone::plain) return std::string(text);
  return std::string(escape_of(tone)) + std::string(text) + "\x1b[0m";
}

}  // namespace hedge::cli
