#include "proxy/stream/reactor.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace hedge::proxy {
namespace {

Millis steady_millis() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::create(std::chrono::milliseconds sweep_interval) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return Error::from_errno(errno, "open an epoll descriptor");
  UniqueFd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake) return Error::from_errno(errno, "open an event descriptor");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;  // the only registration without a source
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
    return Error::from_errno(errno, "watch an event descriptor");
  }
  return std::unique_ptr<Reactor>(new Reactor(std::move(epoll), std::move(wake), sweep_interval));
}

Reactor::Reactor(UniqueFd epoll, UniqueFd wake, std::chrono::milliseconds sweep_interval)
    : epoll_(std::move(epoll)), wake_(std::move(wake)), sweep_interval_(sweep_interval.count()) {
  update_now();
  next_sweep_ = now() + sweep_interval_;
}

Reactor::~Reactor() = default;

void Reactor::run() {
  stopping_ = false;
  while (!stopping_) {
    const int count =
        ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), wait_limit());
    ++turn_;
    update_now();
    if (count > 0) hand_out(count);
    if (!woken_.empty()) wake_sources();
    if (!timers_.empty()) run_timers();
    sweep_if_due();
  }
}

int Reactor::wait_limit() const noexcept {
  if (!woken_.empty()) return 0;
  Millis until = next_sweep_;
  if (!timers_.empty()) until = std::min(until, timers_.begin()->first);
  return static_cast<int>(std::max<Millis>(0, until - now()));
}

void Reactor::update_now() noexcept {
  deadlines_.set_now(steady_millis());
}

void Reactor::hand_out(int count) {
  batch_size_ = count;
  bool has_messages = false;
  for (batch_position_ = 0; batch_position_ < batch_size_; ++batch_position_) {
    const epoll_event& event = events_[static_cast<std::size_t>(batch_position_)];
    auto* source = static_cast<EventSource*>(event.data.ptr);
    if (source != nullptr) {
      source->on_events(event.events);
    } else if (event.events != 0) {
      has_messages = true;
    }
  }
  batch_size_ = 0;
  if (has_messages) run_messages();
}

Result<void> Reactor::add(int fd, EventSource& source, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &source;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return Error::from_errno(errno, "watch a descriptor");
  }
  return {};
}

void Reactor::modify(int fd, EventSource& source, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &source;
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Reactor::remove(int fd, EventSource& source) noexcept {
  // Explicitly, although close() would do: a child between fork and exec keeps the descriptor's registration
  // alive.
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  for (int i = batch_position_ + 1; i < batch_size_; ++i) {
    epoll_event& event = events_[static_cast<std::size_t>(i)];
    if (event.data.ptr == &source) {
      event.data.ptr = nullptr;
      event.events = 0;
    }
  }
  if (!woken_.empty())
    std::replace(woken_.begin(), woken_.end(), &source, static_cast<EventSource*>(nullptr));
}

void Reactor::wake_later(EventSource& source) {
  woken_.push_back(&source);
}

void Reactor::wake_sources() {
  // Those that are woken meanwhile come in the next turn, so that sockets are looked at between them.
  const std::size_t count = woken_.size();
  for (std::size_t i = 0; i < count; ++i) {
    EventSource* source = std::exchange(woken_[i], nullptr);
    if (source != nullptr) source->on_events(0);
  }
  woken_.erase(woken_.begin(), woken_.begin() + static_cast<std::ptrdiff_t>(count));
}

void Reactor::run_timers() {
  while (!timers_.empty() && timers_.begin()->first <= now()) {
    Timer& timer = *timers_.begin()->second;
    timer.stop();
    timer.on_time_(timer.owner_);
  }
}

void Reactor::run_messages() {
  std::uint64_t ignored = 0;
  (void)!::read(wake_.get(), &ignored, sizeof ignored);
  std::vector<std::function<void()>> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(messages_);
  }
  for (const auto& message : messages) message();
}

void Reactor::post(std::function<void()> message) {
  {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
  }
  const std::uint64_t one = 1;
  // Cannot fail but when the counter is full, and then the reactor is awake anyway.
  (void)!::write(wake_.get(), &one, sizeof one);
}

void Reactor::sweep_if_due() {
  if (now() < next_sweep_) return;
  next_sweep_ = now() + sweep_interval_;
  deadlines_.sweep();
  if (on_sweep_) on_sweep_();
}

void Timer::start(std::chrono::milliseconds from_now) {
  stop();
  reactor_.update_now();
  position_ = reactor_.timers_.emplace(reactor_.now() + from_now.count(), this);
  running_ = true;
}

void Timer::stop() noexcept {
  if (!std::exchange(running_, false)) return;
  reactor_.timers_.erase(position_);
}

}  // namespace hedge::proxy
