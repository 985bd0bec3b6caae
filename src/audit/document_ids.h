#pragma once

#include "base/run_ids.h"
#include "history/run.h"

namespace idleburn {

// Of the environment that this program runs in, which is that of a command it measures too. Only the variables of
// ExperimentFacts are looked at. No run: what is computed here is none.
RunIds OwnIds();
// Of a run that was kept: its own id, and what its environment told then.
RunIds IdsOfKept(const HistoryRun& run);

}  // namespace idleburn
