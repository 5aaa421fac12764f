// A blocking TLS client that trusts one root, for byte-exact tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "base/unique_fd.h"

namespace hedge::test {

class TlsPeer {
 public:
  // Connects to 127.0.0.1:port, shakes hands and verifies the certificate for `server_name`. Failures fail
  // the test. `alpn`: one protocol, or empty.
  TlsPeer(std::uint16_t port, const std::string& server_name, const std::filesystem::path& root,
          const std::string& alpn = {});

  bool send(std::string_view bytes);
  // Up to and with `end`; what there is if the limit of 10 s passes or the peer ends.
  std::string read_until(std::string_view end);
  // Fewer if the limit passes or the peer ends.
  std::string read_bytes(std::size_t count);
  // To the peer's close_notify or FIN.
  std::string read_all();

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* session) const { SSL_free(session); }
  };
  bool receive_some();

  UniqueFd socket_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> session_;
  std::string unread_;
};

}  // namespace hedge::test
