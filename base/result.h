// Result<T>: a value or an Error, shaped like std::expected (which GCC 12 has only in C++23 mode).
#pragma once

#include <cassert>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"

namespace hedge {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  template <class U = T>
    requires(std::is_constructible_v<T, U &&> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT: implicit like std::expected
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}      // NOLINT: implicit like std::unexpected

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // Requires: has_value().
  T& value() & { return checked<0>(*this); }
  const T& value() const& { return checked<0>(*this); }
  // By value: what a loop over `*f()` goes through must outlive the Result that f() returned.
  T value() && { return std::move(checked<0>(*this)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Requires: !has_value().
  Error& error() & { return checked<1>(*this); }
  const Error& error() const& { return checked<1>(*this); }
  Error error() && { return std::move(checked<1>(*this)); }

  template <class U>
  T value_or(U&& fallback) && {
    return has_value() ? std::move(*this).value() : static_cast<T>(std::forward<U>(fallback));
  }

  // Adds context to the error, if there is one.
  Result with_context(std::string_view what) && {
    if (has_value()) return std::move(*this);
    return std::move(*this).error().with_context(what);
  }

 private:
  template <std::size_t index, class Self>
  static auto& checked(Self& self) {
    assert(self.state_.index() == index && "the other alternative of the Result is held");
    return *std::get_if<index>(&self.state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit like std::unexpected

  bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }

  // Requires: !has_value().
  Error& error() & {
    assert(error_.has_value() && "the Result holds no error");
    return *error_;
  }
  const Error& error() const& {
    assert(error_.has_value() && "the Result holds no error");
    return *error_;
  }
  Error error() && {
    assert(error_.has_value() && "the Result holds no error");
    return std::move(*error_);
  }

  Result with_context(std::string_view what) && {
    if (has_value()) return {};
    return std::move(*this).error().with_context(what);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace hedge
