#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/display.h"
#include "report/write_audit.h"
#include "telemetry/host.h"
#include "text/strings.h"

// The data of the charts of the HTML report. It is a document of its own and not a part of AuditJson: its values are
// rounded for pixels, and a program must not take them for measurements.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// A value for a pixel: finer digits would only make the page larger.
Json Rounded(double value, double digits) { return std::round(value * digits) / digits; }

// One GPU of the charts.
Json ChartOfGpu(const AuditReport& report, const CostReport::DeviceCost& d, const DeviceTotals& totals) {
  const Timeline& timeline = totals.timeline;
  const auto tenths = [](const Integral& i, double per_unit) {
    const std::optional<double> mean = i.Mean();
    return mean ? Rounded(*mean / per_unit, 10) : Json(nullptr);
  };
  constexpr double kMibPerGib = 1024;
  Json gpu;
  gpu["label"] = Printable(DeviceLabel(report, d.device));
  gpu["start"] = timeline.first * timeline.bucket_seconds;
  gpu["step"] = timeline.bucket_seconds;
  gpu["util"] = Json::array();
  gpu["power"] = Json::array();
  Json memory = Json::array();
  bool read = false;
  for (const Timeline::Bucket& b : timeline.buckets) {
    gpu["util"].push_back(tenths(b.utilization, static_cast<double>(kPercent)));
    gpu["power"].push_back(tenths(b.power, 1000));
    memory.push_back(b.memory_mib ? Rounded(*b.memory_mib / kMibPerGib, 100) : Json(nullptr));
    read = read || b.memory_mib.has_value();
  }
  if (read) {
    gpu["memory"] = std::move(memory);
    if (totals.memory_total > 0)
      gpu["memory_total"] = Rounded(static_cast<double>(totals.memory_total >> 20) / kMibPerGib, 100);
  }
  return gpu;
}

// A quantity of a host that is drawn.
struct ChartedHost {
  std::string_view key;
  HostSignal signal;
  double per_unit;  // from a rise per nanosecond
};
// A rise of CPU time per time is the number of busy CPUs; bytes per nanosecond are GB/s.
constexpr std::array<ChartedHost, 5> kChartedHost = {{{"cpus", HostSignal::kCpuTime, 1},
                                                      {"read", HostSignal::kReadBytes, 1000},
                                                      {"write", HostSignal::kWriteBytes, 1000},
                                                      {"received", HostSignal::kNetReceived, 1000},
                                                      {"sent", HostSignal::kNetSent, 1000}}};

// One scope of the host; null if nothing that is drawn was read.
Json ChartOfHost(const SecondBuckets<HostBucket>& timeline) {
  Json scope;
  for (const ChartedHost& charted : kChartedHost) {
    Json values = Json::array();
    bool read = false;
    for (const HostBucket& bucket : timeline.buckets) {
      const HostSum& sum = bucket.sum[Index(charted.signal)];
      read = read || sum.ns > 0;
      const double rate = static_cast<double>(sum.amount) / static_cast<double>(std::max<std::int64_t>(sum.ns, 1));
      values.push_back(sum.ns > 0 ? Rounded(rate * charted.per_unit, 100) : Json(nullptr));
    }
    if (read) scope[std::string(charted.key)] = std::move(values);
  }
  if (scope.is_null()) return scope;
  scope["start"] = timeline.first * timeline.bucket_seconds;
  scope["step"] = timeline.bucket_seconds;
  return scope;
}

}  // namespace

std::string ChartJson(const AuditReport& report, std::span<const std::size_t> gpus) {
  Json json;
  json["from"] = static_cast<double>(report.run.start.nanos()) / kNanosPerSecond;
  json["to"] = static_cast<double>(report.run.end.nanos()) / kNanosPerSecond;
  json["gpus"] = Json::array();
  for (const std::size_t i : gpus) {
    const CostReport::DeviceCost& d = report.cost.devices[i];
    const DeviceResult* result = ResultOf(report, d.device);
    if (result == nullptr || result->totals.timeline.buckets.empty()) continue;
    json["gpus"].push_back(ChartOfGpu(report, d, result->totals));
  }
  json["host"] = Json::object();
  for (std::size_t s = 0; report.live.timeline != nullptr && s < kHostScopeCount; ++s) {
    Json scope = ChartOfHost(report.live.timeline->Of(static_cast<HostScope>(s)));
    if (!scope.is_null()) json["host"][std::string(kHostScopeNames[s])] = std::move(scope);
  }
  const std::string text = json.dump();
  // JSON may write "<" as an escape, so the text stays valid JSON.
  std::string safe;  // "</script>" in a name must not end the element
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace idleburn
