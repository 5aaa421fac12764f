#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "proxy/stream/socket_address.h"
#include "proxy/stream/socket_stream.h"
#include "proxy/upstream/endpoint.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/reactor_loop.h"
#include "tests/support/scripted_peer.h"

namespace hedge::proxy {
namespace {

using namespace std::chrono_literals;
using test::pause_for;
using test::PeerConnection;
using test::ReactorLoop;

// A TCP connection over loopback: our end as a stream, the other as a blocking peer.
struct Connection {
  explicit Connection(ReactorLoop& loop) {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), generic, length), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), generic, &length), 0);
    peer = std::make_unique<PeerConnection>(PeerConnection::to(ntohs(address.sin_port)));
    UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    stream = SocketStream::accepted(loop.reactor(), std::move(accepted)).value();
  }
  std::unique_ptr<PeerConnection> peer;
  std::unique_ptr<SocketStream> stream;
};

Task<void> read_into(ByteStream& stream, std::string& text, IoResult& last, std::size_t block = 4096) {
  std::string buffer(block, '\0');
  for (;;) {
    last = co_await stream.read_some(buffer);
    if (!last.ok()) co_return;
    text.append(buffer, 0, last.bytes);
  }
}

Task<void> read_once(ByteStream& stream, IoResult& result) {
  std::array<char, 64> buffer{};
  result = co_await stream.read_some(buffer);
}

Task<void> write_all(ByteStream& stream, std::string_view first, std::string_view second, IoResult& result) {
  result = co_await stream.write(first, second);
}

TEST(SocketStream, ReadsWhatThePeerSendsAndThenItsEnd) {
  ReactorLoop loop;
  Connection connection(loop);
  std::thread peer([&] {
    connection.peer->send("one");
    connection.peer->send(std::string(100'000, 'x'));
    connection.peer->fin();
  });
  std::string text;
  IoResult last;
  loop.run(read_into(*connection.stream, text, last));
  peer.join();
  EXPECT_EQ(text, "one" + std::string(100'000, 'x'));
  EXPECT_EQ(last.status, IoStatus::end);
}

TEST(SocketStream, ReadsTheBytesThatCameTogetherWithTheEnd) {
  ReactorLoop loop;
  Connection connection(loop);
  connection.peer->send("last words");
  connection.peer->fin();
  std::string text;
  IoResult last;
  loop.run(read_into(*connection.stream, text, last));
  EXPECT_EQ(text, "last words");
  EXPECT_EQ(last.status, IoStatus::end);
}

TEST(SocketStream, KnowsWithoutAskingTheKernelThatNothingIsLeftAfterAShortRead) {
  ReactorLoop loop;
  Connection connection(loop);
  connection.peer->send("short");
  IoResult result;
  loop.run(read_once(*connection.stream, result));
  EXPECT_EQ(result.bytes, 5U);
  EXPECT_FALSE(connection.stream->is_readable());
  std::array<char, 8> buffer{};
  EXPECT_TRUE(connection.stream->try_read(buffer).would_block());
}

Task<void> read_in_small_pieces(ByteStream& stream, std::size_t& total) {
  std::array<char, 100> buffer{};
  for (;;) {
    const IoResult got = co_await stream.read_some(buffer);
    if (!got.ok()) co_return;
    total += got.bytes;
  }
}

TEST(SocketStream, LeavesTheOthersTheirTurnWhileThereIsStillSomethingToRead) {
  ReactorLoop loop;
  loop.reactor().set_turn_bytes(1000);
  Connection connection(loop);
  connection.peer->send(std::string(20'000, 'x'));
  connection.peer->fin();
  // Posted again and again, a message runs once a turn.
  std::size_t total = 0;
  std::size_t before = 0;
  std::size_t most = 0;
  int turns = 0;
  std::function<void()> look = [&] {
    most = std::max(most, total - before);
    before = total;
    ++turns;
    if (total < 20'000) loop.reactor().post(look);
  };
  loop.reactor().post(look);
  loop.run(read_in_small_pieces(*connection.stream, total));
  EXPECT_EQ(total, 20'000U);
  EXPECT_LE(most, 1000U);
  EXPECT_GE(turns, 20);
}

TEST(SocketStream, WritesBothPiecesInTheirOrder) {
  ReactorLoop loop;
  Connection connection(loop);
  IoResult result;
  loop.run(write_all(*connection.stream, "head;", "body", result));
  EXPECT_EQ(result.bytes, 9U);
  EXPECT_EQ(connection.peer->read_bytes(9), "head;body");
}

TEST(SocketStream, SuspendsAWriteUntilThePeerHasReadAndLosesNothing) {
  ReactorLoop loop;
  Connection connection(loop);
  std::string body(8'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 31 >> 3);
  std::string received;
  std::thread peer([&] { received = connection.peer->read_bytes(body.size() + 4); });
  IoResult result;
  loop.run(write_all(*connection.stream, "head", body, result));
  peer.join();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.bytes, body.size() + 4);
  EXPECT_TRUE(received == "head" + body);
}

TEST(SocketStream, ReportsAWriteToAPeerThatIsGoneAsAnErrorAndNotAsASignal) {
  ReactorLoop loop;
  Connection connection(loop);
  connection.peer->rst();
  IoResult result;
  const std::string much(1'000'000, 'x');
  loop.run(write_all(*connection.stream, much, much, result));
  EXPECT_EQ(result.status, IoStatus::failed);
  EXPECT_TRUE(result.error == EPIPE || result.error == ECONNRESET) << result.error;
}

TEST(SocketStream, ReportsAResetAsAnError) {
  ReactorLoop loop;
  Connection connection(loop);
  connection.peer->rst();
  IoResult result;
  loop.run(read_once(*connection.stream, result));
  EXPECT_EQ(result.status, IoStatus::failed);
  EXPECT_EQ(result.error, ECONNRESET);
}

TEST(SocketStream, EndsAWaitWhenTheDeadlinePassesAndGoesOnAfterANewOne) {
  ReactorLoop loop;
  Connection connection(loop);
  IoResult result;
  connection.stream->set_deadline(30ms);
  loop.run(read_once(*connection.stream, result));
  EXPECT_EQ(result.status, IoStatus::timed_out);
  loop.run(read_once(*connection.stream, result));
  EXPECT_EQ(result.status, IoStatus::timed_out) << "until the deadline is set anew";
  connection.stream->clear_deadline();
  connection.peer->send("late");
  loop.run(read_once(*connection.stream, result));
  EXPECT_EQ(result.bytes, 4U);
}

Task<void> cancel_after(ReactorLoop& loop, ByteStream& stream, std::chrono::milliseconds time) {
  co_await pause_for(loop.reactor(), time);
  stream.cancel();
}

TEST(SocketStream, CancelResumesTheReaderWithCancelledAndStaysSo) {
  ReactorLoop loop;
  Connection connection(loop);
  IoResult result;
  loop.spawn(cancel_after(loop, *connection.stream, 5ms));
  loop.run(read_once(*connection.stream, result));
  EXPECT_EQ(result.status, IoStatus::cancelled);
  IoResult written;
  loop.run(write_all(*connection.stream, "x", {}, written));
  EXPECT_EQ(written.status, IoStatus::cancelled);
}

struct Watcher final : PeerWatcher {
  explicit Watcher(ByteStream& to_cancel) : other(to_cancel) {}
  void peer_finished() override { ++finished; }
  void peer_gone() override {
    ++gone;
    other.cancel();
  }
  ByteStream& other;
  int finished = 0;
  int gone = 0;
};

TEST(SocketStream, TellsAWatcherThatThePeerIsGoneWhileSomethingElseIsWaitedFor) {
  ReactorLoop loop;
  Connection client(loop);
  Connection upstream(loop);
  Watcher watcher(*upstream.stream);
  client.stream->watch_peer(&watcher);
  client.peer->rst();
  IoResult result;
  loop.run(read_once(*upstream.stream, result));
  EXPECT_EQ(result.status, IoStatus::cancelled);
  EXPECT_EQ(watcher.gone, 1);
}

TEST(SocketStream, TellsAWatcherOfAnEndThatCameBeforeIt) {
  ReactorLoop loop;
  Connection client(loop);
  client.peer->fin();
  IoResult result;
  loop.run(read_once(*client.stream, result));
  ASSERT_EQ(result.status, IoStatus::end);
  Connection other(loop);
  Watcher watcher(*other.stream);
  client.stream->watch_peer(&watcher);
  loop.run(pause_for(loop.reactor(), 5ms));
  EXPECT_EQ(watcher.finished, 1);
  EXPECT_EQ(watcher.gone, 0) << "it may still read";
  client.stream->watch_peer(nullptr);
}

TEST(SocketStream, CancelTellsTheWatcher) {
  ReactorLoop loop;
  Connection client(loop);
  Connection upstream(loop);
  Watcher watcher(*upstream.stream);
  client.stream->watch_peer(&watcher);
  client.stream->cancel();
  IoResult result;
  loop.run(read_once(*upstream.stream, result));
  EXPECT_EQ(result.status, IoStatus::cancelled);
}

Task<void> shut_down_and_read(ByteStream& stream, IoResult& shut, IoResult& read) {
  shut = co_await stream.shutdown_write();
  std::array<char, 16> buffer{};
  read = co_await stream.read_some(buffer);
}

TEST(SocketStream, HalfClosesAndStillReads) {
  ReactorLoop loop;
  Connection connection(loop);
  std::thread peer([&] {
    EXPECT_EQ(connection.peer->read_all(), "");
    connection.peer->send("answer");
  });
  IoResult shut;
  IoResult read;
  loop.run(shut_down_and_read(*connection.stream, shut, read));
  peer.join();
  EXPECT_TRUE(shut.ok());
  EXPECT_EQ(read.bytes, 6U);
}

TEST(SocketStream, ResetsSoThatThePeerSeesAnError) {
  ReactorLoop loop;
  Connection connection(loop);
  connection.stream->reset();
  EXPECT_FALSE(connection.peer->send("x") && connection.peer->send("y"));
}

TEST(SocketStream, KnowsItsPeer) {
  ReactorLoop loop;
  Connection connection(loop);
  const StreamIdentity& identity = connection.stream->identity();
  EXPECT_EQ(identity.peer_ip, "127.0.0.1");
  EXPECT_TRUE(identity.peer_is_loopback);
  EXPECT_NE(identity.peer_port, 0);
  EXPECT_NE(identity.local_port, 0);
  EXPECT_FALSE(identity.tls);
}

TEST(SocketStream, LooksAtTheFirstByteWithoutTakingIt) {
  ReactorLoop loop;
  Connection connection(loop);
  connection.peer->send("\x16rest");
  IoResult result;
  EXPECT_EQ(connection.stream->peek_first_byte(), 0x16);
  loop.run(read_once(*connection.stream, result));
  EXPECT_EQ(result.bytes, 5U);
}

Task<void> finish_connect(SocketStream& stream, IoResult& result) {
  result = co_await stream.connected();
}

TEST(SocketStream, KnowsAConnectionToItself) {
  const UniqueFd own(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(own.get(), generic, length), 0);
  EXPECT_FALSE(is_connected_to_itself(own.get()));
  ASSERT_EQ(::getsockname(own.get(), generic, &length), 0);
  ASSERT_EQ(::connect(own.get(), generic, length), 0);
  EXPECT_TRUE(is_connected_to_itself(own.get()));
}

TEST(SocketStream, ConnectsToAnother) {
  ReactorLoop loop;
  const test::ScriptedUpstream upstream([](PeerConnection& peer, int /*number*/) { peer.wait_for_end(); });
  const auto address = Endpoint::from_ip("127.0.0.1", upstream.port()).value();
  const ConnectStart started = SocketStream::connecting(loop.reactor(), address.address(), address.length());
  ASSERT_NE(started.stream, nullptr);
  IoResult result;
  loop.run(finish_connect(*started.stream, result));
  EXPECT_TRUE(result.ok());
}

TEST(SocketStream, LeavesNoDescriptorBehind) {
  ReactorLoop loop;
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 100; ++i) const Connection connection(loop);
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace hedge::proxy
