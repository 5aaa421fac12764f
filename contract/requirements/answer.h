// Asking the application through the edge, and telling apart why it does not answer as it should.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "contract/requirement.h"
#include "router/edge_client.h"

namespace hedge::contract {

struct AnswerQuestion {
  std::string host;
  std::filesystem::path root;  // the local root's certificate; need not be there
  std::string path = "/";
  std::string nonce;           // the worktree's
  bool body_is_nonce = false;  // the body must be the nonce
  std::chrono::milliseconds limit{5000};
  std::chrono::milliseconds start_limit{0};  // until it listens, counted from the first question
};

// pass: an answer below 500 from this very worktree. Else fail with one of
//   app_not_listening  nothing accepts connections on the application's port
//   app_slow           no answer within the limit
//   app_unhealthy      the application answers 500 or more
//   app_foreign_nonce  another worktree's process answers
//   certificate_unverified, certificate_unavailable, ca_suffix_missing, name_unrecognized, tls_failed  a browser would not
//     come so far
// or with the edge's own identifier (container_stopped, upstream_unresolved …).
// Asked over TLS, as a browser would; plain only of an edge without TLS.
CheckOutcome ask_application(const AnswerQuestion& question, const router::EdgeStatus& edge);

// The judgement alone, for what the edge answered.
struct EdgeAnswer {
  unsigned status = 0;
  std::string hedge_error;  // the header, if there is one
  std::string hedge_nonce;  // likewise
  std::string body;
};
CheckOutcome judge_answer(const AnswerQuestion& question, const EdgeAnswer& answer);

}  // namespace hedge::contract
