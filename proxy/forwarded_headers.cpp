#include "proxy/forwarded_headers.h"

#include <algorithm>
#include <utility>

#include <arpa/inet.h>

#include "base/text.h"

namespace hedge::proxy {
namespace {

using http::Field;
using http::FieldId;

constexpr std::string_view kPseudonym = "hedge";

// "192.0.2.1" or "2001:db8::1" as 4 or 16 bytes; empty if it is neither.
std::string address_bytes(std::string_view text) {
  const std::string copy(text);
  unsigned char bytes[16];
  if (::inet_pton(AF_INET, copy.c_str(), bytes) == 1) return {reinterpret_cast<const char*>(bytes), 4};
  if (::inet_pton(AF_INET6, copy.c_str(), bytes) == 1) return {reinterpret_cast<const char*>(bytes), 16};
  return {};
}

bool same_prefix(std::string_view a, std::string_view b, int bits) {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (a.substr(0, whole) != b.substr(0, whole)) return false;
  if (bits % 8 == 0) return true;
  const int mask = 0xff << (8 - bits % 8);
  return ((static_cast<unsigned char>(a[whole]) ^ static_cast<unsigned char>(b[whole])) & mask) == 0;
}

// The port of the Host field, else the scheme's.
std::string_view public_port(const http::RequestHead& request, const ForwardedFacts& facts) {
  if (facts.authority.port) {
    const std::size_t colon = request.authority.rfind(':');
    return request.authority.substr(colon + 1);
  }
  return facts.peer.tls ? "443" : "80";
}

void append(http::RequestHead& request, std::string_view name, std::string_view value) {
  request.fields.push_back(Field{name, value, FieldId::other, false});
}

// Which of the X-Forwarded-* fields a trusted peer has set, and the chain of addresses before that peer.
struct KeptForwarded {
  std::string chain;
  bool proto = false;
  bool host = false;
  bool port = false;
};

// Marks all but what is kept. The chain is written anew in any case.
void keep_forwarded(Field& field, bool trusted_peer, KeptForwarded& kept) {
  if (!trusted_peer) field.omit = true;
  if (field.omit) return;
  if (equals_ignoring_case(field.name, "x-forwarded-for")) {
    field.omit = true;
    // Several lines are one list (RFC 9110, section 5.3).
    if (!field.value.empty()) kept.chain.append(field.value).append(", ");
  } else if (equals_ignoring_case(field.name, "x-forwarded-proto")) {
    kept.proto = true;
  } else if (equals_ignoring_case(field.name, "x-forwarded-host")) {
    kept.host = true;
  } else {
    kept.port = true;
  }
}

void append_forwarded(http::RequestHead& request, const ForwardedFacts& facts, KeptForwarded kept,
                      ScratchTexts& texts) {
  std::string_view chain = facts.peer.peer_ip;
  if (!kept.chain.empty()) chain = texts.emplace_back(std::move(kept.chain) + facts.peer.peer_ip);
  append(request, "X-Forwarded-For", chain);
  if (!kept.proto) append(request, "X-Forwarded-Proto", facts.peer.tls ? "https" : "http");
  if (!kept.host) append(request, "X-Forwarded-Host", request.authority);
  if (!kept.port) append(request, "X-Forwarded-Port", public_port(request, facts));
}

// Our own hop; the version is the one that the request came with (RFC 9110, section 7.6.3).
std::string_view via_of(http::Version version) {
  switch (version) {
    case http::Version::http10:
      return "1.0 hedge";
    case http::Version::http11:
      return "1.1 hedge";
    case http::Version::http2:
      break;
  }
  return "2.0 hedge";
}

}  // namespace

std::string_view prepare_request_fields(http::RequestHead& request, const ForwardedFacts& facts,
                                        ScratchTexts& texts) {
  std::string_view id;
  KeptForwarded kept;
  // A field that the client's Connection field names is marked already, and stays so.
  for (Field& field : request.fields) {
    switch (field.id) {
      case FieldId::x_forwarded:
        keep_forwarded(field, facts.trusted_peer, kept);
        break;
      case FieldId::forwarded:
        field.omit = field.omit || !facts.trusted_peer;
        break;
      case FieldId::x_request_id:
        if (!field.omit && id.empty() && is_sane_request_id(field.value)) {
          id = field.value;
        } else {
          field.omit = true;
        }
        break;
      case FieldId::expect:
        if (request.version == http::Version::http10) field.omit = true;
        break;
      default:
        break;
    }
  }
  append_forwarded(request, facts, std::move(kept), texts);
  if (id.empty()) {
    id = facts.fresh_request_id;
    append(request, "X-Request-Id", id);
  }
  append(request, "Via", via_of(request.version));
  return id;
}

int count_own_hops(const http::RequestHead& request) {
  int hops = 0;
  for (const Field& field : request.fields) {
    if (field.id != FieldId::via) continue;
    // "1.1 hedge", "HTTP/1.1 hedge (comment)"
    http::for_each_list_element(field.value, [&hops](std::string_view hop) {
      const std::size_t space = hop.find_first_of(" \t");
      if (space == std::string_view::npos) return;
      const std::string_view by = trim(hop.substr(space));
      if (equals_ignoring_case(by.substr(0, by.find_first_of(" \t(")), kPseudonym)) ++hops;
    });
  }
  return hops;
}

bool is_sane_request_id(std::string_view id) {
  if (id.empty() || id.size() > 128) return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    return is_ascii_alnum(c) || std::string_view("._~+/=:-").find(c) != std::string_view::npos;
  });
}

TrustedProxies::TrustedProxies(const std::vector<std::string>& blocks) {
  for (const std::string& text : blocks) {
    const std::size_t slash = text.find('/');
    Block block{address_bytes(std::string_view(text).substr(0, slash)), 0};
    const int most = static_cast<int>(block.bytes.size()) * 8;
    block.prefix_bits = most;
    if (slash != std::string::npos) {
      const auto bits = parse_number<int>(std::string_view(text).substr(slash + 1));
      if (!bits || *bits < 0 || *bits > most) continue;
      block.prefix_bits = *bits;
    }
    // What is no address trusts nobody; loading the configuration has reported it.
    if (most > 0) blocks_.push_back(std::move(block));
  }
}

bool TrustedProxies::contains(std::string_view ip) const {
  if (blocks_.empty()) return false;
  const std::string bytes = address_bytes(ip);
  return !bytes.empty() && std::any_of(blocks_.begin(), blocks_.end(), [&bytes](const Block& block) {
    return block.bytes.size() == bytes.size() && same_prefix(block.bytes, bytes, block.prefix_bits);
  });
}

}  // namespace hedge::proxy
