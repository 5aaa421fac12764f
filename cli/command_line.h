// How a verb is shaped, and how the arguments find it.
//
// One file a verb in commands/. It has one class and one maker:
//
//   class RouteListCommand final : public Command {
//    public:
//     CLI::App* declare(CLI::App& parent) override {
//       auto* verb = parent.add_subcommand("ls", "list the routes");
//       verb->add_option("--host", host_, "only this one");
//       return verb;
//     }
//     Result<int> run(Services& services) override;
//    private:
//     std::string host_;
//   };
//   std::unique_ptr<Command> make_route_list_command() { return std::make_unique<RouteListCommand>(); }
//
// The maker is declared in commands/commands.h and stands with its group ("", "route", "edge", "ca" …) in
// command_table.cpp. That is all.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace hedge::cli {

class Output;
class Services;

struct GlobalOptions {
  std::filesystem::path directory;                 // -C; empty: the caller's
  bool json = false;                               // --json
  bool color = true;                               // false with --no-color, NO_COLOR or without a terminal
  int verbosity = 0;                               // -v, repeatable
  std::optional<std::filesystem::path> state_dir;  // --state-dir
};

// What a failure before or during the verb must look like on standard output.
enum class ResultShape {
  plain,     // an error object only with --json
  contract,  // the contract object, always (create, verify, destroy, status, up, down)
};

class Command {
 public:
  virtual ~Command() = default;
  // Adds the subcommand to `parent`; its options are bound to members.
  virtual CLI::App* declare(CLI::App& parent) = 0;
  // Returns the exit code (contract::ExitCode, or a child's). An error is printed by the frame, with its id, its next step and
  // the exit code of the catalogue.
  virtual Result<int> run(Services& services) = 0;
  virtual ResultShape shape() const { return ResultShape::plain; }
};

struct CommandEntry {
  std::string_view group;  // "" for a verb of its own
  std::unique_ptr<Command> (*make)();
};
// Every verb of the program.
std::span<const CommandEntry> command_table();

using Arguments = std::vector<std::string>;  // without the program's name

// Parses the arguments, runs the chosen verb, prints what is to be printed. Returns the exit code.
int run_command_line(const Arguments& arguments, Output& output);
// For main(), which alone catches exceptions: reports one in the shape that the verb promises.
int report_bug(const Arguments& arguments, Output& output, std::string_view what);

// The word that stands where a verb stands, even if the rest cannot be parsed. Empty if there is none.
std::string verb_in(const Arguments& arguments);
ResultShape shape_of(std::string_view verb);

}  // namespace hedge::cli
