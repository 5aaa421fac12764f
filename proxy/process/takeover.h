// The new process's side of a takeover: it gets the listening sockets of the running edge and serves in its
// place. Until the end of it the running edge can go on as if nothing had been.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "proxy/control/control_socket.h"
#include "proxy/control/edge_claim.h"
#include "proxy/listening_sockets.h"
#include "proxy/process/handover_channel.h"
#include "proxy/process/handover_message.h"

namespace hedge::proxy {

// In order: begin(), take_control() and take_addresses(), everything else that the new edge prepares,
// wait_for_go(), accept, confirm(). Blocking; for the main thread. Destroyed before confirm(), it leaves the
// running edge as it was.
class Takeover {
 public:
  // Asks the edge of this control socket for its sockets. Absent: no edge runs there.
  // Errors: refused `takeover_refused`, with the edge's reason, or because it is the edge of another state
  // directory; io, timed_out `edge_unresponsive`.
  static Result<std::optional<Takeover>> begin(const std::filesystem::path& control_socket,
                                               const std::filesystem::path& state);

  Takeover(Takeover&&) noexcept = default;
  Takeover& operator=(Takeover&&) = delete;

  ControlSocket take_control() { return std::move(*control_); }
  // The right to be the edge of this state directory.
  EdgeClaim take_claim(std::filesystem::path state, std::filesystem::path control_socket) {
    return EdgeClaim::adopt(std::move(state), std::move(control_socket), std::move(claim_lock_));
  }
  std::vector<BoundAddress> take_addresses() { return std::move(addresses_); }

  // Both end alike where the running edge is gone by now: it always says so before it goes on without this
  // process, so one that is gone without a word has died, and this process is the only one that can serve.

  // Tells that all is ready; when this returns, the running edge accepts nobody any more.
  // Errors: `edge_unresponsive`; nothing must be accepted then.
  Result<void> wait_for_go();
  // Tells that clients are accepted. False: the running edge took its word back and goes on; this process
  // must end.
  bool confirm();
  // After confirm(): the running edge was told to read its settings again when it could not any more.
  bool is_to_reload() const { return is_to_reload_; }

 private:
  explicit Takeover(UniqueFd socket);
  Result<void> ask();
  Result<void> receive_items();
  Result<void> take_item(const HandedAddress& handed);
  Result<void> take_item(const HandedControl& handed);
  // What the running edge says to this word. Absent: it is gone.
  Result<std::optional<std::string>> say(std::string_view word);

  UniqueFd socket_;
  HandoverReader reader_;
  std::optional<ControlSocket> control_;
  std::filesystem::path its_state_;
  UniqueFd claim_lock_;
  std::vector<BoundAddress> addresses_;
  bool is_to_reload_ = false;
};

}  // namespace hedge::proxy
