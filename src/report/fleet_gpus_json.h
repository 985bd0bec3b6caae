#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "fleet/fleet_report.h"
#include "report/fleet_gpus_output.h"
#include "report/json_values.h"

// The keys gpu_use, energy, right_sizing and packing of docs/json/fleet.md. `Json` is a template parameter, so that
// this header does not include the JSON library, which is slow to compile.
namespace idleburn {

template <typename Json>
Json NodeGpuJson(const GpuOnNode& gpu) {
  return Json{{"uuid", Printable(gpu.uuid)}, {"node", Printable(gpu.node)}};
}

// Adds the figures of one GPU or of all.
template <typename Json>
void PutGpuUse(Json& json, const GpuUse& use) {
  const std::int64_t observed = use.ObservedMs();
  json["observed_gpu_hours"] = GpuHoursOf(observed);
  json["unobserved_gpu_hours"] = GpuHoursOf(use.UnobservedMs());
  json["decile_gpu_hours"] = Json::array();
  for (const std::int64_t ms : use.decile_ms) json["decile_gpu_hours"].push_back(GpuHoursOf(ms));
  json["effective_gpu_hours_low"] = GpuHoursOf(use.BusyLowMs());
  json["effective_gpu_hours_high"] = GpuHoursOf(use.BusyHighMs());
  const auto percent = [observed](std::int64_t ms) {
    return observed == 0 ? std::optional<double>()
                         : std::optional(100 * static_cast<double>(ms) / static_cast<double>(observed));
  };
  PutNumber(json, "mean_utilization_low_percent", percent(use.BusyLowMs()), "no_data");
  PutNumber(json, "mean_utilization_high_percent", percent(use.BusyHighMs()), "no_data");
  for (std::size_t i = 0; i < kIdleMemoryKinds; ++i) {
    json["idle_gpu_hours"][std::string(kIdleMemoryKindNames[i])] = GpuHoursOf(use.idle_ms[i]);
  }
  json["spin_wait_gpu_hours"] = GpuHoursOf(use.spin_ms);
  for (std::size_t i = 0; i < kEventReasonCount; ++i) {
    const std::string name(kEventReasonTable[i].name);
    if (IsSlowdown(i)) json["slowdown_gpu_hours"][name] = GpuHoursOf(use.throttled_ms[i]);
    if (IsPowerCap(i)) json["power_cap_gpu_hours"] = GpuHoursOf(use.throttled_ms[i]);
  }
}

template <typename Json>
Json FleetGpuUseJson(const FleetGpuUse& use) {
  Json json = {{"basis", "live_counters"}};
  PutGpuUse(json, use.whole);
  json["lost_states"] = use.lost_states;
  json["gpus_without_counter"] = use.without_counter;
  json["missing"] = Json::array();
  for (const std::string& each : use.missing) json["missing"].push_back(Printable(each));
  json["per_gpu"] = Json::array();
  for (const GpuUseRow& row : use.gpus) {
    Json gpu = NodeGpuJson<Json>(row.gpu);
    PutGpuUse(gpu, row.use);
    json["per_gpu"].push_back(std::move(gpu));
  }
  return json;
}

template <typename Json>
Json FleetEnergyJson(const FleetEnergy& energy) {
  Json json = {{"basis", "live_counters"}};
  const bool any = energy.millijoules > 0;
  const auto known = [any](double value) { return any ? std::optional(value) : std::optional<double>(); };
  PutNumber(json, "energy_kwh", known(energy.Kwh()), "not_measured");
  PutNumber(json, "site_kwh", known(energy.SiteKwh()), "not_measured");
  json["pue"] = static_cast<double>(energy.pue_millionths) / 1e6;
  PutNumber(json, "co2e_kg", any ? energy.Co2eKg() : std::nullopt, "not_asked_or_not_measured");
  json["currency"] = energy.currency;
  PutMoney(json, "cost", energy.cost, energy.currency);
  for (const EnergySource source : {EnergySource::kDriverCounter, EnergySource::kPower, EnergySource::kNone}) {
    json["gpus"][std::string(Name(source))] = energy.count[static_cast<std::size_t>(source)];
  }
  json["gpus_apart"] = energy.apart;
  json["per_gpu"] = Json::array();
  for (const GpuEnergyRow& row : energy.gpus) {
    Json gpu = NodeGpuJson<Json>(row.gpu);
    gpu["source"] = std::string(Name(row.source));
    const bool measured = row.source != EnergySource::kNone;
    PutNumber(gpu, "energy_kwh", measured ? std::optional(KwhOf(row.millijoules)) : std::nullopt, "not_measured");
    json["per_gpu"].push_back(std::move(gpu));
  }
  return json;
}

template <typename Json>
Json RightSizingJson(const FleetRightSizing& sizing, const std::string& currency) {
  Json json = {{"judged", sizing.judged},
               {"without_memory", sizing.without_memory},
               {"too_little_data", sizing.little_data},
               {"instances", sizing.instances},
               {"unused", sizing.unused},
               {"unpriced", sizing.unpriced},
               {"candidates", Json::array()}};
  for (const SizeCandidate& each : sizing.candidates) {
    Json row = {{"kind", each.kind}, {"model", Printable(each.model)}, {"target", each.target}};
    row["price_key"] = TextOrNull<Json>(each.price_key);
    row["team"] = TextOrNull<Json>(each.team);
    row["job"] = TextOrNull<Json>(each.job);
    row["gpu_hours"] = GpuHoursOf(each.time_ms);
    row["memory_peak_bytes"] = each.peak_bytes;
    const double observed = static_cast<double>(std::max<std::int64_t>(each.observed_ms, 1));
    row["mean_utilization_low_percent"] = 100 * static_cast<double>(each.busy_low_ms) / observed;
    row["mean_utilization_high_percent"] = 100 * static_cast<double>(each.busy_high_ms) / observed;
    PutMoney(row, "saving_at_most", each.saving_at_most, currency);
    row["gpus"] = Json::array();
    for (const GpuOnNode& gpu : each.gpus) row["gpus"].push_back(NodeGpuJson<Json>(gpu));
    json["candidates"].push_back(std::move(row));
  }
  return json;
}

template <typename Json>
Json PackingJson(const FleetPacking& packing, const std::string& currency) {
  Json json = {{"basis", "closed_hours"}, {"classes", Json::array()}};
  for (const PackedClass& each : packing.classes) {
    Json row = {{"model", TextOrNull<Json>(each.model)},
                {"gpus_per_node", each.gpus_per_node},
                {"nodes", each.nodes},
                {"hours", each.hours},
                {"gpus_held_mean", each.gpus_mean},
                {"gpus_held_p95", each.gpus_p95},
                {"gpus_held_peak", each.gpus_peak},
                {"nodes_needed_at_least", each.needed_peak},
                {"nodes_needed_at_least_whole_jobs", each.needed_whole},
                {"nodes_needed_at_least_p95", each.needed_p95},
                {"nodes_freed_at_most", each.FreedAtMost()}};
    row["unknown_owner_gpu_hours"] = GpuHoursOf(each.unknown_ms);
    PutMoney(row, "saving_at_most", each.saving_at_most, currency);
    json["classes"].push_back(std::move(row));
  }
  return json;
}

// Adds the four keys to a fleet's document. Null: not read, or the engine has no such counters.
template <typename Json>
void PutGpuFindings(Json& json, const FleetReport& report) {
  json["gpu_use"] = report.gpu_use ? FleetGpuUseJson<Json>(*report.gpu_use) : Json(nullptr);
  json["energy"] = report.energy ? FleetEnergyJson<Json>(*report.energy) : Json(nullptr);
  json["right_sizing"] =
      report.right_sizing ? RightSizingJson<Json>(*report.right_sizing, report.currency) : Json(nullptr);
  json["packing"] = report.packing ? PackingJson<Json>(*report.packing, report.currency) : Json(nullptr);
}

}  // namespace idleburn
