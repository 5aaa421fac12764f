// One request and its response, whatever protocol the client speaks. forward() is written against this alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "proxy/http/body_source.h"
#include "proxy/http/message.h"
#include "proxy/stream/byte_stream.h"

namespace hedge::proxy::http {

// The client's connection after an upgrade: a stream, and what the client has sent ahead of it.
struct UpgradedClient {
  ByteStream* stream = nullptr;  // null: the client is gone
  std::string_view early;
};

// Lifetime: an exchange outlives forward(). Sends return false once the client cannot be reached any more.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // The forwarder marks fields and appends its own.
  virtual RequestHead& request() = 0;
  virtual BodySource& body() = 0;
  virtual const StreamIdentity& peer() const = 0;

  // A 1xx before the final response. A client that cannot take it (HTTP/1.0) is not sent it.
  virtual Task<bool> send_interim(const ResponseHead& head) = 0;
  // The final head together with the first piece of the body. `head.body` says how the upstream frames the
  // body; how this client is told its end is the exchange's affair. `trailers`: see send_body().
  virtual Task<bool> send_head(const ResponseHead& head, BodyChunk first,
                               const std::vector<Field>& trailers) = 0;
  // `trailers` are sent with the last chunk.
  virtual Task<bool> send_body(BodyChunk chunk, const std::vector<Field>& trailers) = 0;
  // The client's stream, if the rest of the body may be moved to it as it is: the head is sent and no framing
  // lies between the pieces. Null: use send_body().
  virtual ByteStream* raw_client() { return nullptr; }
  // Before a piece is moved there, and what came of it; `last`: the body is complete. `sent` not ok: the client
  // cannot be reached any more.
  virtual void begin_raw() {}
  virtual void sent_raw(std::uint64_t /*bytes*/, bool /*last*/, IoResult /*sent*/) {}
  virtual bool response_started() const = 0;
  // The response cannot be completed: the client must not take it for whole.
  virtual void abort() = 0;
  // The response is complete although the client still sends its body: ends our side, so that the client sees
  // the response before its own writes fail. From here on, reading the body is bounded in time. After
  // abort(), nothing is done that would make the response look whole.
  virtual void finish_early() = 0;

  // Whether the upstream's 101 answers what this exchange asked in its client's place. Absent: it does.
  virtual std::optional<ProxyError> check_upgrade(const ResponseHead& head) const = 0;
  // Sends the 101 and hands the connection over. The exchange sends nothing afterwards.
  virtual Task<UpgradedClient> upgrade(const ResponseHead& head) = 0;
  // After upgrade(): nobody needs the early bytes any more, nor anything that refers to the request's text. A
  // tunnel may be silent for days.
  virtual void drop_received() {}

  // The upstream's stream, cancelled as soon as the client is gone; null when it is given back.
  virtual void set_upstream(ByteStream* upstream) = 0;
  virtual bool client_gone() const = 0;
  // The upstream was asked to answer an expectation; the exchange answers for it when that takes too long.
  virtual void expect_continue() = 0;
};

}  // namespace hedge::proxy::http
