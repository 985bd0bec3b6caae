#include "price/cost_split.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/int128.h"
#include "price/gpu_time.h"

// Splits amounts so that tables add up in both directions, reads counts of work, and divides a cost by them.
//
// A table of devices and lines has two borders that are given: the cost of each line and the cost of each device.
// Splitting each row by itself meets only the device totals; splitting each column meets only the line totals.
// Leftovers below meets both wherever a table exists that does. Only billionths are moved, so the choice among such
// tables does not matter to a reader, but it must be the same every time.

namespace idleburn {

namespace {

// Distributes the billionths that rounding down left over. Each device and each line lacks a known number, and every
// cell can take at most one while it stays within its rounding. That is a bipartite matching, found by augmenting
// paths. If a device cannot take a billionth on a line that lacks one, it takes one on another line, and another device
// gives its billionth of that line away.
class Leftovers {
 public:
  // Rounds every cell down, and notes what each line and each device then lacks.
  Leftovers(const CostLines& lines, std::int64_t total, std::span<const DeviceTime> devices,
            std::vector<std::int64_t> of_devices)
      : line_lacks_(lines), device_lacks_(std::move(of_devices)), costs_(devices.size()), cells_(devices.size()) {
    Int128 all = 0;
    for (const DeviceTime& device : devices) all += device.time.WindowNs();
    for (std::size_t d = 0; d < devices.size() && all > 0; ++d) {
      for (std::size_t l = 0; l < kLineCount; ++l) {
        const std::int64_t ns = devices[d].time.line_ns[l];
        const Int128 part = static_cast<Int128>(total) * ns;
        if (ns > 0) cells_[d].timed |= Bit(l);
        if (part % all != 0) cells_[d].open |= Bit(l);
        costs_[d][l] = static_cast<std::int64_t>(part / all);
        line_lacks_[l] -= costs_[d][l];
        device_lacks_[d] -= costs_[d][l];
      }
    }
  }

  // Two passes: first within the rounding of each cell, then beside it. Devices and lines that share no time may
  // remain. Then the lines win, because the report's first table shows them.
  std::vector<CostLines> HandOut() {
    for (const Within within : {Within::kRoundedUp, Within::kTimed}) {
      for (std::size_t d = 0; d < cells_.size(); ++d) {
        for (unsigned tried = 0; device_lacks_[d] > 0 && Raise(d, within, &tried); tried = 0) --device_lacks_[d];
      }
    }
    // What a line still lacks goes to a device with time on it. The total of that device is then exceeded: the lines
    // win.
    for (std::size_t l = 0; l < kLineCount; ++l) {
      for (std::size_t d = 0; d < cells_.size() && line_lacks_[l] > 0; ++d) {
        if ((cells_[d].timed & Bit(l)) != 0) Turn(d, l, +1);
      }
    }
    return std::move(costs_);
  }

 private:
  enum class Within : std::uint8_t { kRoundedUp, kTimed };  // which cells may take a billionth
  static constexpr unsigned Bit(std::size_t line) { return 1U << line; }
  // The cells of one device as bits, one per line.
  struct Cells {
    unsigned timed = 0;  // have time
    unsigned open = 0;   // were rounded down and could be rounded up
    unsigned raised = 0;
  };

  // The lines on which the device can take a billionth.
  [[nodiscard]] unsigned Takers(std::size_t device, Within within) const {
    return within == Within::kTimed ? cells_[device].timed : cells_[device].open & ~cells_[device].raised;
  }
  // Whether the device can give a billionth of the line back.
  [[nodiscard]] bool CanGive(std::size_t device, std::size_t line, Within within) const {
    return within == Within::kTimed ? costs_[device][line] > 0 : (cells_[device].raised & Bit(line)) != 0;
  }

  // Gives the device a billionth: on a line that lacks one, else on a line from which another device can move one
  // away. `tried` marks the lines of this search, which ends it.
  bool Raise(std::size_t device, Within within, unsigned* tried) {
    for (const bool lacking : {true, false}) {
      for (std::size_t l = 0; l < kLineCount; ++l) {
        const unsigned bit = Bit(l);
        if ((Takers(device, within) & ~*tried & bit) == 0 || (lacking && line_lacks_[l] == 0)) continue;
        *tried |= bit;
        if (!lacking && !MoveAway(l, within, tried)) continue;
        Turn(device, l, +1);
        return true;
      }
    }
    return false;
  }

  // Makes room on a line: some device gives a billionth of it and takes one on another line.
  bool MoveAway(std::size_t line, Within within, unsigned* tried) {
    for (std::size_t d = 0; d < cells_.size(); ++d) {
      if (!CanGive(d, line, within) || !Raise(d, within, tried)) continue;
      Turn(d, line, -1);
      return true;
    }
    return false;
  }

  // Adds or takes one billionth of a cell.
  void Turn(std::size_t device, std::size_t line, int way) {
    cells_[device].raised ^= Bit(line);
    costs_[device][line] += way;
    line_lacks_[line] -= way;
  }

  CostLines line_lacks_;
  std::vector<std::int64_t> device_lacks_;
  std::vector<CostLines> costs_;
  std::vector<Cells> cells_;
};

}  // namespace

Result<std::vector<CostLines>> SplitOverDevices(const CostLines& lines, std::span<const DeviceTime> devices) {
  const std::int64_t total = std::accumulate(lines.begin(), lines.end(), std::int64_t{0});
  std::vector<std::int64_t> times;
  for (const DeviceTime& device : devices) times.push_back(device.time.WindowNs());
  std::vector<std::int64_t> totals = TRY(SplitNanos(total, times));
  return Leftovers(lines, total, devices, std::move(totals)).HandOut();
}

namespace {

using Usage = CostReport::RunUsage;
constexpr std::size_t kUnobserved = kPhaseCount;
constexpr std::size_t kUnallocated = kPhaseCount + 1;

// The lines of RunUsage: idle is one of them, not three.
std::array<std::int64_t, Usage::kLines> LinesOf(const UsageCost& usage) {
  std::array<std::int64_t, Usage::kLines> lines{};
  std::copy(usage.phase_ns.begin(), usage.phase_ns.end(), lines.begin());
  lines[kUnobserved] = usage.unobserved_ns;
  lines[kUnallocated] = usage.unallocated_ns;
  return lines;
}

// The amounts of the same lines. Absent for a device without a rate.
std::array<std::optional<Money>, Usage::kLines> CostsOf(const UsageCost& usage) {
  std::array<std::optional<Money>, Usage::kLines> costs{};
  std::copy(usage.phase_cost.begin(), usage.phase_cost.end(), costs.begin());
  costs[kUnobserved] = usage.unobserved_cost;
  costs[kUnallocated] = usage.unallocated_cost;
  return costs;
}

// The device's own time in a run on one line. Unallocated time is not the device's, so it is 0 there.
std::int64_t InLine(const RunTime& time, std::size_t line) {
  if (line < kPhaseCount) return time.phase_ns[line];
  return line == kUnobserved ? time.UnobservedNs() : 0;
}

// The weights by which a line of a device is split over its runs: its own time in them, or, if it has none on that
// line, the length of the runs.
std::vector<std::int64_t> WeightsOf(const std::vector<DeviceResult::InRun>& parts, std::size_t line) {
  std::vector<std::int64_t> weights;
  for (const DeviceResult::InRun& part : parts) weights.push_back(InLine(part.time, line));
  if (std::any_of(weights.begin(), weights.end(), [](std::int64_t w) { return w > 0; })) return weights;
  weights.clear();
  for (const DeviceResult::InRun& part : parts) {
    weights.push_back(std::max<std::int64_t>(1, (part.last - part.first).count()));
  }
  return weights;
}

// The runs that a row was in. A board that was never read itself was in the runs of its instances.
std::vector<DeviceResult::InRun> PartsOf(DeviceId device, const RunResult& run, const DeviceTable& devices) {
  const DeviceResult* own = run.Of(device);
  if (own != nullptr && !devices[device].has_instances) return own->runs;
  std::vector<DeviceResult::InRun> parts;
  const auto add = [&](const DeviceResult& result, bool with_time) {
    for (const DeviceResult::InRun& in : result.runs) {
      auto at = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.run == in.run; });
      if (at == parts.end()) at = parts.insert(parts.end(), {in.run, in.first, in.last, {}});
      at->first = std::min(at->first, in.first);
      at->last = std::max(at->last, in.last);
      if (with_time) at->time.Merge(in.time);
    }
  };
  if (own != nullptr) add(*own, true);
  for (const DeviceResult& result : run.devices) {
    if (devices[result.device].board == device) add(result, false);
  }
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.run < b.run; });
  return parts;
}

// Times and costs are split by the same weights, so an hour has one price in every run.
Result<void> SplitDevice(const std::vector<DeviceResult::InRun>& parts, CostReport::DeviceCost* device) {
  for (const DeviceResult::InRun& part : parts) device->runs.push_back({part.run, {}});
  const auto lines = LinesOf(device->usage);
  const auto costs = CostsOf(device->usage);
  for (std::size_t line = 0; line < Usage::kLines; ++line) {
    const std::vector<std::int64_t> weights = WeightsOf(parts, line);
    const std::vector<std::int64_t> ns = TRY(SplitNanos(lines[line], weights));
    const std::vector<std::int64_t> cost = TRY(SplitNanos(costs[line].value_or(Money()).nano(), weights));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Usage& usage = device->runs[i].usage;
      usage.ns[line] = ns[i];
      if (costs[line]) usage.cost[line] = Money::Nano(cost[i]);
    }
  }
  return {};
}

// Utilization over all devices of a run, weighted by their share of a GPU: `area` is time x utilisation.
struct BusyTime {
  double ns = 0;
  double area = 0;
};

}  // namespace

std::int64_t CostReport::RunUsage::WindowNs() const { return std::accumulate(ns.begin(), ns.end(), std::int64_t{0}); }

std::int64_t CostReport::RunUsage::ObservedNs() const { return WindowNs() - ns[kUnobserved] - ns[kUnallocated]; }

std::optional<Money> CostReport::RunUsage::Total() const {
  std::optional<Money> total;
  for (const std::optional<Money>& m : cost) {
    if (m) total = Money::Nano(total.value_or(Money()).nano() + m->nano());
  }
  return total;
}

void CostReport::RunUsage::Merge(const RunUsage& o) {
  for (std::size_t line = 0; line < kLines; ++line) {
    ns[line] += o.ns[line];
    if (o.cost[line]) cost[line] = Money::Nano(cost[line].value_or(Money()).nano() + o.cost[line]->nano());
  }
}

Result<void> SplitOverRuns(const RunResult& run, const DeviceTable& devices, CostReport* report) {
  std::vector<BusyTime> busy(run.runs.size());
  std::vector<std::set<DeviceId>> boards(run.runs.size());
  for (const RunSpan& span : run.runs) report->runs.push_back({span, 0, {}, {}});
  for (CostReport::DeviceCost& device : report->devices) {
    const std::vector<DeviceResult::InRun> parts = PartsOf(device.device, run, devices);
    TRY(SplitDevice(parts, &device));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t at = parts[i].run;
      report->runs[at].usage.Merge(device.runs[i].usage);
      boards[at].insert(devices[device.device].board.value_or(device.device));
      const Integral& utilization = parts[i].time.utilization;
      busy[at].ns += device.weight * static_cast<double>(utilization.ns);
      busy[at].area += device.weight * static_cast<double>(utilization.area);
    }
  }
  for (std::size_t at = 0; at < report->runs.size(); ++at) {
    report->runs[at].gpus = static_cast<int>(boards[at].size());
    if (busy[at].ns > 0)
      report->runs[at].mean_utilization = busy[at].area / busy[at].ns / static_cast<double>(kPercent);
  }
  return {};
}

}  // namespace idleburn
