// A CA in a directory of its own, and OpenSSL's command line as the second opinion on what it signs.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/subprocess.h"
#include "certs/authority_profile.h"
#include "certs/certificate.h"
#include "certs/certificate_authority.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temporary_directory.h"

namespace hedge::certs {

inline std::string pem(const X509& certificate) {
  return certificate_pem(certificate).value();
}

inline std::string dir(const std::filesystem::path& path) {
  return path.string();
}

// `openssl x509 -text`, which decodes without our code.
inline std::string openssl_text(const X509& certificate) {
  CommandLine command;
  command.argv = {"openssl", "x509", "-noout", "-text"};
  command.input = pem(certificate);
  return run_for_output(command).value();
}

inline std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class AuthorityTest : public ::testing::Test {
 protected:
  AuthorityLocation location() const { return {directory_ / "state/ca", directory_ / "state/ca.lock"}; }

  Authority make_authority(const std::vector<std::string>& configured = {}) {
    auto made = ensure_authority(location(), authority_suffixes(configured), clock_);
    EXPECT_TRUE(made) << made.error().to_string();
    return std::move(made->authority);
  }

  // `openssl verify` of a leaf at the fake clock's time. Its output, "OK" on success.
  std::string openssl_verify(const Authority& authority, const X509& leaf, const std::string& host) {
    const auto root = directory_ / "root.pem";
    const auto chain = directory_ / "chain.pem";
    EXPECT_TRUE(write_file_atomically(root, pem(*authority.root), 0600));
    EXPECT_TRUE(write_file_atomically(chain, pem(*authority.intermediate.certificate), 0600));
    CommandLine command;
    const auto now = std::chrono::system_clock::to_time_t(clock_.wall());
    command.argv = {"openssl",   "verify",  "-x509_strict",      "-purpose",
                    "sslserver", "-attime", std::to_string(now), "-verify_hostname",
                    host,        "-CAfile", dir(root),           "-untrusted",
                    dir(chain)};
    command.input = pem(leaf);
    const auto output = run_command(command);
    return output->ok() ? "OK" : output->out + output->err;
  }

  test::FakeClock clock_;
  test::TemporaryDirectory directory_;
};

}  // namespace hedge::certs
