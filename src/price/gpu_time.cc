#include "price/gpu_time.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/int128.h"
#include "base/money.h"
#include "base/result.h"
#include "telemetry/device.h"
#include "telemetry/gpu_facts.h"

// From the totals of devices to capacity: GPU-nanoseconds by line, a row for each whole GPU, MIG instance and cut
// board.
//
// All difficulty lies in boards with MIG instances. An instance is a part of a GPU, the board may have been one GPU
// before it was cut, exporters repeat the readings of the board for each instance, and slices without an instance are
// paid for too. LayOut divides the time of a board between these, so that its rows add up to the board's span exactly.
// Time is divided by compute slices, since providers and NVIDIA define a share so; memory slices would give other
// shares.
//
// OwnTimeOf at the end finds when a board was one GPU. It works on timelines of buckets, since single readings are not
// kept.

namespace idleburn {

namespace {

// 1 mJ = 10^9 pJ; a milliwatt for a nanosecond is 1 pJ.
constexpr Int128 kPicojoulesPerMillijoule = 1'000'000'000;

// Times of one run fit into 64 bits; anything else is a programmer's mistake.
std::int64_t Narrow(Int128 ns) {
  CHECK(FitsInt64(ns));
  return static_cast<std::int64_t>(ns);
}

// Observed time x utilisation, in nanoseconds.
std::int64_t BusyNs(const Integral& utilization) { return Narrow(DivHalfEven(utilization.area, kFull)); }

// Observed and unobserved time of a device.
std::int64_t WindowOf(const DeviceTotals& totals) {
  return std::accumulate(totals.phase_ns.begin(), totals.phase_ns.end(), std::int64_t{0}) +
         std::accumulate(totals.unobserved_ns.begin(), totals.unobserved_ns.end(), std::int64_t{0});
}

// The energy counter is more exact than a sum of power readings, unless it leaves out more than the 5 % by which
// power may err. A counter that was read in the last of ten hours only does not tell the energy of ten hours.
Energy EnergyOf(const DeviceTotals& totals) {
  constexpr std::int64_t kMostLeftOutPercent = 5;
  Energy energy{std::nullopt, totals.power, 0, 0};
  const Int128 left_out = static_cast<Int128>(totals.power.ns) - totals.energy_ns;
  if (totals.has_energy_counter && left_out * 100 <= static_cast<Int128>(totals.power.ns) * kMostLeftOutPercent) {
    energy.picojoules = totals.energy_mj * kPicojoulesPerMillijoule;
    energy.covered_ns = totals.energy_ns;
    if (energy.power.ns == 0) energy.power = {totals.energy_ns, *energy.picojoules};
  } else if (totals.power.ns > 0) {
    energy.picojoules = totals.power.area;
    energy.covered_ns = totals.power.ns;
  }
  return energy;
}

// The time of a device as if it were a whole GPU, without energy.
GpuTime TimeOf(const DeviceResult& device) {
  const DeviceTotals& totals = device.totals;
  const auto phase = [&](Phase p) { return totals.phase_ns[static_cast<std::size_t>(p)]; };
  CHECK(phase(Phase::kIdle) == totals.idle_held_ns + totals.idle_empty_ns + totals.idle_unknown_ns);
  GpuTime time;
  time.line_ns = {totals.idle_held_ns,
                  totals.idle_empty_ns,
                  totals.idle_unknown_ns,
                  phase(Phase::kUnderutilized),
                  phase(Phase::kProductive),
                  phase(Phase::kComputeBound),
                  std::accumulate(totals.unobserved_ns.begin(), totals.unobserved_ns.end(), std::int64_t{0}),
                  0};
  time.busy_ns = BusyNs(totals.utilization);
  time.spin_ns = device.spin.time.ns;
  time.spin_busy_ns = BusyNs(device.spin.time);
  time.throttled_ns = totals.throttled_ns;
  time.throttled_with_loss_ns = device.throttled_with_loss_ns;
  return time;
}

// Rounding to whole nanoseconds must not make a part larger than the line it lies over.
void KeepInside(GpuTime* time) {
  time->busy_ns = std::min(time->busy_ns, time->ObservedNs());
  time->spin_ns = std::min(time->spin_ns, time->At(Line::kComputeBound));
  time->spin_busy_ns = std::min({time->spin_busy_ns, time->spin_ns, time->busy_ns});
}

// Scales `time` so that its window becomes `window`. Lines are split exactly; what lies over them is rounded.
Result<GpuTime> ScaledTo(const GpuTime& time, std::int64_t window) {
  GpuTime scaled;
  const std::vector<std::int64_t> lines = TRY(SplitNanos(window, time.line_ns));
  std::copy(lines.begin(), lines.end(), scaled.line_ns.begin());
  const std::int64_t whole = time.WindowNs();
  const auto part = [&](std::int64_t ns) {
    return whole == 0 ? 0 : Narrow(DivHalfEven(static_cast<Int128>(ns) * window, whole));
  };
  scaled.busy_ns = part(time.busy_ns);
  scaled.spin_ns = part(time.spin_ns);
  scaled.spin_busy_ns = part(time.spin_busy_ns);
  scaled.throttled_ns = part(time.throttled_ns);
  scaled.throttled_with_loss_ns = part(time.throttled_with_loss_ns);
  return scaled;
}

// A physical GPU: its own readings, those of its MIG instances, or both.
struct Board {
  struct Instance {
    const DeviceResult* result;
    bool counts;  // it is the run's
  };
  const DeviceResult* own = nullptr;
  std::vector<Instance> instances;  // in order of their places
  bool counts = true;               // it is the run's; if not, only some of its instances are

  [[nodiscard]] std::vector<const DeviceResult*> Results() const {
    std::vector<const DeviceResult*> results;
    for (const Instance& instance : instances) results.push_back(instance.result);
    return results;
  }
};

// Files a result under its board.
void Enter(const DeviceResult& result, bool counts, const DeviceTable& devices, std::map<DeviceId, Board>* boards) {
  const Device& device = devices[result.device];
  if (device.mig && device.board) {
    (*boards)[*device.board].instances.push_back({&result, counts});
  } else {
    (*boards)[result.device].own = &result;
  }
}

// The boards that belong to the run, as a whole or by an instance. Left-out instances are entered too, because they
// occupy slices.
std::map<DeviceId, Board> BoardsOf(const RunResult& run, const DeviceTable& devices) {
  std::map<DeviceId, Board> boards;
  for (const DeviceResult& result : run.devices) Enter(result, true, devices, &boards);
  for (const RunResult::LeftOut& out : run.left_out) {
    if (out.result) Enter(*out.result, false, devices, &boards);
    if (!devices[out.device].mig) boards[out.device].counts = false;
  }
  for (auto& [id, board] : boards) {
    std::stable_sort(board.instances.begin(), board.instances.end(),
                     [&](const Board::Instance& a, const Board::Instance& b) {
                       return StandsBefore(a.result->device, b.result->device, devices);
                     });
  }
  std::erase_if(boards, [](const auto& entry) {
    const Board& board = entry.second;
    return !board.counts && std::none_of(board.instances.begin(), board.instances.end(),
                                         [](const Board::Instance& instance) { return instance.counts; });
  });
  return boards;
}

// The energy of a board, once: every instance repeats the readings of its board. `window_ns` is the board's time.
Energy EnergyOf(const Board& board, std::int64_t window_ns) {
  Energy energy;
  if (!board.counts) return energy;
  if (board.own != nullptr) energy = EnergyOf(board.own->totals);
  for (const DeviceResult* instance : board.Results()) {
    if (!energy.picojoules) energy = EnergyOf(instance->totals);
  }
  energy.window_ns = window_ns;
  energy.covered_ns = std::min(energy.covered_ns, window_ns);
  return energy;
}

// A sum with an unknown part is unknown.
void AddEnergy(const Energy& board, Energy* sum) {
  sum->power.Merge(board.power);
  sum->covered_ns += board.covered_ns;
  sum->window_ns += board.window_ns;
  if (board.picojoules && sum->picojoules) {
    *sum->picojoules += *board.picojoules;
  } else {
    sum->picojoules.reset();
  }
}

// From the first to the last reading of the board and its instances, without the time between runs.
std::int64_t SpanNs(const Board& board, const RunResult& run) {
  std::vector<const DeviceResult*> all = board.Results();
  if (board.own != nullptr) all.push_back(board.own);
  Instant first = all.front()->first;
  Instant last = all.front()->last;
  std::int64_t longest = 0;
  for (const DeviceResult* device : all) {
    first = std::min(first, device->first);
    last = std::max(last, device->last);
    longest = std::max(longest, WindowOf(device->totals));
  }
  return std::max(longest, run.RecordedNs(first, last));
}

// The part of that span in which nothing was read: neither the board nor an instance, from the first to the last row
// of each. Nobody knows how the board was cut then, so its slices do not count as free.
std::int64_t BlankNs(const Board& board, const RunResult& run) {
  std::vector<const DeviceResult*> all = board.Results();
  if (board.own != nullptr) all.push_back(board.own);
  std::sort(all.begin(), all.end(), [](const DeviceResult* a, const DeviceResult* b) { return a->first < b->first; });
  std::int64_t blank = 0;
  Instant last = all.front()->last;
  for (const DeviceResult* device : all) {
    if (device->first > last) blank += run.RecordedNs(last, device->first);
    last = std::max(last, device->last);
  }
  return blank;
}

// How the time of a cut board is shared.
struct Layout {
  int slices = 0;                    // of the board
  OwnTime own;                       // none, where it has no readings
  std::int64_t span = 0;             // time in which the board is cut
  std::vector<GpuTime> times;        // of the instances, each as if it were a whole GPU
  std::vector<std::int64_t> shares;  // of the span, by instance; the last is what no instance has
  std::int64_t blank = 0;            // of that, what nothing was read of
};

// The name of the board, even if only its instances report it.
const std::string& NameOf(DeviceId id, const Board& board, const DeviceTable& devices) {
  const std::string& name = devices[id].name;
  return name.empty() && !board.instances.empty() ? devices[board.instances.front().result->device].name : name;
}

// Divides the span of a board by slices. The unobserved time of an instance while the board was one GPU is no time of
// the instance: it did not exist.
Result<Layout> LayOut(DeviceId id, const Board& board, const RunResult& run, const DeviceTable& devices) {
  Layout layout;
  layout.slices = BoardSlices(NameOf(id, board, devices));
  if (board.own != nullptr) {
    layout.own = TRY(OwnTimeOf(*board.own, board.Results()));
  }
  layout.span = SpanNs(board, run) - layout.own.board.WindowNs();
  for (const Board::Instance& instance : board.instances) {
    GpuTime time = TimeOf(*instance.result);
    std::int64_t& unobserved = time.line_ns[Index(Line::kUnobserved)];
    unobserved -= std::min(unobserved, layout.own.Within(instance.result->first, instance.result->last));
    layout.span = std::max(layout.span, time.WindowNs());
    layout.times.push_back(time);
  }
  Int128 rest = static_cast<Int128>(layout.span) * layout.slices;
  std::vector<std::int64_t> weights;
  for (std::size_t i = 0; i < layout.times.size(); ++i) {
    weights.push_back(layout.times[i].WindowNs() * devices[board.instances[i].result->device].mig->slices);
    rest -= weights.back();
  }
  if (rest < 0) {
    const std::string& name = devices[id].uuid.empty() ? devices[id].name : devices[id].uuid;
    return Fail("MIG instances of GPU " + name + " hold more than its " + std::to_string(layout.slices) +
                " compute slices; audit the stretches before and after the change of its layout separately");
  }
  weights.push_back(Narrow(rest));
  layout.shares = TRY(SplitNanos(layout.span, weights));
  layout.blank = std::min(BlankNs(board, run), layout.shares.back());
  return layout;
}

// The row of the board itself: the time when it was one GPU, and what no instance has. Throttling is that of all its
// slices, and counts by the slices that were seen.
DeviceTime RestOf(DeviceId id, const Board& board, const Layout& layout, std::int64_t seen_ns) {
  DeviceTime row;
  row.device = id;
  const std::int64_t own_ns = layout.own.board.WindowNs();
  const std::int64_t all = layout.span + own_ns;
  row.energy = EnergyOf(board, all);
  row.gpu_share = all == 0 ? 1 : static_cast<double>(own_ns + layout.shares.back()) / static_cast<double>(all);
  row.weight = 0;
  row.span_ns = own_ns + layout.blank;
  row.time = TimeOf(layout.own.board);
  KeepInside(&row.time);
  row.time.line_ns[Index(Line::kUnallocated)] = layout.shares.back() - layout.blank;
  row.time.line_ns[Index(Line::kUnobserved)] += layout.blank;
  if (board.own == nullptr) return row;
  const std::int64_t read = board.own->totals.ObservedNs();
  if (read > 0) row.weight = static_cast<double>(own_ns) / static_cast<double>(read);
  const auto add = [&](std::int64_t of_board, std::int64_t* own) {
    if (layout.span > 0) *own += Narrow(DivHalfEven(static_cast<Int128>(of_board - *own) * seen_ns, layout.span));
  };
  add(board.own->totals.throttled_ns, &row.time.throttled_ns);
  add(board.own->throttled_with_loss_ns, &row.time.throttled_with_loss_ns);
  return row;
}

// Adds a row for each instance of the run, and one for the board if the board is the run's. If it is not, the first
// instance stands for the physical GPU.
Result<void> AddPartitioned(DeviceId id, const Board& board, const RunResult& run, const DeviceTable& devices,
                            Capacity* capacity) {
  const Layout layout = TRY(LayOut(id, board, run, devices));
  std::int64_t seen_ns = 0;
  bool first = true;
  for (std::size_t i = 0; i < layout.times.size(); ++i) {
    if (!board.instances[i].counts) continue;
    GpuTime time = TRY(ScaledTo(layout.times[i], layout.shares[i]));
    KeepInside(&time);
    seen_ns += time.ObservedNs();
    DeviceTime row;
    row.device = board.instances[i].result->device;
    const int slices = devices[row.device].mig->slices;
    row.gpu_share = row.weight = static_cast<double>(slices) / layout.slices;
    row.span_ns = layout.times[i].WindowNs();
    row.a_gpu = !board.counts && std::exchange(first, false);
    row.parts = board.counts ? 0 : slices;
    row.of = layout.slices;
    row.time = time;
    capacity->devices.push_back(row);
  }
  if (board.counts) capacity->devices.push_back(RestOf(id, board, layout, seen_ns));
  return {};
}

}  // namespace

// Without any weight nothing can be in proportion, and the amount is 0 then in all callers.
Result<std::vector<std::int64_t>> SplitNanos(std::int64_t total, std::span<const std::int64_t> weights) {
  std::vector<std::int64_t> parts(weights.size(), 0);
  if (std::all_of(weights.begin(), weights.end(), [](std::int64_t w) { return w == 0; })) return parts;
  const std::vector<Money> split = TRY(Split(Money::Nano(total), weights));
  std::transform(split.begin(), split.end(), parts.begin(), [](Money m) { return m.nano(); });
  return parts;
}

std::int64_t GpuTime::WindowNs() const { return std::accumulate(line_ns.begin(), line_ns.end(), std::int64_t{0}); }

std::int64_t GpuTime::ObservedNs() const { return WindowNs() - At(Line::kUnobserved) - At(Line::kUnallocated); }

void GpuTime::Merge(const GpuTime& o) {
  for (std::size_t i = 0; i < kLineCount; ++i) line_ns[i] += o.line_ns[i];
  busy_ns += o.busy_ns;
  spin_ns += o.spin_ns;
  spin_busy_ns += o.spin_busy_ns;
  throttled_ns += o.throttled_ns;
  throttled_with_loss_ns += o.throttled_with_loss_ns;
}

Result<Capacity> CapacityOf(const RunResult& run, const DeviceTable& devices) {
  Capacity capacity;
  if (!run.devices.empty()) capacity.energy.picojoules = 0;
  for (const auto& [id, board] : BoardsOf(run, devices)) {
    ++capacity.gpus;
    const bool partitioned = std::any_of(board.instances.begin(), board.instances.end(),
                                         [](const Board::Instance& i) { return WindowOf(i.result->totals) > 0; });
    if (partitioned || !board.counts) {
      const std::string& name = NameOf(id, board, devices);
      if (!MigSlices(name)) capacity.unsized.insert(name);
      TRY(AddPartitioned(id, board, run, devices, &capacity));
      continue;
    }
    DeviceTime whole;
    whole.device = id;
    if (board.own != nullptr) whole.time = TimeOf(*board.own);
    KeepInside(&whole.time);
    whole.span_ns = whole.time.WindowNs();
    whole.energy = EnergyOf(board, whole.time.WindowNs());
    capacity.devices.push_back(whole);
  }
  std::stable_sort(capacity.devices.begin(), capacity.devices.end(),
                   [&](const DeviceTime& a, const DeviceTime& b) { return StandsBefore(a.device, b.device, devices); });
  for (const DeviceTime& device : capacity.devices) {
    capacity.whole.Merge(device.time);
    if (device.a_gpu) AddEnergy(device.energy, &capacity.energy);
  }
  return capacity;
}

namespace {

// value x part / of, rounded half to even; 0 if `of` is 0. In two steps, because the product may not fit.
Int128 PartOf(Int128 value, std::int64_t part, std::int64_t of) {
  return of == 0 ? 0 : value / of * part + DivHalfEven(value % of * part, of);
}
std::int64_t PartOf(std::int64_t value, std::int64_t part, std::int64_t of) {
  return static_cast<std::int64_t>(PartOf(Int128{value}, part, of));
}

// By bucket number: the longest time that any instance was read in it.
std::map<std::int64_t, std::int64_t> LongestRead(std::span<const DeviceResult* const> instances, std::int64_t seconds) {
  std::map<std::int64_t, std::int64_t> longest;
  for (const DeviceResult* instance : instances) {
    Timeline timeline = instance->totals.timeline;
    while (timeline.bucket_seconds < seconds) timeline.Coarsen();
    for (std::size_t i = 0; i < timeline.buckets.size(); ++i) {
      std::int64_t& most = longest[timeline.first + static_cast<std::int64_t>(i)];
      most = std::max(most, timeline.buckets[i].ObservedNs());
    }
  }
  return longest;
}

// Adds what a board did in `ns` of the time in which the bucket was read.
Result<void> AddPart(const TimelineBucket& bucket, std::int64_t ns, DeviceTotals* sum) {
  const std::int64_t read = bucket.ObservedNs();
  const std::vector<std::int64_t> phases = TRY(SplitNanos(ns, bucket.phase_ns));
  for (std::size_t p = 0; p < kPhaseCount; ++p) sum->phase_ns[p] += phases[p];
  const std::int64_t idle = phases.front();
  sum->idle_held_ns += std::min(idle, PartOf(bucket.held_ns, ns, read));
  sum->utilization.ns += ns;
  sum->utilization.area += PartOf(bucket.utilization.area, ns, read);
  sum->throttled_ns += PartOf(bucket.throttled_ns, ns, read);
  return {};
}

// Fills in what the timeline does not tell, in the proportions of all of the board's time.
Result<void> FillIn(const DeviceResult& all, DeviceResult* part) {
  constexpr auto kIdle = static_cast<std::size_t>(Phase::kIdle);
  constexpr auto kBound = static_cast<std::size_t>(Phase::kComputeBound);
  DeviceTotals& totals = part->totals;
  const std::int64_t not_held = totals.phase_ns[kIdle] - totals.idle_held_ns;
  const std::array<std::int64_t, 2> weights = {all.totals.idle_empty_ns, all.totals.idle_unknown_ns};
  const std::vector<std::int64_t> idle = TRY(SplitNanos(not_held, weights));
  totals.idle_empty_ns = idle.front();
  totals.idle_unknown_ns = not_held - totals.idle_empty_ns;
  const std::int64_t bound = totals.phase_ns[kBound];
  part->spin.time.ns = PartOf(all.spin.time.ns, bound, all.totals.phase_ns[kBound]);
  part->spin.time.area = PartOf(all.spin.time.area, bound, all.totals.phase_ns[kBound]);
  part->throttled_with_loss_ns = PartOf(all.throttled_with_loss_ns, totals.throttled_ns, all.totals.throttled_ns);
  return {};
}

}  // namespace

std::int64_t OwnTime::Within(Instant from, Instant to) const {
  std::int64_t sum = 0;
  for (const Stretch& s : stretches) {
    const std::int64_t inside = std::max<std::int64_t>(0, (std::min(s.end, to) - std::max(s.start, from)).count());
    const std::int64_t outside = std::max<std::int64_t>(0, (s.end - s.start).count()) - inside;
    sum += std::max<std::int64_t>(0, s.ns - outside);
  }
  return sum;
}

Result<OwnTime> OwnTimeOf(const DeviceResult& board, std::span<const DeviceResult* const> instances) {
  OwnTime own;
  own.board.device = board.device;
  Timeline timeline = board.totals.timeline;
  for (const DeviceResult* instance : instances) {
    while (timeline.bucket_seconds < instance->totals.timeline.bucket_seconds) timeline.Coarsen();
  }
  const std::map<std::int64_t, std::int64_t> longest = LongestRead(instances, timeline.bucket_seconds);
  const std::int64_t width = timeline.bucket_seconds * kNanosPerSecond;
  for (std::size_t i = 0; i < timeline.buckets.size(); ++i) {
    const std::int64_t number = timeline.first + static_cast<std::int64_t>(i);
    const std::int64_t read = timeline.buckets[i].ObservedNs();
    const auto other = longest.find(number);
    OwnTime::Stretch stretch = {std::max(Instant::FromNanos(number * width), board.first),
                                std::min(Instant::FromNanos((number + 1) * width), board.last), read};
    if (other != longest.end() && other->second > 0) {
      stretch.ns = std::clamp<std::int64_t>((stretch.end - stretch.start).count() - other->second, 0, read);
    }
    if (stretch.ns == 0) continue;
    TRY(AddPart(timeline.buckets[i], stretch.ns, &own.board.totals));
    own.stretches.push_back(stretch);
  }
  TRY(FillIn(board, &own.board));
  return own;
}

}  // namespace idleburn
