// Speaks HTTP on every accepted connection of the edge.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "proxy/access_log.h"
#include "proxy/connection_service.h"
#include "proxy/forwarded_headers.h"

namespace hedge::proxy::http {

struct WorkerHttp;

struct HttpServiceOptions {
  AccessLog* access_log = nullptr;           // null: none is written; outlives the service
  std::vector<std::string> trusted_proxies;  // addresses and blocks whose X-Forwarded-* are kept
};

// One for all workers. Outlives them.
class HttpService final : public ConnectionService {
 public:
  explicit HttpService(const HttpServiceOptions& options);
  ~HttpService() override;

  Task<void> serve(EdgeWorker& worker, DownstreamConnection& connection) override;

 private:
  WorkerHttp& parts_of(const EdgeWorker& worker);

  TrustedProxies trusted_;
  AccessLog* access_log_;
  std::mutex mutex_;  // taken once a connection
  std::map<const EdgeWorker*, std::unique_ptr<WorkerHttp>> parts_;
};

}  // namespace hedge::proxy::http
