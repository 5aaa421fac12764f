#include "proxy/http2/http2_session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "proxy/http2/http2_session_impl.h"

namespace hedge::proxy::http {
namespace {

// A page that reloads drops hundreds of streams at once; an attack drops thousands a second
// (CVE-2023-44487).
constexpr std::uint64_t kResetBurst = 1'000;
constexpr std::uint64_t kResetsPerSecond = 200;
// 64 frames of 16 KiB hold more than any header that is answered with a 431; more is a flood
// (CVE-2024-28182).
constexpr std::size_t kMostContinuations = 64;
// Frames that wait to be sent because the peer does not read. All streams together need a few hundred, the
// library allows a thousand acknowledgements beside them.
constexpr std::size_t kMostQueuedFrames = 3'000;
// What an upstream may send back: its own head's limit and then some.
constexpr std::size_t kMostSentHeaderBytes = 256U << 10;

struct FreeOption {
  void operator()(nghttp2_option* option) const { nghttp2_option_del(option); }
};

std::unique_ptr<nghttp2_option, FreeOption> make_options() {
  nghttp2_option* made = nullptr;
  if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
  std::unique_ptr<nghttp2_option, FreeOption> option(made);
  nghttp2_option_set_no_auto_window_update(made, 1);
  nghttp2_option_set_no_closed_streams(made, 1);
  nghttp2_option_set_max_send_header_block_length(made, kMostSentHeaderBytes);
  nghttp2_option_set_stream_reset_rate_limit(made, kResetBurst, kResetsPerSecond);
  nghttp2_option_set_max_continuations(made, kMostContinuations);
  return option;
}

// Frames that move nothing: PING, SETTINGS, PRIORITY, empty DATA (CVE-2019-9512, -9513, -9515, -9518), what
// nobody knows, streams over the limit, and resets of ours that the peer provokes (CVE-2025-8671).
constexpr Http2FloodGuard::Rate kIdleFrames{4'000, 1'000};

}  // namespace

Http2Session::Impl::Impl(Http2Role role, Http2SessionEvents& events)
    : events_(events), tracker_(role), idle_frames_(kIdleFrames) {
  static const std::unique_ptr<nghttp2_option, FreeOption> options = make_options();
  nghttp2_session* made = nullptr;
  const int failed = role == Http2Role::server
                         ? nghttp2_session_server_new2(&made, Http2Callbacks::all(), this, options.get())
                         : nghttp2_session_client_new2(&made, Http2Callbacks::all(), this, options.get());
  if (failed != 0) throw std::bad_alloc();
  session_.reset(made);
  announce(role);
}

void Http2Session::Impl::announce(Http2Role role) {
  static constexpr std::array<nghttp2_settings_entry, 4> kServer = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kHttp2MostStreams},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 64U << 10},
      {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
      // The tree of priorities is deprecated (RFC 9113, section 5.3.2), and costs.
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  }};
  static constexpr std::array<nghttp2_settings_entry, 2> kClient = {{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 64U << 10},
  }};
  if (role == Http2Role::server) {
    nghttp2_submit_settings(get(), NGHTTP2_FLAG_NONE, kServer.data(), kServer.size());
  } else {
    nghttp2_submit_settings(get(), NGHTTP2_FLAG_NONE, kClient.data(), kClient.size());
  }
  nghttp2_session_set_local_window_size(get(), NGHTTP2_FLAG_NONE, 0, kHttp2ConnectionWindow);
}

void Http2Session::Impl::fail(std::uint32_t error) {
  if (!std::exchange(faulty_, true)) nghttp2_session_terminate_session(get(), error);
}

void Http2Session::Impl::count_idle_frame() {
  if (!idle_frames_.allow(now_)) fail(NGHTTP2_ENHANCE_YOUR_CALM);
}

void Http2Session::Impl::reset_sent(std::uint32_t error) {
  if (error == NGHTTP2_PROTOCOL_ERROR) count_idle_frame();
  // Section 6.9.2 wants it of the connection where a setting is the cause, and section 5.4.2 allows it in any
  // other case.
  if (error == NGHTTP2_FLOW_CONTROL_ERROR) fail(error);
}

// The library would send a PING before the notice, and its answer would not mean that the notice was read.
void Http2Session::Impl::goaway_sent() {
  if (shutdown != Shutdown::notice_due) return;
  shutdown = Shutdown::ping_sent;
  static_cast<void>(nghttp2_submit_ping(get(), NGHTTP2_FLAG_NONE, nullptr));
}

std::size_t Http2Session::Impl::room_for_data() const {
  return room_.size() - std::min(room_.size(), kHttp2FrameHeaderBytes);
}

bool Http2Session::Impl::put(std::string_view frame_header, std::string_view data) {
  const std::size_t bytes = frame_header.size() + data.size();
  if (room_.size() < bytes) return false;
  std::memcpy(room_.data(), frame_header.data(), frame_header.size());
  if (!data.empty()) std::memcpy(room_.data() + frame_header.size(), data.data(), data.size());
  room_ = room_.subspan(bytes);
  produced_ += bytes;
  return true;
}

bool Http2Session::Impl::receive(std::string_view bytes, Millis now) {
  now_ = now;
  tracker_.feed(bytes);
  for (std::size_t idle = tracker_.take_idle_frames(); idle > 0; --idle) count_idle_frame();
  const ssize_t used =
      nghttp2_session_mem_recv(get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  // RFC 9113, section 3.4: a bad preface is a connection error, too.
  if (used < 0) fail(used == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
  if (tracker_.is_at_fault()) fail(NGHTTP2_PROTOCOL_ERROR);
  if (nghttp2_session_get_outbound_queue_size(get()) > kMostQueuedFrames) fail(NGHTTP2_ENHANCE_YOUR_CALM);
  return !faulty_;
}

std::size_t Http2Session::Impl::produce(std::span<char> room) {
  room_ = room;
  produced_ = 0;
  while (room_.size() >= kLeastRoom && !broken_) {
    const std::uint8_t* frames = nullptr;
    const std::size_t before = produced_;
    const ssize_t bytes = nghttp2_session_mem_send(get(), &frames);
    // A DATA frame goes into the room by itself and counts as nothing here.
    if (bytes == 0 && produced_ == before) break;
    const auto length = static_cast<std::size_t>(std::max<ssize_t>(bytes, 0));
    // The library gives out one frame a call, and none is larger than that.
    broken_ = bytes < 0 || length > room_.size();
    if (length == 0 || broken_) continue;
    std::memcpy(room_.data(), frames, length);
    room_ = room_.subspan(length);
    produced_ += length;
  }
  room_ = {};
  return produced_;
}

std::vector<nghttp2_nv>& Http2Session::Impl::name_values(std::span<const Http2Field> fields) {
  name_values_.clear();
  for (const Http2Field& field : fields) {
    // The library takes pointers to non-const and does not write through them.
    name_values_.push_back(
        {const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(field.name.data())),
         const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(field.value.data())),
         field.name.size(), field.value.size(),
         NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE});
  }
  return name_values_;
}

nghttp2_data_provider Http2Session::Impl::provider(Http2StreamEvents& stream) {
  nghttp2_data_provider made{};
  made.source.ptr = &stream;
  made.read_callback = &Http2Callbacks::read_data;
  return made;
}

Http2Session::Http2Session(Http2Role role, Http2SessionEvents& events)
    : impl_(std::make_unique<Impl>(role, events)) {}
Http2Session::~Http2Session() = default;

bool Http2Session::receive(std::string_view bytes, Millis now) {
  return impl_->receive(bytes, now);
}

std::size_t Http2Session::produce(std::span<char> room) {
  return impl_->produce(room);
}

bool Http2Session::is_over() const {
  return nghttp2_session_want_read(impl_->get()) == 0 && nghttp2_session_want_write(impl_->get()) == 0;
}

bool Http2Session::is_broken() const {
  return impl_->is_broken();
}

bool Http2Session::is_within_frame() const {
  return impl_->tracker().is_within_frame();
}

bool Http2Session::is_within_head() const {
  return impl_->tracker().is_within_head();
}

bool Http2Session::submit_response(std::int32_t id, std::span<const Http2Field> fields,
                                   Http2StreamEvents& stream, bool has_body) {
  const auto& nv = impl_->name_values(fields);
  const nghttp2_data_provider provider = Impl::provider(stream);
  return nghttp2_submit_response(impl_->get(), id, nv.data(), nv.size(), has_body ? &provider : nullptr) == 0;
}

bool Http2Session::submit_interim(std::int32_t id, std::span<const Http2Field> fields) {
  const auto& nv = impl_->name_values(fields);
  return nghttp2_submit_headers(impl_->get(), NGHTTP2_FLAG_NONE, id, nullptr, nv.data(), nv.size(),
                                nullptr) == 0;
}

bool Http2Session::submit_trailers(std::int32_t id, std::span<const Http2Field> fields) {
  const auto& nv = impl_->name_values(fields);
  return nghttp2_submit_trailer(impl_->get(), id, nv.data(), nv.size()) == 0;
}

std::optional<std::int32_t> Http2Session::submit_request(std::span<const Http2Field> fields,
                                                         Http2StreamEvents& stream, bool has_body) {
  const auto& nv = impl_->name_values(fields);
  const nghttp2_data_provider provider = Impl::provider(stream);
  const std::int32_t id = nghttp2_submit_request(impl_->get(), nullptr, nv.data(), nv.size(),
                                                 has_body ? &provider : nullptr, &stream);
  if (id < 0) return std::nullopt;
  return id;
}

void Http2Session::resume(std::int32_t id) {
  // Fails where nothing was deferred, and then nothing is to be done.
  static_cast<void>(nghttp2_session_resume_data(impl_->get(), id));
}

void Http2Session::consume(std::int32_t id, std::size_t bytes) {
  static_cast<void>(nghttp2_session_consume_stream(impl_->get(), id, bytes));
}

void Http2Session::reset(std::int32_t id, Http2Error error) {
  static_cast<void>(
      nghttp2_submit_rst_stream(impl_->get(), NGHTTP2_FLAG_NONE, id, static_cast<std::uint32_t>(error)));
}

void Http2Session::forget(std::int32_t id) {
  static_cast<void>(nghttp2_session_set_stream_user_data(impl_->get(), id, nullptr));
}

std::size_t Http2Session::send_window(std::int32_t id) const {
  const std::int32_t own = nghttp2_session_get_stream_remote_window_size(impl_->get(), id);
  const std::int32_t whole = nghttp2_session_get_remote_window_size(impl_->get());
  return static_cast<std::size_t>(std::max(0, std::min(own, whole)));
}

void Http2Session::begin_shutdown() {
  impl_->shutdown = Impl::Shutdown::notice_due;
  static_cast<void>(nghttp2_submit_shutdown_notice(impl_->get()));
}

void Http2Session::finish_shutdown() {
  const std::int32_t last = nghttp2_session_get_last_proc_stream_id(impl_->get());
  static_cast<void>(
      nghttp2_submit_goaway(impl_->get(), NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0));
}

void Http2Session::terminate(Http2Error error) {
  static_cast<void>(nghttp2_session_terminate_session(impl_->get(), static_cast<std::uint32_t>(error)));
}

bool Http2Session::has_peer_settings() const {
  return impl_->has_peer_settings;
}

std::uint32_t Http2Session::peer_most_streams() const {
  return nghttp2_session_get_remote_settings(impl_->get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

bool Http2Session::peer_takes_extended_connect() const {
  return nghttp2_session_get_remote_settings(impl_->get(), NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1;
}

}  // namespace hedge::proxy::http
