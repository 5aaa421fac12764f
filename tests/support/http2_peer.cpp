#include "tests/support/http2_peer.h"

#include <algorithm>

#include "base/text.h"

namespace hedge::test {
namespace {

constexpr std::size_t kFrameHeaderBytes = 9;
constexpr std::size_t kMostPayload = 16'384;

std::uint16_t number16_of(std::string_view bytes) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[0]) << 8U |
                                    static_cast<unsigned char>(bytes[1]));
}

}  // namespace

int Http2Answer::status() const {
  for (auto head = heads.rbegin(); head != heads.rend(); ++head) {
    for (const auto& [name, value] : *head) {
      if (name == ":status") return parse_number<int>(value).value_or(0);
    }
  }
  return 0;
}

std::string Http2Answer::field(const std::string& wanted) const {
  for (const h2::Fields& head : heads) {
    for (const auto& [name, value] : head) {
      if (name == wanted) return value;
    }
  }
  return {};
}

Http2Peer::Http2Peer(std::uint16_t plain_port)
    : plain_(std::make_unique<PeerConnection>(PeerConnection::to(plain_port))),
      send_([this](std::string_view bytes) { return plain_->send(bytes); }),
      read_([this](std::size_t bytes) { return plain_->read_bytes(bytes); }) {}

Http2Peer::Http2Peer(std::unique_ptr<TlsPeer> tls)
    : tls_(std::move(tls)),
      send_([this](std::string_view bytes) { return tls_->send(bytes); }),
      read_([this](std::size_t bytes) { return tls_->read_bytes(bytes); }) {}

Http2Peer::Http2Peer(PeerConnection& accepted, std::string_view settings)
    : send_([&accepted](std::string_view bytes) { return accepted.send(bytes); }),
      read_([&accepted](std::size_t bytes) { return accepted.read_bytes(bytes); }) {
  ended_ = read_(h2::kPreface.size()) != h2::kPreface;
  send(h2::frame(h2::kSettings, 0, 0, settings));
}

h2::Fields Http2Peer::request(std::uint32_t stream) {
  read_until([this, stream] { return !answers_[stream].heads.empty(); });
  const std::vector<h2::Fields>& heads = answers_[stream].heads;
  return heads.empty() ? h2::Fields() : heads.front();
}

void Http2Peer::respond(std::uint32_t stream, const h2::Fields& fields, std::string_view body,
                        const h2::Fields& trailers) {
  const bool head_only = body.empty() && trailers.empty();
  send_headers(stream, fields, head_only ? h2::kEndStream : h2::kNone);
  if (!body.empty()) send_frame(h2::kData, trailers.empty() ? h2::kEndStream : h2::kNone, stream, body);
  if (!trailers.empty()) send_headers(stream, trailers);
}

void Http2Peer::start(std::string_view settings) {
  send(std::string(h2::kPreface) + h2::frame(h2::kSettings, 0, 0, settings));
}

bool Http2Peer::send_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                           std::string_view payload) {
  return send(h2::frame(type, flags, stream, payload));
}

bool Http2Peer::send_headers(std::uint32_t stream, const h2::Fields& fields, std::uint8_t flags) {
  return send_frame(h2::kHeaders, flags | h2::kEndHeaders, stream, h2::header_block(fields));
}

bool Http2Peer::send_long_headers(std::uint32_t stream, const h2::Fields& fields, std::uint8_t flags) {
  std::string block = h2::header_block(fields);
  std::string bytes;
  std::uint8_t type = h2::kHeaders;
  while (true) {
    const std::string piece = block.substr(0, kMostPayload);
    block.erase(0, piece.size());
    const std::uint8_t end = block.empty() ? h2::kEndHeaders : h2::kNone;
    bytes +=
        h2::frame(type, static_cast<std::uint8_t>(end | (type == h2::kHeaders ? flags : 0)), stream, piece);
    type = h2::kContinuation;
    if (block.empty()) break;
  }
  return send(bytes);
}

bool Http2Peer::send_body(std::uint32_t stream, std::string_view body, bool last) {
  for (;;) {
    const std::int64_t window = std::min(connection_window_, stream_window(stream));
    const std::size_t piece =
        std::min({body.size(), kMostPayload, static_cast<std::size_t>(std::max<std::int64_t>(0, window))});
    if (piece == 0 && !body.empty()) {
      const bool reset_or_open = read_until([&] {
        return std::min(connection_window_, stream_window(stream)) > 0 || answers_[stream].reset.has_value();
      });
      if (!reset_or_open || answers_[stream].reset) return false;
      continue;
    }
    const bool is_last = last && piece == body.size();
    if (!send_frame(h2::kData, is_last ? h2::kEndStream : h2::kNone, stream, body.substr(0, piece)))
      return false;
    body.remove_prefix(piece);
    connection_window_ -= static_cast<std::int64_t>(piece);
    windows_[stream] -= static_cast<std::int64_t>(piece);
    if (body.empty()) return true;
  }
}

std::int64_t Http2Peer::stream_window(std::uint32_t stream) {
  const auto initial = settings_.find(h2::kInitialWindowSize);
  return windows_[stream] + (initial == settings_.end() ? 65'535 : std::int64_t{initial->second});
}

void Http2Peer::give_credit(std::uint32_t stream, std::uint32_t bytes) {
  if (bytes > 0) send_frame(h2::kWindowUpdate, 0, stream, h2::number32(bytes));
}

bool Http2Peer::read_frame() {
  if (ended_) return false;
  const std::string header = read_(kFrameHeaderBytes);
  if (header.size() < kFrameHeaderBytes) {
    ended_ = true;
    return false;
  }
  h2::Frame frame;
  const std::size_t length = h2::number32_of(std::string(1, '\0') + header.substr(0, 3));
  frame.type = static_cast<std::uint8_t>(header[3]);
  frame.flags = static_cast<std::uint8_t>(header[4]);
  frame.stream = h2::number32_of(header.substr(5)) & 0x7fffffffU;
  frame.payload = read_(length);
  if (frame.payload.size() < length) {
    ended_ = true;
    return false;
  }
  take(frame);
  frame.payload.resize(std::min<std::size_t>(frame.payload.size(), 64));
  frames_.push_back(std::move(frame));
  return true;
}

void Http2Peer::take(const h2::Frame& frame) {
  Http2Answer& answer = answers_[frame.stream];
  switch (frame.type) {
    case h2::kData: {
      answer.body += frame.payload;
      answer.data_lengths.push_back(frame.payload.size());
      answer.ended = answer.ended || frame.has(h2::kEndStream);
      const auto bytes = static_cast<std::uint32_t>(frame.payload.size());
      if (gives_credit_) {
        give_credit(0, bytes);
        if (!answer.ended) give_credit(frame.stream, bytes);
      }
      break;
    }
    case h2::kHeaders:
    case h2::kContinuation:
      take_header_block(frame);
      break;
    case h2::kRstStream:
      answer.reset = h2::number32_of(frame.payload);
      break;
    case h2::kSettings:
      take_settings(frame);
      break;
    case h2::kPing:
      if (frame.has(h2::kAck)) {
        ++pings_;
      } else {
        send_frame(h2::kPing, h2::kAck, 0, frame.payload);
      }
      break;
    case h2::kGoaway:
      ++goaways_;
      goaway_last_stream_ = h2::number32_of(frame.payload);
      goaway_code_ = h2::number32_of(std::string_view(frame.payload).substr(4));
      break;
    case h2::kWindowUpdate:
      (frame.stream == 0 ? connection_window_ : windows_[frame.stream]) += h2::number32_of(frame.payload);
      break;
    default:
      break;
  }
}

void Http2Peer::take_header_block(const h2::Frame& frame) {
  open_block_ += frame.payload;
  Http2Answer& answer = answers_[frame.stream];
  if (frame.type == h2::kHeaders && frame.has(h2::kEndStream)) answer.ended = true;
  if (!frame.has(h2::kEndHeaders)) return;
  answer.heads.push_back(decoder_.decode(open_block_));
  open_block_.clear();
}

void Http2Peer::take_settings(const h2::Frame& frame) {
  if (frame.has(h2::kAck)) {
    settings_acknowledged_ = true;
    return;
  }
  for (std::size_t i = 0; i + 6 <= frame.payload.size(); i += 6) {
    const std::string_view entry = std::string_view(frame.payload).substr(i, 6);
    settings_[number16_of(entry)] = h2::number32_of(entry.substr(2));
  }
  send_frame(h2::kSettings, h2::kAck, 0);
}

bool Http2Peer::read_until(const std::function<bool()>& true_of_it) {
  while (!true_of_it()) {
    if (!read_frame()) return true_of_it();
  }
  return true;
}

const Http2Answer& Http2Peer::answer(std::uint32_t stream) {
  read_until([this, stream] { return answers_[stream].ended || answers_[stream].reset.has_value(); });
  return answers_[stream];
}

const Http2Answer& Http2Peer::head(std::uint32_t stream) {
  read_until(
      [this, stream] { return answers_[stream].status() >= 200 || answers_[stream].reset.has_value(); });
  return answers_[stream];
}

bool Http2Peer::wait_for_goaway() {
  return read_until([this] { return goaways_ > 0 || ended_; });
}

bool Http2Peer::wait_for_end() {
  return read_until([this] { return ended_; });
}

bool Http2Peer::ping() {
  const int before = pings_;
  send_frame(h2::kPing, 0, 0, "12345678");
  return read_until([this, before] { return pings_ > before; });
}

}  // namespace hedge::test
