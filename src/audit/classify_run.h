#pragma once

#include "audit/run_inputs.h"
#include "base/result.h"

namespace idleburn {

// Ends the classification of a run, unless it has ended: sets `run.run`, `run.trace` and `run.traced_only`. Refuses
// files whose times cannot be those of one run (a clock that stood at 1970, pieces in the wrong order) and files
// without a reading of a GPU.
Result<void> ClassifyRun(RunInputs& run);

// Leaves out the GPUs that the run says its command could not see, unless `all_gpus`. Sets `run.why_no_gpu` if none is
// left.
void LeaveOutHidden(RunInputs& run, bool all_gpus);

}  // namespace idleburn
