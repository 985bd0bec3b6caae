#pragma once

#include <string>

#include "base/run_ids.h"
#include "history/run.h"
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

}  // namespace idleburn
