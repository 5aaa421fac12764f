// The HTTP/1 codecs against arbitrary bytes: they never crash, mean the same however the bytes are cut, and
// what they accept means the same to the next reader.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proxy/http/http1_codec.h"
#include "proxy/http/http1_writer.h"
#include "tests/proxy/http/wire_decoder.h"

namespace hedge::proxy::http {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property violated: %s\n", what);
  std::abort();
}

// A forwarded head must be read by a strict reader as the same message.
void check_forwarded(std::string_view wire) {
  HeadScanner scanner(MessageKind::request);
  const std::string text(wire);
  if (scanner.scan(text) != HeadScanner::State::complete) return;
  RequestHead head;
  if (parse_request_head(std::string_view(text).substr(0, scanner.head_bytes()), head)) return;
  std::string forwarded;
  append_request_head(forwarded, head, ConnectionHeader::none);
  HeadScanner again(MessageKind::request);
  require(again.scan(forwarded) == HeadScanner::State::complete, "a forwarded head is complete");
  require(again.head_bytes() == forwarded.size(), "a forwarded head is one head");
  RequestHead reread;
  require(!parse_request_head(forwarded, reread), "a forwarded head is accepted again");
  require(reread.body.framing == head.body.framing && reread.body.length == head.body.length,
          "a forwarded head has the same framing");
  require(reread.method == head.method && reread.authority == head.authority,
          "a forwarded head has the same method and authority");
  require(std::string(reread.target_prefix) + std::string(reread.target) ==
              std::string(head.target_prefix) + std::string(head.target),
          "a forwarded head has the same target");
}

void check(MessageKind kind, std::string_view wire, std::size_t cut) {
  const std::string whole = decode_whole(kind, wire);
  require(decode_cut(kind, wire, cut) == whole, "a cut changes nothing");
  require(decode_byte_by_byte(kind, wire) == whole, "bytes one by one change nothing");
}

}  // namespace
}  // namespace hedge::proxy::http

// The first byte says where the rest is cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hedge::proxy::http;
  // Byte by byte is quadratic in the decoder of the tests; longer inputs teach nothing new.
  if (size < 1 || size > 4096) return 0;
  const std::string_view wire(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = wire.empty() ? 0 : data[0] * wire.size() / 255;
  check(MessageKind::request, wire, cut);
  check(MessageKind::response, wire, cut);
  check_forwarded(wire);
  return 0;
}
