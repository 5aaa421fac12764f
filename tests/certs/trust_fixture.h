// A root, a system store and NSS databases in temporary directories, changed by the real tools.
#pragma once

#include <deque>
#include <functional>

#include "certs/nss_trust_store.h"
#include "certs/system_trust_store.h"
#include "tests/certs/authority_fixture.h"

namespace hedge::certs {

// Runs the real thing unless told otherwise, and remembers what was asked for.
class RecordingRunner final : public CommandRunner {
 public:
  using Answer = std::function<std::optional<Result<CommandOutput>>(const CommandLine&)>;

  Result<CommandOutput> run(const CommandLine& command) override {
    commands.push_back(command);
    if (answer) {
      if (auto given = answer(command)) return std::move(*given);
    }
    return run_command(command);
  }

  std::vector<CommandLine> commands;
  Answer answer;
};

inline Result<CommandOutput> exited(int code, std::string err = {}) {
  CommandOutput output;
  output.exit_code = code;
  output.err = std::move(err);
  return output;
}

class TrustTest : public AuthorityTest {
 protected:
  TrustTest() {
    std::filesystem::create_directories(directory_ / "anchors");
    std::filesystem::create_directories(directory_ / "hooks");
    std::filesystem::create_directories(directory_ / "etc");
    EXPECT_TRUE(write_file_atomically(directory_ / "conf", "", 0644));
  }

  // Debian's own tool, on directories of our own.
  SystemStoreLayout layout() {
    return {directory_ / "anchors",
            directory_ / "etc/ca-certificates.crt",
            {"/usr/sbin/update-ca-certificates", "--certsconf", dir(directory_ / "conf"), "--localcertsdir",
             dir(directory_ / "anchors"), "--etccertsdir", dir(directory_ / "etc"), "--hooksdir",
             dir(directory_ / "hooks")}};
  }

  TrustedRoot make_root_to_trust() {
    make_authority();
    return load_trusted_root(location()).value();
  }
  // Another root in the same place: what `rm -r ca` and `hedge ca init` give.
  TrustedRoot replace_root() {
    std::filesystem::remove_all(location().directory);
    return make_root_to_trust();
  }

  std::vector<std::string> bundle_fingerprints() {
    std::vector<std::string> found;
    const auto content = read_file(directory_ / "etc/ca-certificates.crt");
    if (content) {
      for (const X509Ptr& certificate : parse_certificates(*content))
        found.push_back(fingerprint(*certificate));
    }
    return found;
  }

  RecordingRunner runner_;
};

}  // namespace hedge::certs
