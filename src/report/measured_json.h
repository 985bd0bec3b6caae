#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/display.h"
#include "report/json_values.h"
#include "report/measured.h"
#include "text/number.h"

namespace idleburn {

// What was measured, of all GPUs or of one, for whichever `Json` its writer uses; docs/json.md documents every key.

template <typename Json>
Json SignalsJson(const std::vector<MeasuredSignal>& rows) {
  Json list = Json::array();
  for (const MeasuredSignal& row : rows) {
    Json json;
    json["signal"] = row.name;
    json["scope"] = row.scope;
    json["unit"] = UnitName(row.unit);
    const auto put = [&](const std::string& key, const std::optional<double>& value) {
      PutNumber(json, key, value ? std::optional(InUnit(*value, row.unit)) : std::nullopt, row.reason);
    };
    put("mean", row.mean);
    put("p95", row.p95);
    put("peak", row.peak);
    json["coverage"] = row.coverage;
    json["counters"] = Json::array();
    for (const std::string& counter : row.counters) json["counters"].push_back(Printable(counter));
    list.push_back(std::move(json));
  }
  return list;
}

template <typename Json>
Json CheaperJson(const PeakFit& fit) {
  const CheaperGpu& gpu = *fit.cheapest;
  Json json;
  json["gpu"] = gpu.gpu;
  json["memory_gb"] = gpu.memory_gb;
  json["per_gpu_hour"] = FormatExact(gpu.per_gpu_hour, MinorUnitDigits("USD"));
  json["currency"] = "USD";
  json["key"] = Printable(gpu.key);
  PutText(json, "as_of", gpu.as_of ? FormatRfc3339(*gpu.as_of) : std::string(), "not_dated");
  json["others"] = fit.others;
  return json;
}

template <typename Json>
Json MemoryJson(const AuditReport& report) {
  Json list = Json::array();
  for (const MemoryUse& use : MemoryOf(report)) {
    Json json;
    const auto share = [&](double bytes) {
      return use.total ? std::optional(bytes / static_cast<double>(*use.total)) : std::nullopt;
    };
    PutText(json, "gpu", use.gpu_name, "not_reported");
    json["gpus"] = use.gpus;
    json["mean_bytes"] = use.mean;
    json["peak_bytes"] = use.peak;
    json["peak_on"] = Printable(DeviceLabel(report, use.peak_device));
    PutNumber(json, "total_bytes", use.total, "not_reported");
    PutNumber(json, "mean_share", share(use.mean), "not_reported");
    PutNumber(json, "peak_share", share(static_cast<double>(use.peak)), "not_reported");
    PutNumber(json, "above_85_percent_gpu_hours", use.total ? std::optional(InHours(use.above_ns)) : std::nullopt,
              "not_reported");
    json["headroom"] = static_cast<double>(kMemoryHeadroomPercent) / 100;
    if (use.fit != nullptr && use.fit->cheapest) {
      json["fits_cheaper"] = CheaperJson<Json>(*use.fit);
    } else {
      PutUnknown(json, "fits_cheaper", use.fit != nullptr ? use.fit->reason : "not_a_whole_gpu");
    }
    list.push_back(std::move(json));
  }
  return list;
}

template <typename Json>
Json ObservationsJson(const AuditReport& report) {
  Json list = Json::array();
  for (const Observation& o : ObservationsOf(report)) {
    list.push_back({{"id", o.id}, {"sentence", Printable(o.sentence)}});
  }
  return list;
}

}  // namespace idleburn
