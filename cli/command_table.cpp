// Every verb of the program: its group and its maker. A new verb is one file in commands/ and one line here.
#include <array>

#include "cli/command_line.h"
#include "cli/commands/commands.h"

namespace hedge::cli {
namespace {

constexpr auto kTable = std::to_array<CommandEntry>({
    {"", make_explain_command},
});

}  // namespace

std::span<const CommandEntry> command_table() { return kTable; }

}  // namespace hedge::cli
