// Where a wrapper command of a worktree runs.
#pragma once

#include <optional>
#include <string>

#include "contract/instruments.h"
#include "contract/subject.h"
#include "worktree/commands/wrapper.h"

namespace hedge::contract {

// On the host in the checkout, or in `service`'s container. Without a `service`: where the runtime runs the application
// (compose: the first service with a port).
// Errors: invalid_input `service_unknown`, for a service of a worktree without containers; those of worktree::plan_variables().
Result<worktree::WrapperPlace> wrapper_place(const Instruments& tools, const Subject& subject,
                                             const std::optional<std::string>& service);
// As above, but without a `service` always on the host.
Result<worktree::WrapperPlace> host_place(const Instruments& tools, const Subject& subject);

}  // namespace hedge::contract
