// What happens in the edge, told to whoever listens on GET /v1/events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hedge::proxy {

// Single-threaded, on the control thread.
class EventFeed {
 public:
  // A listener that does not take what waits for it is let go; it may come again and gets the whole status.
  static constexpr std::size_t kMostPendingBytes = 1UL << 20;

  // One listener. Lifetime: the feed outlives it.
  class Subscription {
   public:
    // `wake` is called when something waits to be taken, or when the subscription has ended.
    Subscription(EventFeed& feed, std::function<void()> wake);
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    // What has happened since the last call, in the format of text/event-stream.
    std::string take() { return std::exchange(pending_, std::string()); }
    // Too slow, or the feed was closed.
    bool ended() const { return ended_; }

   private:
    friend class EventFeed;
    EventFeed& feed_;
    std::function<void()> wake_;
    std::string pending_;
    bool ended_ = false;
  };

  // `data`: JSON on one line.
  void publish(std::string_view event, std::string_view data);
  void close();
  bool has_listeners() const { return !listeners_.empty(); }
  std::size_t listeners() const { return listeners_.size(); }

  // One event as text/event-stream has it.
  static std::string format(std::string_view event, std::string_view data);

 private:
  std::vector<Subscription*> listeners_;
};

}  // namespace hedge::proxy
