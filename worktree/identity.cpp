#include "worktree/identity.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"

namespace hedge::worktree {
namespace {

constexpr std::size_t kIdentityBytes = 26;
constexpr std::string_view kFileName = "hedge.json";
constexpr std::string_view kSchema = "hedge.identity/1";
constexpr std::size_t kMaxFileBytes = 64UL << 10;

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

}  // namespace

std::string new_identity(WallTime now) {
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const auto millis = static_cast<std::uint64_t>(since_epoch);
  // 128 bits in 26 characters of 5: two zero bits come first, so the text is that of 130 bits.
  std::string bytes;
  for (int shift = 40; shift >= 0; shift -= 8) bytes += static_cast<char>((millis >> shift) & 0xffU);
  bytes += random_bytes(10);
  std::string shifted;
  unsigned carry = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    shifted += static_cast<char>(carry | (byte >> 2));
    carry = (byte & 3U) << 6;
  }
  shifted += static_cast<char>(carry);
  std::string text = to_base32(shifted).substr(0, kIdentityBytes);
  std::ranges::transform(text, text.begin(), upper);
  return text;
}

bool is_identity(std::string_view text) {
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  return text.size() == kIdentityBytes && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

Result<std::optional<std::string>> load_identity(const std::filesystem::path& git_dir) {
  const auto path = git_dir / kFileName;
  const auto content = read_file(path, kMaxFileBytes);
  if (!content && content.error().kind() == ErrorKind::not_found) return std::optional<std::string>();
  if (!content) return Error(content.error()).with_id("state_unreadable");
  const auto json = nlohmann::json::parse(*content, nullptr, false);
  if (json.is_object() && json.contains("id") && json["id"].is_string()) {
    std::string id = json["id"].get<std::string>();
    if (is_identity(id)) return std::optional<std::string>(std::move(id));
  }
  return Error(ErrorKind::corrupt, path.string() + " holds no identity").with_id("state_unreadable");
}

Result<void> store_identity(const std::filesystem::path& git_dir, std::string_view id) {
  const nlohmann::json json{{"schema", kSchema}, {"id", id}};
  return write_file_atomically(git_dir / kFileName, json.dump() + "\n", 0644);
}

}  // namespace hedge::worktree
