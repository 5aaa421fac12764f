#include "worktree/env_format.h"

#include "base/text.h"

namespace hedge::worktree {
namespace {

constexpr std::string_view kBegin = "# >>> hedge: made by `hedge create`, changes here are lost >>>\n";
constexpr std::string_view kEnd = "# <<< hedge <<<\n";
constexpr std::string_view kPlainPunctuation = "_./:@%+,=-";

bool is_name(std::string_view name) {
  if (name.empty() || is_ascii_digit(name.front())) return false;
  for (const char c : name) {
    if (!is_ascii_alnum(c) && c != '_') return false;
  }
  return true;
}

bool is_plain(std::string_view value) {
  for (const char c : value) {
    if (!is_ascii_alnum(c) && kPlainPunctuation.find(c) == std::string_view::npos) return false;
  }
  return true;
}

struct Block {
  std::size_t start = std::string_view::npos;
  std::size_t end = std::string_view::npos;  // after its last line
  bool exists() const { return start != std::string_view::npos; }
};

Result<Block> find_block(std::string_view content) {
  Block block;
  block.start = content.find(kBegin);
  if (!block.exists()) return block;
  const auto end = content.find(kEnd, block.start);
  if (end == std::string_view::npos) {
    return Error(ErrorKind::conflict, "the block of hedge in the environment file has lost its last line")
        .with_id("env_file_foreign")
        .with_hint("remove the block's first line and what belongs to it by hand");
  }
  block.end = end + kEnd.size();
  return block;
}

}  // namespace

Result<std::string> format_variable(std::string_view name, std::string_view value) {
  if (!is_name(name)) {
    return Error(ErrorKind::invalid_input, "\"" + printable(name) + "\" is not a variable's name")
        .with_id("env_value_invalid");
  }
  const std::string start = std::string(name) + "=";
  if (is_plain(value)) return start + std::string(value);
  const bool has_controls = value.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos;
  // Inside double quotes `$`, backtick and backslash mean something to most readers; inside single quotes
  // nothing does.
  if (!has_controls && value.find_first_of("\"$`\\") == std::string_view::npos)
    return start + "\"" + std::string(value) + "\"";
  if (!has_controls && value.find('\'') == std::string_view::npos)
    return start + "'" + std::string(value) + "'";
  return Error(ErrorKind::invalid_input, "an environment file cannot hold the value of " + std::string(name))
      .with_id("env_value_invalid")
      .with_hint("a value may have no line break, and not a single quote together with one of \" $ ` \\");
}

Result<std::string> with_block(std::string_view content, const Variables& variables) {
  std::string text(kBegin);
  for (const auto& [name, value] : variables) {
    auto line = format_variable(name, value);
    if (!line) return line;
    text += *line + "\n";
  }
  text += kEnd;
  auto block = find_block(content);
  if (!block) return block.error();
  std::string out(content.substr(0, block->start));
  const bool needs_break = !block->exists() && !out.empty() && !out.ends_with('\n');
  if (needs_break) out += '\n';
  out += text;
  if (block->exists()) out += content.substr(block->end);
  return out;
}

Result<std::string> without_block(std::string_view content) {
  auto block = find_block(content);
  if (!block) return block.error();
  if (!block->exists()) return std::string(content);
  return std::string(content.substr(0, block->start)) + std::string(content.substr(block->end));
}

}  // namespace hedge::worktree
