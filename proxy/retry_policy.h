// When a request that failed on its way to the upstream is sent once more.
#pragma once

#include "proxy/proxy_error.h"

namespace hedge::proxy {

// What is known about an attempt that ended without a response.
struct FailedAttempt {
  ProxyReason reason = ProxyReason::upstream_closed;
  bool reused = false;            // the connection had served before: its age may be the reason
  bool response_started = false;  // a byte of a response came: the upstream has acted
  bool sent_anything = true;      // a byte of the request was taken by the system
  bool idempotent = false;        // by the method, RFC 9110 section 9.2.2
  bool replayable = false;        // the whole request is still in memory
  int attempts = 1;               // including this one
};

// True at most once for a request. An upstream that may have acted on a request that is not idempotent is
// never asked again.
bool may_retry(const FailedAttempt& attempt);

}  // namespace hedge::proxy
