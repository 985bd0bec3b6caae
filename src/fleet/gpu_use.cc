#include "fleet/gpu_use.h"

#include <algorithm>
#include <map>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kMillijoulesPerKwh = 3'600'000'000;
constexpr std::int64_t kMillion = 1'000'000;

// Whether two measures of one energy differ by more than a fifth: a board's sensor is off by 5 %.
bool Apart(std::int64_t a, std::int64_t b) { return std::max(a, b) * 5 > std::min(a, b) * 6; }

GpuEnergyRow EnergyRowOf(const GpuOnNode& gpu, const GpuCounterValues& rise) {
  const std::int64_t counter = rise[kEnergyPlace];
  const std::int64_t power = rise[kEnergyPlace + 1];
  if (counter > 0) return {gpu, EnergySource::kDriverCounter, counter};
  if (power > 0) return {gpu, EnergySource::kPower, power};
  return {gpu, EnergySource::kNone, 0};
}

GpuUse UseOfGpu(const GpuCounterValues& rise, std::int64_t counted_ms) {
  GpuUse use;
  for (std::size_t i = 0; i < kUtilizationDeciles; ++i) use.decile_ms[i] = rise[i];
  for (std::size_t i = 0; i < kIdleMemoryKinds; ++i) use.idle_ms[i] = rise[kIdlePlace + i];
  use.spin_ms = rise[kSpinPlace];
  for (std::size_t i = 0; i < kEventReasonCount; ++i) use.throttled_ms[i] = rise[kThrottledPlace + i];
  use.counted_ms = counted_ms;
  return use;
}

}  // namespace

std::int64_t GpuUse::ObservedMs() const {
  std::int64_t sum = 0;
  for (const std::int64_t ms : decile_ms) sum += ms;
  return sum;
}

std::int64_t GpuUse::BusyLowMs() const {
  std::int64_t tenths = 0;
  for (std::size_t d = 0; d < kUtilizationDeciles; ++d) tenths += static_cast<std::int64_t>(d) * decile_ms[d];
  return tenths / 10;
}

void GpuUse::Add(const GpuUse& other) {
  const auto add = [](auto& sum, const auto& more) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  };
  add(decile_ms, other.decile_ms);
  add(idle_ms, other.idle_ms);
  add(throttled_ms, other.throttled_ms);
  spin_ms += other.spin_ms;
  counted_ms += other.counted_ms;
}

std::optional<double> FleetEnergy::Co2eKg() const {
  if (!grams_co2e_per_kwh) return std::nullopt;
  return SiteKwh() * *grams_co2e_per_kwh / 1000;
}

Result<std::int64_t> ParsePue(const std::string& text) {
  const ScaledNumber pue = ParseScaled(text, 6);
  if (pue.fault != NumberFault::kNone || pue.value < kMillion || pue.value > 10 * kMillion) {
    return FailUsage("fleet: --pue " + Printable(text) +
                     " is not from 1 to 10; give power of the site / power of the machines, like 1.3");
  }
  return pue.value;
}

FleetGpuUse UseOf(const GpuCountersRead& read, const FleetReport& report) {
  FleetGpuUse all;
  all.lost_states = read.lost_states;
  all.missing = read.missing;
  std::map<GpuOnNode, std::int64_t> counted;
  for (const FleetGpu& gpu : report.gpus) {
    counted[{gpu.node, gpu.uuid}] = gpu.time.TotalMs();
    all.without_counter += read.gpus.count({gpu.node, gpu.uuid}) == 0 ? 1 : 0;
  }
  for (const auto& [gpu, sum] : read.gpus) {
    const auto closed = counted.find(gpu);
    all.gpus.push_back({gpu, UseOfGpu(sum.rise, closed == counted.end() ? 0 : closed->second)});
    all.whole.Add(all.gpus.back().use);
  }
  return all;
}

Result<FleetEnergy> EnergyOf(const GpuCountersRead& read, const EnergyPrice& price, std::int64_t pue_millionths) {
  FleetEnergy energy;
  energy.pue_millionths = pue_millionths;
  energy.grams_co2e_per_kwh = price.grams_co2e_per_kwh;
  energy.currency = price.currency;
  for (const auto& [gpu, sum] : read.gpus) {
    const GpuEnergyRow row = EnergyRowOf(gpu, sum.rise);
    energy.millijoules += row.millijoules;
    ++energy.count[static_cast<std::size_t>(row.source)];
    const std::int64_t power = sum.rise[kEnergyPlace + 1];
    if (row.source == EnergySource::kDriverCounter && power > 0 && Apart(row.millijoules, power)) ++energy.apart;
    energy.gpus.push_back(row);
  }
  const bool any = energy.millijoules > 0;
  if (price.per_kwh && any) {
    energy.cost = TRY(Scale(*price.per_kwh, static_cast<Int128>(energy.millijoules) * pue_millionths,
                            static_cast<Int128>(kMillijoulesPerKwh) * kMillion));
  }
  return energy;
}

}  // namespace idleburn
