// TLS on the real listeners, with a certificate of a fresh CA, against OpenSSL's own client.
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "tests/proxy/edge/line_edge.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/tls_peer.h"

namespace hedge::test {
namespace {

using proxy::EdgeLimits;

constexpr const char* kName = "alpha.dev.localhost";

TEST(EdgeTls, IsSpokenOnEitherPortAndTellsTheNameAndTheProtocol) {
  LineEdge edge;
  for (const std::uint16_t port : {edge.plain_port(), edge.tls_port()}) {
    TlsPeer client(port, kName, edge.root_certificate(), "http/1.1");
    client.send("who\n");
    EXPECT_EQ(client.read_until("\n"), "tls=1 https=0 alpn=http/1.1 name=alpha.dev.localhost ip=127.0.0.1\n");
  }
}

TEST(EdgeTls, ServesAClientThatOffersNoProtocolOrOneThatIsNotSpoken) {
  LineEdge edge;
  for (const char* alpn : {"", "spdy/1"}) {
    TlsPeer client(edge.tls_port(), kName, edge.root_certificate(), alpn);
    client.send("x\n");
    EXPECT_EQ(client.read_until("\n"), "ok:x\n");
  }
}

TEST(EdgeTls, CarriesBodiesOfManyRecordsBothWaysUnderBackPressure) {
  LineEdge edge;
  TlsPeer client(edge.tls_port(), kName, edge.root_certificate());
  std::string line(3'000'000, '\0');
  for (std::size_t i = 0; i < line.size(); ++i) line[i] = static_cast<char>('a' + i * 7 % 26);
  line.back() = '\n';
  ASSERT_TRUE(client.send(line));
  EXPECT_TRUE(client.read_until("\n") == "ok:" + line);
}

TEST(EdgeTls, EndsWithACloseNotify) {
  LineEdge edge(short_limits());
  TlsPeer client(edge.tls_port(), kName, edge.root_certificate());
  client.send("x\n");
  EXPECT_EQ(client.read_until("\n"), "ok:x\n");
  EXPECT_EQ(client.read_all(), "");  // the idle limit ends it
}

// A client whose handshake may fail.
class RawTlsClient {
 public:
  RawTlsClient() : context_(SSL_CTX_new(TLS_client_method())) {}
  SSL_CTX* context() { return context_.get(); }
  // 0: it succeeded; otherwise OpenSSL's reason.
  int connect(std::uint16_t port, const char* name) {
    BIO* socket = BIO_new_connect(("127.0.0.1:" + std::to_string(port)).c_str());
    ssl_.reset(SSL_new(context_.get()));
    EXPECT_EQ(BIO_do_connect(socket), 1);
    std::string server_name = name;
    SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, server_name.data());
    if (session_ != nullptr) SSL_set_session(ssl_.get(), session_.get());
    SSL_set_bio(ssl_.get(), socket, socket);  // owns it
    ERR_clear_error();
    return SSL_connect(ssl_.get()) == 1 ? 0 : ERR_GET_REASON(ERR_peek_error());
  }
  // One exchange, so that the ticket has come; keeps the session for the next connect().
  void exchange_and_keep_session() {
    EXPECT_EQ(SSL_write(ssl_.get(), "x\n", 2), 2);
    char answer[16];
    EXPECT_EQ(SSL_read(ssl_.get(), answer, sizeof answer), 5);
    session_.reset(SSL_get1_session(ssl_.get()));
    SSL_shutdown(ssl_.get());
  }
  bool was_resumed() const { return SSL_session_reused(ssl_.get()) == 1; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  std::unique_ptr<SSL_SESSION, Free> session_;
};

TEST(EdgeTls, RefusesVersionsBefore12AndSpeaks12And13) {
  LineEdge edge;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    RawTlsClient client;
    SSL_CTX_set_min_proto_version(client.context(), version);
    SSL_CTX_set_max_proto_version(client.context(), version);
    EXPECT_EQ(client.connect(edge.tls_port(), kName), 0);
  }
  RawTlsClient old;
  SSL_CTX_set_security_level(old.context(), 0);
  SSL_CTX_set_min_proto_version(old.context(), TLS1_1_VERSION);
  SSL_CTX_set_max_proto_version(old.context(), TLS1_1_VERSION);
  EXPECT_NE(old.connect(edge.tls_port(), kName), 0);
}

TEST(EdgeTls, AnswersAnUnknownNameWithTheAlertForIt) {
  LineEdge edge;
  constexpr auto kUnknownName = static_cast<std::size_t>(proxy::HandshakeFailure::unknown_name);
  RawTlsClient client;
  EXPECT_EQ(client.connect(edge.tls_port(), "www.example.com"), SSL_R_TLSV1_UNRECOGNIZED_NAME);
  EXPECT_TRUE(edge.wait_for_open(0));
  EXPECT_EQ(edge.server().workers().front()->stats().handshakes_failed[kUnknownName].value(), 1U);
}

// E-16, E-17
TEST(EdgeTls, E16_E17_TakesNamesInAnyCaseAndWithATrailingDot) {
  LineEdge edge;
  for (const char* name : {"ALPHA.dev.localhost", "alpha.dev.localhost."}) {
    RawTlsClient client;
    EXPECT_EQ(client.connect(edge.tls_port(), name), 0) << name;
  }
}

TEST(EdgeTls, ResumesSessionsOnAnyWorker) {
  LineEdge edge(EdgeLimits(), 2);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    RawTlsClient client;
    SSL_CTX_set_max_proto_version(client.context(), version);
    for (int i = 0; i < 16; ++i) {
      ASSERT_EQ(client.connect(edge.tls_port(), kName), 0);
      EXPECT_EQ(client.was_resumed(), i > 0) << "connection " << i;
      client.exchange_and_keep_session();
    }
  }
}

}  // namespace
}  // namespace hedge::test
