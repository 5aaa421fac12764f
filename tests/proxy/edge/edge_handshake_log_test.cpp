#include <array>
#include <cerrno>
#include <memory>
#include <set>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/clock.h"
#include "certs/certificate_store.h"
#include "proxy/handshake_log.h"
#include "proxy/proxy_error.h"
#include "proxy/stream/ssl_ptr.h"
#include "proxy/stream/tls_context.h"
#include "tests/support/temporary_directory.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;

unsigned long ssl_error(int reason) {
  return ERR_PACK(ERR_LIB_SSL, 0, reason);
}

TEST(HandshakeLog, SortsFailuresByWhatThePersonMustDo) {
  const IoResult failed = IoResult::failure(EPROTO);
  struct Row {
    IoResult result;
    unsigned long error;
    HandshakeFailure failure;
  };
  const std::array rows = {
      Row{failed, ssl_error(SSL_R_TLSV1_ALERT_UNKNOWN_CA), HandshakeFailure::unknown_authority},
      Row{failed, ssl_error(SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN), HandshakeFailure::unknown_authority},
      Row{failed, ssl_error(SSL_R_SSLV3_ALERT_BAD_CERTIFICATE), HandshakeFailure::bad_certificate},
      Row{failed, ssl_error(SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED), HandshakeFailure::certificate_ended},
      Row{failed, ssl_error(SSL_R_CALLBACK_FAILED), HandshakeFailure::unknown_name},
      Row{failed, ERR_PACK(ERR_LIB_USER, 0, kNoCertificateMade), HandshakeFailure::no_certificate_made},
      Row{failed, ssl_error(SSL_R_UNSUPPORTED_PROTOCOL), HandshakeFailure::no_common_version},
      Row{failed, ssl_error(SSL_R_NO_SHARED_CIPHER), HandshakeFailure::no_certificate},
      Row{failed, ssl_error(SSL_R_WRONG_VERSION_NUMBER), HandshakeFailure::not_tls},
      Row{failed, ssl_error(SSL_R_BAD_SIGNATURE), HandshakeFailure::other},
      Row{IoResult::ended(), 0, HandshakeFailure::peer_gone},
      Row{IoResult::failure(ECONNRESET), 0, HandshakeFailure::peer_gone},
      Row{IoResult::interrupted(IoStatus::timed_out), 0, HandshakeFailure::timed_out},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(classify_handshake_failure(row.result, row.error), row.failure) << ERR_GET_REASON(row.error);
  }
}

// A handshake in memory up to the server's failure.
unsigned long failure_of_server(const TlsContext& context, const char* name) {
  const std::shared_ptr<const router::RouteTable> table = router::RouteTable::build({});
  const HandshakeRoutes routes{&table};
  const SslPtr server = context.new_server_session(routes);
  const SslContextPtr client_context(SSL_CTX_new(TLS_client_method()));
  const SslPtr client(SSL_new(client_context.get()));
  // The macro for this has an old-style cast.
  SSL_ctrl(client.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(name));
  SSL_set_connect_state(client.get());
  BIO* client_end = nullptr;
  BIO* server_end = nullptr;
  EXPECT_EQ(BIO_new_bio_pair(&client_end, 0, &server_end, 0), 1);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_bio(server.get(), server_end, server_end);
  EXPECT_EQ(SSL_do_handshake(client.get()), -1);
  ERR_clear_error();
  EXPECT_EQ(SSL_do_handshake(server.get()), -1);
  return ERR_peek_error();
}

TEST(HandshakeLog, TellsACertificateThatCouldNotBeMadeFromANameThatNobodyHas) {
  const test::TemporaryDirectory directory;
  certs::CertificateStoreOptions options;
  options.ca_directory = directory / "no-ca";
  options.suffixes = {"localhost"};
  const SystemClock clock;
  const auto store = certs::CertificateStore::open(options, clock);
  ASSERT_TRUE(store);
  const auto context = TlsContext::create(**store);
  ASSERT_TRUE(context);
  const IoResult failed = IoResult::failure(EPROTO);

  const unsigned long ours = failure_of_server(**context, "alpha.localhost");
  EXPECT_EQ(classify_handshake_failure(failed, ours), HandshakeFailure::no_certificate_made);
  EXPECT_NE(handshake_detail(ours).find("no CA in"), std::string::npos) << handshake_detail(ours);
  EXPECT_NE(describe(HandshakeFailure::no_certificate_made).find("hedge ca init"), std::string::npos);

  const unsigned long unknown = failure_of_server(**context, "alpha.example.com");
  EXPECT_EQ(classify_handshake_failure(failed, unknown), HandshakeFailure::unknown_name);
  EXPECT_NE(handshake_detail(unknown), "");
}

TEST(HandshakeLog, T17_ARefusalOfANameThatTheCaMayNotSignForIsNotTakenForMissingTrust) {
  using enum HandshakeFailure;
  for (const HandshakeFailure refusal : {unknown_authority, bad_certificate}) {
    EXPECT_EQ(blame_constraints(refusal, false), name_not_permitted);
    EXPECT_EQ(blame_constraints(refusal, true), refusal);
  }
  EXPECT_EQ(blame_constraints(peer_gone, false), peer_gone);
  EXPECT_EQ(describe(name_not_permitted).find("does not trust"), std::string_view::npos);
}

TEST(HandshakeLog, T13_ACertificateThatTheClientCallsExpiredIsOursToMendOrItsClock) {
  using enum HandshakeFailure;
  EXPECT_EQ(blame_clock(certificate_ended, true), certificate_ended);
  EXPECT_EQ(blame_clock(certificate_ended, false), client_clock);
  EXPECT_EQ(blame_clock(unknown_authority, true), unknown_authority);
  EXPECT_NE(describe(certificate_ended).find("hedge ca rotate"), std::string_view::npos);
  EXPECT_EQ(describe(client_clock).find("hedge"), std::string_view::npos) << "no command mends a clock";
}

TEST(HandshakeLog, EveryKindHasALabelOfItsOwnAndWords) {
  std::set<std::string_view> labels;
  for (std::size_t i = 0; i < kHandshakeFailures; ++i) {
    const auto failure = static_cast<HandshakeFailure>(i);
    EXPECT_TRUE(labels.insert(label_of(failure)).second) << label_of(failure);
    EXPECT_FALSE(describe(failure).empty());
  }
  EXPECT_EQ(label_of(HandshakeFailure::client_clock), "client_clock");
  EXPECT_EQ(label_of(HandshakeFailure::other), "other");
}

TEST(HandshakeLog, AClientIsToldOnceWhatToDo) {
  using enum HandshakeFailure;
  EXPECT_NE(describe(unknown_authority).find("hedge ca trust"), std::string_view::npos);
  EXPECT_EQ(describe_again(unknown_authority).find("hedge ca trust"), std::string_view::npos);
  EXPECT_EQ(describe_again(not_tls), describe(not_tls));
}

TEST(HandshakeLog, WritesOneLineForEachKindInTenSeconds) {
  HandshakeLog log;
  auto now = std::chrono::steady_clock::time_point(1h);
  for (int i = 0; i < 100; ++i) log.failed(HandshakeFailure::unknown_authority, "127.0.0.1", "", now);
  EXPECT_EQ(log.lines(), 1U);
  log.failed(HandshakeFailure::not_tls, "127.0.0.1", "", now);
  EXPECT_EQ(log.lines(), 2U);
  now += 10s;
  log.failed(HandshakeFailure::unknown_authority, "127.0.0.1", "", now);
  EXPECT_EQ(log.lines(), 3U);
}

TEST(ProxyErrors, HaveDistinctStableIdsAndAStatusOfTheirSide) {
  std::set<std::string_view> ids;
  for (int i = 0; i <= static_cast<int>(ProxyReason::internal); ++i) {
    const ProxyReasonFacts& row = facts(static_cast<ProxyReason>(i));
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_FALSE(row.title.empty());
    if (row.side == ProxySide::upstream) {
      EXPECT_TRUE(row.status == 502 || row.status == 504) << row.id;
    } else {
      EXPECT_TRUE((row.status >= 400 && row.status < 504) || row.status == 508) << row.id;
    }
    const bool is_final = row.repeatable == Repeatable::no;
    EXPECT_TRUE(is_final || row.side == ProxySide::upstream) << row.id;
  }
}

}  // namespace
}  // namespace hedge::proxy
