#include "import/gcp_monitoring.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "import/json_text.h"
#include "import/metric_readings.h"
#include "import/metric_table.h"
#include "import/owner_timeline.h"
#include "import/reading_writer.h"
#include "import/stamp.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

struct OpsMetric {
  std::string_view type;
  std::string_view memory_state;  // value that the label of that name must have; empty: any
  Signal signal;
  Scale scale;
};
constexpr OpsMetric kOpsMetrics[] = {
    {"agent.googleapis.com/gpu/utilization", "", Signal::kUtilization, Scale::kPercentage},
    {"agent.googleapis.com/gpu/memory/bytes_used", "used", Signal::kMemoryUsed, Scale::kByte},
};

struct Point {
  Instant time;
  std::string value;
};

class GcpImport {
 public:
  GcpImport(const std::string& name, const ImportOptions& options, ImportTarget& out)
      : place_{&name, 0}, out_(out), writer_(out), readings_(out, writer_), owners_(options) {}

  void AddPage(const JsonNode& root);
  // Ends the import.
  Result<void> Finish();

 private:
  void AddSeries(const JsonNode& series);
  std::vector<Point> PointsOf(const JsonNode& series);
  DeviceId DeviceOf(DeviceKey key);

  Place place_;
  ImportTarget& out_;
  ReadingWriter writer_;
  MetricReadings readings_;
  OwnerTimeline owners_;
  bool any_ = false;
  std::string seen_;
};

Labels LabelsOf(const JsonNode& series) {
  Labels labels;
  for (const std::string_view part : {"metric", "resource"}) {
    const std::optional<JsonNode> node = series.Get(part);
    const std::optional<JsonNode> named = node ? node->Get("labels") : std::nullopt;
    if (!named) continue;
    for (const auto& [name, value] : named->Members()) labels.emplace_back(name, value.Text());
  }
  return labels;
}

std::string_view LabelOf(const Labels& labels, std::string_view name) {
  for (const auto& [key, value] : labels) {
    if (key == name) return value;
  }
  return {};
}

// "prometheus.googleapis.com/DCGM_FI_DEV_GPU_UTIL/gauge" to the metric's own name; empty if it is no such type.
std::string_view PrometheusName(std::string_view type) {
  constexpr std::string_view kPrefix = "prometheus.googleapis.com/";
  if (type.substr(0, kPrefix.size()) != kPrefix) return {};
  type.remove_prefix(kPrefix.size());
  return type.substr(0, type.find('/'));
}

const OpsMetric* FindOpsMetric(std::string_view type, std::string_view memory_state) {
  for (const OpsMetric& m : kOpsMetrics) {
    if (m.type == type && (m.memory_state.empty() || m.memory_state == memory_state)) return &m;
  }
  return nullptr;
}

// A page, its series alone, or a list of pages.
void GcpImport::AddPage(const JsonNode& root) {
  if (root.Get("timeSeries")) {
    for (const JsonNode& series : root.ItemsOf("timeSeries")) AddSeries(series);
  } else if (root.Get("metric") || root.Get("points")) {
    AddSeries(root);
  } else {
    for (const JsonNode& item : root.Items()) AddPage(item);
  }
}

// In order of time.
std::vector<Point> GcpImport::PointsOf(const JsonNode& series) {
  std::vector<Point> points;
  for (const JsonNode& point : series.ItemsOf("points")) {
    const std::optional<JsonNode> interval = point.Get("interval");
    const std::optional<JsonNode> value = point.Get("value");
    const Result<Instant> time = ParseRfc3339(interval ? interval->TextOf("endTime") : "");
    std::string text = value ? value->TextOf("doubleValue") : "";
    if (text.empty() && value) text = value->TextOf("int64Value");
    if (!time || text.empty()) {
      out_.quality.Count(QualityId::kBadRow, place_);
      continue;
    }
    points.push_back({*time, std::move(text)});
  }
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.time < b.time; });
  return points;
}

void GcpImport::AddSeries(const JsonNode& series) {
  const std::optional<JsonNode> named = series.Get("metric");
  const std::string type = named ? named->TextOf("type") : "";
  const Labels labels = LabelsOf(series);
  const OpsMetric* ops = FindOpsMetric(type, LabelOf(labels, "memory_state"));
  const Metric* scraped = FindMetric(PrometheusName(type));
  const std::vector<Point> points = PointsOf(series);
  if (ops == nullptr && scraped == nullptr) {
    if (seen_.size() < 200) seen_ += (seen_.empty() ? "" : ", ") + Printable(type);
    const auto n = static_cast<std::int64_t>(points.size());
    return out_.quality.CountNamed(QualityId::kUnknownMetric, type, place_, n);
  }
  any_ = true;
  const SeriesIdentity id = Identify(labels, scraped == nullptr || NamesPods(*scraped));
  const DeviceId device = DeviceOf(id.device);
  if (ops != nullptr) writer_.Use(device, ops->signal, "gcp." + type);
  OwnerTimeline::Presence* owner = owners_.Track(device, id.owner);
  for (const Point& point : points) {
    owners_.See(owner, point.time);
    if (ops != nullptr) {
      writer_.Put(point.time, device, ops->signal, ReadScaled(point.value, ops->scale), place_);
    } else {
      readings_.Add(*scraped, device, ParseInteger(id.xid).value_or(0), point.time, point.value, place_);
    }
  }
}

DeviceId GcpImport::DeviceOf(DeviceKey key) {
  if (key.uuid.empty() && key.bus_id.empty() && !key.index) {
    out_.quality.Count(QualityId::kInferredIdentity, place_);
    key.index = 0;
  }
  return EnterDevice(key, out_, place_);
}

Result<void> GcpImport::Finish() {
  readings_.Finish();
  owners_.Deliver(out_.owners, out_.quality);
  if (any_) return {};
  return Fail(*place_.file + ": no GPU metric is known here (saw " + (seen_.empty() ? "none" : seen_) +
              "); list agent.googleapis.com/gpu/utilization");
}

}  // namespace

bool SniffGcpMonitoring(std::string_view head) {
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || (head[start] != '{' && head[start] != '[')) return false;
  const auto has = [head](std::string_view word) { return head.find(word) != std::string_view::npos; };
  return has("\"timeSeries\"") || (has("\"metric\"") && has("googleapis.com/") && has("\"resource\""));
}

Result<void> ImportGcpMonitoring(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  GcpImport import(in.name(), options, out);
  TRY(ForEachJsonDocument(in, out.quality, [&import](const JsonNode& page) { import.AddPage(page); }));
  return import.Finish();
}

}  // namespace idleburn
