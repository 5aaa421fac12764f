// One table of wire texts drives both directions of the codec: whole, byte by byte, and cut at every
// position.
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proxy/http/http1_codec.h"
#include "tests/proxy/http/wire_decoder.h"

namespace hedge::proxy::http {
namespace {

struct WireText {
  const char* name;
  MessageKind kind;
  std::string wire;
  std::string events;
  bool head_request = false;
};

void PrintTo(const WireText& text, std::ostream* out) {
  *out << text.name;
}

constexpr auto kRequest = MessageKind::request;
constexpr auto kResponse = MessageKind::response;
// A request whose framing lines are to be judged; the body would be a second request for whoever frames it
// otherwise.
std::string smuggle(const std::string& framing) {
  return "POST /u HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: b\r\n\r\n";
}
std::string chunks(const std::string& body) {
  return "POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
}
std::string length(const std::string& fields) {
  return "POST /u HTTP/1.1\r\nHost: a\r\n" + fields + "\r\nhello";
}
std::string get(const std::string& target, const std::string& fields = "Host: a\r\n") {
  return "GET " + target + " HTTP/1.1\r\n" + fields + "\r\n";
}

const std::string kBad = "refused bad_request\n";
const std::string kBadChunk = "POST /u host=a chunked\nrefused body\n";

std::vector<WireText> texts() {
  return {
      // Requests that pass.
      {"get", kRequest, get("/x?y=1"), "GET /x?y=1 host=a none\nend\n"},
      {"empty_lines_before", kRequest, "\r\n\r\n" + get("/"), "GET / host=a none\nend\n"},
      {"pipelined", kRequest, get("/1") + get("/2") + get("/3"),
       "GET /1 host=a none\nend\nGET /2 host=a none\nend\nGET /3 host=a none\nend\n"},
      {"length", kRequest, length("Content-Length: 5\r\n"), "POST /u host=a length=5\nbody hello\nend\n"},
      {"length_said_twice", kRequest, length("Content-Length: 5, 5\r\n"),
       "POST /u host=a length=5\nbody hello\nend\n"},
      {"length_in_two_fields", kRequest, length("Content-Length: 5\r\nContent-Length: 5\r\n"),
       "POST /u host=a length=5\nbody hello\nend\n"},
      {"length_zero", kRequest, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
       "POST / host=a length=0\nend\n"},
      {"length_then_next", kRequest, length("Content-Length: 5\r\n") + get("/n"),
       "POST /u host=a length=5\nbody hello\nend\nGET /n host=a none\nend\n"},
      {"chunked", kRequest, chunks("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"),
       "POST /u host=a chunked\nbody hello world\nend\n"},
      {"chunked_then_next", kRequest, chunks("1\r\nx\r\n0\r\n\r\n") + get("/n"),
       "POST /u host=a chunked\nbody x\nend\nGET /n host=a none\nend\n"},
      {"chunked_upper_case_size", kRequest, chunks("00A\r\n0123456789\r\n0\r\n\r\n"),
       "POST /u host=a chunked\nbody 0123456789\nend\n"},
      {"chunked_extension", kRequest, chunks("1;a=b;c=\"d e\"\r\nx\r\n0;last\r\n\r\n"),
       "POST /u host=a chunked\nbody x\nend\n"},
      {"E12_trailers", kRequest, chunks("2\r\nok\r\n0\r\ngrpc-status: 0\r\nx-t:  1 \r\n\r\n"),
       "POST /u host=a chunked\nbody ok\ntrailer grpc-status=0\ntrailer x-t=1\nend\n"},
      {"trailers_that_frame_or_route_are_dropped", kRequest,
       chunks(
           "0\r\nContent-Length: 9\r\nHost: b\r\nTransfer-Encoding: x\r\nAuthorization: y\r\nok: 1\r\n\r\n"),
       "POST /u host=a chunked\ntrailer ok=1\nend\n"},
      {"coding_with_white_space", kRequest,
       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \tChunked \t\r\n\r\n0\r\n\r\n",
       "POST / host=a chunked\nend\n"},
      {"http10", kRequest, "GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET / host=a none\nend\n"},
      {"utf8_in_target", kRequest, get("/\xc3\xa4"), "GET /\xc3\xa4 host=a none\nend\n"},
      {"obs_text_in_value", kRequest, get("/", "Host: a\r\nX: \xff\r\n"), "GET / host=a none\nend\n"},
      {"E34_double_slash", kRequest, get("//wt-beta-app:8000/secret"),
       "GET //wt-beta-app:8000/secret host=a none\nend\n"},
      {"E34_triple_slash", kRequest, get("///x"), "GET ///x host=a none\nend\n"},
      {"E34_backslashes", kRequest, get("/\\\\x"), "GET /\\\\x host=a none\nend\n"},
      {"E34_user_in_path", kRequest, get("//user@beta/"), "GET //user@beta/ host=a none\nend\n"},
      {"E18_absolute_form", kRequest, get("http://b/x?y"), "GET /x?y host=b none\nend\n"},
      {"E18_absolute_form_without_path", kRequest, get("http://b"), "GET / host=b none\nend\n"},
      {"E18_absolute_form_with_query_only", kRequest, get("HTTPS://b:1?q"), "GET /?q host=b:1 none\nend\n"},
      {"options_asterisk", kRequest, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * host=a none\nend\n"},
      {"options_absolute_without_path", kRequest, "OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n",
       "OPTIONS * host=b none\nend\n"},

      // Heads that are refused.
      {"E18_user_information", kRequest, get("http://u@b/"), kBad},
      {"E18_other_scheme", kRequest, get("ftp://b/"), kBad},
      {"E18_no_authority", kRequest, get("http:///x"), kBad},
      {"relative_target", kRequest, get("x"), kBad},
      {"asterisk_for_get", kRequest, get("*"), kBad},
      {"connect", kRequest, "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", kBad},
      {"E17_no_host", kRequest, get("/", ""), kBad},
      {"E17_two_hosts", kRequest, get("/", "Host: a\r\nhost: a\r\n"), kBad},
      {"no_host_in_http10", kRequest, "GET / HTTP/1.0\r\n\r\n", kBad},
      {"http2_preface", kRequest, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", kBad},
      {"http09", kRequest, "GET /\r\n\r\n", kBad},
      {"E25_other_bytes", kRequest, std::string("\x16\x03\x01\x02\x00", 5), kBad},
      {"bare_lf", kRequest, "GET / HTTP/1.1\nHost: a\n\n", kBad},
      {"bare_lf_in_fields", kRequest, get("/", "Host: a\r\nX: 1\nY: 2\r\n"), kBad},
      {"bare_cr", kRequest, get("/", "Host: a\r\nX: 1\rY: 2\r\n"), kBad},
      {"nul_in_value", kRequest, get("/", std::string("Host: a\r\nX: 1\0\r\n", 16)), kBad},
      {"nul_in_target", kRequest, get(std::string("/\0x", 3)), kBad},
      {"control_in_value", kRequest, get("/", "Host: a\r\nX: \x01\r\n"), kBad},
      {"folded", kRequest, get("/", "Host: a\r\nX: 1\r\n 2\r\n"), kBad},
      {"folded_first_line", kRequest, get("/", " Host: a\r\n"), kBad},
      {"space_before_colon", kRequest, get("/", "Host : a\r\n"), kBad},
      {"no_colon", kRequest, get("/", "Host: a\r\nX\r\n"), kBad},
      {"empty_name", kRequest, get("/", "Host: a\r\n: 1\r\n"), kBad},
      {"two_spaces", kRequest, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", kBad},
      {"space_in_target", kRequest, get("/a b"), kBad},

      // Request smuggling: a length and a coding at once, and what looks like `chunked` to some.
      {"E27_chunked_and_length", kRequest, smuggle("Content-Length: 40\r\nTransfer-Encoding: chunked\r\n"),
       kBad},
      {"E27_length_after_chunked", kRequest, smuggle("Transfer-Encoding: chunked\r\nContent-Length: 40\r\n"),
       kBad},
      {"E27_trailing_tab", kRequest, smuggle("Content-Length: 40\r\nTransfer-Encoding: chunked\t\r\n"), kBad},
      {"E27_comma", kRequest, smuggle("Content-Length: 40\r\nTransfer-Encoding: chunked,\r\n"), kBad},
      {"E27_comma_alone", kRequest, smuggle("Transfer-Encoding: chunked,\r\n"), kBad},
      {"E27_gzip_last", kRequest, smuggle("Content-Length: 40\r\nTransfer-Encoding: chunked, gzip\r\n"),
       kBad},
      {"E27_unknown", kRequest, smuggle("Content-Length: 40\r\nTransfer-Encoding: xchunked\r\n"), kBad},
      {"E27_unknown_alone", kRequest, smuggle("Transfer-Encoding: xchunked\r\n"),
       "refused coding_unsupported\n"},
      {"E27_gzip_alone", kRequest, smuggle("Transfer-Encoding: gzip, chunked\r\n"),
       "refused coding_unsupported\n"},
      {"E27_identity", kRequest, smuggle("Content-Length: 40\r\nTransfer-Encoding: identity\r\n"), kBad},
      {"E27_twice", kRequest, smuggle("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), kBad},
      {"E27_identity_then_chunked", kRequest,
       smuggle("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"), kBad},
      {"E27_empty_coding", kRequest, smuggle("Transfer-Encoding:\r\n"), kBad},
      {"E27_quoted", kRequest, smuggle("Transfer-Encoding: \"chunked\"\r\n"), "refused coding_unsupported\n"},
      {"E27_space_before_colon", kRequest, smuggle("Content-Length: 40\r\nTransfer-Encoding : chunked\r\n"),
       kBad},
      {"E27_folded", kRequest, smuggle("Content-Length: 40\r\nTransfer-Encoding:\r\n chunked\r\n"), kBad},
      {"E27_http10", kRequest, "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       kBad},
      {"E28_differing_lengths", kRequest, length("Content-Length: 5\r\nContent-Length: 6\r\n"), kBad},
      {"E28_differing_list", kRequest, length("Content-Length: 5, 6\r\n"), kBad},
      {"E28_plus", kRequest, length("Content-Length: +5\r\n"), kBad},
      {"E28_minus", kRequest, length("Content-Length: -1\r\n"), kBad},
      {"E28_hex", kRequest, length("Content-Length: 0x5\r\n"), kBad},
      {"E28_overflow", kRequest, length("Content-Length: 18446744073709551621\r\n"), kBad},
      {"E28_beyond_signed", kRequest, length("Content-Length: 9223372036854775808\r\n"), kBad},
      {"E28_empty", kRequest, length("Content-Length:\r\n"), kBad},
      {"E28_empty_element", kRequest, length("Content-Length: 5,\r\n"), kBad},
      {"E28_chunk_plus", kRequest, chunks("+5\r\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"E28_chunk_hex_prefix", kRequest, chunks("0x5\r\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"E28_chunk_space_before_extension", kRequest, chunks("5 ;x\r\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"E28_chunk_leading_space", kRequest, chunks(" 5\r\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"E28_chunk_overflow", kRequest, chunks("FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"E28_chunk_bare_lf", kRequest, chunks("5\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"E28_chunk_empty_size", kRequest, chunks("\r\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"chunk_longer_than_size", kRequest, chunks("4\r\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"chunk_without_crlf", kRequest, chunks("5\r\nhello0\r\n\r\n"), kBadChunk},
      {"extension_with_lf", kRequest, chunks("5;a\nb\r\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"extension_with_cr", kRequest, chunks("5;a\rb\r\nhello\r\n0\r\n\r\n"), kBadChunk},
      {"trailer_bare_lf", kRequest, chunks("0\r\nx: 1\n\r\n"), kBadChunk},
      {"trailer_without_colon", kRequest, chunks("0\r\nx\r\n\r\n"),
       "POST /u host=a chunked\nrefused trailers\n"},
      {"trailer_folded", kRequest, chunks("0\r\nx: 1\r\n y\r\n\r\n"),
       "POST /u host=a chunked\nrefused trailers\n"},

      // Cut short.
      {"head_cut", kRequest, "GET / HTTP/1.1\r\nHost", "cut short\n"},
      {"length_cut", kRequest, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhello",
       "POST / host=a length=9\ncut short\n"},
      {"chunk_cut", kRequest, chunks("9\r\nhello"), "POST /u host=a chunked\ncut short\n"},
      {"last_chunk_missing", kRequest, chunks("5\r\nhello\r\n"), "POST /u host=a chunked\ncut short\n"},
      {"trailers_cut", kRequest, chunks("0\r\nx: 1\r\n"), "POST /u host=a chunked\ncut short\n"},

      // Responses.
      {"ok", kResponse, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 length=2\nbody ok\nend\n"},
      {"empty_reason", kResponse, "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 length=0\nend\n"},
      {"until_close", kResponse, "HTTP/1.1 200 OK\r\n\r\nhello", "200 until_close\nbody hello\nend\n"},
      {"until_close_empty", kResponse, "HTTP/1.0 200 OK\r\n\r\n", "200 until_close\nend\n"},
      {"response_chunked", kResponse,
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\na: b\r\n\r\n",
       "200 chunked\nbody ok\ntrailer a=b\nend\n"},
      {"many_interim", kResponse,
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 "
       "OK\r\nContent-Length: 1\r\n\r\n.",
       "100 none\nend\n103 none\nend\n200 length=1\nbody .\nend\n"},
      {"E11_no_content_and_not_modified", kResponse,
       "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nHTTP/1.1 304 Not Modified\r\nTransfer-Encoding: "
       "chunked\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
       "204 none\nend\n304 none\nend\n200 length=2\nbody ok\nend\n"},
      {"answer_to_head", kResponse, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "200 none\nend\n", true},
      {"answer_to_head_without_length", kResponse, "HTTP/1.1 200 OK\r\n\r\n", "200 none\nend\n", true},
      {"response_length_cut", kResponse, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
       "200 length=5\ncut short\n"},
      {"response_length_and_chunked", kResponse,
       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "refused upstream_bad_response\n"},
      {"response_unknown_coding", kResponse, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
       "refused upstream_bad_response\n"},
      {"response_differing_lengths", kResponse,
       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
       "refused upstream_bad_response\n"},
      {"response_status_too_small", kResponse, "HTTP/1.1 099 X\r\n\r\n", "refused upstream_bad_response\n"},
      {"response_status_too_large", kResponse, "HTTP/1.1 600 X\r\n\r\n", "refused upstream_bad_response\n"},
      {"response_is_no_http", kResponse, "SSH-2.0-OpenSSH_9.2\r\n\r\n", "refused upstream_bad_response\n"},
      {"response_bare_lf", kResponse, "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
       "refused upstream_bad_response\n"},
      {"response_folded", kResponse, "HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n",
       "refused upstream_bad_response\n"},
  };
}

class WireTexts : public testing::TestWithParam<WireText> {};

TEST_P(WireTexts, MeanTheSameWhole) {
  const WireText& text = GetParam();
  EXPECT_EQ(decode_whole(text.kind, text.wire, text.head_request), text.events);
}

TEST_P(WireTexts, MeanTheSameByteByByte) {
  const WireText& text = GetParam();
  EXPECT_EQ(decode_byte_by_byte(text.kind, text.wire, text.head_request), text.events);
}

TEST_P(WireTexts, MeanTheSameCutAtEveryPosition) {
  const WireText& text = GetParam();
  for (std::size_t cut = 0; cut <= text.wire.size(); ++cut)
    ASSERT_EQ(decode_cut(text.kind, text.wire, cut, text.head_request), text.events) << "cut at " << cut;
}

INSTANTIATE_TEST_SUITE_P(Http1, WireTexts, testing::ValuesIn(texts()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(RequestHeads, TellWhatTheConnectionFieldLists) {
  RequestHead head;
  ASSERT_FALSE(parse_request_head(
      "GET / HTTP/1.1\r\nHost: a\r\nconnection: Keep-Alive , uPGRADE\r\nConnection: x-hop, Host\r\n"
      "Upgrade: WebSocket\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n",
      head));
  EXPECT_TRUE(head.connection.keep_alive);
  EXPECT_TRUE(head.connection.upgrade);
  EXPECT_FALSE(head.connection.close);
  EXPECT_EQ(head.upgrade, "WebSocket");
  for (const Field& field : head.fields)
    EXPECT_EQ(field.omit, field.name == "X-Hop" || field.name == "Upgrade");
}

TEST(RequestHeads, WishAnUpgradeOnlyWithTheConnectionTokenAndInHttp11) {
  RequestHead head;
  ASSERT_FALSE(
      parse_request_head("GET / HTTP/1.1\r\nHost: a\r\nConnection: not-upgrade\r\nUpgrade: x\r\n\r\n", head));
  EXPECT_EQ(head.upgrade, "");
  ASSERT_FALSE(
      parse_request_head("GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", head));
  EXPECT_EQ(head.upgrade, "");
}

TEST(RequestHeads, E08_ExpectAContinueOnlyInHttp11) {
  RequestHead head;
  ASSERT_FALSE(parse_request_head(
      "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n", head));
  EXPECT_TRUE(head.expects_continue);
  ASSERT_FALSE(parse_request_head(
      "PUT / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", head));
  EXPECT_FALSE(head.expects_continue);
}

TEST(RequestHeads, E12_AcceptTrailersAmongOtherCodings) {
  RequestHead head;
  ASSERT_FALSE(parse_request_head("GET / HTTP/1.1\r\nHost: a\r\nTE: deflate, Trailers\r\n\r\n", head));
  EXPECT_TRUE(head.accepts_trailers);
}

}  // namespace
}  // namespace hedge::proxy::http
