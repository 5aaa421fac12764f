#include "proxy/upstream/upstream_key.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

namespace hedge::proxy {
namespace {

using router::Protocol;
using router::Upstream;

constexpr Protocol kProtocols[] = {Protocol::http1, Protocol::h2c, Protocol::https};

TEST(UpstreamKey, EachProtocolOfAnUpstreamIsAKeyOfItsOwn) {
  std::unordered_map<UpstreamKey, std::string, UpstreamKeyHash, UpstreamKeyEqual> found;
  const Upstream upstream = router::TcpUpstream{"127.0.0.1", 3000};
  for (const Protocol protocol : kProtocols) found[UpstreamKey{upstream, protocol}] = to_string(protocol);
  EXPECT_EQ(found.size(), 3U);
  for (const Protocol protocol : kProtocols) {
    EXPECT_EQ(found.find(UpstreamKeyView{upstream, protocol})->second, to_string(protocol));
  }
}

TEST(UpstreamKey, EveryPartAndTheKindCount) {
  const std::vector<Upstream> all = {
      router::TcpUpstream{"app", 3000},  router::TcpUpstream{"app", 3001},    router::TcpUpstream{"api", 3000},
      router::DnsUpstream{"app", 3000},  router::DockerUpstream{"app", 3000}, router::UnixUpstream{"app"},
      router::UnixUpstream{"/run/app"},
  };
  const UpstreamKeyEqual equal;
  const UpstreamKeyHash hash;
  for (const Upstream& a : all) {
    for (const Upstream& b : all) {
      EXPECT_EQ(equal({a, Protocol::http1}, {b, Protocol::http1}), &a == &b) << to_string(a) << to_string(b);
    }
    const Upstream copy = a;
    EXPECT_TRUE(equal({a, Protocol::https}, {copy, Protocol::https}));
    EXPECT_EQ(hash({a, Protocol::https}), hash({copy, Protocol::https}));
  }
}

TEST(PoolKey, EachProtocolOfAnIdentityHasAPoolOfItsOwn) {
  std::map<PoolKey, std::string, PoolKeyLess> pools;
  for (const std::string identity : {"id:80", "id:8"}) {
    for (const Protocol protocol : kProtocols) pools[PoolKey{identity, protocol}] = identity;
  }
  EXPECT_EQ(pools.size(), 6U);
  EXPECT_EQ(pools.find(PoolKeyView{"id:80", Protocol::https})->second, "id:80");
  EXPECT_EQ(pools.find(PoolKeyView{"id", Protocol::https}), pools.end());
}

}  // namespace
}  // namespace hedge::proxy
