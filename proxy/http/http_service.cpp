#include "proxy/http/http_service.h"

#include "proxy/http/http1_server.h"
#include "proxy/http/request_answer.h"
#include "proxy/http2/http2_server.h"

namespace hedge::proxy::http {

HttpService::HttpService(const HttpServiceOptions& options)
    : trusted_(options.trusted_proxies), access_log_(options.access_log) {}

HttpService::~HttpService() = default;

Task<void> HttpService::serve(EdgeWorker& worker, DownstreamConnection& connection) {
  const ServerParts parts{parts_of(worker), trusted_, access_log_};
  if (connection.stream().identity().alpn == "h2") return serve_http2(worker, connection, parts, {});
  return serve_http1(worker, connection, parts);
}

WorkerHttp& HttpService::parts_of(const EdgeWorker& worker) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<WorkerHttp>& parts = parts_[&worker];
  if (parts == nullptr) parts = std::make_unique<WorkerHttp>();
  return *parts;
}

}  // namespace hedge::proxy::http
