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
  if (connection.stream().identity().alpn == "h2") {
    co_await serve_http2(worker, connection, parts, {});
    co_return;
  }
  Http1Server server(worker, connection, parts);
  co_await server.run();
  if (server.wants_http2()) co_await serve_http2(worker, connection, parts, server.received());
}

Task<void> HttpService::serve_http2(EdgeWorker& worker, DownstreamConnection& connection,
                                    const ServerParts& parts, std::string_view received) {
  Http2Server server(worker, connection, parts);
  co_await server.run(received);
}

WorkerHttp& HttpService::parts_of(const EdgeWorker& worker) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<WorkerHttp>& parts = parts_[&worker];
  if (parts == nullptr) parts = std::make_unique<WorkerHttp>();
  return *parts;
}

}  // namespace hedge::proxy::http
