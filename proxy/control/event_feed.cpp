#include "proxy/control/event_feed.h"

#include <algorithm>

namespace hedge::proxy {

EventFeed::Subscription::Subscription(EventFeed& feed, std::function<void()> wake)
    : feed_(feed), wake_(std::move(wake)) {
  feed_.listeners_.push_back(this);
}

EventFeed::Subscription::~Subscription() {
  std::erase(feed_.listeners_, this);
}

std::string EventFeed::format(std::string_view event, std::string_view data) {
  std::string text;
  text.reserve(event.size() + data.size() + 20);
  text.append("event: ").append(event).append("\ndata: ").append(data).append("\n\n");
  return text;
}

void EventFeed::publish(std::string_view event, std::string_view data) {
  if (listeners_.empty()) return;
  const std::string text = format(event, data);
  for (Subscription* listener : listeners_) {
    if (listener->ended_) continue;
    if (listener->pending_.size() + text.size() > kMostPendingBytes) {
      listener->ended_ = true;
    } else {
      listener->pending_ += text;
    }
    listener->wake_();
  }
}

void EventFeed::close() {
  for (Subscription* listener : listeners_) {
    listener->ended_ = true;
    listener->wake_();
  }
}

}  // namespace hedge::proxy
