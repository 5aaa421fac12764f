#include "proxy/metrics/metered_request.h"

namespace hedge::proxy {
namespace {

std::uint64_t micros_since(std::chrono::steady_clock::time_point start) noexcept {
  const auto passed = std::chrono::steady_clock::now() - start;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(passed).count());
}

void count_finished(WorktreeMeter& meter, const AccessRecord& record, std::uint64_t micros) {
  // 0: the connection ended before there was a status to speak of.
  const unsigned status_class = record.status / 100;
  if (status_class >= 1 && status_class <= kStatusClasses) meter.by_class[status_class - 1].add();
  meter.by_duration[latency_bucket(micros)].add();
  meter.duration_micros.add(micros);
  if (record.bytes_in != 0) meter.bytes_received.add(record.bytes_in);
  meter.bytes_sent.add(record.bytes_out);
  if (record.resolve.count() > 0) meter.resolves.add();
  if (record.connect.count() > 0) meter.connects.add();
  if (record.retried) meter.retries.add();
  if (record.error_id.empty()) return;
  if (const auto reason = find_reason(record.error_id)) meter.errors[static_cast<std::size_t>(*reason)].add();
}

}  // namespace

MeteredRequest::MeteredRequest(WorkerTraffic& traffic, const AccessRecord& record,
                               std::chrono::steady_clock::time_point start)
    : traffic_(traffic), record_(record), start_(start) {}

MeteredRequest::~MeteredRequest() {
  WorktreeMeter& meter = meter_ != nullptr ? *meter_ : traffic_.unrouted();
  count_finished(meter, record_, is_tunnel_ ? tunnel_micros_ : micros_since(start_));
  if (meter_ == nullptr) return;
  meter_->requests_open.subtract();
  if (is_tunnel_) meter_->tunnels_open.subtract();
}

void MeteredRequest::routed(const router::Route& route, bool by_itself) {
  meter_ = &traffic_.meter_of(route);
  meter_->requests_open.add();
  if (by_itself) return;
  const auto since_epoch = std::chrono::duration_cast<std::chrono::seconds>(record_.start.time_since_epoch());
  meter_->last_request_seconds.set(static_cast<std::uint64_t>(since_epoch.count()));
}

void MeteredRequest::tunnel_opened() {
  is_tunnel_ = true;
  tunnel_micros_ = micros_since(start_);
  if (meter_ != nullptr) meter_->tunnels_open.add();
}

void count_unrouted(WorkerTraffic& traffic, const AccessRecord& record,
                    std::chrono::steady_clock::time_point start) {
  count_finished(traffic.unrouted(), record, micros_since(start));
}

}  // namespace hedge::proxy
