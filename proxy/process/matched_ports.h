// Which of the addresses that are open already serve a plan of listening.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "proxy/listening_sockets.h"

namespace hedge::proxy {

// `Address`: BoundAddress or OpenAddress.
template <class Address>
struct MatchedPorts {
  std::vector<Address> kept;      // the plan asks for them
  std::vector<Address> unwanted;  // nobody asks for them any more
  ListenPlan missing;             // what has to be opened
};

template <class Address>
MatchedPorts<Address> match_ports(const ListenPlan& plan, std::vector<Address> open) {
  MatchedPorts<Address> ports;
  ports.missing = plan;
  for (const ListenerKind kind : {ListenerKind::plain, ListenerKind::tls}) {
    auto& given = kind == ListenerKind::tls ? ports.missing.tls : ports.missing.plain;
    std::vector<config::SocketAddress> wanted = asked_addresses(plan, kind);
    const std::size_t kept = std::erase_if(wanted, [&](const config::SocketAddress& asked) {
      const auto same = std::find_if(open.begin(), open.end(), [&](const Address& one) {
        return one.kind == kind && one.asked == asked;
      });
      if (same == open.end()) return false;
      ports.kept.push_back(std::move(*same));
      open.erase(same);
      return true;
    });
    // Of the standard addresses one is enough: a machine without IPv6 has no more.
    if (given || kept > 0) given = given ? wanted : std::vector<config::SocketAddress>();
  }
  ports.unwanted = std::move(open);
  return ports;
}

// Where plain and TLS were exchanged the sockets stay, and only what is spoken there changes.
template <class Address>
void suit_kinds(const ListenPlan& plan, std::vector<Address>& open) {
  const auto is_asked = [&plan](ListenerKind kind, const config::SocketAddress& address) {
    const std::vector<config::SocketAddress> asked = asked_addresses(plan, kind);
    return std::find(asked.begin(), asked.end(), address) != asked.end();
  };
  for (Address& one : open) {
    const ListenerKind other = one.kind == ListenerKind::tls ? ListenerKind::plain : ListenerKind::tls;
    // Port 0 is no place of its own.
    if (one.asked.port != 0 && !is_asked(one.kind, one.asked) && is_asked(other, one.asked)) one.kind = other;
  }
}

}  // namespace hedge::proxy
