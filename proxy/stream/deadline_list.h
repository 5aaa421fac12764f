// Coarse deadlines: a time stored in each stream and one sweep a second over all of them, instead of a timer
// an operation. Setting one costs a store.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace hedge::proxy {

// Milliseconds on the reactor's steady clock.
using Millis = std::int64_t;

class DeadlineList;

// A member of whatever can run late. Not movable: the list points at it.
class Deadline {
 public:
  static constexpr Millis kNever = std::numeric_limits<Millis>::max();

  // `on_passed(owner)` is called by the sweep, at most once for each set(); it may destroy the owner and any
  // other one.
  Deadline(DeadlineList* list, void* owner, void (*on_passed)(void*)) noexcept;
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

  // The sweep that follows the time calls on_passed, so up to one sweep interval late. No effect without a
  // list.
  void set(std::chrono::milliseconds from_now) noexcept;
  void clear() noexcept { at_ = kNever; }
  bool is_set() const noexcept { return at_ != kNever; }

 private:
  friend class DeadlineList;
  DeadlineList* list_;
  void* owner_;
  void (*on_passed_)(void*);
  Millis at_ = kNever;
  Deadline* previous_ = nullptr;
  Deadline* next_ = nullptr;
};

class DeadlineList {
 public:
  DeadlineList() = default;
  DeadlineList(const DeadlineList&) = delete;
  DeadlineList& operator=(const DeadlineList&) = delete;

  Millis now() const noexcept { return now_; }
  void set_now(Millis now) noexcept { now_ = now; }
  bool empty() const noexcept { return first_ == nullptr; }

  // Calls on_passed for each deadline at or before now().
  void sweep() { sweep_until(now_); }
  // Calls on_passed for every member, whatever its time: the end of a drain.
  void expire_all() { sweep_until(Deadline::kNever); }

 private:
  friend class Deadline;
  void sweep_until(Millis time);
  void link(Deadline& deadline) noexcept;
  void unlink(Deadline& deadline) noexcept;

  Millis now_ = 0;
  Deadline* first_ = nullptr;
  Deadline* sweep_next_ = nullptr;  // where a running sweep goes on; moved when that one leaves the list
};

}  // namespace hedge::proxy
