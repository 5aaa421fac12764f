#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "certs/certificate_builder.h"
#include "certs/key_pair.h"
#include "proxy/stream/ssl_ptr.h"
#include "proxy/stream/ticket_keys.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;

struct SessionFree {
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
};
using SessionPtr = std::unique_ptr<SSL_SESSION, SessionFree>;

constexpr std::chrono::seconds kPeriod = 12h;
// A function without state is what the keys ask for the time.
std::chrono::steady_clock::time_point g_now{};
std::chrono::steady_clock::time_point now() {
  return g_now;
}

class TicketKeysTest : public ::testing::Test {
 protected:
  TicketKeysTest() : server_(new_server(keys_)), client_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_ctrl(client_.get(), SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  }

  static SslContextPtr new_server(TicketKeys& keys) {
    SslContextPtr context(SSL_CTX_new(TLS_server_method()));
    auto key = certs::generate_key();
    const auto wall = std::chrono::system_clock::now();
    certs::CertificateBuilder builder(**key, {"Hedge", "", "alpha.localhost"}, wall - 1h, wall + 1h);
    builder.end_entity();
    const auto certificate = builder.sign(nullptr, **key);
    EXPECT_EQ(SSL_CTX_use_certificate(context.get(), certificate->get()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context.get(), key->get()), 1);
    EXPECT_TRUE(keys.attach(context.get()));
    return context;
  }

  // One handshake in memory, with a session of before or none. What the client has for the next time.
  SessionPtr connect(SSL_CTX& server_context, SSL_SESSION* session, bool& was_resumed) {
    const SslPtr server(SSL_new(&server_context));
    const SslPtr client(SSL_new(client_.get()));
    if (session != nullptr) {
      EXPECT_EQ(SSL_set_session(client.get(), session), 1);
    }
    BIO* one = nullptr;
    BIO* other = nullptr;
    EXPECT_EQ(BIO_new_bio_pair(&one, 0, &other, 0), 1);
    SSL_set_bio(client.get(), one, one);
    SSL_set_bio(server.get(), other, other);
    SSL_set_connect_state(client.get());
    SSL_set_accept_state(server.get());
    constexpr int kMostTurns = 10;
    for (int i = 0; i < kMostTurns &&
                    (SSL_is_init_finished(client.get()) == 0 || SSL_is_init_finished(server.get()) == 0);
         ++i) {
      SSL_do_handshake(client.get());
      SSL_do_handshake(server.get());
    }
    EXPECT_EQ(SSL_is_init_finished(client.get()), 1);
    was_resumed = SSL_session_reused(server.get()) == 1;
    // Told to both sides, or OpenSSL takes the session for a broken one.
    SSL_set_shutdown(client.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_set_shutdown(server.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    return SessionPtr(SSL_get1_session(client.get()));
  }
  bool resumes(SSL_CTX& server_context, SSL_SESSION& session) {
    bool was_resumed = false;
    connect(server_context, &session, was_resumed);
    return was_resumed;
  }
  SessionPtr first_session() {
    bool was_resumed = true;
    SessionPtr session = connect(*server_, nullptr, was_resumed);
    EXPECT_FALSE(was_resumed);
    return session;
  }

  TicketKeys keys_{kPeriod, &now};
  SslContextPtr server_;
  SslContextPtr client_;
};

TEST_F(TicketKeysTest, ATicketIsTakenWhileItsKeyIsInUseAndOnePeriodAfterIt) {
  const SessionPtr session = first_session();
  EXPECT_TRUE(resumes(*server_, *session));
  g_now += kPeriod - 1s;
  EXPECT_TRUE(resumes(*server_, *session)) << "its key is still the current one";
  g_now += 1s;
  EXPECT_TRUE(resumes(*server_, *session)) << "its key is the previous one";
  g_now += kPeriod;
  EXPECT_FALSE(resumes(*server_, *session)) << "its key is gone";
}

TEST_F(TicketKeysTest, AClientWithATicketOfThePreviousKeyGetsANewOne) {
  const SessionPtr session = first_session();
  g_now += kPeriod;
  bool was_resumed = false;
  const SessionPtr renewed = connect(*server_, session.get(), was_resumed);
  ASSERT_TRUE(was_resumed);
  g_now += kPeriod;
  EXPECT_FALSE(resumes(*server_, *session));
  EXPECT_TRUE(resumes(*server_, *renewed)) << "it was made with the key of the second period";
}

TEST_F(TicketKeysTest, ATicketOfAnotherEdgeIsAFullHandshakeAndNoError) {
  const SessionPtr session = first_session();
  TicketKeys others(kPeriod, &now);
  const SslContextPtr other = new_server(others);
  EXPECT_FALSE(resumes(*other, *session));
}

}  // namespace
}  // namespace hedge::proxy
