#include "price/gpu_time.h"

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "base/check.h"
#include "base/money.h"
#include "text/number.h"

namespace idleburn {
namespace {

// 1 mJ = 10^9 pJ; a milliwatt for a nanosecond is 1 pJ.
constexpr Int128 kPicojoulesPerMillijoule = 1'000'000'000;

std::int64_t Narrow(Int128 ns) {
  CHECK(FitsInt64(ns));
  return static_cast<std::int64_t>(ns);
}

std::int64_t BusyNs(const Integral& utilization) { return Narrow(DivHalfEven(utilization.area, kFull)); }

std::int64_t WindowOf(const DeviceTotals& totals) {
  return std::accumulate(totals.phase_ns.begin(), totals.phase_ns.end(), std::int64_t{0}) +
         std::accumulate(totals.unobserved_ns.begin(), totals.unobserved_ns.end(), std::int64_t{0});
}

// A counter of energy is better than a sum of readings of power, unless it leaves out more of what was measured than
// power may err by, 5 %: one that was read in the last hour only is not the energy of ten.
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

// A device's own time, as if it were a whole GPU, without its energy.
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

// Rounding to whole nanoseconds must not lift what is laid over a line above it.
void KeepInside(GpuTime* time) {
  time->busy_ns = std::min(time->busy_ns, time->ObservedNs());
  time->spin_ns = std::min(time->spin_ns, time->At(Line::kComputeBound));
  time->spin_busy_ns = std::min({time->spin_busy_ns, time->spin_ns, time->busy_ns});
}

// `time` in proportion, so that its window becomes `window`.
Result<GpuTime> ScaledTo(const GpuTime& time, std::int64_t window) {
  GpuTime scaled;
  const Result<std::vector<std::int64_t>> lines = SplitNanos(window, time.line_ns);
  if (!lines) return tl::unexpected<Error>(lines.error());
  std::copy(lines->begin(), lines->end(), scaled.line_ns.begin());
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

// Where people look for it.
auto PlaceOf(DeviceId id, const DeviceTable& devices) {
  const Device& device = devices[id];
  const Device& board = device.board ? devices[*device.board] : device;
  const std::int64_t instance = device.mig ? ParseInteger(device.mig->id).value_or(INT64_MAX) : -1;
  return std::tuple(std::string_view(board.host), board.index.value_or(INT_MAX), std::string_view(board.bus_id),
                    std::string_view(board.uuid), device.board.value_or(id), instance);
}

// A physical GPU: its own result, those of its MIG instances, or both.
struct Board {
  const DeviceResult* own = nullptr;
  std::vector<const DeviceResult*> instances;  // in the order of their places
};

std::map<DeviceId, Board> BoardsOf(const RunResult& run, const DeviceTable& devices) {
  std::map<DeviceId, Board> boards;
  for (const DeviceResult& result : run.devices) {
    const Device& device = devices[result.device];
    if (device.mig && device.board) {
      boards[*device.board].instances.push_back(&result);
    } else {
      boards[result.device].own = &result;
    }
  }
  for (auto& [id, board] : boards) {
    std::stable_sort(board.instances.begin(), board.instances.end(), [&](const DeviceResult* a, const DeviceResult* b) {
      return PlaceOf(a->device, devices) < PlaceOf(b->device, devices);
    });
  }
  return boards;
}

// Board readings are repeated by every instance that shows them: taken once. `window_ns`: the time of the board.
Energy EnergyOf(const Board& board, std::int64_t window_ns) {
  Energy energy;
  if (board.own != nullptr) energy = EnergyOf(board.own->totals);
  for (const DeviceResult* instance : board.instances) {
    if (!energy.picojoules) energy = EnergyOf(instance->totals);
  }
  energy.window_ns = window_ns;
  energy.covered_ns = std::min(energy.covered_ns, window_ns);
  return energy;
}

// Adds a board; a sum with an unknown part is unknown.
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

// From the first to the last reading of a board and its instances.
std::int64_t SpanNs(const Board& board, const std::vector<GpuTime>& instances) {
  Instant first = board.instances.front()->first;
  Instant last = board.instances.front()->last;
  std::vector<const DeviceResult*> all = board.instances;
  if (board.own != nullptr) all.push_back(board.own);
  std::int64_t longest = board.own == nullptr ? 0 : WindowOf(board.own->totals);
  for (const DeviceResult* device : all) {
    first = std::min(first, device->first);
    last = std::max(last, device->last);
  }
  for (const GpuTime& time : instances) longest = std::max(longest, time.WindowNs());
  return std::max(longest, (last - first).count());
}

Result<void> AddPartitioned(DeviceId id, const Board& board, const DeviceTable& devices, Capacity* capacity) {
  const std::string& board_name = devices[id].name;
  const int slices = BoardSlices(board_name.empty() ? devices[board.instances.front()->device].name : board_name);
  std::vector<GpuTime> times;
  for (const DeviceResult* instance : board.instances) times.push_back(TimeOf(*instance));
  const std::int64_t span = SpanNs(board, times);

  std::vector<std::int64_t> weights;
  Int128 rest = static_cast<Int128>(span) * slices;
  for (std::size_t i = 0; i < times.size(); ++i) {
    weights.push_back(times[i].WindowNs() * devices[board.instances[i]->device].mig->slices);
    rest -= weights.back();
  }
  if (rest < 0) {
    return Fail("MIG instances of GPU " + (devices[id].uuid.empty() ? board_name : devices[id].uuid) +
                " hold more than its " + std::to_string(slices) +
                " compute slices; audit the stretches before and after the change of its layout separately");
  }
  weights.push_back(Narrow(rest));
  const Result<std::vector<std::int64_t>> shares = SplitNanos(span, weights);
  if (!shares) return tl::unexpected<Error>(shares.error());

  for (std::size_t i = 0; i < times.size(); ++i) {
    Result<GpuTime> time = ScaledTo(times[i], (*shares)[i]);
    if (!time) return tl::unexpected<Error>(time.error());
    KeepInside(&*time);
    const DeviceId device = board.instances[i]->device;
    const double share = static_cast<double>(devices[device].mig->slices) / slices;
    capacity->devices.push_back({device, share, false, *time, {}});
  }
  const double left = static_cast<double>(shares->back()) / static_cast<double>(span);
  DeviceTime remainder{id, left, true, {}, EnergyOf(board, span)};
  remainder.time.line_ns[Index(Line::kUnallocated)] = shares->back();
  if (board.own != nullptr) {
    remainder.time.throttled_ns = board.own->totals.throttled_ns;
    remainder.time.throttled_with_loss_ns = board.own->throttled_with_loss_ns;
  }
  capacity->devices.push_back(remainder);
  return {};
}

}  // namespace

Result<std::vector<std::int64_t>> SplitNanos(std::int64_t total, std::span<const std::int64_t> weights) {
  std::vector<std::int64_t> parts(weights.size(), 0);
  if (std::all_of(weights.begin(), weights.end(), [](std::int64_t w) { return w == 0; })) return parts;
  const Result<std::vector<Money>> split = Split(Money::Nano(total), weights);
  if (!split) return tl::unexpected<Error>(split.error());
  std::transform(split->begin(), split->end(), parts.begin(), [](Money m) { return m.nano(); });
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
                                         [](const DeviceResult* d) { return TimeOf(*d).WindowNs() > 0; });
    if (partitioned) {
      TRY(AddPartitioned(id, board, devices, &capacity));
      continue;
    }
    DeviceTime whole{id, 1, true, {}, {}};
    if (board.own != nullptr) whole.time = TimeOf(*board.own);
    KeepInside(&whole.time);
    whole.energy = EnergyOf(board, whole.time.WindowNs());
    capacity.devices.push_back(whole);
  }
  std::stable_sort(capacity.devices.begin(), capacity.devices.end(), [&](const DeviceTime& a, const DeviceTime& b) {
    return PlaceOf(a.device, devices) < PlaceOf(b.device, devices);
  });
  for (const DeviceTime& device : capacity.devices) {
    capacity.whole.Merge(device.time);
    if (device.whole_gpu) AddEnergy(device.energy, &capacity.energy);
  }
  return capacity;
}

}  // namespace idleburn
