// hedge completions SHELL: a completion script, made from the very verbs and options that the program parses.
#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/services.h"

namespace hedge::cli {
namespace {

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
  }
  return out;
}

// Without the hidden ones.
std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) out.push_back(verb);
  }
  return out;
}

std::vector<std::string> words_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* verb : verbs_of(app)) words.push_back(verb->get_name());
  for (std::string& option : options_of(app)) words.push_back(std::move(option));
  return words;
}

// One case a verb: the words that may follow it.
std::string bash_cases(const CLI::App& app, const std::string& prefix) {
  std::string out;
  for (const CLI::App* verb : verbs_of(app)) {
    const std::string path = prefix.empty() ? verb->get_name() : prefix + " " + verb->get_name();
    out += "    '" + path + "') words='" + join(words_of(*verb), " ") + "' ;;\n" + bash_cases(*verb, path);
  }
  return out;
}

std::string bash_script(const CLI::App& app) {
  return "_hedge() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} path='' word words\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case $word in -*) ;; *) path=\"${path:+$path }$word\" ;; esac\n"
         "  done\n"
         "  case $path in\n"
         "    '') words='" +
         join(words_of(app), " ") + "' ;;\n" + bash_cases(app, "") +
         "    *) words='' ;;\n"
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _hedge hedge\n";
}

std::string fish_lines(const CLI::App& app, const std::string& condition) {
  std::string out;
  for (const CLI::App* verb : verbs_of(app)) {
    out += "complete -c hedge -f -n '" + condition + "' -a " + verb->get_name() + " -d '" +
           replace_all(verb->get_description(), "'", "") + "'\n";
    const std::string inside = "__fish_seen_subcommand_from " + verb->get_name();
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) out += "complete -c hedge -n '" + inside + "' -l " + name + "\n";
    }
    out += fish_lines(*verb, inside);
  }
  return out;
}

class CompletionsCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    program_ = &parent;
    auto* verb = parent.add_subcommand("completions", "print a completion script: source <(hedge completions bash)");
    verb->add_option("shell", shell_, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
    return verb;
  }

  Result<int> run(Services& services) override {
    Output& output = services.output();
    if (shell_ == "fish") {
      output.text(fish_lines(*program_, "__fish_use_subcommand"));
      return 0;
    }
    if (shell_ == "zsh") output.line("autoload -U +X bashcompinit && bashcompinit");
    output.text(bash_script(*program_));
    return 0;
  }

 private:
  const CLI::App* program_ = nullptr;  // the parser that this verb belongs to; it outlives the verb
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completions_command() { return std::make_unique<CompletionsCommand>(); }

}  // namespace hedge::cli
