#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/run_ids.h"
#include "config/common_flags.h"
#include "history/run.h"
#include "plan/forecast_outcome.h"
#include "plan/options.h"

namespace idleburn {

// A run's needs, and what to run it on; `options` is absent without work to price.
struct PlanAnswer {
  PlanReport report;
  std::optional<PlanOptions> options;
  RunIds ids = {};
  std::optional<HistoryRun> run = std::nullopt;  // that was launched, once it has ended
};

// What its speed rests on: "probe of 2026-11-21: 20 + 20 steps".
std::string BasisText(const PlanReport& report);

// For people, in `width` columns: verdict, what to take, breakdown, throughput, time, GPUs.
std::string PlanText(const PlanAnswer& answer, int width);
// As docs/json.md describes it.
std::string PlanJson(const PlanAnswer& answer);

// The flags of a question about a step's utilization alone, as they were written.
struct StepFlags {
  std::string from;  // "45%@220ms"
  std::string to;    // "80%" or "88%@130ms"
  std::string of;    // "10h"

  void AddTo(CommandFlags& flags);
  [[nodiscard]] bool asked() const { return !from.empty() || !to.empty() || !of.empty(); }
};

// What a target utilization takes, or what a measured change saved: for people, or as docs/json.md describes it, schema
// idleburn.utilization/1.
Result<std::string> UtilizationAnswer(const StepFlags& flags, bool json, const RunIds& ids = {});

// A quantity for people: "hours", "tokens/s per GPU".
std::string_view Title(ForecastQuantity quantity);

// The table of an outcome for a terminal, with the verdict first.
std::string OutcomeText(const HistoryRun& run, int width);

}  // namespace idleburn
