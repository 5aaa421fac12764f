#include "proxy/http/text_arena.h"

#include <algorithm>
#include <cstring>

namespace hedge::proxy::http {

std::span<char> TextArena::allocate(std::size_t bytes) {
  if (bytes > free_.size()) add_block(std::max(bytes, kBlockBytes));
  const std::span<char> taken = free_.first(bytes);
  free_ = free_.subspan(bytes);
  return taken;
}

std::string_view TextArena::store(std::string_view text) {
  if (text.empty()) return {};
  const std::span<char> copy = allocate(text.size());
  std::memcpy(copy.data(), text.data(), text.size());
  return {copy.data(), copy.size()};
}

std::string_view TextArena::store_lower(std::string_view text) {
  const std::span<char> copy = allocate(text.size());
  std::transform(text.begin(), text.end(), copy.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return {copy.data(), copy.size()};
}

void TextArena::clear() noexcept {
  // A first block that was made for one large text is not kept.
  const std::size_t kept = first_bytes_ == kBlockBytes ? 1 : 0;
  if (blocks_.size() > kept)
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(kept), blocks_.end());
  free_ = blocks_.empty() ? std::span<char>() : std::span<char>(blocks_.front().get(), kBlockBytes);
}

void TextArena::add_block(std::size_t bytes) {
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
  if (blocks_.size() == 1) first_bytes_ = bytes;
  free_ = {blocks_.back().get(), bytes};
}

}  // namespace hedge::proxy::http
