#pragma once

#include <vector>

#include "history/run.h"
#include "plan/evidence.h"

namespace idleburn {

// "gpu=l4;micro_batch=2": words of a plan on one line, as a forecast keeps them, and back. Words that are no keys of a
// plan are left out.
std::string PlanLine(const PlanWords& words);
PlanWords WordsOfLine(const std::string& line);

// What runs that were kept tell of their speed and memory: of each that says how it was configured, by the plan that
// started it or by tags named as the keys of a plan (model=..., seq_len=...).
std::vector<RunReading> ReadingsOf(const std::vector<HistoryRun>& runs);

}  // namespace idleburn
