// Speaks HTTP on every accepted connection of the edge.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/access_log.h"
#include "proxy/connection_service.h"
#include "proxy/forwarded_headers.h"

namespace hedge::proxy::http {

struct ServerParts;
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
  // Apart from serve(), so that the frame of an HTTP/1 connection does not hold what HTTP/2 needs.
  Task<void> serve_http2(EdgeWorker& worker, DownstreamConnection& connection, const ServerParts& parts,
                         std::string_view received);
  WorkerHttp& parts_of(const EdgeWorker& worker);

  TrustedProxies trusted_;
  AccessLog* access_log_;
  std::mutex mutex_;  // taken once a connection
  std::map<const EdgeWorker*, std::unique_ptr<WorkerHttp>> parts_;
};

}  // namespace hedge::proxy::http
