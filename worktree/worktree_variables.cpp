#include "worktree/worktree_variables.h"

#include "config/project_config.h"

namespace hedge::worktree {

Result<std::vector<std::pair<std::string, std::string>>> worktree_variables(const PlanInput& input, const Values& values) {
  const auto url = values.find("app.url");
  std::vector<std::pair<std::string, std::string>> out{
      {"HEDGE_ID", input.record.id},       {"HEDGE_SLUG", input.record.slug},
      {"HEDGE_APP", input.config.app.name}, {"HEDGE_BRANCH", input.record.branch},
      {"HEDGE_NONCE", input.record.nonce}, {"HEDGE_HOST", input.names.host},
      {"HEDGE_URL", url == values.end() ? "https://" + input.names.host : url->second}};
  for (const auto& [name, text] : input.config.env.variables) {
    auto value = expand_template(text, values);
    if (!value) return std::move(value).error().with_context("[env.variables] " + name);
    out.emplace_back(name, std::move(*value));
  }
  return out;
}

Environment expand_variables(const std::vector<std::pair<std::string, std::string>>& variables, const WorktreeRecord& record) {
  Environment out;
  for (const auto& [name, value] : variables) out[name] = expand_secrets(value, record);
  return out;
}

}  // namespace hedge::worktree
