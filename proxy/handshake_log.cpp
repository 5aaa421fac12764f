#include "proxy/handshake_log.h"

#include <algorithm>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/log.h"
#include "base/text.h"
#include "proxy/stream/tls_context.h"

namespace hedge::proxy {
namespace {

constexpr std::chrono::seconds kInterval{10};

bool is_expected(HandshakeFailure failure) {
  // Browsers open connections in advance and drop them.
  return failure == HandshakeFailure::peer_gone || failure == HandshakeFailure::timed_out;
}

bool is_ours(unsigned long openssl_error) {
  return ERR_GET_LIB(openssl_error) == ERR_LIB_USER;
}

}  // namespace

HandshakeFailure classify_handshake_failure(const IoResult& result, unsigned long openssl_error) {
  if (is_ours(openssl_error)) return HandshakeFailure::no_certificate_made;
  switch (ERR_GET_REASON(openssl_error)) {
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      return HandshakeFailure::unknown_authority;
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return HandshakeFailure::certificate_ended;
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return HandshakeFailure::bad_certificate;
    case SSL_R_CALLBACK_FAILED:
      return HandshakeFailure::unknown_name;
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_CIPHER:
      return HandshakeFailure::no_certificate;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return HandshakeFailure::no_common_version;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_BAD_PACKET_LENGTH:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
      return HandshakeFailure::not_tls;
    default:
      break;
  }
  if (result.status == IoStatus::timed_out) return HandshakeFailure::timed_out;
  if (result.status != IoStatus::failed || openssl_error == 0) return HandshakeFailure::peer_gone;
  return HandshakeFailure::other;
}

std::string_view label_of(HandshakeFailure failure) {
  // In the order of the enum.
  static constexpr std::array<std::string_view, kHandshakeFailures> kLabels = {"unknown_authority",
                                                                               "bad_certificate",
                                                                               "certificate_ended",
                                                                               "client_clock",
                                                                               "unknown_name",
                                                                               "no_certificate_made",
                                                                               "name_not_permitted",
                                                                               "no_certificate",
                                                                               "no_common_version",
                                                                               "not_tls",
                                                                               "timed_out",
                                                                               "peer_gone",
                                                                               "other"};
  return kLabels[static_cast<std::size_t>(failure)];
}

HandshakeFailure blame_constraints(HandshakeFailure failure, bool is_name_permitted) {
  const bool is_refusal =
      failure == HandshakeFailure::unknown_authority || failure == HandshakeFailure::bad_certificate;
  return is_refusal && !is_name_permitted ? HandshakeFailure::name_not_permitted : failure;
}

HandshakeFailure blame_clock(HandshakeFailure failure, bool has_certificate_ended) {
  return failure == HandshakeFailure::certificate_ended && !has_certificate_ended
             ? HandshakeFailure::client_clock
             : failure;
}

std::string handshake_detail(unsigned long openssl_error) {
  if (openssl_error == 0) return {};
  const char* data = nullptr;
  int flags = 0;
  if (is_ours(openssl_error) && ERR_peek_error_data(&data, &flags) == openssl_error &&
      (flags & ERR_TXT_STRING) != 0) {
    return data;
  }
  const char* reason = ERR_reason_error_string(openssl_error);
  return reason != nullptr ? reason : "";
}

std::string_view describe(HandshakeFailure failure) {
  switch (failure) {
    case HandshakeFailure::unknown_authority:
      return "the client does not trust this CA; `hedge ca trust` adds it, and browsers need a restart after "
             "it";
    case HandshakeFailure::bad_certificate:
      return "the client refuses the certificate";
    case HandshakeFailure::certificate_ended:
      return "our own certificate has ended; `hedge ca status` says which, and `hedge ca rotate` replaces "
             "the CA";
    case HandshakeFailure::client_clock:
      return "the client calls the certificate expired, which it is not: one of the two clocks is wrong";
    case HandshakeFailure::unknown_name:
      return "no certificate for this name: no route has it, and it is below none of the suffixes";
    case HandshakeFailure::no_certificate_made:
      return "no certificate could be made; `hedge ca init` makes the CA, or says what is wrong with it";
    case HandshakeFailure::name_not_permitted:
      return "this CA may not sign for the name; add its domain to the settings' suffixes, then replace the "
             "CA "
             "with `hedge ca rotate`";
    case HandshakeFailure::no_certificate:
      return "no certificate or cipher that the client can use";
    case HandshakeFailure::no_common_version:
      return "the client speaks only versions before TLS 1.2";
    case HandshakeFailure::not_tls:
      return "the client does not speak TLS";
    case HandshakeFailure::timed_out:
      return "the handshake took too long";
    case HandshakeFailure::peer_gone:
      return "the client went away";
    case HandshakeFailure::other:
      break;
  }
  return "the handshake failed";
}

std::string_view describe_again(HandshakeFailure failure) {
  return failure == HandshakeFailure::unknown_authority ? "the client still does not trust this CA"
                                                        : describe(failure);
}

bool HandshakeLog::has_hint(const std::string& peer) {
  if (std::find(hinted_.begin(), hinted_.end(), peer) != hinted_.end()) return true;
  hinted_[next_hint_] = peer;
  next_hint_ = (next_hint_ + 1) % hinted_.size();
  return false;
}

void HandshakeLog::failed(HandshakeFailure failure, const std::string& peer, const std::string& detail,
                          std::chrono::steady_clock::time_point now) {
  Kind& kind = kinds_[static_cast<std::size_t>(failure)];
  if (kind.told && now - kind.last < kInterval) {
    ++kind.kept_back;
    return;
  }
  const std::string more =
      kind.kept_back == 0 ? "" : " (and " + std::to_string(kind.kept_back) + " like it before)";
  kind = Kind{now, 0, true};
  ++lines_;
  const bool is_repeated = failure == HandshakeFailure::unknown_authority && has_hint(peer);
  const std::string_view what = is_repeated ? describe_again(failure) : describe(failure);
  const std::string reason = detail.empty() ? "" : " [" + printable(detail) + "]";
  if (is_expected(failure)) {
    log::debug("TLS handshake with {}: {}{}{}", peer, what, reason, more);
  } else {
    log::warning("TLS handshake with {}: {}{}{}", peer, what, reason, more);
  }
}

}  // namespace hedge::proxy
