#include "proxy/http/http_service.h"

#include "proxy/http/http1_server.h"

namespace hedge::proxy::http {

HttpService::HttpService(const HttpServiceOptions& options)
    : trusted_(options.trusted_proxies), access_log_(options.access_log) {}

HttpService::~HttpService() = default;

Task<void> HttpService::serve(EdgeWorker& worker, DownstreamConnection& connection) {
  return serve_http1(worker, connection, Http1ServerParts{parts_of(worker), trusted_, access_log_});
}

WorkerHttp& HttpService::parts_of(const EdgeWorker& worker) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<WorkerHttp>& parts = parts_[&worker];
  if (parts == nullptr) parts = std::make_unique<WorkerHttp>();
  return *parts;
}

}  // namespace hedge::proxy::http
