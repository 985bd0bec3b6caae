#pragma once

#include "audit/run_inputs.h"
#include "base/result.h"

namespace idleburn {

// Ends the classification of a run. Sets `run.run`, `run.trace` and `run.traced_only`; a second call does nothing.
// Refuses files whose times cannot be those of one run (a clock that stood at 1970, pieces in the wrong order) and
// files without a reading of a GPU.
Result<void> ClassifyRun(RunInputs& run);

// Leaves out the GPUs that the command could not see by its CUDA_VISIBLE_DEVICES and the like, unless `all_gpus`. It
// did not use them, so they are not its cost (docs/measuring.md, "Which GPUs a run pays for"). Sets `run.why_no_gpu` if
// none is left.
void LeaveOutHidden(RunInputs& run, bool all_gpus);

}  // namespace idleburn
