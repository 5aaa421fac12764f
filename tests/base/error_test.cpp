#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace hedge {
namespace {

TEST(Error, FollowsTheSystemsErrorNumberWithAKind) {
  EXPECT_EQ(Error::from_errno(ENOENT, "open x").kind(), ErrorKind::not_found);
  EXPECT_EQ(Error::from_errno(EACCES, "open x").kind(), ErrorKind::permission);
  EXPECT_EQ(Error::from_errno(ENOSPC, "write x").kind(), ErrorKind::no_space);
  EXPECT_EQ(Error::from_errno(ECONNREFUSED, "connect").kind(), ErrorKind::unavailable);
  EXPECT_EQ(Error::from_errno(ECONNRESET, "read").kind(), ErrorKind::closed);
  EXPECT_EQ(Error::from_errno(EIO, "read").kind(), ErrorKind::io);
}

TEST(Error, TellsTheWholeChainOnOneLine) {
  Error low(ErrorKind::io, "no answer");
  const Error error = Error(ErrorKind::unavailable, "cannot reach the engine").with_cause(std::move(low)).with_context("create shop");
  EXPECT_EQ(error.to_string(), "create shop: cannot reach the engine: no answer");
  EXPECT_EQ(error.kind(), ErrorKind::unavailable);
}

TEST(Error, TakesTheIdentifierOfItsCauseWhenItHasNone) {
  Error low = Error(ErrorKind::conflict, "taken").with_id("route_conflict");
  const Error error = Error(ErrorKind::io, "cannot publish").with_cause(std::move(low));
  EXPECT_EQ(error.id(), "route_conflict");
}

// Tells when it is gone.
class Watched {
 public:
  explicit Watched(bool& gone) : gone_(&gone) {}
  Watched(Watched&& other) noexcept : gone_(std::exchange(other.gone_, nullptr)) {}
  Watched& operator=(Watched&&) = delete;
  ~Watched() {
    if (gone_ != nullptr) *gone_ = true;
  }

 private:
  bool* gone_;
};

TEST(Result, WhatAResultThatIsPassedByHoldsOutlivesIt) {
  bool gone = false;
  const auto make = [&gone]() -> Result<Watched> { return Watched(gone); };
  {
    const auto& held = *make();  // as a loop over `*make()` holds what it goes through
    static_cast<void>(held);
    EXPECT_FALSE(gone);
  }
  EXPECT_TRUE(gone);
  gone = false;
  const auto& by_name = make().value();
  static_cast<void>(by_name);
  EXPECT_FALSE(gone);
  static_assert(!std::is_reference_v<decltype(std::declval<Result<int>>().error())>);
  static_assert(!std::is_reference_v<decltype(std::declval<Result<void>>().error())>);
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 4;
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 4);
  Result<int> bad = Error(ErrorKind::io, "x");
  ASSERT_FALSE(bad);
  EXPECT_EQ(std::move(bad).with_context("ctx").error().text(), "ctx: x");
  EXPECT_EQ(Result<int>(Error(ErrorKind::io, "x")).value_or(7), 7);
}

TEST(ResultVoid, IsSuccessUnlessGivenAnError) {
  EXPECT_TRUE(Result<void>());
  EXPECT_FALSE(Result<void>(Error(ErrorKind::io, "x")));
  EXPECT_TRUE(Result<void>().with_context("unused"));
}

}  // namespace
}  // namespace hedge
