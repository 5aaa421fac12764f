#include "proxy/stream/stream_waiters.h"

#include <cassert>
#include <utility>

namespace hedge::proxy {

StreamWaiters::~StreamWaiters() {
  assert(reader == nullptr && writer == nullptr && "a stream dies while a coroutine waits on it");
}

void StreamWaiters::wake() {
  // Both are tried before either is resumed: the first to be resumed may end the stream, unless the second,
  // which is resumed in any case, still uses it.
  std::coroutine_handle<> read_over;
  std::coroutine_handle<> write_over;
  if (reader != nullptr && reader->attempt(*reader)) read_over = std::exchange(reader, nullptr)->waiter;
  if (writer != nullptr && writer->attempt(*writer)) write_over = std::exchange(writer, nullptr)->waiter;
  if (read_over) read_over.resume();
  if (write_over) write_over.resume();
}

void StreamWaiters::interrupt(IoStatus why) {
  interrupted_ = why;
  wake();
}

void StreamWaiters::passed(void* self) {
  static_cast<StreamWaiters*>(self)->interrupt(IoStatus::timed_out);
}

}  // namespace hedge::proxy
