#include "classify/run_classifier.h"

#include <algorithm>
#include <bit>

#include "classify/stretch.h"
#include "telemetry/counter_choice.h"

namespace idleburn {
namespace {

// A device that is there without a reading. It begins and ends at the window's start; CarryToEnds accounts for all its
// time.
DeviceResult NeverRead(DeviceId device, const RunWindow& window) {
  DeviceResult result;
  result.device = device;
  result.first = result.last = *window.start;
  return result;
}

bool SaysACounter(const Sample& sample) {
  return ((sample.present | sample.unavailable) & (Bit(Signal::kUtilization) | Bit(Signal::kGrEngineActive))) != 0;
}

// The rows [from, to) of the columns; nothing is copied.
SampleColumns RowsOf(const SampleColumns& columns, std::size_t from, std::size_t to) {
  SampleColumns part{to - from, columns.times + from, columns.devices + from, columns.present, {}};
  for (std::uint32_t bits = columns.present; bits != 0; bits &= bits - 1) {
    const auto signal = static_cast<std::size_t>(std::countr_zero(bits));
    part.values[signal] = columns.values[signal] + from;
  }
  return part;
}

// How often the device was read, and how far apart independent readings are. Both are of the piece that lasts longest.
void TellPace(std::span<const CadencePiece> pieces, const Collection& collection, const Thresholds& thresholds,
              DeviceResult& result) {
  // Pieces of other signals lie within those of the counter, and are passed over.
  const CadencePiece* longest = &pieces.front();
  Nanos most{-1};
  for (const CadencePiece* piece = pieces.data(); piece < pieces.data() + pieces.size();) {
    const auto* next =
        std::find_if(piece + 1, pieces.data() + pieces.size(), [](const auto& p) { return p.by_counter; });
    const Instant end = next < pieces.data() + pieces.size() ? next->start : result.last;
    if (end - piece->start > most) longest = piece;
    most = std::max(most, end - piece->start);
    const bool empty = next < pieces.data() + pieces.size() && end == piece->start;
    if (piece->cadence.period > Nanos(0) && !result.spans && !empty)
      result.periods.push_back({piece->start, piece->cadence.period});
    piece = next;
  }
  const Cadence& cadence = longest->cadence;
  result.fast = cadence.Fast(thresholds);
  if (result.periods.empty()) return;
  result.period = cadence.period;
  const bool known = cadence.tick_window > Nanos(0) || cadence.period >= kLongestTickWindow;
  if (known) result.tick_window = std::max(cadence.tick_window, cadence.period);
  if (result.fast) return;
  result.collection = collection;
  if (collection.known == Collection::Known::kTold) result.tick_window = cadence.period * collection.scrapes;
}

// P_idle of the trace: with a context, and only where no GPU-second with one lies deep enough in 0 %, without.
std::optional<std::int64_t> MeasuredIdlePower(const DeviceTotals& totals, const Thresholds& thresholds) {
  const std::int64_t held = totals.idle_power_held.TotalNs();
  const WattHistogram& idle = held > 0 ? totals.idle_power_held : totals.idle_power_empty;
  if (idle.TotalNs() < thresholds.idle_power_least.count()) return std::nullopt;
  const std::optional<std::int64_t> watts = idle.Percentile(thresholds.idle_power_percentile);
  return watts ? std::optional(*watts * 1000 + 500) : std::nullopt;  // the middle of its 1 W bin
}

// Sets P_idle, or what it lacks.
void SettleIdlePower(const DeviceTotals& totals, const Thresholds& thresholds, SpinVerdict& verdict) {
  using Lacks = SpinVerdict::Lacks;
  verdict.idle_mw = thresholds.idle_power;
  if (verdict.idle_mw) return;
  const std::optional<std::int64_t> measured = MeasuredIdlePower(totals, thresholds);
  if (!measured) {
    verdict.lacks = Lacks::kLongIdle;
  } else if (verdict.limit_mw && *measured > thresholds.MostIdlePower(*verdict.limit_mw)) {
    verdict.lacks = Lacks::kIdlePower;
    verdict.refused_mw = measured;
  } else if (verdict.limit_mw) {
    verdict.idle_mw = measured;
  }
}

// Spin-wait of a device once its idle power is known: a kernel that polls and draws little. `limit_mw` absent: power
// decides nothing.
SpinVerdict SettleSpin(const DeviceTotals& totals, const Thresholds& thresholds, std::optional<std::int64_t> limit_mw) {
  SpinVerdict verdict;
  verdict.limit_mw = limit_mw;
  SettleIdlePower(totals, thresholds, verdict);
  if (!limit_mw) verdict.lacks = SpinVerdict::Lacks::kLimit;
  if (totals.power.ns == 0) verdict.lacks = SpinVerdict::Lacks::kPower;
  verdict.time = totals.spin_by_activity;
  if (totals.spin_by_activity.ns > 0) verdict.evidence = SpinVerdict::Evidence::kActivity;
  if (verdict.idle_mw && limit_mw && *limit_mw > *verdict.idle_mw) {
    const std::int64_t edge_mw = thresholds.SpinPowerBelow(*verdict.idle_mw, *limit_mw);
    // Idle power that was measured is itself known to a watt. Where it is given, see CellAccumulator::SpinWatts.
    verdict.below_watts = (edge_mw + (thresholds.idle_power ? 999 : 0)) / 1000;
    const Integral by_power = totals.spin_by_power.Below(*verdict.below_watts);
    verdict.time.Merge(by_power);
    if (by_power.ns > 0 && verdict.evidence == SpinVerdict::Evidence::kNone)
      verdict.evidence = SpinVerdict::Evidence::kPower;
  } else if (limit_mw && !verdict.idle_mw) {
    verdict.work_from_watts = (thresholds.SpinPowerBelow(thresholds.MostIdlePower(*limit_mw), *limit_mw) + 999) / 1000;
  }
  verdict.dim_ns = totals.dim_by_power.TotalNs() - totals.dim_by_power.Below(verdict.below_watts.value_or(0)).ns;
  return verdict;
}

}  // namespace

void DeviceRows::List() {
  present_.clear();
  rows_.resize(devices_.size());
  if (devices_.empty() || ListRounds()) return;
  present_.clear();
  for (const DeviceId device : devices_) {
    if (device >= place_.size()) place_.resize(device + 1);
    if (place_[device]++ == 0) present_.push_back({device, 0});
  }
  std::uint32_t before = 0;
  for (Present& p : present_) {
    p.rows = place_[p.device];
    place_[p.device] = before;
    before += p.rows;
  }
  for (std::uint32_t row = 0; row < devices_.size(); ++row) rows_[place_[devices_[row]]++] = row;
  for (const Present& p : present_) place_[p.device] = 0;
}

// The quick way for a source that goes round its devices, again and again in one order, as nearly all do. False if this
// is none.
bool DeviceRows::ListRounds() {
  const auto second = std::find(devices_.begin() + 1, devices_.end(), devices_.front());
  if (!std::equal(second, devices_.end(), devices_.begin())) return false;
  const auto round = static_cast<std::uint32_t>(second - devices_.begin());
  std::uint32_t* place = rows_.data();
  for (std::uint32_t i = 0; i < round; ++i) {
    const std::uint32_t* const begin = place;
    for (std::uint32_t row = i; row < devices_.size(); row += round) *place++ = row;
    present_.push_back({devices_[i], static_cast<std::uint32_t>(place - begin)});
  }
  seen_.assign(devices_.begin(), second);
  std::sort(seen_.begin(), seen_.end());
  return std::adjacent_find(seen_.begin(), seen_.end()) == seen_.end();
}

RunClassifier::RunClassifier(const Thresholds& thresholds, const DeviceTable& devices, DataQuality& quality,
                             FactsByName facts, const RunWindow* window)
    : thresholds_(thresholds), devices_(devices), quality_(quality), facts_(facts), window_(window) {}

void RunClassifier::Add(const Sample& sample, Stream& stream) const {
  const bool begins = stream.first.empty() && !stream.cadence.counter && SaysACounter(sample);
  if (stream.live && stream.first.empty() && !begins) return stream.watch.Feed(sample, *stream.live);
  if (stream.live && begins) stream.watch.End(*stream.live);
  stream.first.Add(sample);
  if (stream.first.Tell(FirstSamples::MostOf(streams_.size()))) Begin(sample.device, stream, window_);
}

void RunClassifier::OnSamples(std::span<const Sample> samples) {
  for (const Sample& s : samples) {
    if (s.device >= streams_.size()) streams_.resize(s.device + 1);
    if (const Device& d = devices_[s.device]; d.board || d.has_instances) WatchBoard(s);
    Add(s, streams_[s.device]);
  }
}

// What the user says of the limit goes before what is published for the model.
BoardFacts RunClassifier::FactsOf(DeviceId device) const {
  BoardFacts facts = facts_(devices_[device].name);
  if (power_limit_mw_) facts.power_limit_mw = power_limit_mw_;
  return facts;
}

void RunClassifier::WatchBoard(const Sample& sample) {
  const Device& device = devices_[sample.device];
  const DeviceId id = device.board.value_or(sample.device);
  auto at = boards_.find(id);
  if (at == boards_.end()) {
    at = boards_.emplace(id, BoardWatch(thresholds_, FactsOf(id).power_limit_mw)).first;
  }
  if (device.board) {
    at->second.OnInstance(sample, device.mig ? device.mig->slices : 0);
  } else {
    at->second.OnBoard(sample);
  }
}

void RunClassifier::OnColumns(const SampleColumns& columns) {
  bool mig = false;
  for (DeviceId id = 0; id < devices_.size(); ++id) mig = mig || devices_[id].has_instances;
  if (mig) return SampleSink::OnColumns(columns);  // what one instance says matters to the others, in order of time
  constexpr std::size_t kRows = 512;               // stay in the nearest cache until all their devices are done
  for (std::size_t from = 0; from < columns.rows; from += kRows) {
    AddByDevice(RowsOf(columns, from, std::min(from + kRows, columns.rows)));
  }
}

// The rows of one device are taken together. A classifier is much state, and to go from one to the next with every row
// costs more than a row does.
void RunClassifier::AddByDevice(const SampleColumns& columns) {
  rows_.Set(std::span(columns.devices, columns.rows));
  rows_.ForEach([&](DeviceId device, std::span<const std::uint32_t> rows) {
    if (device >= streams_.size()) streams_.resize(device + 1);
    Stream& stream = streams_[device];
    std::size_t added = 0;
    for (Sample sample; added < rows.size() && !stream.cadence.counter; ++added) {
      columns.Get(rows[added], sample);
      Add(sample, stream);
    }
    if (added < rows.size()) stream.watch.Feed(columns, rows.subspan(added), sums_, *stream.live);
  });
}

// The cadence is known, and what was held is fed. A device whose counter begins later goes on with the classifier it
// had.
void RunClassifier::Begin(DeviceId device, Stream& stream, const RunWindow* window) const {
  stream.cadence = MeasureCadence(stream.first.samples(), thresholds_);
  const std::optional<Signal> counter = stream.cadence.counter;
  if (counter && SaysWhenItEnds(devices_[device].counter[Index(*counter)])) stream.cadence.LastToTheNext(thresholds_);
  const BoardFacts facts = FactsOf(device);
  if (stream.live) {
    stream.live->Adopt(stream.cadence, stream.first.samples().front().time);
  } else {
    stream.live = std::make_unique<DeviceClassifier>(thresholds_, stream.cadence, facts.max_sm_khz.value_or(0), window);
    stream.live->set_power_limit(facts.power_limit_mw);
    const std::optional<DeviceId> board = devices_[device].board;
    const auto watch = board ? boards_.find(*board) : boards_.end();
    if (watch != boards_.end()) stream.live->set_board(&watch->second);
  }
  const Instant start = stream.first.samples().front().time;
  stream.watch = CadenceWatch(thresholds_, stream.cadence, start, FirstSamples::MostOf(streams_.size()));
  for (const Sample& s : stream.first.samples()) stream.watch.Feed(s, *stream.live);
  stream.first = {};
}

// `stretches` is what the classifier of the device says once it is closed.
DeviceResult RunClassifier::Settle(DeviceId device, Stream& stream, const std::vector<Stretch>& stretches,
                                   const std::vector<RunSpan>& runs) const {
  DeviceClassifier& live = *stream.live;
  const BoardFacts facts = FactsOf(device);
  DeviceResult result;
  result.device = device;
  result.counter = stream.cadence.counter;
  result.first = live.first();
  result.last = live.last();
  result.spans = stream.cadence.spans;
  result.totals = live.totals();
  const bool direct = result.counter && ReadsTheDriver(devices_[device].counter[Index(*result.counter)]);
  TellPace(stream.watch.pieces(), direct ? Collection() : live.collections().Told(), thresholds_, result);
  if (result.totals.RowsPerStamp()) result.totals.burst = {};  // what happens within a stamp is not known
  EnterRuns(stretches, runs, &result);
  if (result.totals.profiling_stuck) result.totals.ForgetProfiling(result.counter);
  result.power_limit_mw = live.power_limit();
  result.default_limit_mw = live.default_limit();
  if (live.max_sm_khz() > 0) result.max_sm_khz = live.max_sm_khz();
  // The limit that was set goes before the default one, and both before what is known by name.
  std::optional<std::int64_t> limit = live.power_limit();
  if (!limit) limit = live.default_limit();
  if (!limit) limit = facts.power_limit_mw;
  result.spin = SettleSpin(result.totals, thresholds_, limit);
  result.throttled_with_loss_ns = result.totals.slowdown_with_loss_ns + result.totals.power_cap_with_loss_ns;
  return result;
}

// Repeated rows are no fault where stamps are coarser than readings.
void RunClassifier::CountQuality(const DeviceResult& result, const Stream& stream) {
  const DeviceTotals& t = result.totals;
  if (!t.RowsPerStamp()) quality_.Count(QualityId::kDuplicateRow, {}, t.duplicates);
  quality_.Count(QualityId::kCoarseStamps, {}, t.differing);
  quality_.Count(QualityId::kOutOfOrder, {}, t.out_of_order);
  quality_.Count(QualityId::kClockStep, {}, t.clock_steps);
  quality_.Count(QualityId::kCounterReset, {}, t.energy_resets);
  quality_.Count(QualityId::kOutOfRange, {}, t.energy_out_of_range);
  quality_.Count(QualityId::kInvalidProfilingCounter, {}, t.profiling_stuck ? 1 : 0);
  quality_.Count(QualityId::kInvalidUtilization, {}, t.utilization_stuck ? 1 : 0);
  quality_.Count(QualityId::kXidSeen, {}, stream.live->xid_seen() ? 1 : 0);
  quality_.Count(QualityId::kSingleSample, {}, t.samples == 1 ? 1 : 0);
}

RunResult RunClassifier::Conclude(std::vector<Stream>& streams, const RunWindow* window) const {
  RunResult run;
  // The end of such a run is known to the nanosecond. What a device did between its last reading and that end is not.
  const bool exact = window != nullptr && window->start && window->end;
  const bool all_there = exact && !window->named;
  streams.resize(std::max(streams.size(), all_there ? devices_.size() : 0));
  std::vector<std::vector<Stretch>> stretches(streams.size());
  for (DeviceId id = 0; id < streams.size(); ++id) {
    Stream& stream = streams[id];
    if (!stream.first.empty()) Begin(id, stream, window);
    if (!stream.live) continue;
    stream.watch.End(*stream.live);
    stream.live->Close();
    stretches[id] = stream.live->Stretches();
  }
  run.runs = RunsOf(stretches);
  std::vector<Nanos> hold;
  for (DeviceId id = 0; id < streams.size(); ++id) {
    Stream& stream = streams[id];
    if (!stream.live && all_there && !devices_[id].has_instances) run.devices.push_back(NeverRead(id, *window));
    if (stream.live) run.devices.push_back(Settle(id, stream, stretches[id], run.runs));
    if (run.devices.size() == hold.size()) continue;
    const bool to_the_next = exact || stream.cadence.spans;
    const Nanos max_gap = stream.live ? stream.watch.cadence().max_gap : Nanos(0);
    hold.push_back(to_the_next ? Nanos(0) : std::max(max_gap, Nanos(kNanosPerSecond)));
  }
  if (run.devices.empty()) return run;
  run.start = run.devices.front().first;
  run.end = run.devices.front().last;
  for (const DeviceResult& d : run.devices) {
    run.start = std::min(run.start, d.first);
    run.end = std::max(run.end, d.last);
  }
  if (window != nullptr && window->start) CarryToEnds(*window, devices_, hold, &run);
  return run;
}

RunResult RunClassifier::Finish() {
  RunResult run = Conclude(streams_, window_);
  for (const DeviceResult& result : run.devices) {
    if (streams_[result.device].live) CountQuality(result, streams_[result.device]);
  }
  return run;
}

std::optional<Instant> RunClassifier::Misplaced() const {
  for (const Stream& stream : streams_) {
    if (stream.live && stream.live->misplaced()) return stream.live->misplaced();
  }
  return std::nullopt;
}

std::optional<Instant> RunClassifier::Newest() const {
  std::optional<Instant> newest;
  for (const Stream& stream : streams_) {
    if (!stream.live && stream.first.empty()) continue;
    Instant last = stream.first.empty() ? stream.live->newest() : stream.first.samples().back().time;
    for (const Sample& waiting : stream.watch.waiting()) last = std::max(last, waiting.time);
    newest = std::max(newest.value_or(last), last);
  }
  return newest;
}

RunResult RunClassifier::SoFar() const {
  // The second that has just begun counts as far as it was read, as it will when the run ends there.
  RunWindow until = window_ != nullptr ? *window_ : RunWindow();
  if (!until.end) until.end = Newest();
  const RunWindow* const window = window_ != nullptr ? &until : nullptr;
  std::vector<Stream> copy(streams_.size());
  for (std::size_t id = 0; id < streams_.size(); ++id) {
    copy[id].first = streams_[id].first;
    copy[id].cadence = streams_[id].cadence;
    copy[id].watch = streams_[id].watch;
    if (!streams_[id].live) continue;
    // A classifier is closed to conclude, so a copy of it is.
    copy[id].live = std::make_unique<DeviceClassifier>(*streams_[id].live);
    copy[id].live->set_window(window);
  }
  return Conclude(copy, window);
}

}  // namespace idleburn
