// Everything that one request needs besides its buffers, leased from the worker so that nothing is allocated
// in steady state and nothing held by an idle connection.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proxy/access_log.h"
#include "proxy/forwarded_headers.h"
#include "proxy/http/message.h"
#include "proxy/http/text_arena.h"
#include "proxy/http2/http2_session.h"

namespace hedge::proxy::http {

struct RequestState {
  RequestHead request;
  ResponseHead response;
  std::string upstream_text;  // what is sent to the upstream: the head, then framing
  std::string client_text;    // the same towards the client
  TextArena received;                    // texts of HTTP/2 fields
  std::vector<Http2Field> http2_fields;  // of the head that is being sent
  ScratchTexts texts;
  AccessRecord record;
  std::array<char, 32> fresh_request_id{};

  void clear();
  // Both heads are done with, but the record is not: it keeps its texts itself, and the heads' memory is given
  // back. For a tunnel, which may be silent for days.
  void forget_heads();
};

// One a worker; outlives its leases.
class RequestStates {
 public:
  struct GiveBack {
    RequestStates* owner = nullptr;
    void operator()(RequestState* state) const noexcept { owner->give_back(state); }
  };
  using Lease = std::unique_ptr<RequestState, GiveBack>;

  RequestStates();
  // With a request id that no other request has.
  Lease lease();

 private:
  void give_back(RequestState* state) noexcept;

  std::vector<std::unique_ptr<RequestState>> free_;
  std::uint64_t id_high_;
  std::uint64_t id_low_;
};

}  // namespace hedge::proxy::http
