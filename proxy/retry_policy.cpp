#include "proxy/retry_policy.h"

namespace hedge::proxy {

bool may_retry(const FailedAttempt& attempt) {
  if (attempt.attempts > 1 || attempt.response_started || !attempt.replayable) return false;
  // A fresh connection that dies says something about the upstream, not about the connection.
  if (!attempt.reused) return false;
  switch (facts(attempt.reason).repeatable) {
    case Repeatable::no:
      return false;
    case Repeatable::if_idempotent:
      return attempt.idempotent || !attempt.sent_anything;
    case Repeatable::yes:
      return true;
  }
  return false;
}

}  // namespace hedge::proxy
