#include "cli/contract_view.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hedge::cli {
namespace {

contract::ContractResult result() {
  contract::ContractResult out;
  out.status = contract::Status::incomplete;
  out.workspace = contract::WorkspaceFacts{};
  out.workspace->path = "/repo.login";
  out.workspace->slug = "login";
  out.workspace->branch = "feature/\x1b[31mlogin";
  contract::CheckResult pass;
  pass.id = "git.checkout";
  pass.status = contract::CheckStatus::pass;
  contract::CheckResult fail;
  fail.id = "edge.running";
  fail.status = contract::CheckStatus::fail;
  fail.error = "edge_not_running";
  fail.detail = "first\nsecond";
  out.checks = {pass, fail};
  out.next = "hedge edge start";
  return out;
}

class ContractPage : public testing::Test {
 protected:
  // Standard output is given back to the test runner afterwards.
  void SetUp() override { saved_ = ::dup(STDOUT_FILENO); }
  void TearDown() override {
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  int saved_ = -1;
};

TEST_F(ContractPage, ShowsWhatFailsAndTheNextCommand) {
  const Output output = Output::claim_standard_output();
  const std::string page = contract_page(output, result(), false);
  EXPECT_NE(page.find("incomplete  login"), std::string::npos) << page;
  EXPECT_NE(page.find("edge.running [edge_not_running]\n      first\n      second\n"), std::string::npos) << page;
  EXPECT_EQ(page.find("git.checkout"), std::string::npos) << page;
  EXPECT_NE(page.find("1 of 2 checks pass"), std::string::npos) << page;
  EXPECT_NE(page.find("next: hedge edge start\n"), std::string::npos) << page;
}

TEST_F(ContractPage, ShowsAllChecksWhenAsked) {
  const Output output = Output::claim_standard_output();
  EXPECT_NE(contract_page(output, result(), true).find("git.checkout"), std::string::npos);
}

TEST_F(ContractPage, HostileNamesCannotSpeakToTheTerminal) {
  const Output output = Output::claim_standard_output();
  EXPECT_EQ(contract_page(output, result(), true).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace hedge::cli
