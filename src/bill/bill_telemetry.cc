#include "bill/bill_telemetry.h"

#include <algorithm>
#include <deque>

#include "audit/join_inputs.h"
#include "audit/run_inputs.h"
#include "classify/run_classifier.h"
#include "fleet/fleet_ledger.h"
#include "os/input_file.h"
#include "text/csv.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHourSeconds = 3600;
constexpr std::size_t kSeenUsed = 0;
constexpr std::size_t kSeenIdleHeld = 1;
constexpr std::size_t kSeenIdle = 2;
constexpr std::size_t kSeenUnallocated = 3;
constexpr std::size_t kSeenUnobserved = 4;

// Classifies samples hour by hour. Samples of one device come in order, so an hour ends when the next begins. A reading
// holds until the next one, across the edge of an hour too: at the edge it is given to both hours again. It holds no
// longer than in an audit.
class HourlySink final : public SampleSink {
 public:
  HourlySink(const Thresholds& thresholds, const DeviceTable& devices, BillTelemetry* out)
      : thresholds_(thresholds), devices_(devices), out_(out) {}

  void OnSamples(std::span<const Sample> samples) override {
    for (const Sample& sample : samples) {
      const std::int64_t second = FloorSecond(sample.time.nanos());
      const std::int64_t hour = second - ((second % kHourSeconds) + kHourSeconds) % kHourSeconds;
      if (hour_ && hour < *hour_) continue;  // a clock that went back
      if (!hour_ || hour > *hour_) {
        EndHour(thresholds_.max_gap_tenths);
        BeginHour(hour);
      }
      Take(sample);
    }
  }
  // The last reading holds for one period more.
  void End() { EndHour(10); }

 private:
  // The newest reading of a device.
  struct LastReading {
    Sample sample;
    std::int64_t interval = 0;  // to the one before; 0: there is none
  };

  [[nodiscard]] bool Holds(const LastReading& last, Instant until, std::int64_t tenths) const {
    const std::int64_t silent = (until - last.sample.time).count();
    if (thresholds_.max_gap) return silent <= thresholds_.max_gap->count();
    return last.interval > 0 && silent <= last.interval / 10 * tenths;
  }
  void Push(Sample sample, Instant time) {
    sample.time = time;
    classifier_->OnSamples(std::span(&sample, 1));
  }
  void Take(const Sample& sample) {
    const auto found = last_.find(sample.device);
    if (found != last_.end()) {
      LastReading& last = found->second;
      const bool crosses = last.sample.time < *window_.start && sample.time > *window_.start;
      if (crosses && Holds(last, sample.time, thresholds_.max_gap_tenths)) Push(last.sample, *window_.start);
      const std::int64_t interval = (sample.time - last.sample.time).count();
      if (interval > 0) last.interval = interval;
      last.sample = sample;
    } else {
      last_[sample.device].sample = sample;
    }
    classifier_->OnSamples(std::span(&sample, 1));
  }
  void BeginHour(std::int64_t hour) {
    hour_ = hour;
    window_.start = Instant::FromNanos(hour * kNanosPerSecond);
    window_.end = *window_.start + Nanos(kNanosPerHour);
    window_.named = true;
    classifier_ = std::make_unique<RunClassifier>(thresholds_, devices_, quality_, FactsOf, &window_);
  }
  void EndHour(std::int64_t tenths) {
    if (!hour_) return;
    for (const auto& [device, last] : last_) {
      if (last.sample.time >= *window_.start && Holds(last, *window_.end, tenths)) Push(last.sample, *window_.end);
    }
    const RunResult result = classifier_->Finish();
    for (const DeviceResult& device : result.devices) {
      SeenSpan span{*hour_, *hour_ + kHourSeconds, {}};
      const DeviceTotals& totals = device.totals;
      const auto ms = [](std::int64_t ns) { return ns / 1'000'000; };
      std::int64_t busy = 0;
      for (std::size_t p = 1; p < kPhaseCount; ++p) busy += totals.phase_ns[p];
      span.ms[kSeenUsed] = ms(busy);
      span.ms[kSeenIdleHeld] = ms(totals.idle_held_ns);
      span.ms[kSeenIdle] = ms(totals.idle_empty_ns + totals.idle_unknown_ns);
      span.ms[kSeenUnobserved] = ms(totals.UnobservedNs());
      out_->Add(devices_[device.device].host, span);
    }
    hour_.reset();
  }

  const Thresholds& thresholds_;
  const DeviceTable& devices_;
  BillTelemetry* out_;
  DataQuality quality_;
  RunWindow window_;
  std::optional<std::int64_t> hour_;
  std::map<DeviceId, LastReading> last_;
  std::unique_ptr<RunClassifier> classifier_;
};

// The last part of an id: "res/i-1" and ".../instances/i-1" name i-1.
std::string_view LastPart(std::string_view id) { return id.substr(id.find_last_of('/') + 1); }

std::int64_t Overlap(std::int64_t a_from, std::int64_t a_to, std::int64_t b_from, std::int64_t b_to) {
  return std::max<std::int64_t>(0, std::min(a_to, b_to) - std::max(a_from, b_from));
}

}  // namespace

void BillTelemetry::Add(const std::string& node, const SeenSpan& span) {
  if (node.empty()) ++nameless_;
  const auto [found, added] = index_.emplace(Lower(node), static_cast<int>(nodes_.size()));
  if (added) nodes_.push_back({node});
  nodes_[static_cast<std::size_t>(found->second)].spans.push_back(span);
  from_ = from_ == 0 ? span.from : std::min(from_, span.from);
  to_ = std::max(to_, span.to);
}

Result<void> BillTelemetry::AddLedger(const std::string& path) {
  if (!SeekableFile::Open(path + "/index.sqlite")) {
    return Fail(path + ": no such ledger; idleburn fleet pull makes one");
  }
  FleetLedger ledger = TRY(FleetLedger::Open(path, Nanos{5 * kNanosPerSecond}));
  TRY(ledger.ForEach(CellKind::kGpu, 0, kLedgerEnd, [&](const LedgerCell& cell) {
    SeenSpan span{cell.from, cell.to, {}};
    for (std::size_t p = 1; p < kFleetUnobserved; ++p) span.ms[kSeenUsed] += cell.time.phases[p];
    span.ms[kSeenIdle] = cell.time.phases[0];
    span.ms[kSeenUnobserved] = cell.time.phases[kFleetUnobserved];
    Add(cell.name->node, span);
  }));
  // Time that no job held is told by node. The phases of that time are in the sums of the GPUs above.
  TRY(ledger.ForEach(CellKind::kTeam, 0, kLedgerEnd, [&](const LedgerCell& cell) {
    if (cell.name->owner.team != kFleetUnallocated) return;
    SeenSpan span{cell.from, cell.to, {}};
    for (std::size_t p = 1; p < kFleetUnobserved; ++p) span.ms[kSeenUsed] -= cell.time.phases[p];
    span.ms[kSeenIdle] = -cell.time.phases[0];
    span.ms[kSeenUnallocated] = -span.ms[kSeenUsed] - span.ms[kSeenIdle];
    Add(cell.name->node, span);
  }));
  return {};
}

Result<void> BillTelemetry::AddInputs(const std::vector<std::string>& inputs, const ImportOptions& options,
                                      const Thresholds& thresholds) {
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  InputJoin join(devices, quality, owners);
  if (inputs.size() > 1) {
    const RecordedHosts machines = TRY(LookAtRecordings(inputs, options, nullptr));
    TRY(join.TellMachines(machines));
  }
  for (const std::string& path : inputs) {
    KnownInput input = TRY(OpenKnownInput(path, options));
    if (input.importer == nullptr) return Fail(path + ": is a profiler's file; --telemetry needs readings over time");
    TRY(join.Read(input, options));
  }
  HourlySink sink(thresholds, devices, this);
  TRY(join.Deliver(sink, nullptr));
  sink.End();
  return {};
}

Result<void> BillTelemetry::ReadNames(const std::string& path) {
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
  CsvTable table(*in);
  TRY(table.ReadHeader());
  constexpr std::array<std::string_view, 2> kColumns = {"resource", "node"};
  TRY(table.Require(kColumns));
  while (TRY(table.Next())) names_[Lower(table.Cell("resource"))] = Lower(table.Cell("node"));
  return {};
}

void BillTelemetry::Finish() {
  for (Node& node : nodes_) {
    // The spans of a node's GPUs and owners at one time become one.
    std::map<std::pair<std::int64_t, std::int64_t>, SeenMs> sums;
    for (const SeenSpan& span : node.spans) {
      SeenMs& sum = sums[{span.from, span.to}];
      for (std::size_t p = 0; p < kSeenParts; ++p) sum[p] += span.ms[p];
    }
    node.spans.clear();
    for (const auto& [time, ms] : sums) {
      node.spans.push_back({time.first, time.second, ms});
      node.longest = std::max(node.longest, time.second - time.first);
    }
  }
}

int BillTelemetry::NodeOf(std::string_view resource_id, std::string_view resource_name) const {
  for (const std::string_view text : {resource_name, resource_id, LastPart(resource_id)}) {
    if (text.empty()) continue;
    std::string name = Lower(text);
    if (const auto named = names_.find(name); named != names_.end()) name = named->second;
    if (const auto found = index_.find(name); found != index_.end()) return found->second;
  }
  return -1;
}

std::optional<SeenMs> BillTelemetry::Seen(int node, std::int64_t from, std::int64_t to) const {
  if (node < 0) return std::nullopt;
  const Node& known = nodes_[static_cast<std::size_t>(node)];
  const std::vector<SeenSpan>& spans = known.spans;
  auto at = std::lower_bound(spans.begin(), spans.end(), from - known.longest,
                             [](const SeenSpan& span, std::int64_t second) { return span.from < second; });
  std::optional<SeenMs> seen;
  for (; at != spans.end() && at->from < to; ++at) {
    const std::int64_t overlap = Overlap(at->from, at->to, from, to);
    if (overlap == 0) continue;
    if (!seen) seen = SeenMs{};
    for (std::size_t p = 0; p < kSeenParts; ++p) (*seen)[p] += at->ms[p] * overlap / (at->to - at->from);
  }
  return seen;
}

}  // namespace idleburn
