#include "base/task.h"

#include <array>
#include <new>

namespace hedge {
namespace {

constexpr std::size_t kClassBytes = 64;
constexpr std::size_t kLargestPooled = 4096;
constexpr std::size_t kClasses = kLargestPooled / kClassBytes;
// A class keeps at most this many free frames; a burst's rest goes back to the heap.
constexpr std::size_t kMostKept = 1024;

struct FreeFrame {
  FreeFrame* next;
};

struct FreeList {
  FreeFrame* first = nullptr;
  std::size_t count = 0;
};

class FramePool {
 public:
  ~FramePool() {
    for (FreeList& list : lists_) {
      while (list.first != nullptr) ::operator delete(pop(list));
    }
  }
  void* take(std::size_t cls) {
    FreeList& list = lists_[cls];
    return list.first != nullptr ? pop(list) : ::operator new((cls + 1) * kClassBytes);
  }
  void give(void* frame, std::size_t cls) noexcept {
    FreeList& list = lists_[cls];
    if (list.count >= kMostKept) {
      ::operator delete(frame);
      return;
    }
    list.first = ::new (frame) FreeFrame{list.first};
    ++list.count;
  }

 private:
  static void* pop(FreeList& list) noexcept {
    FreeFrame* frame = list.first;
    list.first = frame->next;
    --list.count;
    return frame;
  }
  std::array<FreeList, kClasses> lists_{};
};

thread_local FramePool frame_pool;

}  // namespace

void* allocate_frame(std::size_t bytes) {
  if (bytes > kLargestPooled) return ::operator new(bytes);
  return frame_pool.take((bytes - 1) / kClassBytes);
}

void free_frame(void* frame, std::size_t bytes) noexcept {
  if (bytes > kLargestPooled) {
    ::operator delete(frame);
    return;
  }
  frame_pool.give(frame, (bytes - 1) / kClassBytes);
}

}  // namespace hedge
