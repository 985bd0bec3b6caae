#include "import/prometheus_metrics.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/metric_readings.h"
#include "import/metric_table.h"
#include "import/owner_timeline.h"
#include "import/reading_writer.h"
#include "import/stamp.h"
#include "text/escape.h"
#include "text/line_reader.h"
#include "text/number.h"
#include "text/prometheus.h"
#include "text/text_hash.h"

namespace idleburn {
namespace {

// What nvidia_gpu_exporter says of a host.
struct SmiHost {
  std::vector<Instant> failed;                                // scrapes, in order
  std::map<std::pair<DeviceId, Signal>, const Metric*> busy;  // what it counts as busy, of each device
};

// A series of the file, found again by its text.
struct Series {
  const Metric* metric = nullptr;
  bool unused = false;  // what it says is no reading
  DeviceId device = 0;
  SmiHost* host = nullptr;
  std::int64_t code = 0;  // of the label `xid`
  OwnerTimeline::Presence* owner = nullptr;
  std::int64_t scrape = -1;  // that last named it, without stamps
};

class PrometheusImport {
 public:
  PrometheusImport(ByteSource& in, const ImportOptions& options, ImportTarget& out)
      : lines_(in), options_(options), out_(out), writer_(out), readings_(out, writer_), owners_(options) {}

  Result<void> Run();

 private:
  // A line that waits for the information that tells its device.
  struct Waiting {
    std::string text;
    std::int64_t number;
  };

  [[nodiscard]] Place Here() const { return {&lines_.name(), line_number_}; }
  void OnLine(std::string_view text);
  void OnSample(std::string_view text, const PrometheusLine& line);
  bool IsTorn(const PrometheusLine& line) const;
  std::optional<Instant> TimeOf(const PrometheusLine& line, Series& series);
  Series* Find(std::string_view text, const PrometheusLine& line);
  Series* Enter(const PrometheusLine& line, const Series& series);
  const Metric* MetricOf(const std::string& name);
  std::optional<Series> Resolve(const PrometheusLine& line, const Metric& metric, bool* wait);
  std::optional<DeviceId> DeviceOf(DeviceKey key);
  void Release();
  void Dispatch(const Series& series, Instant time, std::string_view value);
  void Finish();

  static constexpr std::size_t kMaxSeries = 1 << 16;
  static constexpr std::size_t kMaxWaiting = 4096;
  static constexpr std::size_t kMaxFailed = 1 << 20;
  static constexpr std::size_t kNamesShown = 8;

  LineReader lines_;
  const ImportOptions& options_;
  ImportTarget& out_;
  ReadingWriter writer_;
  MetricReadings readings_;
  std::int64_t line_number_ = 0;
  bool openmetrics_ = false;
  std::optional<bool> stamped_;
  std::size_t stamp_length_ = 0;
  std::int64_t scrape_ = 0;
  bool any_known_ = false;
  std::set<std::string> unknown_;
  std::unordered_map<std::string, const Metric*> metrics_;  // by name; nullptr: not known
  std::unordered_map<std::string, Series, TextHash, std::equal_to<>> series_;
  std::int64_t full_ = -1;  // the scrape that has more series than are kept
  Series spare_;            // one of those
  std::map<std::string, SmiHost> smi_hosts_;
  std::size_t failed_ = 0;
  OwnerTimeline owners_;
  // Devices with an all-zero UUID are known only by what nvidia_smi_gpu_info adds, and that may come last.
  std::map<std::string, DeviceKey> masked_;
  std::vector<Waiting> waiting_;
  bool wait_no_more_ = false;
};

Result<void> PrometheusImport::Run() {
  std::string_view text;
  while (true) {
    const Result<bool> more = lines_.Next(&text);
    if (!more) return tl::unexpected<Error>(more.error());
    if (!*more) break;
    line_number_ = lines_.number();
    OnLine(text);
  }
  Finish();
  if (any_known_) return {};
  std::string seen;
  for (const std::string& name : unknown_) seen += (seen.empty() ? "" : ", ") + Printable(name);
  return Fail(lines_.name() + ": no GPU metric is known here (saw " + (seen.empty() ? "none" : seen) +
              "); export the metrics of dcgm-exporter or nvidia_gpu_exporter");
}

void PrometheusImport::OnLine(std::string_view text) {
  using Kind = PrometheusLine::Kind;
  const PrometheusLine line = ParsePrometheusLine(text);
  switch (line.kind) {
    case Kind::kSample:
      OnSample(text, line);
      break;
    case Kind::kBad:
      out_.quality.Count(lines_.terminated() ? QualityId::kBadRow : QualityId::kTornRow, Here());
      break;
    case Kind::kUnit:
    case Kind::kEof:
      openmetrics_ = true;
      break;
    case Kind::kType:
      openmetrics_ = openmetrics_ || line.text == "unknown" || line.text == "info" || line.text == "stateset";
      break;
    default:
      break;
  }
}

// The format ends every line; a last line without its end may lack digits. A stamp as long as the others is whole.
bool PrometheusImport::IsTorn(const PrometheusLine& line) const {
  return !lines_.terminated() && stamped_.value_or(false) && line.stamp.size() != stamp_length_;
}

void PrometheusImport::OnSample(std::string_view text, const PrometheusLine& line) {
  if (IsTorn(line)) return out_.quality.Count(QualityId::kTornRow, Here());
  openmetrics_ = openmetrics_ || !line.exemplar.empty();
  Series* series = Find(text, line);
  if (series == nullptr) return;
  const std::optional<Instant> time = TimeOf(line, *series);
  if (!time) return out_.quality.Count(QualityId::kBadRow, Here());
  Dispatch(*series, *time, line.value);
}

std::optional<Instant> PrometheusImport::TimeOf(const PrometheusLine& line, Series& series) {
  const bool stamped = !line.stamp.empty();
  if (!stamped_ && !stamped) out_.quality.Count(QualityId::kNoTimestamp, Here());
  if (!stamped_) stamped_ = stamped;
  if (*stamped_ != stamped) return std::nullopt;  // without a stamp it has no place among those with one
  if (stamped) {
    stamp_length_ = line.stamp.size();
    return ParsePrometheusStamp(line.stamp, openmetrics_);
  }
  if (series.scrape == scrape_) {
    if (++scrape_ == 1) out_.quality.Count(QualityId::kPeriodEstimated, Here());
  }
  series.scrape = scrape_;
  return AssumedTime(options_, scrape_);
}

// The series of a line; nullptr if its line waits, is bad or of a metric that is not known.
Series* PrometheusImport::Find(std::string_view text, const PrometheusLine& line) {
  const auto found = series_.find(line.series);
  if (found != series_.end()) return &found->second;
  const Metric* metric = MetricOf(SampleName(line));
  if (metric == nullptr) {
    out_.quality.Count(QualityId::kUnknownMetric, Here());
    return nullptr;
  }
  bool wait = false;
  const std::optional<Series> series = Resolve(line, *metric, &wait);
  if (wait) {
    waiting_.push_back({std::string(text), line_number_});
    if (waiting_.size() >= kMaxWaiting) Release();
    return nullptr;
  }
  return series ? Enter(line, *series) : nullptr;
}

// Where they are too many, those of the scrape that is being read are kept: without stamps, that one of them comes
// again tells the next.
Series* PrometheusImport::Enter(const PrometheusLine& line, const Series& series) {
  if (series_.size() >= kMaxSeries && full_ != scrape_) {
    std::erase_if(series_, [this](const auto& entry) { return entry.second.scrape != scrape_; });
    if (series_.size() >= kMaxSeries) full_ = scrape_;
  }
  if (series_.size() >= kMaxSeries) return &(spare_ = series);
  return &series_.emplace(std::string(line.series), series).first->second;
}

const Metric* PrometheusImport::MetricOf(const std::string& name) {
  const auto found = metrics_.find(name);
  if (found != metrics_.end()) return found->second;
  const Metric* metric = FindMetric(name);
  if (metric == nullptr) {
    if (unknown_.size() < kNamesShown) unknown_.insert(name.substr(0, 120));
    out_.quality.CountNamed(QualityId::kUnknownMetric, name, Here(), 0);
  }
  if (metrics_.size() >= kMaxSeries) metrics_.clear();
  metrics_.emplace(name, metric);
  return metric;
}

std::optional<Series> PrometheusImport::Resolve(const PrometheusLine& line, const Metric& metric, bool* wait) {
  Labels labels;
  std::string_view rest = line.labels;
  PrometheusLabel label;
  bool bad = false;
  while (TakeLabel(rest, &label, &bad)) labels.emplace_back(label.name, UnescapeLabel(label.value));
  if (bad) {
    out_.quality.Count(QualityId::kBadRow, Here());
    return std::nullopt;
  }
  Series series;
  series.metric = &metric;
  const SeriesIdentity id = Identify(labels, NamesPods(metric));
  if (metric.source == MetricSource::kNvidiaSmi) series.host = &smi_hosts_[id.device.host];
  if (metric.role == MetricRole::kCollectSuccess) return series;
  const bool named = !id.device.uuid.empty() || !id.device.bus_id.empty() || id.device.index.has_value();
  if (!named && NamesGpus(metric)) {
    out_.quality.CountNamed(QualityId::kUnknownMetric, SampleName(line), Here());
    return std::nullopt;
  }
  const std::optional<DeviceId> device = DeviceOf(id.device);
  *wait = !device;
  if (!device) return std::nullopt;
  any_known_ = true;
  series.device = *device;
  series.owner = owners_.Track(*device, id.owner);
  series.code = ParseInteger(id.xid).value_or(0);
  if (metric.role == MetricRole::kDeviceInfo || metric.role == MetricRole::kJobId) return series;
  // The driver has no utilisation of a MIG instance; what DCGM then exports is no reading.
  series.unused = metric.signal == Signal::kUtilization && out_.devices[*device].mig.has_value();
  if (series.unused) out_.quality.CountNamed(QualityId::kUnavailableValue, SampleName(line), Here());
  const bool busy = metric.signal == Signal::kUtilization || metric.signal == Signal::kGrEngineActive;
  if (series.host != nullptr && busy && !series.unused)
    series.host->busy.emplace(std::pair(*device, metric.signal), &metric);
  return series;
}

// The device of a series; absent if only a line that may still come can tell it.
std::optional<DeviceId> PrometheusImport::DeviceOf(DeviceKey key) {
  const std::string uuid = NormalUuid(key.uuid);
  const bool masked = !uuid.empty() && IsMaskedUuid(uuid);
  const bool named = !key.bus_id.empty() || key.index.has_value();
  if (masked && named) {
    const DeviceId device = EnterDevice(key, out_, Here());
    if (masked_.emplace(uuid, key).second) Release();
    return device;
  }
  if (masked) {
    const auto known = masked_.find(uuid);
    if (known != masked_.end()) {
      DeviceKey whole = known->second;
      whole.mig = key.mig;
      return out_.devices.Enter(whole);
    }
    if (!wait_no_more_) return std::nullopt;
  }
  if (!named && (uuid.empty() || masked)) {
    out_.quality.Count(QualityId::kInferredIdentity, Here());
    key.index = 0;
  }
  return EnterDevice(key, out_, Here());
}

// Reads the waiting lines, which will not wait again.
void PrometheusImport::Release() {
  wait_no_more_ = true;
  const std::vector<Waiting> lines = std::exchange(waiting_, {});
  for (const Waiting& line : lines) {
    line_number_ = line.number;
    OnLine(line.text);
  }
  line_number_ = lines_.number();
}

void PrometheusImport::Dispatch(const Series& series, Instant time, std::string_view value) {
  const Metric& metric = *series.metric;
  if (metric.role == MetricRole::kCollectSuccess) {
    if (ReadScaled(value, metric.scale).value != 0) return;
    out_.quality.Count(QualityId::kFailedScrape, Here());
    std::vector<Instant>& failed = series.host->failed;
    const auto at = std::lower_bound(failed.begin(), failed.end(), time);
    const bool known = at != failed.end() && *at == time;
    if (!known && ++failed_ <= kMaxFailed) failed.insert(at, time);
    return;
  }
  if (series.host != nullptr && std::binary_search(series.host->failed.begin(), series.host->failed.end(), time))
    return;
  owners_.See(series.owner, time);
  if (series.unused) return;
  if (metric.role == MetricRole::kJobId) {
    const Reading job = ReadScaled(value, metric.scale);
    if (job.doubt || job.value == 0) return;
    return owners_.See(owners_.Track(series.device, "job " + std::to_string(job.value)), time);
  }
  readings_.Add(metric, series.device, series.code, time, value, Here());
}

void PrometheusImport::Finish() {
  Release();
  readings_.Finish();
  // A scrape that failed repeats old values or none: what it would have told is unobserved from there on.
  for (const auto& [name, host] : smi_hosts_) {
    if (host.failed.empty()) continue;
    for (const auto& [whose, metric] : host.busy) {
      const auto [device, signal] = whose;
      writer_.Use(device, signal, CounterName(*metric));
      for (const Instant time : host.failed) {
        writer_.PutUnavailable(time, device, signal, ReasonOf(QualityId::kFailedScrape));
      }
    }
  }
  owners_.Deliver(out_.owners, out_.quality);
}

}  // namespace

bool SniffPrometheus(std::string_view head) {
  using Kind = PrometheusLine::Kind;
  constexpr int kLines = 8;
  bool sure = false;
  for (int i = 0; i < kLines && !head.empty(); ++i) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos && i > 0) break;  // cut off by the size of the head
    const PrometheusLine line = ParsePrometheusLine(Trim(head.substr(0, end)));
    if (line.kind == Kind::kBad) return false;
    sure = sure || line.kind == Kind::kSample || line.kind == Kind::kType || line.kind == Kind::kEof;
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
  }
  return sure;
}

Result<void> ImportPrometheus(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  return PrometheusImport(in, options, out).Run();
}

}  // namespace idleburn
