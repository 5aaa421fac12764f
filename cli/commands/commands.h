// The makers of all verbs; each is defined in the file named after its verb.
#pragma once

#include <memory>

#include "cli/command_line.h"

namespace hedge::cli {

std::unique_ptr<Command> make_explain_command();

}  // namespace hedge::cli
