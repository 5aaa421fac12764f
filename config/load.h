// Reading TOML with every problem told at its line and column. The only file that knows toml++.
//
//   auto file = TomlFile::load("hedge.toml");            // a syntax error is an Error (there is only one to tell)
//   TomlTable root = file->root();
//   if (auto app = root.table("app")) app->read("name", config.name);   // the field's value before is the default
//   if (auto checked = file->finish(); !checked) …       // all problems at once, unknown keys among them
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hedge::config {

struct Problem {
  std::string file;
  std::uint32_t line = 0;    // from 1
  std::uint32_t column = 0;  // from 1, in characters
  std::string text;          // such as: unknown key "nmae" in [app]
  std::string hint;          // such as: did you mean "name"? Empty if there is none
  // "hedge.toml:3:1: text (hint)"
  std::string to_string() const;
};

// One value as it came out, for `hedge config --effective`.
struct EffectiveValue {
  std::string key;     // "database.engine", "stack.processes[0].command"
  std::string value;   // as TOML writes it
  std::string origin;  // "hedge.toml:12:3" or "default"
};

struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
};

class TomlFile;

// One table of a file. Reading a key marks it as known; a key that is never read is an unknown key.
// Every reader leaves the field as it is when the key is absent or wrong (then the file has a problem more).
// Lifetime: as long as its TomlFile.
class TomlTable {
 public:
  void read(std::string_view key, std::string& value);
  void read(std::string_view key, std::optional<std::string>& value);
  void read(std::string_view key, bool& value);
  void read(std::string_view key, std::int64_t& value, IntegerRange range = {});
  void read(std::string_view key, std::uint16_t& value, IntegerRange range = {0, 65535});
  void read(std::string_view key, std::vector<std::string>& value);
  // A text of a number and a unit: "250ms", "4s", "5m", "8h", "1d".
  void read(std::string_view key, std::chrono::milliseconds& value);

  template <class Enum>
  void read_choice(std::string_view key, Enum& value, std::initializer_list<std::pair<std::string_view, Enum>> choices) {
    std::vector<std::string_view> names;
    std::size_t chosen = choices.size();
    std::size_t index = 0;
    for (const auto& [name, choice] : choices) {
      names.push_back(name);
      if (choice == value) chosen = index;
      ++index;
    }
    if (const auto found = choose(key, names, chosen)) value = (choices.begin() + *found)->second;
  }

  // Absent: no such table.
  std::optional<TomlTable> table(std::string_view key);
  // The tables of [[key]], or of an array of inline tables.
  std::vector<TomlTable> tables(std::string_view key);
  // For tables whose keys are the user's own (environment variables, commands): all keys in the file's order, marked as
  // known.
  std::vector<std::string> keys();

  bool has(std::string_view key) const;
  // For keys that take one text or a list of them.
  bool is_string(std::string_view key) const;
  // Adds a problem at `key` (at the table, if the key is absent).
  void problem(std::string_view key, std::string text, std::string hint = {});
  // As problem(), for what this version cannot do (the error's id becomes `config_unsupported` if nothing else is wrong).
  void unsupported(std::string_view key, std::string text, std::string hint = {});
  // "hedge.toml:12:3", where `key` is written.
  std::string where(std::string_view key) const;
  // "app", "stack.processes[0]"; empty for the root.
  const std::string& path() const;

 private:
  friend class TomlFile;
  struct State;
  TomlTable(TomlFile* file, State* state) : file_(file), state_(state) {}
  std::optional<std::size_t> choose(std::string_view key, const std::vector<std::string_view>& names,
                                    std::size_t default_index);

  TomlFile* file_;
  State* state_;
};

class TomlFile {
 public:
  // `name` is what messages call the file.
  // Errors: invalid_input `config_invalid` (a syntax error, or larger than 1 MiB); not_found; permission; io.
  static Result<std::unique_ptr<TomlFile>> load(const std::filesystem::path& path, std::string name);
  static Result<std::unique_ptr<TomlFile>> parse(std::string_view text, std::string name);
  ~TomlFile();
  TomlFile(const TomlFile&) = delete;
  TomlFile& operator=(const TomlFile&) = delete;

  TomlTable root();

  // Adds the unknown keys to the problems, sorts all by position and makes one error of them, if there are any.
  // Errors: invalid_input `config_invalid` or unsupported `config_unsupported`; the first problem is the text, every further
  // one a hint.
  Result<void> finish();
  const std::vector<Problem>& problems() const;
  // Every value that was read, in the order of reading.
  const std::vector<EffectiveValue>& effective() const;

 private:
  friend class TomlTable;
  struct Contents;
  explicit TomlFile(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

// The candidate nearest to `word` (at most two edits, or a third of its length); empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
// "250ms", "4s", "5m", "8h", "1d". Absent: not a duration.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string format_duration(std::chrono::milliseconds duration);

}  // namespace hedge::config
