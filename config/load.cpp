#include "config/load.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <deque>
#include <set>

#include "base/file.h"
#include "base/text.h"

namespace hedge::config {
namespace {

constexpr std::size_t kMaxFileBytes = 1U << 20;

std::string quote(std::string_view text) { return '"' + printable(text, 4096) + '"'; }

std::string list_of(const std::vector<std::string>& values) {
  std::vector<std::string> pieces;
  pieces.reserve(values.size());
  for (const std::string& value : values) pieces.push_back(quote(value));
  return "[" + join(pieces, ", ") + "]";
}

std::string_view type_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a float";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::date: return "a date";
    case toml::node_type::time: return "a time";
    case toml::node_type::date_time: return "a date with time";
    case toml::node_type::none: break;
  }
  return "nothing";
}

}  // namespace

std::string Problem::to_string() const {
  std::string out = file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + text;
  if (!hint.empty()) out += " (" + hint + ")";
  return out;
}

struct TomlTable::State {
  const toml::table* table = nullptr;
  std::string path;
  std::set<std::string, std::less<>> known;

  std::string path_of(std::string_view key) const {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
  }
  // The key's node, now known. Null if absent.
  const toml::node* take(std::string_view key) {
    known.emplace(key);
    return table->get(key);
  }
};

struct TomlFile::Contents {
  toml::table root;
  std::string name;
  std::vector<Problem> problems;
  bool is_invalid = false;  // something is wrong beyond what this version merely lacks
  bool is_finished = false;
  std::vector<EffectiveValue> effective;
  std::deque<TomlTable::State> states;  // a deque, because readers keep pointers into it

  TomlTable::State* state_of(const toml::table& table, std::string path) {
    const auto same = [&](const TomlTable::State& state) { return state.table == &table; };
    if (const auto found = std::find_if(states.begin(), states.end(), same); found != states.end()) return &*found;
    states.push_back({&table, std::move(path), {}});
    return &states.back();
  }

  void add(const toml::source_region& source, std::string text, std::string hint = {}) {
    is_invalid = true;
    note(source, std::move(text), std::move(hint));
  }
  void note(const toml::source_region& source, std::string text, std::string hint) {
    // An empty root table has no position of its own.
    problems.push_back({name, std::max(source.begin.line, 1U), std::max(source.begin.column, 1U), std::move(text),
                        std::move(hint)});
  }
  void add_wrong_type(const TomlTable::State& state, std::string_view key, const toml::node& node,
                      std::string_view wanted) {
    add(node.source(), quote(state.path_of(key)) + " must be " + std::string(wanted) + ", not " +
                           std::string(type_name(node.type())));
  }

  std::string origin_of(const toml::node* node) const {
    if (node == nullptr) return "default";
    const auto& begin = node->source().begin;
    return name + ":" + std::to_string(begin.line) + ":" + std::to_string(begin.column);
  }
  void record(const TomlTable::State& state, std::string_view key, std::string value, const toml::node* node) {
    effective.push_back({state.path_of(key), std::move(value), origin_of(node)});
  }
  void add_unknown_keys(const TomlTable::State& state);
};

void TomlFile::Contents::add_unknown_keys(const TomlTable::State& state) {
  const std::vector<std::string> candidates(state.known.begin(), state.known.end());
  for (const auto& [key, node] : *state.table) {
    if (state.known.contains(key.str())) continue;
    const std::string where = state.path.empty() ? "at the top level" : "in [" + state.path + "]";
    const std::string near = nearest(key.str(), candidates);
    add(key.source(), "unknown key " + quote(key.str()) + " " + where,
        near.empty() ? "" : "did you mean " + quote(near) + "?");
  }
}

// ── the file ──

TomlFile::TomlFile(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
TomlFile::~TomlFile() = default;

Result<std::unique_ptr<TomlFile>> TomlFile::load(const std::filesystem::path& path, std::string name) {
  auto text = read_file(path, kMaxFileBytes);
  if (!text) {
    if (text.error().kind() != ErrorKind::invalid_input) return text.error();
    return std::move(text).error().with_id("config_invalid");
  }
  return parse(*text, std::move(name));
}

Result<std::unique_ptr<TomlFile>> TomlFile::parse(std::string_view text, std::string name) {
  toml::parse_result parsed = toml::parse(text, name);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const Problem problem{std::move(name), error.source().begin.line, error.source().begin.column,
                          ascii_lower(error.description().substr(0, 1)) + std::string(error.description().substr(1)), ""};
    return Error(ErrorKind::invalid_input, problem.to_string()).with_id("config_invalid");
  }
  auto contents = std::make_unique<Contents>();
  contents->root = std::move(parsed).table();
  contents->name = std::move(name);
  return std::unique_ptr<TomlFile>(new TomlFile(std::move(contents)));
}

TomlTable TomlFile::root() { return {this, contents_->state_of(contents_->root, "")}; }

Result<void> TomlFile::finish() {
  if (!contents_->is_finished) {
    contents_->is_finished = true;
    contents_->state_of(contents_->root, "");  // also where nobody has read a single key
    for (const TomlTable::State& state : contents_->states) contents_->add_unknown_keys(state);
    std::stable_sort(contents_->problems.begin(), contents_->problems.end(), [](const Problem& a, const Problem& b) {
      return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
  }
  const auto& problems = contents_->problems;
  if (problems.empty()) return {};
  Error error = contents_->is_invalid
                    ? Error(ErrorKind::invalid_input, problems.front().to_string()).with_id("config_invalid")
                    : Error(ErrorKind::unsupported, problems.front().to_string()).with_id("config_unsupported");
  for (std::size_t i = 1; i < problems.size(); ++i) error = std::move(error).with_hint(problems[i].to_string());
  return error;
}

const std::vector<Problem>& TomlFile::problems() const { return contents_->problems; }
const std::vector<EffectiveValue>& TomlFile::effective() const { return contents_->effective; }

// ── one table ──

void TomlTable::read(std::string_view key, std::string& value) {
  const toml::node* node = state_->take(key);
  if (node != nullptr) {
    if (const auto* text = node->as_string()) value = text->get();
    else file_->contents_->add_wrong_type(*state_, key, *node, "a string");
  }
  file_->contents_->record(*state_, key, quote(value), node);
}

void TomlTable::read(std::string_view key, std::optional<std::string>& value) {
  if (!has(key) && !value) {
    state_->known.emplace(key);
    return;
  }
  std::string text = value.value_or("");
  const std::size_t before = file_->contents_->problems.size();
  read(key, text);
  if (file_->contents_->problems.size() == before) value = std::move(text);
}

void TomlTable::read(std::string_view key, bool& value) {
  const toml::node* node = state_->take(key);
  if (node != nullptr) {
    if (const auto* flag = node->as_boolean()) value = flag->get();
    else file_->contents_->add_wrong_type(*state_, key, *node, "true or false");
  }
  file_->contents_->record(*state_, key, value ? "true" : "false", node);
}

void TomlTable::read(std::string_view key, std::int64_t& value, IntegerRange range) {
  const toml::node* node = state_->take(key);
  if (node != nullptr) {
    const auto* number = node->as_integer();
    if (number == nullptr) {
      file_->contents_->add_wrong_type(*state_, key, *node, "an integer");
    } else if (number->get() < range.least || number->get() > range.most) {
      const std::string bounds = range.most == INT64_MAX ? "at least " + std::to_string(range.least)
                                                         : std::to_string(range.least) + " to " + std::to_string(range.most);
      file_->contents_->add(node->source(), quote(state_->path_of(key)) + " must be " + bounds);
    } else {
      value = number->get();
    }
  }
  file_->contents_->record(*state_, key, std::to_string(value), node);
}

void TomlTable::read(std::string_view key, std::uint16_t& value, IntegerRange range) {
  std::int64_t wide = value;
  read(key, wide, range);
  value = static_cast<std::uint16_t>(wide);
}

void TomlTable::read(std::string_view key, std::vector<std::string>& value) {
  const toml::node* node = state_->take(key);
  if (node != nullptr) {
    if (const auto* array = node->as_array()) {
      std::vector<std::string> texts;
      for (const toml::node& element : *array) {
        if (const auto* text = element.as_string()) texts.push_back(text->get());
        else file_->contents_->add_wrong_type(*state_, key, element, "an array of strings");
      }
      if (texts.size() == array->size()) value = std::move(texts);
    } else {
      file_->contents_->add_wrong_type(*state_, key, *node, "an array of strings");
    }
  }
  file_->contents_->record(*state_, key, list_of(value), node);
}

void TomlTable::read(std::string_view key, std::chrono::milliseconds& value) {
  const toml::node* node = state_->take(key);
  if (node != nullptr) {
    const auto* text = node->as_string();
    const auto duration = text == nullptr ? std::nullopt : parse_duration(text->get());
    if (duration) {
      value = *duration;
    } else {
      file_->contents_->add(node->source(), quote(state_->path_of(key)) + " must be a duration",
                            "a number and ms, s, m, h or d, such as \"30s\"");
    }
  }
  file_->contents_->record(*state_, key, quote(format_duration(value)), node);
}

std::optional<std::size_t> TomlTable::choose(std::string_view key, const std::vector<std::string_view>& names,
                                             std::size_t default_index) {
  const toml::node* node = state_->take(key);
  const auto* text = node == nullptr ? nullptr : node->as_string();
  std::optional<std::size_t> chosen;
  if (text != nullptr) {
    const auto found = std::find(names.begin(), names.end(), text->get());
    if (found != names.end()) chosen = static_cast<std::size_t>(found - names.begin());
  }
  if (node != nullptr && !chosen) {
    std::vector<std::string> spelled;
    for (const std::string_view name : names) spelled.push_back(quote(name));
    const std::string near = text == nullptr ? "" : nearest(text->get(), {names.begin(), names.end()});
    file_->contents_->add(node->source(), quote(state_->path_of(key)) + " must be one of " + join(spelled, ", "),
                          near.empty() ? "" : "did you mean " + quote(near) + "?");
  }
  const std::size_t index = chosen.value_or(default_index);
  file_->contents_->record(*state_, key, index < names.size() ? quote(names[index]) : "", node);
  return chosen;
}

std::optional<TomlTable> TomlTable::table(std::string_view key) {
  const toml::node* node = state_->take(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* table = node->as_table()) {
    return TomlTable(file_, file_->contents_->state_of(*table, state_->path_of(key)));
  }
  file_->contents_->add_wrong_type(*state_, key, *node, "a table");
  return std::nullopt;
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) {
  const toml::node* node = state_->take(key);
  if (node == nullptr) return {};
  std::vector<TomlTable> out;
  const auto* array = node->as_array();
  if (array == nullptr) {
    file_->contents_->add_wrong_type(*state_, key, *node, "an array of tables");
    return out;
  }
  std::size_t index = 0;
  for (const toml::node& element : *array) {
    const std::string path = state_->path_of(key) + "[" + std::to_string(index++) + "]";
    if (const auto* table = element.as_table()) {
      out.push_back(TomlTable(file_, file_->contents_->state_of(*table, path)));
    } else {
      file_->contents_->add_wrong_type(*state_, key, element, "an array of tables");
    }
  }
  return out;
}

std::vector<std::string> TomlTable::keys() {
  std::vector<std::pair<toml::source_position, std::string>> found;
  for (const auto& [key, node] : *state_->table) {
    state_->known.emplace(key.str());
    found.emplace_back(key.source().begin, std::string(key.str()));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (auto& [position, key] : found) out.push_back(std::move(key));
  return out;
}

bool TomlTable::is_string(std::string_view key) const {
  const toml::node* node = state_->table->get(key);
  return node != nullptr && node->is_string();
}

bool TomlTable::has(std::string_view key) const { return state_->table->contains(key); }

void TomlTable::problem(std::string_view key, std::string text, std::string hint) {
  const toml::node* node = state_->table->get(key);
  file_->contents_->add((node == nullptr ? state_->table : node)->source(), std::move(text), std::move(hint));
}

void TomlTable::unsupported(std::string_view key, std::string text, std::string hint) {
  const toml::node* node = state_->table->get(key);
  file_->contents_->note((node == nullptr ? state_->table : node)->source(), std::move(text), std::move(hint));
}

std::string TomlTable::where(std::string_view key) const {
  const toml::node* node = state_->table->get(key);
  return file_->contents_->origin_of(node == nullptr ? state_->table : node);
}

const std::string& TomlTable::path() const { return state_->path; }

}  // namespace hedge::config
