// What libnghttp2 calls.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

#include <nghttp2/nghttp2.h>

#include "proxy/http2/http2_session_impl.h"

namespace hedge::proxy::http {
namespace {

using Impl = Http2Session::Impl;

struct FreeCallbacks {
  void operator()(nghttp2_session_callbacks* callbacks) const { nghttp2_session_callbacks_del(callbacks); }
};

std::string_view view(const nghttp2_vec& bytes) {
  return {reinterpret_cast<const char*>(bytes.base), bytes.len};
}

Impl& self(void* user) {
  return *static_cast<Impl*>(user);
}
Http2StreamEvents* stream(nghttp2_session* session, std::int32_t id) {
  return id == 0 ? nullptr
                 : static_cast<Http2StreamEvents*>(nghttp2_session_get_stream_user_data(session, id));
}

int begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  const std::int32_t id = frame->hd.stream_id;
  Http2StreamEvents* events = stream(session, id);
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
    events = self(user).events().stream_began(id);
    if (events == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, id, events);
  }
  if (events != nullptr) events->head_began();
  return 0;
}

int header(nghttp2_session* session, const nghttp2_frame* frame, nghttp2_rcbuf* name, nghttp2_rcbuf* value,
           std::uint8_t /*flags*/, void* /*user*/) {
  Http2StreamEvents* events = stream(session, frame->hd.stream_id);
  if (events != nullptr)
    events->field_received(view(nghttp2_rcbuf_get_buf(name)), view(nghttp2_rcbuf_get_buf(value)));
  return 0;
}

int invalid_header(nghttp2_session* session, const nghttp2_frame* frame, nghttp2_rcbuf* /*name*/,
                   nghttp2_rcbuf* /*value*/, std::uint8_t /*flags*/, void* /*user*/) {
  Http2StreamEvents* events = stream(session, frame->hd.stream_id);
  if (events != nullptr) events->bad_field_received();
  return 0;
}

int data_chunk(nghttp2_session* session, std::uint8_t /*flags*/, std::int32_t id, const std::uint8_t* data,
               std::size_t length, void* /*user*/) {
  // The connection's window is replenished on receipt, so that what one stream keeps stops no other.
  nghttp2_session_consume_connection(session, length);
  Http2StreamEvents* events = stream(session, id);
  if (events != nullptr) {
    events->data_received({reinterpret_cast<const char*>(data), length});
  } else {
    nghttp2_session_consume_stream(session, id, length);
  }
  return 0;
}

int frame_received(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  Impl& impl = self(user);
  Http2StreamEvents* events = stream(session, frame->hd.stream_id);
  const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
      if (events != nullptr) events->head_received(last);
      break;
    case NGHTTP2_DATA:
      if (last && events != nullptr) events->end_received();
      break;
    case NGHTTP2_WINDOW_UPDATE:
      if (frame->hd.stream_id == 0) {
        impl.events().windows_grew();
      } else if (events != nullptr) {
        events->window_grew();
      }
      break;
    case NGHTTP2_SETTINGS:
      if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) break;
      impl.has_peer_settings = true;
      // The initial window is one of them.
      impl.events().windows_grew();
      break;
    case NGHTTP2_PING:
      if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 && impl.shutdown == Impl::Shutdown::ping_sent)
        impl.events().shutdown_acknowledged();
      break;
    case NGHTTP2_GOAWAY:
      impl.events().goaway_received();
      break;
    default:
      break;
  }
  return 0;
}

int frame_refused(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/, int error, void* user) {
  // Only a client that does not know the limit yet passes it. The resets are made for nothing, and are not
  // bounded by the number of streams as others are.
  if (error == NGHTTP2_ERR_REFUSED_STREAM) self(user).count_idle_frame();
  return 0;
}

int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  if (frame->hd.type == NGHTTP2_RST_STREAM) self(user).reset_sent(frame->rst_stream.error_code);
  if (frame->hd.type == NGHTTP2_GOAWAY) self(user).goaway_sent();
  if (frame->hd.type != NGHTTP2_HEADERS) return 0;
  Http2StreamEvents* events = stream(session, frame->hd.stream_id);
  if (events != nullptr) events->head_sent((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
  return 0;
}

int stream_closed(nghttp2_session* session, std::int32_t id, std::uint32_t error, void* /*user*/) {
  Http2StreamEvents* events = stream(session, id);
  if (events == nullptr) return 0;
  nghttp2_session_set_stream_user_data(session, id, nullptr);
  events->closed(error);
  return 0;
}

int send_data(nghttp2_session* session, nghttp2_frame* frame, const std::uint8_t* frame_header,
              std::size_t bytes, nghttp2_data_source* /*source*/, void* user) {
  Http2StreamEvents* events = stream(session, frame->hd.stream_id);
  // read_data() has promised both the bytes and the room for them a moment ago. A frame that was not written
  // is asked for again whatever comes, so that there is no way on from here.
  if (events == nullptr) return NGHTTP2_ERR_CALLBACK_FAILURE;
  const std::string_view header(reinterpret_cast<const char*>(frame_header), kHttp2FrameHeaderBytes);
  Http2Outgoing& outgoing = events->outgoing();
  if (outgoing.data.size() < bytes) return NGHTTP2_ERR_CALLBACK_FAILURE;
  if (!self(user).put(header, outgoing.data.substr(0, bytes))) return NGHTTP2_ERR_CALLBACK_FAILURE;
  outgoing.data.remove_prefix(bytes);
  if (outgoing.data.empty() && outgoing.end != Http2End::none) outgoing.end_sent = true;
  // Whatever follows needs room of its own; without this the library would go on at once.
  return NGHTTP2_ERR_PAUSE;
}

}  // namespace

ssize_t Http2Callbacks::read_data(nghttp2_session* session, std::int32_t id, std::uint8_t* /*buffer*/,
                                  std::size_t most, std::uint32_t* flags, nghttp2_data_source* /*source*/,
                                  void* user) {
  Http2StreamEvents* events = stream(session, id);
  if (events == nullptr) return NGHTTP2_ERR_DEFERRED;
  Http2Outgoing& outgoing = events->outgoing();
  const std::size_t bytes = std::min({most, outgoing.data.size(), self(user).room_for_data()});
  const bool all = bytes == outgoing.data.size();
  const bool ends = all && outgoing.end != Http2End::none;
  if (bytes == 0 && !ends) return NGHTTP2_ERR_DEFERRED;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (ends) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (outgoing.end == Http2End::trailers) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      // The library drops a frame that carries neither data nor the end.
      if (bytes == 0) outgoing.end_sent = true;
    }
  }
  return static_cast<ssize_t>(bytes);
}

const nghttp2_session_callbacks* Http2Callbacks::all() {
  static const std::unique_ptr<nghttp2_session_callbacks, FreeCallbacks> made = [] {
    nghttp2_session_callbacks* fresh = nullptr;
    if (nghttp2_session_callbacks_new(&fresh) != 0) throw std::bad_alloc();
    nghttp2_session_callbacks_set_on_begin_headers_callback(fresh, &begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(fresh, &header);
    nghttp2_session_callbacks_set_on_invalid_header_callback2(fresh, &invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(fresh, &data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(fresh, &frame_received);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(fresh, &frame_refused);
    nghttp2_session_callbacks_set_on_frame_send_callback(fresh, &frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(fresh, &stream_closed);
    nghttp2_session_callbacks_set_send_data_callback(fresh, &send_data);
    return std::unique_ptr<nghttp2_session_callbacks, FreeCallbacks>(fresh);
  }();
  return made.get();
}

}  // namespace hedge::proxy::http
