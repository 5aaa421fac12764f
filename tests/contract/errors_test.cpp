#include "contract/errors.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hedge::contract {
namespace {

TEST(ErrorCatalogue, IsSortedAndHasNoIdTwice) {
  const auto errors = all_errors();
  EXPECT_TRUE(std::is_sorted(errors.begin(), errors.end(), [](const auto& a, const auto& b) { return a.id < b.id; }));
  EXPECT_EQ(std::adjacent_find(errors.begin(), errors.end(), [](const auto& a, const auto& b) { return a.id == b.id; }),
            errors.end());
}

TEST(ErrorCatalogue, EveryRowIsWholeAndInItsForm) {
  for (const ErrorEntry& entry : all_errors()) {
    EXPECT_TRUE(std::all_of(entry.id.begin(), entry.id.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; }))
        << entry.id;
    EXPECT_TRUE(entry.meaning.ends_with('.')) << entry.id;
    EXPECT_TRUE(entry.remediation.ends_with('.')) << entry.id;
    EXPECT_NE(entry.exit_code, ExitCode::ok) << entry.id;
    EXPECT_EQ(find_error(entry.id), &entry);
  }
}

// U-04: no advice loses data, unless that is the cause.
TEST(ErrorCatalogue, U04_OnlyUnsavedWorkIsEverToldHowToDiscardIt) {
  for (const ErrorEntry& entry : all_errors()) {
    const std::string advice = std::string(entry.remediation) + " " + std::string(entry.command);
    for (const char* dangerous : {"--force", "--discard", " -v ", "prune", "rm -rf", "--volumes"}) {
      if (entry.id == "unsaved_work" || entry.id == "operation_in_progress") continue;
      EXPECT_EQ(advice.find(dangerous), std::string::npos) << entry.id << " suggests " << dangerous;
    }
  }
}

TEST(ErrorCatalogue, AnUnknownIdIsNotFound) {
  EXPECT_EQ(find_error("no_such_id"), nullptr);
  EXPECT_EQ(find_error(""), nullptr);
  EXPECT_EQ(find_error("zzz"), nullptr);
}

TEST(ExitCodes, FollowTheCatalogueAndElseTheKind) {
  EXPECT_EQ(exit_code_of(Error(ErrorKind::io, "x").with_id("config_invalid")), ExitCode::usage);
  EXPECT_EQ(exit_code_of(Error(ErrorKind::refused, "x")), ExitCode::refused);
  EXPECT_EQ(exit_code_of(Error(ErrorKind::busy, "x")), ExitCode::busy);
  EXPECT_EQ(exit_code_of(Error(ErrorKind::corrupt, "x")), ExitCode::unreadable);
  EXPECT_EQ(exit_code_of(Error(ErrorKind::io, "x")), ExitCode::failed);
}

TEST(ErrorIds, EveryErrorHasOne) {
  EXPECT_EQ(id_of(Error(ErrorKind::no_space, "x")), "disk_full");
  EXPECT_EQ(id_of(Error(ErrorKind::invalid_input, "x")), "internal_error");
  EXPECT_EQ(id_of(Error(ErrorKind::io, "outer").with_cause(Error(ErrorKind::io, "x").with_id("git_failed"))), "git_failed");
  for (const ErrorKind kind : {ErrorKind::permission, ErrorKind::timed_out, ErrorKind::cancelled, ErrorKind::busy,
                               ErrorKind::corrupt, ErrorKind::no_space, ErrorKind::io}) {
    EXPECT_NE(find_error(id_of(Error(kind, "x"))), nullptr) << to_string(kind);
  }
}

TEST(ErrorsPage, HasEveryIdWithItsExitCode) {
  const std::string page = errors_page();
  for (const ErrorEntry& entry : all_errors()) EXPECT_NE(page.find("## `" + std::string(entry.id) + "`"), std::string::npos);
  EXPECT_NE(page.find("Exit code 5."), std::string::npos);
}

}  // namespace
}  // namespace hedge::contract
