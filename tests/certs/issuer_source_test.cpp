#include "certs/issuer_source.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/certs/authority_fixture.h"

namespace hedge::certs {
namespace {

using namespace std::chrono_literals;

class IssuerSourceTest : public AuthorityTest {
 protected:
  // The file's new content, under the stamp that it had.
  void overwrite_unnoticed(const std::string& content) {
    const auto path = location().intermediate();
    const auto before = std::filesystem::last_write_time(path);
    std::ofstream(path, std::ios::trunc) << content;
    std::filesystem::last_write_time(path, before);
  }
  std::string content() const { return read_file(location().intermediate()).value(); }
  void next_look() { clock_.advance(1s); }

  IssuerSource source_{location().directory, 1s, clock_};
};

TEST_F(IssuerSourceTest, AFailedLoadIsTriedAgainAlsoWhenTheFileLooksTheSame) {
  make_authority();
  const std::string whole = content();
  overwrite_unnoticed(std::string(whole.size(), 'x'));
  EXPECT_FALSE(source_.current());
  overwrite_unnoticed(whole);
  EXPECT_FALSE(source_.current()) << "not looked at more often than the interval says";
  next_look();
  EXPECT_TRUE(source_.current());
}

TEST_F(IssuerSourceTest, AMissingAuthorityIsFoundOnceItIsThere) {
  const auto missing = source_.current();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().id(), "ca_missing");
  make_authority();
  next_look();
  EXPECT_TRUE(source_.current());
}

TEST_F(IssuerSourceTest, DamageCostsNothingThatWorkedAndIsRecoveredFrom) {
  make_authority();
  const std::string whole = content();
  const auto first = source_.current();
  ASSERT_TRUE(first);
  std::ofstream(location().intermediate(), std::ios::trunc) << "damaged";
  next_look();
  EXPECT_EQ(source_.current().value(), *first);
  std::ofstream(location().intermediate(), std::ios::trunc) << whole;
  next_look();
  EXPECT_TRUE(source_.current());
}

TEST_F(IssuerSourceTest, WhatWasReadIsNotReadAgainWithoutAChange) {
  make_authority();
  const auto first = source_.current();
  ASSERT_TRUE(first);
  next_look();
  EXPECT_EQ(source_.current().value(), *first);
}

}  // namespace
}  // namespace hedge::certs
