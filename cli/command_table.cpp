// Every verb of the program: its group and its maker. A new verb is one file in commands/ and one line here.
#include <array>

#include "cli/command_line.h"
#include "cli/commands/commands.h"

namespace hedge::cli {
namespace {

constexpr auto kTable = std::to_array<CommandEntry>({
    {"", make_init_command},
    {"", make_create_command},
    {"", make_verify_command},
    {"", make_status_command},
    {"", make_destroy_command},
    {"", make_list_command},
    {"", make_path_command},
    {"", make_env_command},
    {"", make_up_command},
    {"", make_down_command},
    {"", make_run_command},
    {"", make_gc_command},
    {"", make_config_command},
    {"", make_explain_command},
    {"", make_completions_command},
    {"", make_supervise_command},
    {"ca", make_ca_export_command},
    {"ca", make_ca_init_command},
    {"ca", make_ca_rotate_command},
    {"ca", make_ca_status_command},
    {"ca", make_ca_trust_command},
    {"ca", make_ca_untrust_command},
    {"edge", make_edge_run_command},
    {"edge", make_edge_start_command},
    {"edge", make_edge_status_command},
    {"edge", make_edge_stop_command},
    {"golden", make_golden_refresh_command},
    {"golden", make_golden_status_command},
    {"route", make_route_add_command},
    {"route", make_route_ls_command},
    {"route", make_route_rm_command},
});

}  // namespace

std::span<const CommandEntry> command_table() { return kTable; }

}  // namespace hedge::cli
