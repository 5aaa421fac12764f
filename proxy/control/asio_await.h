// Awaits one Asio operation in a Task of ours. Only for the control thread's .cpp files.
#pragma once

#include <coroutine>
#include <tuple>
#include <utility>

#include <boost/system/error_code.hpp>

namespace hedge::proxy {

// `Results` are the operation's results after its error code.
template <class Initiate, class... Results>
class AsioAwaiter {
 public:
  using Outcome = std::tuple<boost::system::error_code, Results...>;

  explicit AsioAwaiter(Initiate initiate) : initiate_(std::move(initiate)) {}

  bool await_ready() const noexcept { return false; }
  // Asio never completes an operation inside its initiation, so the coroutine is suspended before it is
  // resumed.
  void await_suspend(std::coroutine_handle<> waiter) {
    initiate_([this, waiter](const boost::system::error_code& failure, Results... results) {
      outcome_ = Outcome(failure, std::move(results)...);
      waiter.resume();
    });
  }
  Outcome await_resume() { return std::move(outcome_); }

 private:
  Initiate initiate_;
  Outcome outcome_;
};

// co_await await_asio<std::size_t>([&](auto done) { socket.async_read_some(buffer, std::move(done)); })
//   -> tuple<error_code, size_t>
// Requires: the io_context is run until the operation has completed (cancel it to hurry it); an io_context
// that is destroyed before leaves the coroutine suspended for ever.
template <class... Results, class Initiate>
AsioAwaiter<Initiate, Results...> await_asio(Initiate initiate) {
  return AsioAwaiter<Initiate, Results...>(std::move(initiate));
}

}  // namespace hedge::proxy
