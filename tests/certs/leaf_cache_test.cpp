#include "certs/leaf_cache.h"

#include <gtest/gtest.h>

namespace hedge::certs {
namespace {

LeafCache::Shared some() {
  return std::make_shared<const ServerCertificate>();
}

TEST(LeafCache, ForgetsTheLeastRecentlyUsedBeyondItsCapacity) {
  LeafCache cache(2);
  cache.put("a", some());
  cache.put("b", some());
  EXPECT_TRUE(cache.find("a"));  // now "b" is the older one
  cache.put("c", some());
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_TRUE(cache.find("a"));
  EXPECT_FALSE(cache.find("b"));
  EXPECT_TRUE(cache.find("c"));
}

TEST(LeafCache, ReplacesInPlace) {
  LeafCache cache(2);
  cache.put("a", some());
  const auto second = some();
  cache.put("a", second);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.find("a"), second);
}

TEST(LeafCache, ACertificateInUseOutlivesItsPlace) {
  LeafCache cache(1);
  cache.put("a", some());
  const auto held = cache.find("a");
  cache.put("b", some());
  EXPECT_FALSE(cache.find("a"));
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace hedge::certs
