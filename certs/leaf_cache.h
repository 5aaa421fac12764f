// The certificates kept in memory: a bounded map that forgets the least recently used.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "certs/certificate_store.h"

namespace hedge::certs {

// One thread at a time.
class LeafCache {
 public:
  using Shared = std::shared_ptr<const ServerCertificate>;

  // Requires: capacity > 0.
  explicit LeafCache(std::size_t capacity) : capacity_(capacity) {}

  // Null if none. Marks it as used.
  Shared find(std::string_view key);
  void put(const std::string& key, Shared certificate);
  std::size_t size() const { return index_.size(); }

 private:
  using Entries = std::list<std::pair<std::string, Shared>>;  // the most recently used first
  const std::size_t capacity_;
  Entries entries_;
  std::unordered_map<std::string_view, Entries::iterator> index_;  // keys live in entries_
};

}  // namespace hedge::certs
