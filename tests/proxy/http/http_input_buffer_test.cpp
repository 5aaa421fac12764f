#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "proxy/http/input_buffer.h"
#include "proxy/http/message.h"

namespace hedge::proxy::http {
namespace {

void receive(InputBuffer& input, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    ASSERT_TRUE(input.make_space());
    const std::size_t take = std::min(bytes.size() - done, input.space().size());
    std::copy_n(bytes.data() + done, take, input.space().data());
    input.received(take);
    done += take;
  }
}

TEST(InputBuffers, HoldNoMemoryWhileNothingIsUnread) {
  BufferPool pool;
  InputBuffer input(pool);
  EXPECT_EQ(pool.leased(), 0U);
  receive(input, "abc");
  EXPECT_EQ(pool.leased(), 1U);
  input.consume(3);
  input.begin_message();
  EXPECT_EQ(pool.leased(), 0U);
}

TEST(InputBuffers, KeepThePipelinedRestForTheNextMessage) {
  BufferPool pool;
  InputBuffer input(pool);
  receive(input, "first second");
  input.consume(6);
  input.begin_message();
  EXPECT_EQ(input.text(), "second");
}

TEST(InputBuffers, GrowForALargeHeadUpToItsLimit) {
  BufferPool pool;
  InputBuffer input(pool);
  const std::string large(kMaxStartLineBytes + kMaxFieldBytes, 'h');
  receive(input, large);
  EXPECT_EQ(input.text(), large);
  receive(input, std::string(kHeadBlockBytes, 'i'));
  EXPECT_FALSE(input.make_space());
}

TEST(InputBuffers, KeepViewsIntoTheHeadWhileBytesArePutBack) {
  BufferPool pool;
  InputBuffer input(pool);
  receive(input, "HEAD");
  const std::string_view head = input.text();
  input.consume(4);
  input.put_back(std::string("next"));
  EXPECT_EQ(head, "HEAD");
  EXPECT_EQ(input.text(), "next");
}

TEST(InputBuffers, DeliverBytesThatFoundNoRoomWithTheNextMessage) {
  BufferPool pool;
  InputBuffer input(pool);
  receive(input, "HEAD");
  const std::string_view head = input.text();
  input.consume(4);
  const std::string much(kBodyBlockBytes, 'm');
  input.put_back(much);
  EXPECT_EQ(head, "HEAD");
  EXPECT_TRUE(input.has_more_for_next_message());
  input.begin_message();
  EXPECT_EQ(input.text(), much);
}

}  // namespace
}  // namespace hedge::proxy::http
