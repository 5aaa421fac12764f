#include "contract/errors.h"

#include <algorithm>

#include "contract/error_catalogue.h"

namespace hedge::contract {
namespace {

ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::refused: return ExitCode::refused;
    case ErrorKind::busy: return ExitCode::busy;
    case ErrorKind::corrupt: return ExitCode::unreadable;
    default: return ExitCode::failed;
  }
}

std::string_view id_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::busy: return "busy";
    case ErrorKind::corrupt: return "state_unreadable";
    case ErrorKind::no_space: return "disk_full";
    case ErrorKind::permission: return "permission_denied";
    case ErrorKind::timed_out: return "timed_out";
    case ErrorKind::cancelled: return "interrupted";
    default: return "internal_error";
  }
}

void append_entry(std::string& page, const ErrorEntry& entry) {
  page += "\n## `" + std::string(entry.id) + "`\n\n" + std::string(entry.meaning) + "\n\n" + std::string(entry.remediation) + "\n";
  if (!entry.command.empty()) page += "\n```\n" + std::string(entry.command) + "\n```\n";
  page += "\nExit code " + std::to_string(to_int(entry.exit_code)) + ".\n";
}

}  // namespace

std::span<const ErrorEntry> all_errors() { return kErrorCatalogue; }

const ErrorEntry* find_error(std::string_view id) {
  const auto found = std::lower_bound(kErrorCatalogue.begin(), kErrorCatalogue.end(), id,
                                      [](const ErrorEntry& entry, std::string_view wanted) { return entry.id < wanted; });
  return found != kErrorCatalogue.end() && found->id == id ? &*found : nullptr;
}

ExitCode exit_code_of(const Error& error) {
  if (const ErrorEntry* entry = find_error(error.id())) return entry->exit_code;
  return exit_code_of(error.kind());
}

std::string_view id_of(const Error& error) { return error.id().empty() ? id_of(error.kind()) : error.id(); }

std::string errors_page() {
  std::string page =
      "# Error identifiers\n\n"
      "Made by `hedge explain --markdown`; a test compares the two. Every identifier stands for one cause and never\n"
      "changes its meaning. The edge sends the same identifiers in the header `Hedge-Error`.\n";
  for (const ErrorEntry& entry : kErrorCatalogue) append_entry(page, entry);
  return page;
}

}  // namespace hedge::contract
