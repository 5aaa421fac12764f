#include "tests/support/tls_peer.h"

#include <array>
#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace hedge::test {

TlsPeer::TlsPeer(std::uint16_t port, const std::string& server_name, const std::filesystem::path& root,
                 const std::string& alpn)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), context_(SSL_CTX_new(TLS_client_method())) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{10, 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    ADD_FAILURE() << "connect: errno " << errno;
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_load_verify_file(context_.get(), root.c_str()) != 1) ADD_FAILURE() << "no root at " << root;
  session_.reset(SSL_new(context_.get()));
  // SSL_set_tlsext_host_name() without its C-style cast.
  SSL_ctrl(session_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
           const_cast<char*>(server_name.c_str()));
  SSL_set1_host(session_.get(), server_name.c_str());
  if (!alpn.empty()) {
    const std::string list = static_cast<char>(alpn.size()) + alpn;
    SSL_set_alpn_protos(session_.get(), reinterpret_cast<const unsigned char*>(list.data()),
                        static_cast<unsigned>(list.size()));
  }
  SSL_set_fd(session_.get(), socket_.get());
  if (SSL_connect(session_.get()) != 1)
    ADD_FAILURE() << "handshake: " << X509_verify_cert_error_string(SSL_get_verify_result(session_.get()));
}

bool TlsPeer::send(std::string_view bytes) {
  return SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())) ==
         static_cast<int>(bytes.size());
}

bool TlsPeer::receive_some() {
  std::array<char, 16384> bytes;
  const int got = SSL_read(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
  if (got <= 0) return false;
  unread_.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

std::string TlsPeer::read_until(std::string_view end) {
  std::size_t found = 0;
  while ((found = unread_.find(end)) == std::string::npos) {
    if (!receive_some()) return std::exchange(unread_, {});
  }
  std::string text = unread_.substr(0, found + end.size());
  unread_.erase(0, text.size());
  return text;
}

std::string TlsPeer::read_bytes(std::size_t count) {
  while (unread_.size() < count && receive_some()) {
  }
  std::string text = unread_.substr(0, count);
  unread_.erase(0, text.size());
  return text;
}

std::string TlsPeer::read_all() {
  while (receive_some()) {
  }
  return std::exchange(unread_, {});
}

}  // namespace hedge::test
