#include "proxy/stream/deadline_list.h"

namespace hedge::proxy {

Deadline::Deadline(DeadlineList* list, void* owner, void (*on_passed)(void*)) noexcept
    : list_(list), owner_(owner), on_passed_(on_passed) {
  if (list_ != nullptr) list_->link(*this);
}

Deadline::~Deadline() {
  if (list_ != nullptr) list_->unlink(*this);
}

void Deadline::set(std::chrono::milliseconds from_now) noexcept {
  if (list_ == nullptr) return;
  at_ = list_->now() + from_now.count();
}

void DeadlineList::link(Deadline& deadline) noexcept {
  deadline.next_ = first_;
  deadline.previous_ = nullptr;
  if (first_ != nullptr) first_->previous_ = &deadline;
  first_ = &deadline;
}

void DeadlineList::unlink(Deadline& deadline) noexcept {
  if (sweep_next_ == &deadline) sweep_next_ = deadline.next_;
  if (deadline.previous_ != nullptr) {
    deadline.previous_->next_ = deadline.next_;
  } else {
    first_ = deadline.next_;
  }
  if (deadline.next_ != nullptr) deadline.next_->previous_ = deadline.previous_;
}

void DeadlineList::sweep_until(Millis time) {
  sweep_next_ = first_;
  while (sweep_next_ != nullptr) {
    Deadline& deadline = *sweep_next_;
    sweep_next_ = deadline.next_;
    if (deadline.at_ > time) continue;
    deadline.at_ = Deadline::kNever;
    deadline.on_passed_(deadline.owner_);  // the deadline may be gone from here on
  }
}

}  // namespace hedge::proxy
