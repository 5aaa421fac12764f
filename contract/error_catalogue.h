// The table behind errors.h. One row an identifier, sorted by it; a row is: id, meaning, remediation, command, exit code.
#pragma once

#include <span>

#include "contract/errors.h"

namespace hedge::contract {

// Lifetime: the program's.
extern const std::span<const ErrorEntry> kErrorCatalogue;

}  // namespace hedge::contract
