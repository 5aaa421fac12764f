// The worker's event loop: one epoll descriptor, every socket registered once and edge-triggered. After
// registration a socket costs no further epoll_ctl; its owner remembers readiness in two flags.
#pragma once

#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <sys/epoll.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "proxy/stream/deadline_list.h"

namespace hedge::proxy {

// Gets a descriptor's events. It leaves the reactor (remove) before it dies.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // EPOLL* bits. May destroy this and any other source.
  virtual void on_events(std::uint32_t events) = 0;
};

class Timer;

class Reactor {
 public:
  // `sweep_interval`: how coarse deadlines are.
  // Errors: no_space (descriptors).
  static Result<std::unique_ptr<Reactor>> create(std::chrono::milliseconds sweep_interval);
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Runs until stop(); sources, timers and posted messages are called from here.
  void run();
  // Ends run() after the current turn.
  void stop() noexcept { stopping_ = true; }

  // From any thread: `message` runs on the reactor's thread, in the order of posting. One that is posted
  // after the end of run() is destroyed with the reactor.
  void post(std::function<void()> message);

  // Errors: those of epoll_ctl (no_space).
  Result<void> add(int fd, EventSource& source, std::uint32_t events);
  // For descriptors whose interest changes (those of c-ares).
  void modify(int fd, EventSource& source, std::uint32_t events) noexcept;
  // No event reaches the source afterwards, also none of the batch that is being handed out.
  void remove(int fd, EventSource& source) noexcept;

  // `call(source)` runs after the current batch, unless the source is removed before.
  void wake_later(EventSource& source);

  DeadlineList& deadlines() noexcept { return deadlines_; }
  // A source reads about so much in one turn, then everybody else's turn comes: a fast sender that keeps its
  // socket full would hold up all others, and every deadline. The first turn is 1.
  std::uint32_t turn_bytes() const noexcept { return turn_bytes_; }
  std::uint32_t turn() const noexcept { return turn_; }
  void set_turn_bytes(std::uint32_t bytes) noexcept { turn_bytes_ = bytes; }
  // Time of the current turn, in steady milliseconds: a few nanoseconds, up to one turn old.
  Millis now() const noexcept { return deadlines_.now(); }
  // Called once a sweep.
  void set_on_sweep(std::function<void()> on_sweep) { on_sweep_ = std::move(on_sweep); }

 private:
  friend class Timer;
  static constexpr std::size_t kBatch = 256;
  using Timers = std::multimap<Millis, Timer*>;

  Reactor(UniqueFd epoll, UniqueFd wake, std::chrono::milliseconds sweep_interval);
  int wait_limit() const noexcept;
  void update_now() noexcept;
  void hand_out(int count);
  void wake_sources();
  void run_timers();
  void run_messages();
  void sweep_if_due();

  UniqueFd epoll_;
  UniqueFd wake_;
  Millis sweep_interval_;
  Millis next_sweep_ = 0;
  DeadlineList deadlines_;
  Timers timers_;
  std::function<void()> on_sweep_;
  bool stopping_ = false;
  std::uint32_t turn_ = 0;
  std::uint32_t turn_bytes_ = 1U << 20;

  std::array<epoll_event, kBatch> events_{};
  int batch_position_ = 0;
  int batch_size_ = 0;
  std::vector<EventSource*> woken_;

  std::mutex mutex_;
  std::vector<std::function<void()>> messages_;  // guarded by mutex_
};

// Exact to the millisecond, for the few waits of a connection set-up; never one a request.
class Timer {
 public:
  // `on_time(owner)` may destroy the timer.
  Timer(Reactor& reactor, void* owner, void (*on_time)(void*)) noexcept
      : reactor_(reactor), owner_(owner), on_time_(on_time) {}
  ~Timer() { stop(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start(std::chrono::milliseconds from_now);
  void stop() noexcept;

 private:
  friend class Reactor;
  Reactor& reactor_;
  void* owner_;
  void (*on_time_)(void*);
  Reactor::Timers::iterator position_;
  bool running_ = false;
};

}  // namespace hedge::proxy
