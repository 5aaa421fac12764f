// Every verb of the program: its group and its maker. A new verb is one file in commands/ and one line here.
#include <array>

#include "cli/command_line.h"
#include "cli/commands/commands.h"

namespace hedge::cli {
namespace {

constexpr auto kTable = std::to_array<CommandEntry>({
    {"", make_explain_command},
    {"ca", make_ca_export_command},
    {"ca", make_ca_init_command},
    {"ca", make_ca_status_command},
    {"ca", make_ca_trust_command},
    {"ca", make_ca_untrust_command},
    {"edge", make_edge_run_command},
    {"edge", make_edge_start_command},
    {"edge", make_edge_status_command},
    {"edge", make_edge_stop_command},
    {"route", make_route_add_command},
    {"route", make_route_ls_command},
    {"route", make_route_rm_command},
});

}  // namespace

std::span<const CommandEntry> command_table() { return kTable; }

}  // namespace hedge::cli
