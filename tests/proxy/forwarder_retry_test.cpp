#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/http/message.h"
#include "proxy/retry_policy.h"

namespace hedge::proxy {
namespace {

// A reused connection died under a GET before any byte of a response.
FailedAttempt stale_get() {
  FailedAttempt failed;
  failed.reused = true;
  failed.idempotent = true;
  failed.replayable = true;
  return failed;
}

TEST(Retries, E14_AStaleConnectionIsOneMoreTryForAGet) {
  EXPECT_TRUE(may_retry(stale_get()));
}

TEST(Retries, E14_APostIsNotRepeated) {
  FailedAttempt post = stale_get();
  post.idempotent = false;
  EXPECT_FALSE(may_retry(post));
}

TEST(Retries, E14_APostOfWhichNothingWasSentIsProvablyUnsent) {
  FailedAttempt post = stale_get();
  post.idempotent = false;
  post.sent_anything = false;
  EXPECT_TRUE(may_retry(post));
}

TEST(Retries, NoThirdTry) {
  FailedAttempt second = stale_get();
  second.attempts = 2;
  EXPECT_FALSE(may_retry(second));
}

TEST(Retries, AfterTheFirstByteOfAResponseNothingIsRepeated) {
  FailedAttempt failed = stale_get();
  failed.response_started = true;
  EXPECT_FALSE(may_retry(failed));
}

TEST(Retries, ABodyThatIsGoneCannotBeSentAgain) {
  FailedAttempt failed = stale_get();
  failed.replayable = false;
  EXPECT_FALSE(may_retry(failed));
}

TEST(Retries, AFreshConnectionThatDiesIsTheUpstreamsWord) {
  FailedAttempt failed = stale_get();
  failed.reused = false;
  EXPECT_FALSE(may_retry(failed));
}

TEST(Retries, OnlyAClosedConnectionIsAReason) {
  for (int i = 0; i <= static_cast<int>(ProxyReason::internal); ++i) {
    FailedAttempt failed = stale_get();
    failed.reason = static_cast<ProxyReason>(i);
    EXPECT_EQ(may_retry(failed), failed.reason == ProxyReason::upstream_closed) << facts(failed.reason).id;
  }
}

TEST(Retries, IdempotentMethodsAreThoseOfTheStandardAndCaseMatters) {
  for (const std::string method : {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
    EXPECT_TRUE(http::is_idempotent(method)) << method;
  for (const std::string method : {"POST", "PATCH", "get", "FOO", ""})
    EXPECT_FALSE(http::is_idempotent(method)) << method;
}

}  // namespace
}  // namespace hedge::proxy
