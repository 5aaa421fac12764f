// The makers of all verbs; each is defined in the file named after its verb.
#pragma once

#include <memory>

#include "cli/command_line.h"

namespace hedge::cli {

std::unique_ptr<Command> make_completions_command();
std::unique_ptr<Command> make_config_command();
std::unique_ptr<Command> make_create_command();
std::unique_ptr<Command> make_destroy_command();
std::unique_ptr<Command> make_down_command();
std::unique_ptr<Command> make_env_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_gc_command();
std::unique_ptr<Command> make_init_command();
std::unique_ptr<Command> make_list_command();
std::unique_ptr<Command> make_path_command();
std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_status_command();
std::unique_ptr<Command> make_supervise_command();
std::unique_ptr<Command> make_up_command();
std::unique_ptr<Command> make_verify_command();

// Groups.
std::unique_ptr<Command> make_ca_export_command();
std::unique_ptr<Command> make_ca_init_command();
std::unique_ptr<Command> make_ca_rotate_command();
std::unique_ptr<Command> make_ca_status_command();
std::unique_ptr<Command> make_ca_trust_command();
std::unique_ptr<Command> make_ca_untrust_command();
std::unique_ptr<Command> make_edge_run_command();
std::unique_ptr<Command> make_edge_start_command();
std::unique_ptr<Command> make_edge_status_command();
std::unique_ptr<Command> make_edge_stop_command();
std::unique_ptr<Command> make_golden_refresh_command();
std::unique_ptr<Command> make_golden_status_command();
std::unique_ptr<Command> make_route_add_command();
std::unique_ptr<Command> make_route_ls_command();
std::unique_ptr<Command> make_route_rm_command();

}  // namespace hedge::cli
