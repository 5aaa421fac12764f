// hedge gc: removes what is left of worktrees that were removed by hand, and pays debts. Looks at what is, not at events.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/manager.h"
#include "cli/services.h"
#include "contract/errors.h"
#include "worktree/reaper.h"

namespace hedge::cli {
namespace {

using nlohmann::json;
using worktree::Standing;

struct Outcome {
  worktree::Judgement judgement;
  std::string action;  // removed, would_remove, kept, failed
  std::string detail;
};

class GcCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("gc", "remove what is left of worktrees that were removed by hand");
    verb->add_flag("--dry-run", dry_run_, "only say what would be removed");
    return verb;
  }

  Result<int> run(Services& services) override {
    const auto manager = services.manager();
    if (!manager) return manager.error();
    const contract::Instruments& tools = (*manager)->instruments();
    auto judged = worktree::judge_all(tools.git, tools.registry);
    if (!judged) return judged.error();
    std::vector<Outcome> outcomes;
    bool all_removed = true;
    for (worktree::Judgement& judgement : *judged) {
      if (judgement.standing == Standing::alive) continue;
      outcomes.push_back(settle(tools, std::move(judgement)));
      if (outcomes.back().action == "failed") all_removed = false;
    }
    print(services.output(), outcomes);
    return contract::to_int(all_removed ? contract::ExitCode::ok : contract::ExitCode::failed);
  }

 private:
  Outcome settle(const contract::Instruments& tools, worktree::Judgement judgement) const {
    // Unverifiable: its repository does not answer. A disk that is not mounted looks the same, so nothing is touched.
    if (judgement.standing == Standing::unverifiable) return {judgement, "kept", judgement.why};
    if (judgement.standing == Standing::unborn) return settle_unborn(tools, std::move(judgement));
    if (dry_run_) return {judgement, "would_remove", judgement.why};
    tools.narrator.tell("removing what is left of " + judgement.record.path.string());
    auto done = tools.lifecycle.destroy(judgement.record, {});
    if (!done) return {judgement, "failed", done.error().to_string()};
    if (done->removal.survivors.empty()) return {judgement, "removed", judgement.why};
    const worktree::Survivor& first = done->removal.survivors.front();
    return {judgement, "failed", first.spec.kind + " " + first.spec.name + ": " + first.reason.to_string()};
  }

  Outcome settle_unborn(const contract::Instruments& tools, worktree::Judgement judgement) const {
    using Forgetting = worktree::Lifecycle::Forgetting;
    const auto forgotten =
        tools.lifecycle.forget_unborn(judgement.record, dry_run_ ? Forgetting::rehearsal : Forgetting::real);
    // A run may be about to make it; if not, the next gc finds it again.
    if (!forgotten && forgotten.error().kind() == ErrorKind::busy) return {judgement, "kept", forgotten.error().to_string()};
    if (!forgotten) return {judgement, "failed", forgotten.error().to_string()};
    if (!*forgotten) return {judgement, "kept", "it was begun: `hedge create` finishes it, `hedge destroy` removes it"};
    return {judgement, dry_run_ ? "would_remove" : "removed", judgement.why};
  }

  static void print(Output& output, const std::vector<Outcome>& outcomes) {
    if (output.json()) {
      json list = json::array();
      for (const Outcome& outcome : outcomes) {
        const worktree::WorktreeRecord& record = outcome.judgement.record;
        list.push_back({{"id", record.id},
                        {"slug", record.slug},
                        {"path", record.path.string()},
                        {"standing", worktree::to_string(outcome.judgement.standing)},
                        {"action", outcome.action},
                        {"detail", outcome.detail}});
      }
      output.object({{"schema", "hedge.gc/1"}, {"worktrees", std::move(list)}});
      return;
    }
    if (outcomes.empty()) return output.line("nothing to remove");
    std::vector<std::vector<std::string>> cells;
    for (const Outcome& outcome : outcomes) {
      cells.push_back({outcome.judgement.record.slug, std::string(worktree::to_string(outcome.judgement.standing)),
                       outcome.action, outcome.detail});
    }
    output.table({"worktree", "standing", "action", "detail"}, cells);
  }

  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_gc_command() { return std::make_unique<GcCommand>(); }

}  // namespace hedge::cli
