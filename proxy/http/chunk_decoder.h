// Takes the chunked coding off a body, in place and strictly (RFC 9112, section 7.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hedge::proxy::http {

// Extensions are checked for line discipline and dropped; the trailer section is kept for parse_trailers().
class ChunkDecoder {
 public:
  enum class State { need_more, done, failed };
  struct Decoded {
    State state = State::need_more;
    std::size_t consumed = 0;  // of the bytes given
    std::span<char> payload;   // inside them: the payload bytes, moved together
  };

  static constexpr std::size_t kMaxExtensionBytes = 4U << 10;  // of one chunk
  static constexpr std::size_t kMaxTrailerBytes = 64U << 10;

  // Consumes all bytes unless the body ends or is malformed.
  Decoded decode(std::span<char> bytes);

  // After `failed`: why.
  std::string_view error() const { return error_; }
  // Field lines, each with its CRLF.
  std::string_view trailer_section() const { return trailers_; }
  void reset();

 private:
  enum class Step : std::uint8_t { size, extension, size_lf, data, data_cr, data_lf, trailer, done, failed };

  void step(char c);
  void size_digit(char c);
  void trailer_byte(char c);
  void fail(std::string_view why);

  Step step_ = Step::size;
  int digits_ = 0;
  std::size_t extension_bytes_ = 0;
  std::uint64_t remaining_ = 0;  // of the current chunk
  std::string_view error_;
  std::string trailers_;
};

}  // namespace hedge::proxy::http
