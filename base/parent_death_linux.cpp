#include "base/parent_death.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace hedge {

void end_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  // It may have died between fork and prctl; then nobody would tell.
  if (::getppid() != parent) ::_exit(127);
}

}  // namespace hedge
