// A name server on a UDP port of 127.0.0.1 that says what a test wants, or nothing.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace hedge::test {

class NameServer {
 public:
  struct Record {
    std::vector<std::string> ipv4;
    std::vector<std::string> ipv6;
    bool silent = false;       // no answer to anything
    bool silent_ipv6 = false;  // no answer to questions for IPv6
  };

  NameServer();
  ~NameServer();
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;

  std::uint16_t port() const { return port_; }
  // An unknown name is answered with NXDOMAIN. The time to live says 600 s, as Docker's does.
  void set(const std::string& name, Record record);
  void remove(const std::string& name);
  // Questions for IPv4 addresses of this name so far.
  int questions(const std::string& name) const;
  std::vector<std::string> names_asked() const;

 private:
  void run();
  std::string answer_to(std::string_view query);

  UniqueFd socket_;
  UniqueFd stop_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, Record> records_;  // guarded by mutex_
  std::map<std::string, int> questions_;   // guarded by mutex_
  std::thread thread_;
};

}  // namespace hedge::test
