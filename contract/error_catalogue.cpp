#include "contract/error_catalogue.h"

#include <array>

namespace hedge::contract {
namespace {

using enum ExitCode;

constexpr auto kRows = std::to_array<ErrorEntry>({
    {"app_foreign_nonce", "Something answers on the worktree's hostname, but it was not started for this worktree.",
     "Stop what listens on the worktree's port, or start its stack again.", "hedge up", incomplete},
    {"app_not_listening", "The stack runs, but nothing answers on the application's port.",
     "Read the application's log; inside a container it must listen on 0.0.0.0, not on 127.0.0.1.", "hedge up", incomplete},
    {"app_slow", "The application did not answer in time.",
     "Wait until it has started, or raise app.health_timeout in hedge.toml.", "hedge verify", incomplete},
    {"app_unhealthy", "The application answers with a server error.",
     "Read the application's log and mend what it names.", "hedge verify", failed},
    {"bad_request", "The request is not valid HTTP.", "Look at what the client sends.", "", failed},
    {"branch_invalid", "This cannot be the name of a branch.", "Choose a name that `git check-ref-format --branch` accepts.", "",
     usage},
    {"busy", "Another Hedge command holds the lock.", "Wait until it is done, then run the command again.", "", busy},
    {"ca_missing", "There is no local certificate authority yet.", "Create it.", "hedge ca init", incomplete},
    {"ca_untrusted", "This machine's system store does not trust the local certificate authority.",
     "Trust it; where that needs root, the command prints the exact step.", "hedge ca trust", incomplete},
    {"check_failed", "A check of the repository's own [[checks]] failed.", "Follow the remediation that the check states.", "",
     failed},
    {"config_invalid", "hedge.toml cannot be understood.", "Mend the line and column that the message names.", "", usage},
    {"config_missing", "There is no hedge.toml at the top of the checkout.", "Write one and commit it.", "hedge init", usage},
    {"config_unsupported", "hedge.toml asks for something that this version of Hedge does not have.",
     "Remove the section, or use a version that has it.", "", usage},
    {"container_stopped", "The container exists but does not run.", "Start the worktree's stack.", "hedge up", failed},
    {"cookies_clash", "Two worktrees would use the same cookie names.", "Destroy one of them and create it again.", "hedge list",
     failed},
    {"database_missing", "The worktree's database does not exist.", "Make it.", "hedge create", incomplete},
    {"database_unreachable", "The database server does not answer.",
     "Start the main checkout's data services and look at [database] in hedge.toml.", "hedge create", incomplete},
    {"dependencies_stale", "A lockfile differs from the one that the dependencies were installed for.",
     "Install the dependencies again.", "hedge create", incomplete},
    {"directory_missing", "There is no such directory.", "Look at -C and the current directory.", "", usage},
    {"disk_full", "There is no space left.", "Make room: what `hedge gc` finds may go, and so may old build results.",
     "hedge gc --dry-run", failed},
    {"disk_low", "Little space is left on the disk.", "Make room before the next worktree.", "hedge gc --dry-run", failed},
    {"edge_not_running", "No edge runs for this state directory.", "Start it.", "hedge edge start", incomplete},
    {"engine_not_installed", "There is no Docker engine on this machine.", "Install Docker, or use runtime = \"process\".", "",
     failed},
    {"engine_not_running", "The Docker engine does not run.", "Start it.", "", failed},
    {"engine_permission", "This user may not use the Docker engine.",
     "Add the user to the engine's group, or point DOCKER_HOST at an engine that the user may use.", "", failed},
    {"engine_unresponsive", "The Docker engine accepted the connection and did not answer in time.", "Restart it.", "", failed},
    {"env_missing", "The worktree's environment file is missing or not as it should be.", "Write it again.", "hedge create",
     incomplete},
    {"git_missing", "git is not installed or too old.", "Install git 2.35 or newer.", "", failed},
    {"internal_error", "Hedge has a bug.", "Report it with the command and the text of the message.", "", failed},
    {"interrupted", "A signal ended the command.", "Run it again: it goes on where it stopped.", "", failed},
    {"permission_denied", "The operating system refused access.", "Look at the owner and mode of the path that is named.", "",
     failed},
    {"provider_unknown", "There is no such provider.", "Use one of the providers that the message lists.", "", usage},
    {"route_conflict", "The hostname belongs to another worktree or to a route made by hand.",
     "Look at who has it, and remove that route or choose another host.", "hedge route ls", refused},
    {"route_missing", "The worktree's hostname is not registered.", "Register it.", "hedge create", incomplete},
    {"stack_stopped", "The worktree's stack does not run.", "Start it.", "hedge up", incomplete},
    {"state_newer", "A newer version of Hedge has written the state.", "Use that version.", "", unreadable},
    {"state_unreadable", "Stored state cannot be read. It is neither changed nor taken for empty.",
     "Look at the path that is named; choose another place with --state-dir.", "", unreadable},
    {"timed_out", "Something did not happen within its bound.", "Run the command again; -v tells more.", "", failed},
    {"usage_error", "The command line cannot be understood.", "Look at the verb's options.", "hedge --help", usage},
    {"worktree_uninitialized", "This linked worktree was not made by Hedge.",
     "Give it an environment of its own.", "hedge create --adopt", refused},
    {"worktree_unknown", "Hedge knows no such worktree.", "Look at those that it knows.", "hedge list", usage},
});

}  // namespace

constinit const std::span<const ErrorEntry> kErrorCatalogue = kRows;

}  // namespace hedge::contract
