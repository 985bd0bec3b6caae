#pragma once

#include <string>
#include <vector>

#include "report/plan_output.h"

namespace idleburn {

// Lines that pages of a plan share.

// How many epochs a cap in GPU-hours holds, by overhead. Nothing without such a cap.
void AddCapLines(const PlanReport& report, std::vector<std::string>* lines);
// What was assumed, and every warning.
std::vector<std::string> PlanNotes(const PlanAnswer& answer);

}  // namespace idleburn
