#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "classify/run_classifier.h"
#include "diagnose/trace_diagnosis.h"
#include "import/importer.h"
#include "profile/profile.h"
#include "run/run_summary.h"

namespace idleburn {

// A run: who was there, what each second was, what was doubtful, and what a recording tells besides.
struct RunInputs {
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  RunSummary summary;  // of a recording, or of a live run; else empty
  RunResult run;
  std::vector<Profile> profiles;
  std::optional<TraceDiagnosis> trace;  // of the profiles
  bool traced_only = false;             // `run` is what the profiles cover
};

// Profilers' files among the inputs are read and diagnosed; what else there is is one run of samples. Imports all
// inputs of one run and classifies them. The format of each is told by its content. One input whose
// rows are in order of time streams straight through; several, or one that groups by metric, are first put on
// a common clock. They are read in the order of their names: what comes first names a device's counters and the
// place of a doubt, and the order in which the inputs are given shall decide nothing. An input without times is
// refused beside one that has them. A scheduler's list of jobs (import/importer.h) bounds the jobs that labels name.
// `show_progress`: on standard error.
Result<std::unique_ptr<RunInputs>> ReadRun(std::vector<std::string> paths, const ImportOptions& options,
                                           const Thresholds& thresholds, RunClassifier::FactsByName facts,
                                           bool show_progress = false);

}  // namespace idleburn
