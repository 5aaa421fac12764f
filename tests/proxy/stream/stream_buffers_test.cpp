#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/stream/buffers.h"

namespace hedge::proxy {
namespace {

TEST(BufferPool, LeasesBlocksOfBothSizesAndTakesThemBack) {
  BufferPool pool;
  {
    const Block head = pool.lease_head();
    const Block body = pool.lease_body();
    EXPECT_EQ(head.size(), kHeadBlockBytes);
    EXPECT_EQ(body.size(), kBodyBlockBytes);
    EXPECT_EQ(pool.leased(), 2U);
  }
  EXPECT_EQ(pool.leased(), 0U);
}

TEST(BufferPool, GivesTheBlockThatCameBackLastToTheNextWhoAsks) {
  BufferPool pool;
  Block block = pool.lease_head();
  const char* const memory = block.data();
  block.release();
  EXPECT_FALSE(block);
  EXPECT_EQ(pool.lease_head().data(), memory);
}

TEST(BufferPool, AMovedBlockHasOneOwner) {
  BufferPool pool;
  Block first = pool.lease_body();
  Block second = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
  first = std::move(second);
  EXPECT_TRUE(first);
  EXPECT_EQ(pool.leased(), 1U);
}

TEST(BufferPool, KeepsNotEveryBlockOfABurst) {
  BufferPool pool;
  std::vector<Block> burst;
  for (int i = 0; i < 1000; ++i) burst.push_back(pool.lease_head());
  burst.clear();
  EXPECT_EQ(pool.leased(), 0U);
  EXPECT_LE(pool.kept(), 64U);
}

TEST(BufferPool, HasScratchForOneTlsRecord) {
  BufferPool pool;
  EXPECT_EQ(pool.scratch().size(), 16384U);
}

}  // namespace
}  // namespace hedge::proxy
