#pragma once

#include <string>
#include <vector>

#include "report/plan_output.h"

namespace idleburn {

// What the pages of a plan share, and the page without a model.

// How many epochs a cap in GPU-hours holds, by overhead. Nothing without such a cap.
void AddCapLines(const PlanReport& report, std::vector<std::string>* lines);
// The step that measured steps forecast, the fixed cost, the speed without it and the worst residual. Nothing without
// measured steps.
void AddMeasuredLines(const PlanReport& report, std::vector<std::string>* lines);
// What was assumed, and every warning.
std::vector<std::string> PlanNotes(const PlanAnswer& answer);

// A plan of work and a measured rate, without a model: time, GPU-hours, cost, caps. Memory is not planned, and the page
// says that nothing was checked against a GPU.
ReportPage WorkPage(const PlanAnswer& answer);

}  // namespace idleburn
