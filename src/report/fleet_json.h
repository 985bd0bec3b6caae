#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/engine.h"
#include "fleet/fleet_report.h"
#include "report/json_values.h"

// Values that several documents of a fleet have (docs/json/fleet.md). `Json` is a template parameter for the reason of
// report/json_values.h.
namespace idleburn {

template <typename Json>
Json EngineJson(const EngineFacts& engine) {
  return {{"kind", engine.kind}, {"version", TextOrNull<Json>(engine.version)}, {"url", Printable(engine.url)}};
}

// GPU-hours by phase, without their sum.
template <typename Json>
Json PhaseHoursJson(const FleetTime& time) {
  Json json;
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
    json[std::string(kFleetPhaseNames[p])] = GpuHoursOf(time.phases[p]);
  }
  return json;
}

// GPU-hours by phase, and `total`.
template <typename Json>
Json GpuHoursJson(const FleetTime& time) {
  Json json = PhaseHoursJson<Json>(time);
  json["total"] = GpuHoursOf(time.TotalMs());
  return json;
}

// Adds the bounds of the waste.
template <typename Json>
void PutWaste(Json& json, const FleetCost& cost, std::string_view currency) {
  PutMoney(json, "waste", cost.waste, currency);
  PutMoney(json, "waste_high", cost.waste_high, currency);
}

}  // namespace idleburn
