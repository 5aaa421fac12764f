#include "cli/command_line.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/subprocess.h"
#include "cli/output.h"
#include "cli/services.h"
#include "config/invoking_user.h"
#include "cli/signal_watch.h"
#include "contract/result.h"

namespace hedge::cli {
namespace {

constexpr const char* kDescription = "Hedge: an environment of its own for every branch, and an edge that routes to them";

struct GroupText {
  std::string_view name;
  const char* description;
};
constexpr GroupText kGroups[] = {
    {"route", "hostnames and where their requests go"},
    {"edge", "the process that routes browsers to worktrees"},
    {"ca", "the local certificate authority"},
    {"golden", "the golden copy that databases are cloned from"},
};

// One run of the program: the parser, all verbs, and the one that was chosen.
class Program {
 public:
  Program() : app_(kDescription, "hedge") {
    app_.set_version_flag("--version", "hedge " HEDGE_VERSION);
    app_.add_option("-C", options_.directory, "run as if started in this directory")->type_name("DIR");
    app_.add_flag("--json", options_.json, "print the result as one JSON object");
    app_.add_flag("--no-color", no_color_, "no colours");
    app_.add_flag("-v", options_.verbosity, "say more on standard error; repeat for more");
    app_.add_option("--state-dir", state_dir_, "where Hedge keeps its state")->type_name("DIR");
    app_.require_subcommand(1);
    for (const CommandEntry& entry : command_table()) add(entry);
  }

  CLI::App& app() { return app_; }
  Command* chosen() const { return chosen_; }
  const std::string& verb() const { return verb_; }

  GlobalOptions options() const {
    GlobalOptions out = options_;
    out.color = !no_color_;
    if (!state_dir_.empty()) out.state_dir = state_dir_;
    return out;
  }

 private:
  void add(const CommandEntry& entry) {
    commands_.push_back(entry.make());
    Command* command = commands_.back().get();
    CLI::App* verb = command->declare(parent_of(entry.group));
    verb->fallthrough();  // global options may stand after the verb
    const std::string name = verb->get_name();
    verb->callback([this, command, name] {
      chosen_ = command;
      verb_ = name;
    });
  }

  CLI::App& parent_of(std::string_view group) {
    if (group.empty()) return app_;
    const auto found = groups_.find(std::string(group));
    if (found != groups_.end()) return *found->second;
    const auto* text = std::find_if(std::begin(kGroups), std::end(kGroups),
                                    [&](const GroupText& candidate) { return candidate.name == group; });
    CLI::App* made = app_.add_subcommand(std::string(group), text == std::end(kGroups) ? "" : text->description);
    made->require_subcommand(1);
    made->fallthrough();
    groups_.emplace(std::string(group), made);
    return *made;
  }

  CLI::App app_;
  GlobalOptions options_;
  std::string state_dir_;
  bool no_color_ = false;
  std::map<std::string, CLI::App*> groups_;
  std::vector<std::unique_ptr<Command>> commands_;
  Command* chosen_ = nullptr;
  std::string verb_;
};

void print_failure(Output& output, ResultShape shape, const std::string& verb, const Error& error) {
  output.error(error);
  if (shape == ResultShape::contract && output.wants_object()) {
    contract::ContractResult result;
    result.command = verb;
    contract::fail_with(result, error);
    output.object(contract::to_json(result));
  } else if (output.json()) {
    output.object(contract::error_to_json(error));
  }
}

// Verbs whose commands must not outlive them; a contract verb also owes an object whatever happens.
bool ends_with_its_commands(std::string_view verb) {
  return shape_of(verb) == ResultShape::contract || verb == "gc" || verb == "golden";
}

// It ends without unwinding: what was begun stands in the journal, as after `kill -9`. What it has printed is the result,
// whatever the verb makes of the end of its commands.
[[noreturn]] void end_interrupted(Output& output, SystemCommandRunner& runner, const std::string& verb, int number) {
  const Error error = Error(ErrorKind::cancelled, std::string("ended by signal ") + ::strsignal(number)).with_id("interrupted");
  print_failure(output, shape_of(verb), verb, error);
  runner.end_all();
  ::_exit(contract::to_int(contract::ExitCode::failed));
}

int on_parse_end(const CLI::ParseError& end, Program& program, Output& output, const Arguments& arguments) {
  if (end.get_exit_code() == 0) {  // --help, --version
    std::ostringstream out;
    std::ostringstream err;
    program.app().exit(end, out, err);
    output.text(out.str());
    return output.delivered() ? 0 : contract::to_int(contract::ExitCode::failed);
  }
  if (std::find(arguments.begin(), arguments.end(), "--json") != arguments.end()) output.set_json(true);
  const std::string verb = verb_in(arguments);
  std::string text = end.what();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  if (text.ends_with('.')) text.pop_back();
  const Error error = Error(ErrorKind::invalid_input, text)
                          .with_id("usage_error")
                          .with_hint("see: hedge " + (verb.empty() ? "" : verb + " ") + "--help");
  print_failure(output, shape_of(verb), verb, error);
  return contract::to_int(contract::ExitCode::usage);
}

log::Level level_of(int verbosity) {
  if (verbosity >= 2) return log::Level::debug;
  return verbosity == 1 ? log::Level::info : log::Level::warning;
}

int run_chosen(Program& program, Output& output, CommandRunner& runner) {
  const GlobalOptions options = program.options();
  Environment environment = current_environment();
  output.set_json(options.json);
  output.set_color(options.color && !environment.contains("NO_COLOR"));
  log::start(level_of(options.verbosity));
  Services services(options, std::move(environment), output, runner);
  Command& command = *program.chosen();
  const auto code = command.run(services);
  if (code) return *code;
  print_failure(output, command.shape(), program.verb(), code.error());
  return contract::to_int(contract::exit_code_of(code.error()));
}

// Run through sudo, everything is done as the user who ran it: state never becomes root's.
Result<void> act_as_invoking_user() {
  const auto user = config::find_invoking_user(current_environment());
  if (!user) return user.error();
  return *user ? config::act_as(**user) : Result<void>();
}

}  // namespace

std::string verb_in(const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-C" || argument == "--state-dir") ++i;
    else if (!argument.starts_with('-')) return argument;
  }
  return {};
}

ResultShape shape_of(std::string_view verb) {
  for (const std::string_view name : {"create", "verify", "destroy", "status", "up", "down"}) {
    if (verb == name) return ResultShape::contract;
  }
  return ResultShape::plain;
}

int run_command_line(const Arguments& arguments, Output& output) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::string verb = verb_in(arguments);
  if (auto acting = act_as_invoking_user(); !acting) {
    if (std::find(arguments.begin(), arguments.end(), "--json") != arguments.end()) output.set_json(true);
    print_failure(output, shape_of(verb), verb, acting.error());
    return contract::to_int(contract::exit_code_of(acting.error()));
  }
  SystemCommandRunner runner;
  std::optional<SignalWatch> watch;
  if (ends_with_its_commands(verb)) {
    watch.emplace(std::vector<int>{SIGTERM, SIGINT, SIGHUP},
                  [&output, &runner, verb](int number) { end_interrupted(output, runner, verb, number); });
  }
  Program program;
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
    program.app().parse(std::move(reversed));
  } catch (const CLI::ParseError& end) {  // the one wrapper of a library that reports by throwing
    return on_parse_end(end, program, output, arguments);
  }
  const int code = run_chosen(program, output, runner);
  if (output.delivered()) return code;
  output.warn("the result could not be written to standard output");
  return code == 0 ? contract::to_int(contract::ExitCode::failed) : code;
}

int report_bug(const Arguments& arguments, Output& output, std::string_view what) {
  if (std::find(arguments.begin(), arguments.end(), "--json") != arguments.end()) output.set_json(true);
  const std::string verb = verb_in(arguments);
  print_failure(output, shape_of(verb), verb, Error(ErrorKind::io, std::string(what)).with_id("internal_error"));
  return contract::to_int(contract::ExitCode::failed);
}

}  // namespace hedge::cli
