// hedge list: every worktree of every repository on this machine.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/manager.h"
#include "cli/services.h"
#include "contract/assess.h"
#include "contract/public_address.h"
#include "worktree/reaper.h"

namespace hedge::cli {
namespace {

using nlohmann::json;

struct Row {
  worktree::Judgement judgement;
  std::string branch;  // now; empty if detached or gone
  std::string url;     // empty if its configuration cannot be read
};

Row row_of(const contract::Instruments& tools, worktree::Judgement judgement) {
  Row row{std::move(judgement), {}, {}};
  const worktree::WorktreeRecord& record = row.judgement.record;
  if (auto checkout = worktree::inspect_exactly(tools.git, record.path)) row.branch = checkout->branch;
  if (auto config = contract::load_config_of(record.path, record.main_checkout)) {
    row.url = contract::public_url(worktree::names_of(record, *config).host, contract::load_https_port(tools.paths));
  }
  return row;
}

std::string state_of(const Row& row) {
  if (row.judgement.standing != worktree::Standing::alive) return std::string(worktree::to_string(row.judgement.standing));
  return std::string(worktree::to_string(row.judgement.record.state));
}

json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json to_json(const Row& row) {
  const worktree::WorktreeRecord& record = row.judgement.record;
  return {{"id", record.id},
          {"app", record.app},
          {"slug", text_or_null(record.slug)},
          {"instance", text_or_null(record.instance)},
          {"kind", record.kind == worktree::WorktreeKind::main ? "main" : "worktree"},
          {"branch", text_or_null(row.branch)},
          {"path", record.path.string()},
          {"repository", record.repository.string()},
          {"state", state_of(row)},
          {"why", text_or_null(row.judgement.why)},
          {"url", text_or_null(row.url)},
          {"created_at", format_utc(record.created_at)},
          {"last_used_at", format_utc(record.last_used_at)}};
}

class ListCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    return parent.add_subcommand("list", "all worktrees of all repositories on this machine");
  }

  Result<int> run(Services& services) override {
    const auto manager = services.manager();
    if (!manager) return manager.error();
    const contract::Instruments& tools = (*manager)->instruments();
    auto judged = worktree::judge_all(tools.git, tools.registry);
    if (!judged) return judged.error();
    std::vector<Row> rows;
    for (worktree::Judgement& judgement : *judged) rows.push_back(row_of(tools, std::move(judgement)));
    print(services.output(), rows);
    return 0;
  }

 private:
  static void print(Output& output, const std::vector<Row>& rows) {
    if (output.json()) {
      json list = json::array();
      for (const Row& row : rows) list.push_back(to_json(row));
      output.object({{"schema", "hedge.list/1"}, {"worktrees", std::move(list)}});
      return;
    }
    std::vector<std::vector<std::string>> cells;
    for (const Row& row : rows) {
      const worktree::WorktreeRecord& record = row.judgement.record;
      cells.push_back({record.app, record.slug.empty() ? "main" : record.slug, row.branch, state_of(row), row.url,
                       record.path.string()});
    }
    output.table({"app", "worktree", "branch", "state", "url", "path"}, cells);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_command() { return std::make_unique<ListCommand>(); }

}  // namespace hedge::cli
