#pragma once

#include "report/plan_output.h"

namespace idleburn {

// A plan of work and a measured rate, without a model: time, GPU-hours, cost, caps. Memory is not planned, and the page
// says that nothing was checked against a GPU.
ReportPage WorkPage(const PlanAnswer& answer);

}  // namespace idleburn
