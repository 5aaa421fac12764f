// Listening sockets that a service manager has opened for this process (sd_listen_fds(3)).
#pragma once

#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "proxy/listening_sockets.h"

namespace hedge::proxy {

// Takes them from LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES; none if these are not meant for this process.
// A socket named "http" or "https" is of that kind; of any other, ports 80 and 8080 are plain. Call once,
// from main, before other threads exist. Errors: invalid_input `activation_invalid`, if one is no listening
// TCP socket.
Result<std::vector<BoundAddress>> take_activated_sockets(const Environment& environment);

}  // namespace hedge::proxy
