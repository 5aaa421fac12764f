#include "proxy/stream/tls_stream.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include <openssl/bio.h>
#include <openssl/err.h>

#include "base/text.h"
#include "certs/certificate.h"
#include "certs/server_name.h"

namespace hedge::proxy {
namespace {

constexpr std::size_t kRecordBytes = 16UL << 10;

}  // namespace

// The BIO's callbacks: they only pass the call on.
struct SocketBio {
  static TlsStream& stream_of(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int finish(BIO* bio, TlsStream& stream, const IoResult& result, std::size_t* bytes, int retry_flag) {
    BIO_clear_retry_flags(bio);
    *bytes = result.bytes;
    if (result.ok()) return 1;
    if (result.would_block()) {
      BIO_set_flags(bio, retry_flag | BIO_FLAGS_SHOULD_RETRY);
    } else {
      stream.transport_failure_ = result;
    }
    return 0;
  }
  static int read(BIO* bio, char* into, std::size_t size, std::size_t* bytes) {
    TlsStream& stream = stream_of(bio);
    return finish(bio, stream, stream.transport_.try_read(std::span<char>(into, size)), bytes,
                  BIO_FLAGS_READ);
  }
  static int write(BIO* bio, const char* from, std::size_t size, std::size_t* bytes) {
    TlsStream& stream = stream_of(bio);
    const IoResult result = stream.transport_.try_write(std::string_view(from, size), {});
    return finish(bio, stream, result, bytes, BIO_FLAGS_WRITE);
  }
  static long control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return stream_of(bio).transport_failure_.status == IoStatus::end ? 1 : 0;
    return 0;
  }
  static const BIO_METHOD* method() {
    static const BIO_METHOD* const made = [] {
      BIO_METHOD* fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "hedge socket");
      BIO_meth_set_read_ex(fresh, &SocketBio::read);
      BIO_meth_set_write_ex(fresh, &SocketBio::write);
      BIO_meth_set_ctrl(fresh, &SocketBio::control);
      return fresh;
    }();
    return made;
  }
};

TlsStream::TlsStream(SocketStream& transport, SslPtr ssl, DeadlineList& deadlines, std::span<char> scratch)
    : transport_(transport), ssl_(std::move(ssl)), waiters_(&deadlines), scratch_(scratch) {
  BIO* bio = BIO_new(SocketBio::method());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // the session owns it
  transport_.wake_instead(waiters_);
  transport_.mutable_identity().tls = true;
}

TlsStream::~TlsStream() {
  close();
}

IoResult TlsStream::result_of(int ssl_error) noexcept {
  switch (ssl_error) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return IoResult::blocked();
    case SSL_ERROR_ZERO_RETURN:
      return IoResult::ended();
    default:
      break;
  }
  broken_ = true;
  // An end without a close_notify is an end too: lengths and chunks tell a cut-off message from a whole one.
  if (!transport_failure_.ok()) return transport_failure_;
  return IoResult::failure(EPROTO);
}

IoResult TlsStream::try_handshake() {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  if (done != 1) return result_of(SSL_get_error(ssl_.get(), done));
  established_ = true;
  describe_session();
  return IoResult::moved(0);
}

void TlsStream::describe_session() {
  StreamIdentity& identity = transport_.mutable_identity();
  const unsigned char* protocol = nullptr;
  unsigned int length = 0;
  SSL_get0_alpn_selected(ssl_.get(), &protocol, &length);
  if (length > 0) identity.alpn.assign(reinterpret_cast<const char*>(protocol), length);
  const char* name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return;
  identity.server_name = ascii_lower(std::string_view(name));
  if (identity.server_name.ends_with('.')) identity.server_name.pop_back();
}

std::string TlsStream::unpermitted_name() const {
  const char* sent = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
  STACK_OF(X509)* chain = nullptr;
  // The macro for this has an old-style cast.
  if (sent == nullptr || SSL_ctrl(ssl_.get(), SSL_CTRL_GET_CHAIN_CERTS, 0, &chain) != 1) return {};
  if (sk_X509_num(chain) <= 0) return {};
  const auto name = certs::canonical_server_name(sent);
  const std::vector<std::string> permitted = certs::permitted_suffixes(*sk_X509_value(chain, 0));
  if (!name || permitted.empty() || certs::is_at_or_below_any(*name, permitted)) return {};
  return *name;
}

bool TlsStream::has_own_certificate_ended() const {
  const X509* shown = SSL_get_certificate(ssl_.get());
  return shown != nullptr && certs::not_after(*shown) <= std::chrono::system_clock::now();
}

IoResult TlsStream::try_read(std::span<char> into) {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  if (broken_) return transport_failure_.ok() ? IoResult::failure(EPROTO) : transport_failure_;
  ERR_clear_error();
  std::size_t bytes = 0;
  const int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
  if (done == 1) return IoResult::moved(bytes);
  return result_of(SSL_get_error(ssl_.get(), done));
}

IoResult TlsStream::try_write(std::string_view first, std::string_view second) {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  if (broken_) return transport_failure_.ok() ? IoResult::failure(EPROTO) : transport_failure_;
  std::string_view record = first.empty() ? second : first;
  if (!first.empty() && !second.empty() && first.size() < kRecordBytes) {
    // One record and one send instead of two. The same bytes come out of the same pieces, as a repeated write
    // requires.
    const std::size_t rest = std::min(second.size(), kRecordBytes - first.size());
    std::memcpy(scratch_.data(), first.data(), first.size());
    std::memcpy(scratch_.data() + first.size(), second.data(), rest);
    record = std::string_view(scratch_.data(), first.size() + rest);
  }
  record = record.substr(0, kRecordBytes);
  ERR_clear_error();
  std::size_t bytes = 0;
  const int done = SSL_write_ex(ssl_.get(), record.data(), record.size(), &bytes);
  if (done == 1) return IoResult::moved(bytes);
  const IoResult result = result_of(SSL_get_error(ssl_.get(), done));
  return result.status == IoStatus::end ? IoResult::failure(EPIPE) : result;
}

IoResult TlsStream::try_shutdown_write() {
  if (waiters_.interrupted() != IoStatus::ok) return IoResult::interrupted(waiters_.interrupted());
  if (established_ && !broken_ && (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) == 0) {
    ERR_clear_error();
    const int done = SSL_shutdown(ssl_.get());
    if (done < 0) {
      const IoResult result = result_of(SSL_get_error(ssl_.get(), done));
      if (!result.ok()) return result;
    }
  }
  return transport_.try_shutdown_write();
}

void TlsStream::cancel() {
  waiters_.mark_interrupted(IoStatus::cancelled);
  transport_.cancel();
}

void TlsStream::close() {
  const bool says_goodbye = established_ && !broken_ && waiters_.interrupted() != IoStatus::cancelled &&
                            (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) == 0;
  if (says_goodbye) {
    ERR_clear_error();
    (void)SSL_shutdown(ssl_.get());  // one try; whoever needs it delivered awaits shutdown_write() first
  }
  established_ = false;
  waiters_.mark_interrupted(IoStatus::cancelled);
  transport_.close();
}

void TlsStream::reset() {
  established_ = false;
  waiters_.mark_interrupted(IoStatus::cancelled);
  transport_.reset();
}

bool HandshakeAwaiter::attempt_handshake(PendingIo& pending) {
  auto& self = static_cast<HandshakeAwaiter&>(pending);
  self.result_ = self.stream_.try_handshake();
  return !self.result_.would_block();
}

}  // namespace hedge::proxy
