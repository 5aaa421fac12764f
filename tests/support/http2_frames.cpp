#include "tests/support/http2_frames.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

namespace hedge::test::h2 {
namespace {

// RFC 7541, section 5.1, with a prefix of `bits`.
void append_integer(std::string& out, unsigned char first, int bits, std::size_t number) {
  const std::size_t most = (std::size_t{1} << bits) - 1;
  if (number < most) {
    out.push_back(static_cast<char>(first | number));
    return;
  }
  out.push_back(static_cast<char>(first | most));
  for (number -= most; number >= 128; number /= 128) out.push_back(static_cast<char>(number % 128 + 128));
  out.push_back(static_cast<char>(number));
}

void append_text(std::string& out, std::string_view text) {
  append_integer(out, 0, 7, text.size());
  out.append(text);
}

}  // namespace

std::string number32(std::uint32_t number) {
  return {static_cast<char>(number >> 24U), static_cast<char>(number >> 16U), static_cast<char>(number >> 8U),
          static_cast<char>(number)};
}

std::uint32_t number32_of(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(0, 4)) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  std::string out = number32(static_cast<std::uint32_t>(payload.size())).substr(1);
  out.push_back(static_cast<char>(type));
  out.push_back(static_cast<char>(flags));
  return out + number32(stream) + std::string(payload);
}

std::string setting(std::uint16_t id, std::uint32_t value) {
  return number32(id).substr(2) + number32(value);
}

std::string header_block(const Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    out.push_back('\0');
    append_text(out, name);
    append_text(out, value);
  }
  return out;
}

Fields get(const std::string& authority, const std::string& path) {
  return {{":method", "GET"}, {":scheme", "http"}, {":authority", authority}, {":path", path}};
}

Fields post(const std::string& authority, const std::string& path) {
  return {{":method", "POST"}, {":scheme", "http"}, {":authority", authority}, {":path", path}};
}

Fields with(Fields fields, const std::string& name, const std::string& value) {
  fields.emplace_back(name, value);
  return fields;
}

struct HeaderDecoder::State {
  nghttp2_hd_inflater* inflater = nullptr;
};

HeaderDecoder::HeaderDecoder() : state_(std::make_unique<State>()) {
  nghttp2_hd_inflate_new(&state_->inflater);
}

HeaderDecoder::~HeaderDecoder() {
  nghttp2_hd_inflate_del(state_->inflater);
}

Fields HeaderDecoder::decode(std::string_view block) {
  Fields fields;
  for (;;) {
    nghttp2_nv field;
    int flags = 0;
    const ssize_t used =
        nghttp2_hd_inflate_hd2(state_->inflater, &field, &flags,
                               reinterpret_cast<const std::uint8_t*>(block.data()), block.size(), 1);
    if (used < 0) {
      ADD_FAILURE() << "a broken header block: " << nghttp2_strerror(static_cast<int>(used));
      return fields;
    }
    block.remove_prefix(static_cast<std::size_t>(used));
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
      fields.emplace_back(std::string(reinterpret_cast<char*>(field.name), field.namelen),
                          std::string(reinterpret_cast<char*>(field.value), field.valuelen));
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    if (used == 0 && block.empty()) break;
  }
  nghttp2_hd_inflate_end_headers(state_->inflater);
  return fields;
}

}  // namespace hedge::test::h2
