// A Docker engine as far as the edge sees it: the answers that a test gives it, on a unix socket.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace hedge::test {

struct FakeContainer {
  std::string id;
  std::string name;
  std::string status = "running";
  std::map<std::string, std::string> labels;
  // name → address. The id of network "edge" is "edge-id".
  std::map<std::string, std::string> networks;
};

class FakeEngine {
 public:
  enum class Mode {
    normal,
    silent,    // accepts and never answers
    garbage,   // answers with something that is not HTTP
    no_json,   // answers 200 with text
    failing,   // answers 500
    hangs_up,  // closes without an answer
  };

  explicit FakeEngine(std::filesystem::path socket);
  ~FakeEngine();  // stop()

  // Empty: no Api-Version header. `minimum`: requests with an older version in their path get 400.
  void set_version(std::string version, std::string minimum = "");
  void set_mode(Mode mode);
  void put(FakeContainer container);  // replaces the one with the same id
  void remove(const std::string& id);

  void start();
  // Ends every connection and removes the socket, as an engine that is stopped.
  void stop();

  // A line for every open event stream.
  void emit(const std::string& type, const std::string& action, const std::string& id);
  void emit_raw(const std::string& bytes);
  void end_streams();
  // False: not within 5 s. Streams are counted from the first start(), also those that have ended.
  bool wait_for_streams(int count);
  // The targets of all requests so far.
  std::vector<std::string> targets() const;
  int requests_for(const std::string& part) const;
  // False: not within 5 s.
  bool wait_for_requests(const std::string& part, int count);
  // Called on a connection's thread when the answer about a container is made, before it is sent.
  void before_inspected(std::function<void()> hook);

 private:
  struct Peer {
    UniqueFd fd;
    std::thread thread;
    bool is_stream = false;
  };
  void accept();
  void serve(Peer& peer);
  void answer(Peer& peer, const std::string& target);
  std::string make_answer(Peer& peer, const std::string& target);
  std::string inspect(const std::string& path) const;
  std::string list(const std::string& target) const;
  std::string ping() const;

  std::filesystem::path socket_;
  UniqueFd listener_;
  std::thread acceptor_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Peer> peers_;
  std::map<std::string, FakeContainer> containers_;
  std::vector<std::string> targets_;
  std::function<void()> before_inspected_;
  std::string version_ = "1.41";
  std::string minimum_;
  Mode mode_ = Mode::normal;
  int streams_ = 0;
};

}  // namespace hedge::test
