#pragma once

#include <string>

#include "plan/plan_report.h"

namespace idleburn {

// The plan for people, in `width` columns: verdict, breakdown, GPUs, throughput, time, warnings.
std::string PlanText(const PlanReport& report, int width);
// As docs/json.md describes it.
std::string PlanJson(const PlanReport& report);

}  // namespace idleburn
