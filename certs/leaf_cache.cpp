#include "certs/leaf_cache.h"

namespace hedge::certs {

LeafCache::Shared LeafCache::find(std::string_view key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

void LeafCache::put(const std::string& key, Shared certificate) {
  if (const auto found = index_.find(key); found != index_.end()) {
    found->second->second = std::move(certificate);
    entries_.splice(entries_.begin(), entries_, found->second);
    return;
  }
  if (index_.size() >= capacity_) {
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(key, std::move(certificate));
  index_.emplace(entries_.front().first, entries_.begin());
}

}  // namespace hedge::certs
