// Many small texts in few blocks that never move, so that views into them stay valid while more are added.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace hedge::proxy::http {

class TextArena {
 public:
  // A copy of the text. Lifetime: until clear().
  std::string_view store(std::string_view text);
  // The same in ASCII lower case.
  std::string_view store_lower(std::string_view text);
  // Uninitialised bytes to fill. Lifetime: until clear().
  std::span<char> allocate(std::size_t bytes);
  // Keeps the first block, which is enough for a usual message.
  void clear() noexcept;

 private:
  static constexpr std::size_t kBlockBytes = 4096;
  void add_block(std::size_t bytes);

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t first_bytes_ = 0;
  std::span<char> free_;  // of the last block
};

}  // namespace hedge::proxy::http
