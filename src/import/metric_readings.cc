#include "import/metric_readings.h"

#include <algorithm>
#include <string>

#include "base/int128.h"
#include "telemetry/sample.h"

namespace idleburn {

// A signal may need more than one metric: NVLink traffic is sent plus received bytes, SM activity is active over
// elapsed cycles, total memory may be used plus free plus reserved. Parts wait for each other by time, up to a limit,
// since files may be ordered by scrape or by series.

Unobserved UnobservedReason(QualityId doubt) {
  switch (doubt) {
    case QualityId::kOutOfRange:
    case QualityId::kNotFinite:
      return Unobserved::kInvalidCounter;
    case QualityId::kUnavailableValue:
      return Unobserved::kUnsupported;
    case QualityId::kFailedScrape:
      return Unobserved::kStale;
    case QualityId::kClockStep:
      return Unobserved::kClock;
    default:
      return Unobserved::kSentinel;
  }
}

// Claims are kept by home, so that a MIG instance and its board share those of board values.
bool ReadingWriter::Claim(DeviceId device, Signal signal, std::string_view field, std::string_view counter) {
  const DeviceId home = out_.devices.Home(device, signal);
  const auto [claim, first] = claims_.emplace(std::pair(home, signal), field);
  if (first) out_.devices.NameCounter(home, signal, counter);
  return first || claim->second == field;
}

void ReadingWriter::Use(DeviceId device, Signal signal, const std::string& counter) {
  const DeviceId home = out_.devices.Home(device, signal);
  if (out_.devices[home].counter[Index(signal)] == counter) return;
  Flush();
  out_.devices.NameCounter(home, signal, counter);
}

void ReadingWriter::Put(Instant time, DeviceId device, Signal signal, const Reading& reading, Place place) {
  std::optional<QualityId> doubt = reading.doubt;
  // Single values were in range, but a sum of several may not be.
  if (!doubt && InRange(Info(signal).unit, reading.value) != reading.value) doubt = QualityId::kOutOfRange;
  if (doubt) {
    out_.quality.Count(*doubt, place);
    PutUnavailable(time, device, signal, UnobservedReason(*doubt));
    return;
  }
  Sample& s = batch_.emplace_back();
  s.time = time;
  s.device = device;
  s.Set(signal, reading.value);
  if (batch_.size() == kBatch) Flush();
}

void ReadingWriter::PutUnavailable(Instant time, DeviceId device, Signal signal, Unobserved reason) {
  Sample& s = batch_.emplace_back();
  s.time = time;
  s.device = device;
  s.SetUnavailable(signal, reason);
  if (batch_.size() == kBatch) Flush();
}

void ReadingWriter::PutSample(const Sample& sample) {
  batch_.push_back(sample);
  if (batch_.size() == kBatch) Flush();
}

void ReadingWriter::Flush() {
  if (!batch_.empty()) out_.sink.OnSamples(batch_);
  batch_.clear();
}

namespace {

// a + b, limited to the largest value. Only broken sources report such sums.
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(std::min<Int128>(static_cast<Int128>(a) + b, INT64_MAX));
}

// Whether two metrics of one signal are the same counter: aliases of one field, parts that are joined, or processes
// that are either counted or listed.
bool SameCounter(const Metric& a, const Metric& b) {
  const auto joined = [](const Metric& m) {
    return m.role == MetricRole::kNvlinkPart || m.role == MetricRole::kCyclesElapsed ||
           m.role == MetricRole::kCyclesActive || m.signal == Signal::kProcesses;
  };
  if (a.source != b.source || a.signal != b.signal) return false;
  if (joined(a) || joined(b)) return joined(a) && joined(b);
  return a.field != 0 ? a.field == b.field : a.name == b.name;
}

}  // namespace

// Partners older than this reading can no longer match, because each side is in time order.
std::optional<PairUp::Both> PairUp::Add(int side, Instant time, std::int64_t value, bool* dropped) {
  std::deque<Waiting>& partners = waiting_[static_cast<std::size_t>(1 - side)];
  while (!partners.empty() && partners.front().time < time) partners.pop_front();
  if (!partners.empty() && partners.front().time == time) {
    const std::int64_t other = partners.front().value;
    partners.pop_front();
    return side == 0 ? Both{value, other} : Both{other, value};
  }
  std::deque<Waiting>& own = waiting_[static_cast<std::size_t>(side)];
  own.push_back({time, value});
  *dropped = own.size() > kMaxWaiting;
  if (*dropped) own.pop_front();
  return std::nullopt;
}

// The counter's name for the device, keeping the name that an alias already has. Otherwise an exporter that was
// upgraded to new metric names would look like two counters, and the audit would choose one of them.
std::string MetricReadings::ChooseName(const Metric& metric, DeviceId device) const {
  const Device& home = out_.devices[out_.devices.Home(device, metric.signal)];
  const auto same = [&](const std::string& name) {
    const Metric* known = FindMetric(name.substr(name.find('.') + 1));
    return known != nullptr && CounterName(*known) == name && SameCounter(*known, metric);
  };
  if (same(home.counter[Index(metric.signal)])) return home.counter[Index(metric.signal)];
  for (const std::string& name : home.also[Index(metric.signal)]) {
    if (same(name)) return name;
  }
  return CounterName(metric);
}

// Tells the writer which counter the following readings come from, if it changes.
void MetricReadings::Announce(const Metric& metric, DeviceId device) {
  // An Xid is an event and no counter; parts of total memory are named when the total is made.
  const bool event = metric.role == MetricRole::kXid || metric.role == MetricRole::kXidCount;
  const bool part_of_total = metric.role == MetricRole::kMemoryFree || metric.role == MetricRole::kMemoryReserved;
  if (event || part_of_total) return;
  Announced& last = announced_[{device, metric.signal}];
  if (last.metric != &metric) {
    if (last.metric == nullptr || !SameCounter(*last.metric, metric)) {
      if (metric.signal == Signal::kProcesses) PutProcesses(device, states_[device]);
      last.counter = ChooseName(metric, device);
    }
    last.metric = &metric;
  }
  writer_.Use(device, metric.signal, last.counter);
}

// Passes the value to the function of its role. Event reasons name their counter later, when the mask is delivered.
void MetricReadings::Add(const Metric& metric, DeviceId device, std::int64_t code, Instant time, std::string_view value,
                         Place place) {
  const Reading reading = ReadScaled(value, metric.scale, metric.type);
  if (metric.role == MetricRole::kEventReason) return AddReason(metric, device, time, reading, place);
  Announce(metric, device);
  if (metric.role == MetricRole::kSignal) return AddSignal(metric, device, time, reading, place);
  if (metric.role == MetricRole::kNvlinkRate) return AddNvlinkRate(metric, device, time, reading, place);
  if (reading.doubt) return out_.quality.Count(*reading.doubt, place);
  State& state = states_[device];
  switch (metric.role) {
    case MetricRole::kProcess:
      return AddProcesses(device, time, 1, false);
    case MetricRole::kXid:
      return AddXid(device, time, reading.value, place);
    case MetricRole::kXidCount:
      return AddXid(device, time, reading.value > 0 ? code : 0, place);
    case MetricRole::kMemoryFree:
      if (state.free) return;
      state.free = At{time, reading.value};
      state.free_counter = CounterName(metric);
      return;
    case MetricRole::kMemoryReserved:
      if (!state.reserved) state.reserved = At{time, reading.value};
      return;
    case MetricRole::kNvlinkPart:
    case MetricRole::kCyclesElapsed:
    case MetricRole::kCyclesActive:
      return AddPart(metric, device, time, reading.value, place);
    default:
      return;
  }
}

// Delivers a value that is a signal, and remembers what derived signals need.
void MetricReadings::AddSignal(const Metric& metric, DeviceId device, Instant time, const Reading& reading,
                               Place place) {
  if (!reading.doubt) {
    State& state = states_[device];
    if (metric.signal == Signal::kProcesses) return AddProcesses(device, time, reading.value, true);
    if (metric.signal == Signal::kMemoryTotal) state.has_total = true;
    // A whole mask makes masks built from single reasons superfluous.
    if (metric.signal == Signal::kEventReasons) {
      state.has_mask = true;
      state.reasons.clear();
    }
    if (metric.signal == Signal::kEnergy) {
      Life& life = state.energy[&metric];
      life.first = life.read ? std::min(life.first, time) : time;
      life.last = life.read ? std::max(life.last, time) : time;
      life.read = true;
    }
    if (metric.signal == Signal::kMemoryUsed && !state.used) state.used = At{time, reading.value};
  }
  writer_.Put(time, device, metric.signal, reading, place);
}

// A metric that counts processes gives the whole number (`whole`). Otherwise each process has its own series, and the
// series are counted.
void MetricReadings::AddProcesses(DeviceId device, Instant time, std::int64_t count, bool whole) {
  State& state = states_[device];
  if (state.processes && state.processes->time == time) {
    state.processes->value = whole ? count : Sum(state.processes->value, count);
    return;
  }
  PutProcesses(device, state);
  state.processes = At{time, count};
}

// Delivers the count of processes of the last scrape.
void MetricReadings::PutProcesses(DeviceId device, State& state) {
  if (!state.processes) return;
  writer_.Put(state.processes->time, device, Signal::kProcesses, {state.processes->value, std::nullopt}, {});
  state.processes.reset();
}

// Each reason has its own series. Together they are the mask of their time.
void MetricReadings::AddReason(const Metric& metric, DeviceId device, Instant time, const Reading& reading,
                               Place place) {
  if (reading.doubt) return out_.quality.Count(*reading.doubt, place);
  State& state = states_[device];
  if (state.has_mask) return;
  state.reasons[time] |= reading.value == 0 ? 0 : std::int64_t{1} << metric.field;
  PutReasons(device, state, kMaxReasons);
}

// Delivers all masks except the last `kept`.
void MetricReadings::PutReasons(DeviceId device, State& state, std::size_t kept) {
  if (state.reasons.size() <= kept) return;
  writer_.Use(device, Signal::kEventReasons, "nvidia_smi_exporter.clocks_event_reasons");
  for (; state.reasons.size() > kept; state.reasons.erase(state.reasons.begin())) {
    const auto [time, mask] = *state.reasons.begin();
    writer_.Put(time, device, Signal::kEventReasons, {mask, std::nullopt}, {});
  }
}

// Delivers an Xid. A code of 0 says that there was none.
void MetricReadings::AddXid(DeviceId device, Instant time, std::int64_t code, Place place) {
  if (code == 0) return;
  State& state = states_[device];
  // The device counts who had an Xid, whatever told it. Only the code is known here.
  if (!state.xid_seen) out_.quality.CountNamed(QualityId::kXidSeen, "Xid " + std::to_string(code), place, 0);
  state.xid_seen = true;
  writer_.Put(time, device, Signal::kXid, {code, std::nullopt}, place);
}

// A rate that its exporter declares as a counter, which is counted once. Its first reading is 0 because there is no
// interval before it, and is dropped.
void MetricReadings::AddNvlinkRate(const Metric& metric, DeviceId device, Instant time, const Reading& reading,
                                   Place place) {
  if (!mislabelled_) out_.quality.CountNamed(QualityId::kMislabelledCounter, metric.name, place);
  mislabelled_ = true;
  State& state = states_[device];
  const bool first = !state.nvlink_read;
  state.nvlink_read = true;
  if (first && !reading.doubt && reading.value == 0) return;  // there is no interval before it
  writer_.Put(time, device, Signal::kNvlink, reading, place);
}

// Joins two parts of a signal: sent and received bytes, or active and elapsed cycles.
void MetricReadings::AddPart(const Metric& metric, DeviceId device, Instant time, std::int64_t value, Place place) {
  State& state = states_[device];
  const bool link = metric.role == MetricRole::kNvlinkPart;
  const bool sent =
      metric.name.find("TX") != std::string_view::npos || metric.name.find("tx") != std::string_view::npos;
  const int side = (link ? sent : metric.role == MetricRole::kCyclesElapsed) ? 0 : 1;
  bool dropped = false;
  const std::optional<PairUp::Both> both = (link ? state.nvlink : state.cycles).Add(side, time, value, &dropped);
  if (dropped) out_.quality.CountNamed(QualityId::kUnavailableValue, metric.name, place);
  if (!both) return;
  if (!link) return AddCycles(device, time, *both);
  writer_.Put(time, device, Signal::kNvlink, {Sum(both->first, both->second), std::nullopt}, place);
}

// The share of cycles with an active warp since the previous pair. It is exact at any scrape distance. It describes the
// time before the later pair, so it is stamped with the earlier pair, and nothing is known after the last.
void MetricReadings::AddCycles(DeviceId device, Instant time, const PairUp::Both& now) {
  Cycles& cycles = states_[device].cycle;
  if (cycles.last && now.first == cycles.last->first) return;  // scraped again before the counter was updated
  if (cycles.last) {
    ++cycles.intervals;
    cycles.held.push_back({cycles.last_time, time, *cycles.last, now});
    PutCycles(device, cycles, kMaxIntervals);
  }
  cycles.counter = announced_[{device, Signal::kSmActive}].counter;
  cycles.last = now;
  cycles.last_time = time;
}

// Delivers all intervals except the last `kept`.
void MetricReadings::PutCycles(DeviceId device, Cycles& cycles, std::size_t kept) {
  if (cycles.held.size() <= kept) return;
  writer_.Use(device, Signal::kSmActive, cycles.counter);
  for (; cycles.held.size() > kept; cycles.held.pop_front()) PutInterval(device, cycles, cycles.held.front());
}

// Delivers one interval as the share of its cycles in which a warp was active. If a counter restarted in it, only the
// time after a known restart has data: the counters then began at 0. A fall without a known restart leaves the whole
// interval without data. A share slightly above 100 % may come from reading two counters one after the other, and
// counts as 100 %.
void MetricReadings::PutInterval(DeviceId device, const Cycles& cycles, const Interval& interval) {
  PairUp::Both since = interval.before;
  Instant from = interval.from;
  // The last known start in the interval, if there is one.
  const auto next = cycles.started.upper_bound(interval.to);
  const bool placed = next != cycles.started.begin() && *std::prev(next) > interval.from;
  const bool fell = interval.now.first < since.first || interval.now.second < since.second;
  if (placed || fell) {
    out_.quality.Count(QualityId::kCounterReset);
    writer_.PutUnavailable(from, device, Signal::kSmActive, Unobserved::kGap);
    if (placed) from = *std::prev(next);
    since = {};
  }
  if ((fell && !placed) || from >= interval.to || interval.now.first <= since.first) return;
  const Int128 elapsed = static_cast<Int128>(interval.now.first) - since.first;
  const Int128 share = DivHalfEven(static_cast<Int128>(interval.now.second - since.second) * kFull, elapsed);
  const bool inside = share <= kFull + kFull / 200;
  const auto value = static_cast<std::int64_t>(std::min<Int128>(share, kFull));
  writer_.Put(from, device, Signal::kSmActive,
              inside ? Reading{value, std::nullopt} : Reading{0, QualityId::kOutOfRange}, {});
}

// Delivers what was held. The last reading has nothing after it, so the time from it on is a gap. One interval is an
// average over everything, which is counted as such.
void MetricReadings::FinishCycles(DeviceId device, Cycles& cycles) {
  if (cycles.intervals == 0) return;
  PutCycles(device, cycles, 0);
  writer_.Use(device, Signal::kSmActive, cycles.counter);
  writer_.PutUnavailable(cycles.last_time, device, Signal::kSmActive, Unobserved::kGap);
  if (cycles.intervals == 1) out_.quality.Count(QualityId::kJobResolution);
}

// Remembers a start of a counter. It may precede the readings that it concerns, so it is used when they are
// delivered.
void MetricReadings::Started(const Metric& metric, DeviceId device, Instant created) {
  State& state = states_[device];
  const bool cycles = metric.role == MetricRole::kCyclesElapsed || metric.role == MetricRole::kCyclesActive;
  std::set<Instant>& started = cycles ? state.cycle.started : state.energy[&metric].started;
  if (started.size() < kMaxStarts) started.insert(created);
}

// A counter that restarted stood at 0, so everything that it shows later is increase.
void MetricReadings::PutStarts(DeviceId device, const Metric& metric, const Life& life) {
  for (const Instant start : life.started) {
    if (!life.read || start <= life.first || start > life.last) continue;
    writer_.Use(device, metric.signal, CounterName(metric));
    // 1 ns earlier, because a reading at exactly that time would replace the 0.
    writer_.Put(start + Nanos(-1), device, metric.signal, {0, std::nullopt}, {});
  }
}

// Total memory is derived last, from the first scrape, if no metric told it. Its parts must be of one time.
void MetricReadings::Finish() {
  for (auto& [device, state] : states_) {
    PutProcesses(device, state);
    PutReasons(device, state, 0);
    FinishCycles(device, state.cycle);
    for (const auto& [metric, life] : state.energy) PutStarts(device, *metric, life);
    if (state.has_total || !state.used || !state.free || state.used->time != state.free->time) continue;
    const bool reserved = state.reserved && state.reserved->time == state.free->time;
    const std::int64_t total = Sum(Sum(state.used->value, state.free->value), reserved ? state.reserved->value : 0);
    writer_.Use(device, Signal::kMemoryTotal, state.free_counter);
    writer_.Put(state.free->time, device, Signal::kMemoryTotal, {total, std::nullopt}, {});
  }
  states_.clear();
}

}  // namespace idleburn
