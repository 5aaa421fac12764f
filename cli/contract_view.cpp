#include "cli/contract_view.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/services.h"
#include "contract/command_address.h"

namespace hedge::cli {
namespace {

using contract::CheckStatus;
using contract::Status;

// Names of branches and files may hold anything; a terminal must not obey it.
std::string safe(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return out;
}

struct Mark {
  std::string_view sign;
  Tone tone;
};

Mark mark_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::pass: return {"✓", Tone::good};
    case CheckStatus::warn: return {"!", Tone::warning};
    case CheckStatus::fail: return {"✗", Tone::bad};
    case CheckStatus::unknown: return {"?", Tone::bad};
    case CheckStatus::skip: break;
  }
  return {"·", Tone::dim};
}

Tone tone_of(Status status) {
  switch (status) {
    case Status::ready:
    case Status::destroyed: return Tone::good;
    case Status::incomplete: return Tone::warning;
    case Status::failed: break;
  }
  return Tone::bad;
}

std::string headline(const Output& output, const contract::ContractResult& result) {
  std::string line = output.paint(tone_of(result.status), contract::to_string(result.status));
  if (result.workspace) {
    const std::string& slug = result.workspace->slug.value_or(result.workspace->kind);
    line += "  " + output.paint(Tone::strong, slug);
    if (result.workspace->branch && *result.workspace->branch != slug) line += "  (" + safe(*result.workspace->branch) + ")";
  }
  return line + "\n";
}

std::string fact(std::string_view name, const std::string& value) {
  if (value.empty()) return {};
  return "  " + std::string(name) + std::string(name.size() < 10 ? 10 - name.size() : 1, ' ') + safe(value) + "\n";
}

std::string facts(const contract::ContractResult& result) {
  std::string out;
  if (result.app && result.app->url) out += fact("url", *result.app->url);
  if (result.workspace) out += fact("path", result.workspace->path);
  if (result.database) out += fact("database", result.database->app + " (" + result.database->engine + ")");
  return out;
}

std::string check_lines(const Output& output, const contract::CheckResult& check) {
  const Mark mark = mark_of(check.status);
  std::string out = "  " + output.paint(mark.tone, mark.sign) + " " + check.id;
  if (check.error) out += " [" + *check.error + "]";
  out += "\n";
  if (check.detail) {
    for (const std::string_view line : split(*check.detail, '\n')) out += "      " + safe(line) + "\n";
  }
  if (check.remediation) out += "      " + output.paint(Tone::dim, safe(check.remediation->text)) + "\n";
  return out;
}

std::string checks(const Output& output, const contract::ContractResult& result, bool show_all) {
  std::string out;
  std::size_t passing = 0;
  for (const contract::CheckResult& check : result.checks) {
    const bool is_quiet = check.status == CheckStatus::pass || check.status == CheckStatus::skip;
    if (check.status == CheckStatus::pass) ++passing;
    if (show_all || !is_quiet) out += check_lines(output, check);
  }
  if (!result.checks.empty()) out += "  " + std::to_string(passing) + " of " + std::to_string(result.checks.size()) + " checks pass\n";
  return out;
}

std::string changes(const Output& output, const contract::ContractResult& result) {
  std::string out;
  for (const worktree::Change& change : result.changes) {
    out += "  " + output.paint(Tone::dim, worktree::to_string(change.action)) + " " + change.resource + " " + safe(change.name);
    if (!change.detail.empty()) out += "  " + output.paint(Tone::dim, safe(change.detail));
    out += "\n";
  }
  return out;
}

contract::CallerPlace caller_place(const Services& services, bool has_named_worktree) {
  contract::CallerPlace place;
  place.has_named_worktree = has_named_worktree;
  if (!services.options().directory.empty()) {
    if (auto directory = services.directory()) place.directory = std::move(*directory);
  }
  if (const auto& state_dir = services.options().state_dir) place.state_dir = std::filesystem::absolute(*state_dir);
  return place;
}

}  // namespace

std::string contract_page(const Output& output, const contract::ContractResult& result, bool show_all) {
  std::string page = headline(output, result) + facts(result);
  page += changes(output, result) + checks(output, result, show_all);
  for (const contract::Warning& warning : result.warnings) {
    page += "  " + output.paint(Tone::warning, "warning") + " " + safe(warning.text) + "\n";
  }
  if (result.next) page += "next: " + output.paint(Tone::strong, safe(*result.next)) + "\n";
  return page;
}

int print_contract(Services& services, contract::ContractResult result, const std::string& named, bool show_all) {
  Output& output = services.output();
  contract::address_commands(result, caller_place(services, !named.empty()));
  if (result.error) output.error(*result.error, result.remediation ? result.remediation->command.value_or("") : "");
  if (output.wants_object()) {
    output.object(contract::to_json(result));
  } else {
    output.text(contract_page(output, result, show_all));
  }
  return contract::to_int(result.exit_code);
}

}  // namespace hedge::cli
