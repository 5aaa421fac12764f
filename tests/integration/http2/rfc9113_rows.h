// The rows of RFC 9113's tables: frames made by hand, and what must come of them.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/edge_fixture.h"
#include "tests/support/http2_peer.h"
#include "tests/support/scripted_peer.h"

namespace hedge::test {

// NOLINTNEXTLINE: tables of frames
using namespace h2;

inline constexpr const char* kAlpha = "alpha.dev.localhost";

// What must come of what was sent.
struct Wanted {
  enum Kind { answered, stream_error, connection_error, either_error, alive } kind;
  std::uint32_t code = 0;   // of the RST_STREAM or GOAWAY
  std::uint32_t other = 0;  // another code that is as good; 0: none
  int status = 200;         // with `answered`
};

inline Wanted ok(int status = 200) {
  return {Wanted::answered, 0, 0, status};
}
inline Wanted resets(std::uint32_t code, std::uint32_t other = 0) {
  return {Wanted::stream_error, code, other, 0};
}
inline Wanted goes_away(std::uint32_t code, std::uint32_t other = 0) {
  return {Wanted::connection_error, code, other, 0};
}
// Where a connection error may stand for a stream error (section 5.4.2).
inline Wanted fails(std::uint32_t code, std::uint32_t other = 0) {
  return {Wanted::either_error, code, other, 0};
}
inline Wanted goes_on() {
  return {Wanted::alive, 0, 0, 0};
}

struct Row {
  const char* name;
  std::function<void(Http2Peer&)> send;  // after the preface; stream 1 is the one that is looked at
  Wanted wanted;
};

inline std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.name;
}

inline std::string block(const Fields& fields) {
  return header_block(fields);
}
inline Fields without(Fields fields, const std::string& name) {
  std::erase_if(fields, [&name](const auto& field) { return field.first == name; });
  return fields;
}
inline Fields set(Fields fields, const std::string& name, const std::string& value) {
  for (auto& field : fields) {
    if (field.first == name) field.second = value;
  }
  return fields;
}

inline std::function<void(Http2Peer&)> frame_of(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                                                std::string payload) {
  return [=](Http2Peer& peer) { peer.send_frame(type, flags, stream, payload); };
}
inline std::function<void(Http2Peer&)> request_of(Fields fields) {
  return [=](Http2Peer& peer) { peer.send_headers(1, fields); };
}
inline std::function<void(Http2Peer&)> settings_of(std::uint16_t id, std::uint32_t value) {
  return frame_of(kSettings, 0, 0, setting(id, value));
}
// A request whose body goes on.
inline void open_post(Http2Peer& peer, std::uint32_t stream = 1) {
  peer.send_headers(stream, post(kAlpha, "/sink"), kNone);
}
// A request that has been answered: stream 1 is closed.
inline void finish_get(Http2Peer& peer) {
  peer.send_headers(1, get(kAlpha));
  peer.answer(1);
}

class Rfc9113 : public testing::TestWithParam<Row> {
 protected:
  // Sends what the row says on a fresh connection to a fresh edge and looks at what comes of it.
  void run();
};

inline std::string name_of(const testing::TestParamInfo<Row>& row) {
  return row.param.name;
}

}  // namespace hedge::test
