#include "proxy/http/request_state.h"

#include <cstring>
#include <utility>

#include "base/digest.h"

namespace hedge::proxy::http {
namespace {

// What a burst leaves behind beyond that goes back to the heap.
constexpr std::size_t kMostKept = 256;
// A string that one large message has blown up is not kept.
constexpr std::size_t kLargestKeptText = 32U << 10;
constexpr std::size_t kMostKeptFields = 512;

void forget(std::string& text) {
  if (text.capacity() > kLargestKeptText) text = std::string();
  text.clear();
}

void forget(std::vector<Field>& fields) {
  if (fields.capacity() > kMostKeptFields) fields = {};
}

// SplitMix64's finaliser: neighbouring numbers become unlike ones.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

void write_hex(char* out, std::uint64_t number) {
  for (int i = 15; i >= 0; --i, number >>= 4) out[i] = "0123456789abcdef"[number & 15];
}

}  // namespace

void RequestState::clear() {
  request.clear();
  response.clear();
  forget(request.fields);
  forget(response.fields);
  forget(upstream_text);
  forget(client_text);
  received.clear();
  http2_fields.clear();
  texts.clear();
  record.clear();
}

void RequestState::forget_heads() {
  ScratchTexts kept;
  for (std::string_view* text : {&record.host, &record.method, &record.target, &record.request_id})
    *text = kept.emplace_back(*text);
  texts = std::move(kept);
  request = RequestHead();
  response = ResponseHead();
  upstream_text = std::string();
  client_text = std::string();
}

RequestStates::RequestStates() {
  const std::string seed = random_bytes(16);
  std::memcpy(&id_high_, seed.data(), 8);
  std::memcpy(&id_low_, seed.data() + 8, 8);
  free_.reserve(kMostKept);
}

RequestStates::Lease RequestStates::lease() {
  std::unique_ptr<RequestState> state;
  if (free_.empty()) {
    state = std::make_unique<RequestState>();
  } else {
    state = std::move(free_.back());
    free_.pop_back();
  }
  ++id_low_;
  write_hex(state->fresh_request_id.data(), mix(id_high_ + id_low_));
  write_hex(state->fresh_request_id.data() + 16, mix(id_low_ ^ ~id_high_));
  return Lease(state.release(), GiveBack{this});
}

void RequestStates::give_back(RequestState* state) noexcept {
  std::unique_ptr<RequestState> owned(state);
  owned->clear();
  if (free_.size() < kMostKept) free_.push_back(std::move(owned));
}

}  // namespace hedge::proxy::http
