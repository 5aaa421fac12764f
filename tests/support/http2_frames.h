// HTTP/2 frames as bytes, made and read by hand, so that a test can also send what no library would.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hedge::test {

namespace h2 {

enum Type : std::uint8_t {
  kData = 0x0,
  kHeaders = 0x1,
  kPriority = 0x2,
  kRstStream = 0x3,
  kSettings = 0x4,
  kPushPromise = 0x5,
  kPing = 0x6,
  kGoaway = 0x7,
  kWindowUpdate = 0x8,
  kContinuation = 0x9,
};
enum Flag : std::uint8_t {
  kNone = 0,
  kAck = 0x1,
  kEndStream = 0x1,
  kEndHeaders = 0x4,
  kPadded = 0x8,
  kWithPriority = 0x20
};
enum Code : std::uint32_t {
  kNoError = 0x0,
  kProtocolError = 0x1,
  kInternalError = 0x2,
  kFlowControlError = 0x3,
  kStreamClosed = 0x5,
  kFrameSizeError = 0x6,
  kRefusedStream = 0x7,
  kCancel = 0x8,
  kCompressionError = 0x9,
  kEnhanceYourCalm = 0xb,
};
enum Setting : std::uint16_t {
  kHeaderTableSize = 0x1,
  kEnablePush = 0x2,
  kMaxConcurrentStreams = 0x3,
  kInitialWindowSize = 0x4,
  kMaxFrameSize = 0x5,
  kMaxHeaderListSize = 0x6,
  kEnableConnectProtocol = 0x8,
};

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Frame {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string payload;

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload);
std::string number32(std::uint32_t number);
std::uint32_t number32_of(std::string_view bytes);
std::string setting(std::uint16_t id, std::uint32_t value);
// HPACK without compression: every field a literal that enters no table.
std::string header_block(const Fields& fields);
// "GET https://host/path" as pseudo-fields.
Fields get(const std::string& authority, const std::string& path = "/");
Fields post(const std::string& authority, const std::string& path = "/");
Fields with(Fields fields, const std::string& name, const std::string& value);

// The decoder of one connection's header blocks.
class HeaderDecoder {
 public:
  HeaderDecoder();
  ~HeaderDecoder();
  // Absent fields where the block is broken; the test that uses them fails.
  Fields decode(std::string_view block);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace h2

}  // namespace hedge::test
