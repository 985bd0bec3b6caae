#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "import/device_facts.h"
#include "import/formats.h"
#include "import/json_input.h"
#include "import/metric_readings.h"
#include "import/metric_table.h"
#include "import/owner_timeline.h"
#include "import/printed_values.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {

// Metrics stores of cloud providers, read from the JSON answers of their APIs. Both give series of points with labels.
// They differ in how a series names its GPU: Google Cloud has labels, CloudWatch often has only a text that people
// typed.

namespace {

// A metric of the CloudWatch agent, the signal it tells and its unit.
struct AgentMetric {
  std::string_view name;
  Signal signal;
  Scale scale;
};
// The CloudWatch agent forwards nvidia-smi's numbers. Its "Megabytes" are MiB.
constexpr AgentMetric kAgentMetrics[] = {
    {"nvidia_smi_utilization_gpu", Signal::kUtilization, Scale::kPercentage},
    {"nvidia_smi_utilization_memory", Signal::kMemoryUtilization, Scale::kPercentage},
    {"nvidia_smi_memory_used", Signal::kMemoryUsed, Scale::kMebibyte},
    {"nvidia_smi_memory_total", Signal::kMemoryTotal, Scale::kMebibyte},
    {"nvidia_smi_power_draw", Signal::kPower, Scale::kWatt},
    {"nvidia_smi_temperature_gpu", Signal::kTemperature, Scale::kCelsius},
    {"nvidia_smi_clocks_current_sm", Signal::kSmClock, Scale::kMegahertz},
};

const AgentMetric* FindAgentMetric(std::string_view name) {
  for (const AgentMetric& m : kAgentMetrics) {
    if (m.name == name) return &m;
  }
  return nullptr;
}

// What a result describes: the metric's name, its statistic (empty if not given), and labels for Identify.
struct Subject {
  std::string metric;
  std::string statistic;
  Labels labels;
};

// The only statistic that is a reading of a gauge. A count or a sum is not a reading, and a maximum or percentile would
// make a GPU look busier than it was.
constexpr std::string_view kAverage = "Average";
constexpr std::string_view kStatistics[] = {kAverage, "Minimum", "Maximum", "Sum", "SampleCount", "IQM"};
constexpr std::string_view kPercentiles[] = {"p", "tm", "wm", "tc", "ts", "pr"};  // p99, tm90: a number follows

// Words that GPU names begin with, and architectures, which the agent reports as a dimension of their own.
constexpr std::string_view kMakes[] = {"NVIDIA", "Tesla", "Quadro", "GeForce", "GRID"};
constexpr std::string_view kArchitectures[] = {"Kepler", "Maxwell", "Pascal", "Volta",
                                               "Turing", "Ampere",  "Hopper", "Blackwell"};

bool IsOneOf(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A number small enough for an index of a GPU. "NVIDIA RTX 6000 Ada" has a larger one in its name, which must stay
// part of the name.
bool IsIndex(const std::string& word) {
  const std::optional<std::int64_t> n = ParseInteger(word);
  return n && *n >= 0 && *n < 256;
}

// Whether a word names a statistic of CloudWatch: "Maximum", "p99", "tm90".
bool IsStatistic(std::string_view word) {
  if (IsOneOf(kStatistics, word)) return true;
  const std::size_t letters = std::min(word.find_first_of("0123456789"), word.size());
  return IsOneOf(kPercentiles, word.substr(0, letters)) && letters < word.size() &&
         word.find_first_not_of("0123456789.", letters) == std::string_view::npos;
}

// Reads a label word by word, best effort: "i-0abc 0 nvidia_smi_power_draw", "CWAgent nvidia_smi_power_draw index=0
// name=Tesla T4". A word of no known kind continues a name that has begun; a comma, semicolon or tab ends the name.
// Wrong where people typed labels in a form of their own: the metric is then unknown, and the result is counted, or
// no GPU is named, and FindDevice numbers the results.
Subject FromLabel(std::string_view label) {
  Subject subject;
  bool in_name = false;
  const auto begin = [&](const std::string& key, const std::string& value) {
    subject.labels.emplace_back(key, value);
    in_name = key == "name";
  };
  while (!label.empty()) {
    const std::size_t end = std::min(label.find_first_of(" ,;\t"), label.size());
    const bool closes = end < label.size() && label[end] != ' ';
    const std::string word(label.substr(0, end));
    label.remove_prefix(std::min(end + 1, label.size()));
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      begin(word.substr(0, equals), word.substr(equals + 1));
    } else if (word.starts_with("i-")) {
      begin("InstanceId", word);
    } else if (IsIndex(word)) {
      begin("index", word);
    } else if (FindAgentMetric(word) != nullptr || word.starts_with("nvidia_smi_")) {
      subject.metric = word;
      in_name = false;
    } else if (IsStatistic(word)) {
      subject.statistic = word;
      in_name = false;
    } else if (IsOneOf(kArchitectures, word)) {
      in_name = false;
    } else if (in_name && !word.empty()) {
      subject.labels.back().second += " " + word;
    } else if (IsOneOf(kMakes, word)) {
      begin("name", word);
    }
    in_name = in_name && !closes;
  }
  return subject;
}

// The statistic in SEARCH('... nvidia_smi_utilization_gpu ...', 'Maximum', 60). Empty if the expression names none.
std::string FindStatistic(std::string_view expression) {
  for (std::size_t at = expression.find('\''); at != std::string_view::npos; at = expression.find('\'', at + 1)) {
    const std::string_view quoted = expression.substr(at + 1, expression.find('\'', at + 1) - at - 1);
    if (IsStatistic(quoted)) return std::string(quoted);
  }
  return {};
}

// Reads the query of a result, which says more than the label: metric, statistic and dimensions by name.
Subject FromQuery(const JsonNode& query) {
  Subject subject;
  subject.statistic = FindStatistic(query.GetText("Expression"));
  const std::optional<JsonNode> stat = query.Get("MetricStat");
  const std::optional<JsonNode> metric = stat ? stat->Get("Metric") : std::nullopt;
  if (!metric) return subject;
  subject.statistic = stat->GetText("Stat");
  subject.metric = metric->GetText("MetricName");
  for (const JsonNode& dimension : metric->GetItems("Dimensions")) {
    subject.labels.emplace_back(dimension.GetText("Name"), dimension.GetText("Value"));
  }
  return subject;
}

// "2026-07-03T22:22:00+00:00" as the AWS command line prints it, or seconds since the epoch as the API itself writes
// them.
std::optional<Instant> ReadAwsStamp(const std::string& text) {
  const ScaledNumber seconds = ParseScaled(text, 9);
  if (seconds.fault == NumberFault::kNone && seconds.value >= 0) return Instant::FromNanos(seconds.value);
  const Result<Instant> time = ParseRfc3339(text);
  return time ? std::optional(*time) : std::nullopt;
}

// Reads pages of GetMetricData. All points of a result share one place, because a parsed document has no line
// numbers.
class CloudWatchImport {
 public:
  CloudWatchImport(const std::string& name, ImportTarget& out) : place_{&name, 0}, out_(out), writer_(out) {}

  void AddPage(const JsonNode& root);
  // Ends the import.
  [[nodiscard]] Result<void> Finish() const;

 private:
  void AddResult(const JsonNode& result);
  DeviceId FindDevice(const Subject& subject, const std::string& id);

  Place place_;
  ImportTarget& out_;
  ReadingWriter writer_;
  std::map<std::string, Subject> queries_;  // by Id
  // For results that name no GPU: by metric, their Ids. Results of a search share one Id, so each Id comes with its
  // count within a page; in_page_ counts for the current page.
  std::map<std::string, std::vector<std::pair<std::string, int>>> positions_;
  std::map<std::pair<std::string, std::string>, int> in_page_;
  bool unit_assumed_ = false;
  bool any_ = false;
  std::string seen_;
};

// A page, or a list of pages. Its queries are taken before its results, whatever their order in the text, because a
// result's metric and dimensions may stand in its query.
void CloudWatchImport::AddPage(const JsonNode& root) {
  for (const JsonNode& page : root.Items()) AddPage(page);
  for (const JsonNode& query : root.GetItems("MetricDataQueries")) queries_[query.GetText("Id")] = FromQuery(query);
  in_page_.clear();
  for (const JsonNode& result : root.GetItems("MetricDataResults")) AddResult(result);
}

// Delivers one result, or counts it if its metric or statistic is not used. The query's metric and dimensions replace
// those of the label; a SEARCH expression has none, so the label counts. The statistic comes from the query, else
// from the label.
void CloudWatchImport::AddResult(const JsonNode& result) {
  const std::string id = result.GetText("Id");
  const std::string label = result.GetText("Label");
  Subject subject = FromLabel(label);
  const auto query = queries_.find(id);
  if (query != queries_.end()) {
    const std::string statistic = query->second.statistic.empty() ? subject.statistic : query->second.statistic;
    if (!query->second.metric.empty()) subject = query->second;
    subject.statistic = statistic;
  }
  const std::vector<JsonNode> stamps = result.GetItems("Timestamps");
  const std::vector<JsonNode> values = result.GetItems("Values");
  const AgentMetric* metric = FindAgentMetric(subject.metric);
  // A result that names no statistic is taken for the average.
  const bool average = subject.statistic.empty() || subject.statistic == kAverage;
  if (metric == nullptr || !average) {
    const std::string name =
        (subject.metric.empty() ? label : subject.metric) + (average ? "" : " " + subject.statistic);
    if (seen_.size() < 200) seen_ += (seen_.empty() ? "" : ", ") + Printable(name);
    const auto n = static_cast<std::int64_t>(values.size());
    return out_.quality.CountNamed(QualityId::kUnknownMetric, name, place_, n);
  }
  any_ = true;
  if (metric->scale == Scale::kMebibyte && !unit_assumed_) out_.quality.Count(QualityId::kUnitAssumed, place_);
  unit_assumed_ = unit_assumed_ || metric->scale == Scale::kMebibyte;
  const DeviceId device = FindDevice(subject, id);
  writer_.Use(device, metric->signal, "cloudwatch." + std::string(metric->name));
  // Stamps and values are two lists. What one has more than the other cannot be placed.
  const std::size_t n = std::min(stamps.size(), values.size());
  out_.quality.Count(QualityId::kBadRow, place_, static_cast<std::int64_t>(stamps.size() + values.size() - 2 * n));
  for (std::size_t i = 0; i < n; ++i) {
    const std::optional<Instant> time = ReadAwsStamp(stamps[i].Text());
    if (!time) {
      out_.quality.Count(QualityId::kBadRow, place_);
      continue;
    }
    writer_.Put(*time, device, metric->signal, ReadScaled(values[i].Text(), metric->scale), place_);
  }
}

// The device of a result. Results that name no GPU are told apart by their position among the results of their
// metric, which is counted as an inference. Wrong if the results of two metrics list GPUs in different orders: the
// readings of two GPUs are then exchanged.
DeviceId CloudWatchImport::FindDevice(const Subject& subject, const std::string& id) {
  DeviceKey key = Identify(subject.labels, false).device;
  if (key.uuid.empty() && key.bus_id.empty() && !key.index) {
    out_.quality.Count(QualityId::kInferredIdentity, place_);
    const std::string metric = key.host + " " + subject.metric;
    // Results of one search share an Id, so the count within the page tells them apart.
    const std::pair<std::string, int> result(id, in_page_[{metric, id}]++);
    std::vector<std::pair<std::string, int>>& results = positions_[metric];
    auto at = std::find(results.begin(), results.end(), result);
    if (at == results.end()) at = results.insert(results.end(), result);
    key.index = static_cast<int>(at - results.begin());
  }
  return EnterDevice(key, out_, place_);
}

Result<void> CloudWatchImport::Finish() const {
  if (any_) return {};
  return Fail(*place_.file + ": no known GPU metric of the CloudWatch agent (saw " + (seen_.empty() ? "none" : seen_) +
              "); ask GetMetricData for the Average of nvidia_smi_utilization_gpu");
}

}  // namespace

bool SniffCloudWatch(std::string_view head) {
  return !Trim(head).empty() && head.find("\"MetricDataResults\"") != std::string_view::npos;
}

Result<void> ImportCloudWatch(ByteSource& in, const ImportOptions& /*options*/, ImportTarget& out) {
  CloudWatchImport import(in.name(), out);
  TRY(ForEachJsonDocument(in, out.quality, [&import](const JsonNode& page) { import.AddPage(page); }));
  return import.Finish();
}

namespace {

// A metric of the Ops Agent.
struct OpsMetric {
  std::string_view type;
  std::string_view memory_state;  // required value of the label memory_state; empty: any
  Signal signal;
  Scale scale;
};
constexpr OpsMetric kOpsMetrics[] = {
    {"agent.googleapis.com/gpu/utilization", "", Signal::kUtilization, Scale::kPercentage},
    {"agent.googleapis.com/gpu/memory/bytes_used", "used", Signal::kMemoryUsed, Scale::kByte},
};

// One point of a series, its value still text.
struct Point {
  Instant time;
  std::string value;
};

// Reads pages of timeSeries.list. Two kinds of series: metrics of the Ops Agent, which are signals, and scraped
// metrics of exporters, which go through MetricReadings like those of a Prometheus dump.
class GcpImport {
 public:
  GcpImport(const std::string& name, const ImportOptions& options, ImportTarget& out)
      : place_{&name, 0}, out_(out), writer_(out), readings_(out, writer_), owners_(options) {}

  void AddPage(const JsonNode& root);
  // Ends the import.
  Result<void> Finish();

 private:
  void AddSeries(const JsonNode& series);
  std::vector<Point> ReadPoints(const JsonNode& series);
  DeviceId FindDevice(DeviceKey key);

  Place place_;
  ImportTarget& out_;
  ReadingWriter writer_;
  MetricReadings readings_;
  OwnerTimeline owners_;
  bool any_ = false;
  std::string seen_;
};

// The labels of a series: those of its metric, then those of its resource, such as the machine.
Labels ReadLabels(const JsonNode& series) {
  Labels labels;
  for (const std::string_view part : {"metric", "resource"}) {
    const std::optional<JsonNode> node = series.Get(part);
    const std::optional<JsonNode> named = node ? node->Get("labels") : std::nullopt;
    if (!named) continue;
    for (const auto& [name, value] : named->Members()) labels.emplace_back(name, value.Text());
  }
  return labels;
}

std::string_view FindLabel(const Labels& labels, std::string_view name) {
  for (const auto& [key, value] : labels) {
    if (key == name) return value;
  }
  return {};
}

// The metric's name in "prometheus.googleapis.com/DCGM_FI_DEV_GPU_UTIL/gauge". Empty for other types.
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

// A page, a single series, or a list of either.
void GcpImport::AddPage(const JsonNode& root) {
  if (root.Get("timeSeries")) {
    for (const JsonNode& series : root.GetItems("timeSeries")) AddSeries(series);
  } else if (root.Get("metric") || root.Get("points")) {
    AddSeries(root);
  } else {
    for (const JsonNode& item : root.Items()) AddPage(item);
  }
}

// The points of a series in time order; the API returns the newest first. A point is stamped with the end of its
// interval.
std::vector<Point> GcpImport::ReadPoints(const JsonNode& series) {
  std::vector<Point> points;
  for (const JsonNode& point : series.GetItems("points")) {
    const std::optional<JsonNode> interval = point.Get("interval");
    const std::optional<JsonNode> value = point.Get("value");
    const Result<Instant> time = ParseRfc3339(interval ? interval->GetText("endTime") : "");
    std::string text = value ? value->GetText("doubleValue") : "";
    if (text.empty() && value) text = value->GetText("int64Value");
    if (!time || text.empty()) {
      out_.quality.Count(QualityId::kBadRow, place_);
      continue;
    }
    points.push_back({*time, std::move(text)});
  }
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.time < b.time; });
  return points;
}

// Delivers one series, or counts its points if its metric is unknown.
void GcpImport::AddSeries(const JsonNode& series) {
  const std::optional<JsonNode> named = series.Get("metric");
  const std::string type = named ? named->GetText("type") : "";
  const Labels labels = ReadLabels(series);
  const OpsMetric* ops = FindOpsMetric(type, FindLabel(labels, "memory_state"));
  const Metric* scraped = FindMetric(PrometheusName(type));
  const std::vector<Point> points = ReadPoints(series);
  if (ops == nullptr && scraped == nullptr) {
    if (seen_.size() < 200) seen_ += (seen_.empty() ? "" : ", ") + Printable(type);
    const auto n = static_cast<std::int64_t>(points.size());
    return out_.quality.CountNamed(QualityId::kUnknownMetric, type, place_, n);
  }
  any_ = true;
  const SeriesIdentity id = Identify(labels, scraped == nullptr || NamesPods(*scraped));
  const DeviceId device = FindDevice(id.device);
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

// A series without any identity is GPU 0, which is counted. Right for machines with one GPU.
DeviceId GcpImport::FindDevice(DeviceKey key) {
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
  return Fail(*place_.file + ": no known GPU metric (saw " + (seen_.empty() ? "none" : seen_) +
              "); list agent.googleapis.com/gpu/utilization");
}

}  // namespace

// True for JSON with "timeSeries", or with the members of a bare series and a metric type of Google's.
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
