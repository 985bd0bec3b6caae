#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "price/cost_report.h"

namespace idleburn {

// A run put together by hand: devices are boards unless `Slice` makes them MIG instances.
struct CostScene {
  DeviceTable table;
  OwnerLedger owners;
  RunResult run;
  Rate rate;
  std::optional<RateCard> card;  // instead of the one rate
  WorkDone work;
  EnergyPrice energy;
  int month_hours = 720;

  explicit CostScene(std::string_view price) {
    if (!price.empty()) rate.per_gpu_hour = Money::Parse(price).value();
  }
  DeviceResult& Add(DeviceId id) {
    DeviceResult result;
    result.device = id;
    run.devices.push_back(result);
    return run.devices.back();
  }
  DeviceResult& Gpu(int index) {
    DeviceKey key;
    key.index = index;
    key.name = "NVIDIA H100 80GB HBM3";
    return Add(table.Enter(key));
  }
  DeviceResult& Slice(int index, const std::string& id, int slices) {
    DeviceKey key;
    key.index = index;
    key.name = "NVIDIA H100 80GB HBM3";
    key.mig = MigInstance{id, std::to_string(slices) + "g", slices};
    return Add(table.Enter(key));
  }
  [[nodiscard]] Result<CostReport> Priced() const {
    return PriceRun(run, table, owners, card ? *card : RateCard(rate), work, energy, month_hours);
  }
  [[nodiscard]] CostReport Report() const { return Priced().value(); }
};

// Observed time of a phase at a utilisation in percent.
inline void Observe(DeviceResult& d, Phase phase, std::int64_t ns, std::int64_t percent) {
  d.totals.phase_ns[static_cast<std::size_t>(phase)] += ns;
  if (phase == Phase::kIdle) d.totals.idle_unknown_ns += ns;
  d.totals.utilization.Add(ns, percent * kPercent);
  d.last = d.last + Nanos(ns);
}

inline void Miss(DeviceResult& d, std::int64_t ns) {
  d.totals.unobserved_ns[0] += ns;
  d.last = d.last + Nanos(ns);
}

}  // namespace idleburn
