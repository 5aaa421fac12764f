#include "worktree/resource_kind.h"

#include <algorithm>

#include "base/text.h"

namespace hedge::worktree {
namespace {

constexpr std::string_view kSecretPrefix = "secret.";

Error unknown_placeholder(std::string_view name, const Values& values) {
  std::vector<std::string> known;
  for (const auto& [key, value] : values) known.push_back("{" + key + "}");
  return Error(ErrorKind::invalid_input, "there is no value for the placeholder {" + printable(name) + "}")
      .with_id("template_unknown")
      .with_hint("known here: " + join(known, " "));
}

}  // namespace

bool ResourceKind::is_same_thing(const ResourceSpec&, const ResourceSpec&) const { return true; }

bool ResourceKinds::is_same_thing(const ResourceSpec& recorded, const ResourceSpec& wanted) const {
  for (const auto& kind : kinds_) {
    if (kind->kind() == wanted.kind) return kind->is_same_thing(recorded, wanted);
  }
  return true;
}

Result<std::unique_ptr<Resource>> ResourceKinds::make(const ResourceSpec& spec,
                                                      const WorktreeRecord& record) const {
  for (const auto& kind : kinds_) {
    if (kind->kind() == spec.kind) return kind->make(spec, record);
  }
  return Error(ErrorKind::corrupt,
               "the ledger holds a " + printable(spec.kind) + ", which this hedge does not know")
      .with_id("state_unreadable");
}

Result<ValueText> expand_template(std::string_view text, const Values& values) {
  ValueText out;
  while (!text.empty()) {
    const auto brace = text.find_first_of("{}");
    out += std::string(text.substr(0, brace));
    if (brace == std::string_view::npos) break;
    text.remove_prefix(brace);
    const bool is_doubled = text.size() > 1 && text[1] == text[0];
    if (is_doubled || text.front() == '}') {
      out += std::string(1, text.front());
      text.remove_prefix(is_doubled ? 2 : 1);
      continue;
    }
    const auto end = text.find('}');
    if (end == std::string_view::npos) {
      return Error(ErrorKind::invalid_input,
                   "an opening brace without its closing one in \"" + printable(text) + "\"")
          .with_id("template_unknown")
          .with_hint("a literal brace is doubled");
    }
    const std::string name(text.substr(1, end - 1));
    if (const auto found = values.find(name); found != values.end()) {
      out += found->second;
    } else if (name.starts_with(kSecretPrefix)) {
      out += ValueText::secret(name.substr(kSecretPrefix.size()));
    } else {
      return unknown_placeholder(name, values);
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace hedge::worktree
