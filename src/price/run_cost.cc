#include "price/run_cost.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/int128.h"
#include "price/gpu_time.h"

namespace idleburn {
namespace {

using Usage = CostReport::RunUsage;
constexpr std::size_t kUnobserved = kPhaseCount;
constexpr std::size_t kUnallocated = kPhaseCount + 1;

std::array<std::int64_t, Usage::kLines> LinesOf(const UsageCost& usage) {
  std::array<std::int64_t, Usage::kLines> lines{};
  std::copy(usage.phase_ns.begin(), usage.phase_ns.end(), lines.begin());
  lines[kUnobserved] = usage.unobserved_ns;
  lines[kUnallocated] = usage.unallocated_ns;
  return lines;
}

std::array<std::optional<Money>, Usage::kLines> CostsOf(const UsageCost& usage) {
  std::array<std::optional<Money>, Usage::kLines> costs{};
  std::copy(usage.phase_cost.begin(), usage.phase_cost.end(), costs.begin());
  costs[kUnobserved] = usage.unobserved_cost;
  costs[kUnallocated] = usage.unallocated_cost;
  return costs;
}

std::int64_t InLine(const RunTime& time, std::size_t line) {
  if (line < kPhaseCount) return time.phase_ns[line];
  return line == kUnobserved ? time.UnobservedNs() : 0;
}

// By what a line of a device is split: its own time in it; where it has none, the length of the runs it was in.
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

// The runs that a row of the capacity was in. A board that was never read itself was in those of its instances.
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

// Utilization of all in one run, weighted by what each is of a GPU.
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
