// The HTTP/2 session against arbitrary bytes of a client and of an upstream: it never crashes, keeps its
// promises to the streams, and means the same however the bytes are cut.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http2/http2_head.h"
#include "proxy/http2/http2_session.h"

namespace hedge::proxy::http {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property violated: %s\n", what);
  std::abort();
}

// Notes everything that it is told.
class NotedStream final : public Http2StreamEvents {
 public:
  NotedStream(std::string& notes, std::int32_t id) : notes_(notes), id_(id) {}

  void head_began() override {
    require(!closed_, "no head on a closed stream");
    fields_.clear();
    texts_.clear();
    block_.emplace(fields_, texts_);
  }
  void field_received(std::string_view name, std::string_view value) override { block_->add(name, value); }
  void bad_field_received() override { block_->add_bad_field(); }
  void head_received(bool last) override {
    require(block_.has_value(), "a head begins before it is complete");
    require(!ended_, "nothing comes after the end");
    ended_ = last;
    RequestHead head;
    head.fields = fields_;
    const auto wrong = finish_request_head(*block_, last, texts_, head);
    if (!wrong && !block_->malformed()) check(head);
    note("head " + std::string(wrong ? wrong->id() : head.method) + (last ? " last" : ""));
    heads_ += 1;
  }
  void data_received(std::string_view data) override {
    require(!ended_ && !closed_, "no data after the end");
    data_bytes_ += data.size();
    require(data_bytes_ <= kHttp2StreamWindow, "no more data than the window");
  }
  void end_received() override {
    ended_ = true;
    note("end after " + std::to_string(data_bytes_));
  }
  void closed(std::uint32_t error) override {
    require(!closed_, "a stream is closed once");
    closed_ = true;
    note("closed " + std::to_string(error));
  }
  void head_sent(bool /*last*/) override {}
  void window_grew() override {}
  Http2Outgoing& outgoing() override { return outgoing_; }

  // As streams do it: what is on offer is so for one produce() only.
  void offer() {
    outgoing_.data = std::string_view(kBody).substr(sent_);
    outgoing_.end = Http2End::stream;
  }
  void withdraw() {
    sent_ = kBody.size() - outgoing_.data.size();
    outgoing_ = {{}, Http2End::none, outgoing_.end_sent};
  }
  bool has_more() const { return answered_ && !closed_ && !outgoing_.end_sent; }

  bool wants_answer() const { return heads_ == 1 && ended_ && !closed_ && !answered_; }
  void answered() { answered_ = true; }
  std::int32_t id() const { return id_; }

 private:
  // What would be sent on as HTTP/1 must not be able to end a line.
  static void check(const RequestHead& head) {
    const auto clean = [](std::string_view text) {
      return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
    };
    require(clean(head.method) && clean(head.target) && clean(head.authority),
            "no line break in a request line");
    for (const Field& field : head.fields)
      require(clean(field.name) && clean(field.value), "no line break in a field");
    require(head.target.starts_with('/') || head.target == "*", "a target is a path");
    require(!head.authority.empty(), "there is an authority");
  }
  void note(const std::string& what) { notes_ += std::to_string(id_) + ": " + what + "\n"; }

  static inline const std::string kBody = std::string(65'520, 'b');

  std::string& notes_;
  std::int32_t id_;
  std::size_t sent_ = 0;
  std::vector<Field> fields_;
  TextArena texts_;
  std::optional<Http2FieldCollector> block_;
  Http2Outgoing outgoing_;
  std::size_t data_bytes_ = 0;
  int heads_ = 0;
  bool ended_ = false;
  bool closed_ = false;
  bool answered_ = false;
};

class NotedConnection final : public Http2SessionEvents {
 public:
  explicit NotedConnection(Http2Role role) : session_(role, *this) {}

  Http2StreamEvents* stream_began(std::int32_t id) override {
    streams_.push_back(std::make_unique<NotedStream>(notes_, id));
    return streams_.back().get();
  }
  void windows_grew() override {}
  void shutdown_acknowledged() override { require(false, "no shutdown was begun"); }
  void goaway_received() override {}

  void request() {
    streams_.push_back(std::make_unique<NotedStream>(notes_, 1));
    static constexpr Http2Field kFields[] = {
        {":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/"}};
    session_.submit_request(kFields, *streams_.back(), false);
    drain();
  }
  // Answers only at the end: when it comes depends on how the bytes are cut.
  void feed(std::string_view bytes) {
    if (!faulty_ && !bytes.empty()) faulty_ = !session_.receive(bytes, 1);
  }
  std::string finish() {
    static constexpr Http2Field kFields[] = {{":status", "200"}};
    for (const auto& stream : streams_) {
      if (stream->wants_answer() && session_.submit_response(stream->id(), kFields, *stream, true))
        stream->answered();
    }
    drain();
    return std::string(faulty_ ? "faulty\n" : "") + notes_;
  }

 private:
  void drain() {
    std::vector<char> room(Http2Session::kLeastRoom * 2);
    produce_all(room);
    for (const auto& stream : streams_) {
      for (int i = 0; i < 10 && stream->has_more(); ++i) {
        stream->offer();
        session_.resume(stream->id());
        require(session_.produce(room) <= room.size(), "no more than the room");
        stream->withdraw();
        produce_all(room);
      }
    }
    require(!session_.is_broken(), "whatever was begun can be continued");
  }
  void produce_all(std::vector<char>& room) {
    for (int i = 0; i < 1000; ++i) {
      const std::size_t bytes = session_.produce(room);
      require(bytes <= room.size(), "no more than the room");
      if (bytes == 0) return;
    }
  }

  std::string notes_;
  std::vector<std::unique_ptr<NotedStream>> streams_;
  Http2Session session_;
  bool faulty_ = false;
};

std::string run(Http2Role role, std::string_view wire, std::size_t cut) {
  NotedConnection connection(role);
  if (role == Http2Role::client) connection.request();
  connection.feed(wire.substr(0, cut));
  connection.feed(wire.substr(cut));
  return connection.finish();
}

}  // namespace
}  // namespace hedge::proxy::http

// The first byte says where the rest is cut. A server gets it behind the preface.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hedge::proxy::http;
  if (size < 1 || size > 65'536) return 0;
  const std::string_view frames(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string client = std::string(kHttp2Preface) + std::string(frames);
  const std::size_t cut = data[0] * client.size() / 255;
  require(run(Http2Role::server, client, cut) == run(Http2Role::server, client, client.size()),
          "a cut changes nothing");
  static_cast<void>(run(Http2Role::client, frames, std::min(cut, frames.size())));
  return 0;
}
