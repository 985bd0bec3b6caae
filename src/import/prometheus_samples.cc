#include "import/prometheus_samples.h"

#include <algorithm>

#include "import/device_facts.h"
#include "import/printed_values.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Each line is a sample of a series. What a series means (metric, device, owner, host) is worked out once and found
// again by the series' text. Its values then go to MetricReadings.
//
// Three things make it harder. Stamps may be missing, so that scrapes are told apart by series that repeat. Devices may
// have masked UUIDs, which only nvidia_smi_gpu_info can identify, so lines wait for it. And a failed scrape may repeat
// old values, which must not count as readings.

void PrometheusSamples::OnLine(std::string_view text, std::int64_t number, bool whole) {
  line_number_ = number;
  whole_ = whole;
  ReadLine(text);
}

// Types and units only matter because they reveal OpenMetrics, whose stamps are seconds.
void PrometheusSamples::ReadLine(std::string_view text) {
  using Kind = PrometheusLine::Kind;
  const PrometheusLine line = ParsePrometheusLine(text);
  switch (line.kind) {
    case Kind::kSample:
      OnSample(text, line);
      break;
    case Kind::kBad:
      out_.quality.Count(whole_ ? QualityId::kBadRow : QualityId::kTornRow, Here());
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

// The format ends every line. A last line without its end may lack digits, unless its stamp is as long as the others.
bool PrometheusSamples::IsTorn(const PrometheusLine& line) const {
  return !whole_ && stamped_.value_or(false) && line.stamp.size() != stamp_length_;
}

// Finds the series of a sample and its time, then uses its value.
void PrometheusSamples::OnSample(std::string_view text, const PrometheusLine& line) {
  if (IsTorn(line)) return out_.quality.Count(QualityId::kTornRow, Here());
  openmetrics_ = openmetrics_ || !line.exemplar.empty();
  Series* series = Find(text, line);
  if (series == nullptr) return;
  const std::optional<Instant> time = ReadTime(line, *series);
  if (!time) return out_.quality.Count(QualityId::kBadRow, Here());
  Dispatch(*series, *time, line.value);
}

// The time of a sample. Without stamps, a series that repeats begins a new scrape. Absent if the line lacks a stamp
// that others have, or has one that others lack.
std::optional<Instant> PrometheusSamples::ReadTime(const PrometheusLine& line, Series& series) {
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

// The series of a line. Null if the line waits, is bad, or belongs to an unknown metric.
PrometheusSamples::Series* PrometheusSamples::Find(std::string_view text, const PrometheusLine& line) {
  // Nearly every line is of a known series.
  const auto found = series_.find(line.series);
  if (found != series_.end()) return &found->second;
  const Named named = LookUp(SampleName(line));
  if (named.metric == nullptr) {
    out_.quality.Count(QualityId::kUnknownMetric, Here());
    return nullptr;
  }
  bool wait = false;
  const std::optional<Series> series = Resolve(line, named, &wait);
  if (wait) {
    waiting_.push_back({std::string(text), line_number_});
    if (waiting_.size() >= kMaxWaiting) Release();
    return nullptr;
  }
  return series ? Enter(line, *series) : nullptr;
}

// If there are too many series, those of the current scrape are kept. Without stamps, their repetition reveals the next
// scrape.
PrometheusSamples::Series* PrometheusSamples::Enter(const PrometheusLine& line, const Series& series) {
  if (series_.size() >= kMaxSeries && full_ != scrape_) {
    // With stamps, no series is of the current scrape, so all are dropped and met again.
    std::erase_if(series_, [this](const auto& entry) { return entry.second.scrape != scrape_; });
    if (series_.size() >= kMaxSeries) full_ = scrape_;
  }
  if (series_.size() >= kMaxSeries) return &(spare_ = series);
  return &series_.emplace(std::string(line.series), series).first->second;
}

// Caches FindNamed, because the same names repeat in every scrape.
PrometheusSamples::Named PrometheusSamples::LookUp(const std::string& name) {
  const auto found = metrics_.find(name);
  if (found != metrics_.end()) return found->second;
  const Named named = FindNamed(name);
  if (named.metric == nullptr) {
    if (unknown_.size() < kNamesShown) unknown_.insert(name.substr(0, 120));
    out_.quality.CountNamed(QualityId::kUnknownMetric, name, Here(), 0);
  }
  if (metrics_.size() >= kMaxSeries) metrics_.clear();
  metrics_.emplace(name, named);
  return named;
}

// In OpenMetrics, X_created says when the counter X_total began.
PrometheusSamples::Named PrometheusSamples::FindNamed(const std::string& name) {
  constexpr std::string_view kCreated = "_created";
  if (!name.ends_with(kCreated)) return {FindMetric(name), false};
  const std::string counter = name.substr(0, name.size() - kCreated.size());
  const Metric* metric = FindMetric(counter);
  // DCGM's own _TOTAL is in capitals, which FindMetric does not strip.
  if (metric == nullptr) metric = FindMetric(counter + "_TOTAL");
  const bool counts = metric != nullptr && (metric->signal == Signal::kEnergy || metric->scale == Scale::kNumber) &&
                      metric->role != MetricRole::kJobId;
  return counts ? Named{metric, true} : Named{};
}

// Works out what a new series means, from its labels. Sets *wait if only a later line can tell its device. Absent if
// the series waits, is bad, or describes no GPU.
std::optional<PrometheusSamples::Series> PrometheusSamples::Resolve(const PrometheusLine& line, const Named& named,
                                                                    bool* wait) {
  const Metric& metric = *named.metric;
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
  series.created = named.created;
  const SeriesIdentity id = Identify(labels, NamesPods(metric));
  if (metric.source == MetricSource::kNvidiaSmi) series.host = &smi_hosts_[id.device.host];
  if (metric.role == MetricRole::kCollectSuccess) return series;
  // The exporter names the GPU in every series about one, so this series is about the machine.
  const bool told = !id.device.uuid.empty() || !id.device.bus_id.empty() || id.device.index.has_value();
  if (!told && NamesGpus(metric)) {
    out_.quality.CountNamed(QualityId::kUnknownMetric, SampleName(line), Here());
    return std::nullopt;
  }
  const std::optional<DeviceId> device = FindDevice(id.device);
  *wait = !device;
  if (!device) return std::nullopt;
  any_known_ = true;
  series.device = *device;
  series.owner = owners_.Track(*device, id.owner);
  const bool by_uuid = !out_.devices[*device].uuid.empty();
  if (by_uuid && !id.machine.empty()) series.stay = hosts_.Track(*device, id.machine);
  series.code = ParseInteger(id.xid).value_or(0);
  if (metric.role == MetricRole::kDeviceInfo || metric.role == MetricRole::kJobId) return series;
  if (metric.role == MetricRole::kLink) return series;
  // The driver has no utilization of a MIG instance. What DCGM exports then is not a reading.
  series.unused = metric.signal == Signal::kUtilization && out_.devices[*device].mig.has_value();
  if (series.unused) out_.quality.CountNamed(QualityId::kUnavailableValue, SampleName(line), Here());
  const bool busy = metric.signal == Signal::kUtilization || metric.signal == Signal::kGrEngineActive;
  if (series.host != nullptr && busy && !series.unused)
    series.host->busy.emplace(std::pair(*device, metric.signal), &metric);
  return series;
}

// The device of a series. Absent if only a later line can tell it. A series with neither UUID, bus id nor index is
// GPU 0 of its host, which is counted.
std::optional<DeviceId> PrometheusSamples::FindDevice(DeviceKey key) {
  const std::string uuid = NormalUuid(key.uuid);
  const bool masked = !uuid.empty() && IsMaskedUuid(uuid);
  const bool named = !key.bus_id.empty() || key.index.has_value();
  // A line with the masked UUID and the bus id or index says which GPU it is. Lines that waited can go on.
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

// Reads the waiting lines, which may not wait again.
void PrometheusSamples::Release() {
  wait_no_more_ = true;
  const std::int64_t last = line_number_;
  const bool whole = std::exchange(whole_, true);
  const std::vector<Waiting> lines = std::exchange(waiting_, {});
  for (const Waiting& line : lines) {
    line_number_ = line.number;
    ReadLine(line.text);
  }
  line_number_ = last;
  whole_ = whole;
}

// Routes one value: to failed scrapes, owners, links, counter starts, or readings.
void PrometheusSamples::Dispatch(const Series& series, Instant time, std::string_view value) {
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
  // A value of a failed scrape is an old one.
  if (series.host != nullptr && std::binary_search(series.host->failed.begin(), series.host->failed.end(), time))
    return;
  owners_.See(series.owner, time);
  if (series.stay != nullptr) series.stay->See(time);
  if (series.unused) return;
  if (series.created) {
    const std::optional<Instant> start = ParsePrometheusStamp(value, true);
    if (!start) return out_.quality.Count(QualityId::kOutOfRange, Here());
    return readings_.Started(metric, series.device, *start);
  }
  if (metric.role == MetricRole::kJobId) {
    const Reading job = ReadScaled(value, metric.scale);
    if (job.doubt || job.value == 0) return;
    return owners_.See(owners_.Track(series.device, "job " + std::to_string(job.value)), time);
  }
  if (metric.role == MetricRole::kLink) {
    const auto part = static_cast<LinkPart>(metric.field);
    if (linked_.emplace(series.device, part).second) TellLink(series.device, part, value, out_);
    return;
  }
  readings_.Add(metric, series.device, series.code, time, value, Here());
}

// Delivers what depends on the whole input.
void PrometheusSamples::Deliver() {
  Release();
  readings_.Finish();
  // A failed scrape repeats old values or has none. From there on there is no data.
  for (const auto& [name, host] : smi_hosts_) {
    if (host.failed.empty()) continue;
    for (const auto& [whose, metric] : host.busy) {
      const auto [device, signal] = whose;
      writer_.Use(device, signal, CounterName(*metric));
      for (const Instant time : host.failed) {
        writer_.PutUnavailable(time, device, signal, UnobservedReason(QualityId::kFailedScrape));
      }
    }
  }
  owners_.Deliver(out_.owners, out_.quality);
}

Result<void> PrometheusSamples::Finish() {
  Deliver();
  TRY(hosts_.Verdict(file_, out_.devices));
  if (any_known_) return {};
  std::string seen;
  for (const std::string& name : unknown_) seen += (seen.empty() ? "" : ", ") + Printable(name);
  return Fail(file_ + ": no known GPU metric (saw " + (seen.empty() ? "none" : seen) +
              "); export the metrics of dcgm-exporter or nvidia_gpu_exporter");
}

}  // namespace idleburn
