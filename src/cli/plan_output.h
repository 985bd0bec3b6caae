#pragma once

#include <string>

#include "cli/plan_options.h"

namespace idleburn {

// A run's needs, and what to run it on; `options` is absent without work to price.
struct PlanAnswer {
  PlanReport report;
  std::optional<PlanOptions> options;
};

// For people, in `width` columns: verdict, what to take, breakdown, throughput, time, GPUs.
std::string PlanText(const PlanAnswer& answer, int width);
// As docs/json.md describes it.
std::string PlanJson(const PlanAnswer& answer);

}  // namespace idleburn
