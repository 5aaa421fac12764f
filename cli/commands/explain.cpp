// hedge explain [ID]: what an error identifier means and what to do.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/services.h"
#include "config/load.h"
#include "contract/errors.h"

namespace hedge::cli {
namespace {

nlohmann::json to_json(const contract::ErrorEntry& entry) {
  return {{"id", entry.id},
          {"meaning", entry.meaning},
          {"remediation", entry.remediation},
          {"command", entry.command.empty() ? nlohmann::json(nullptr) : nlohmann::json(entry.command)},
          {"exit_code", contract::to_int(entry.exit_code)}};
}

class ExplainCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    auto* verb = parent.add_subcommand("explain", "what an error identifier means, and what to do");
    verb->add_option("id", id_, "the identifier; without one all are listed")->type_name("ID");
    verb->add_flag("--markdown", markdown_, "all of them as the page docs/errors.md");
    return verb;
  }

  Result<int> run(Services& services) override {
    Output& output = services.output();
    if (markdown_) {
      output.text(contract::errors_page());
    } else if (id_.empty()) {
      print_all(output);
    } else {
      const contract::ErrorEntry* entry = contract::find_error(id_);
      if (entry == nullptr) return unknown();
      print_one(output, *entry);
    }
    return 0;
  }

 private:
  static void print_all(Output& output) {
    nlohmann::json list = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows;
    for (const contract::ErrorEntry& entry : contract::all_errors()) {
      list.push_back(to_json(entry));
      rows.push_back({std::string(entry.id), std::to_string(contract::to_int(entry.exit_code)), std::string(entry.meaning)});
    }
    if (output.json()) output.object({{"errors", list}});
    else output.table({"id", "exit", "meaning"}, rows);
  }

  static void print_one(Output& output, const contract::ErrorEntry& entry) {
    if (output.json()) return output.object(to_json(entry));
    output.line(output.paint(Tone::strong, entry.id));
    output.line(entry.meaning);
    output.line(entry.remediation);
    if (!entry.command.empty()) output.line("  " + std::string(entry.command));
    output.line(output.paint(Tone::dim, "exit code " + std::to_string(contract::to_int(entry.exit_code))));
  }

  Error unknown() const {
    std::vector<std::string> ids;
    for (const contract::ErrorEntry& entry : contract::all_errors()) ids.emplace_back(entry.id);
    const std::string near = config::nearest(id_, ids);
    Error error = Error(ErrorKind::invalid_input, "there is no error identifier \"" + id_ + "\"").with_id("usage_error");
    return near.empty() ? error : std::move(error).with_hint("did you mean " + near + "?");
  }

  std::string id_;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace hedge::cli
