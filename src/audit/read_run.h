#pragma once

#include <memory>
#include <string>
#include <vector>

#include "audit/run_inputs.h"
#include "import/importer.h"
#include "terminal/progress.h"

namespace idleburn {

// Reads the inputs of one run. The content of each tells its format.
//
// Samples go to the classifier of the result. One input in order of time streams through; several, or one that groups
// by metric, are first sorted onto a common clock. Profilers' files are kept for ClassifyRun. A scheduler's list of
// jobs (JobTimes in import/importer.h) bounds the jobs that labels name.
//
// Inputs are read in the order of their names, because the first names a device's counters and the place of a doubt:
// the order on the command line must decide nothing. An input without times is refused beside one with times.
// `thresholds` and `options` outlive the result. What is read counts in
// `progress`, which may be null: in its task if it has one, else in tasks of this function.
Result<std::shared_ptr<RunInputs>> Read(std::vector<std::string> paths, const ImportOptions& options,
                                        const Thresholds& thresholds, Progress* progress = nullptr);

}  // namespace idleburn
