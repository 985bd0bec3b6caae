#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "classify/run_classifier.h"
#include "diagnose/trace_diagnosis.h"
#include "profile/profile.h"
#include "run/run_summary.h"

namespace idleburn {

// The power limit and the highest clock of a board, by its name. Empty for an unknown board.
BoardFacts FactsOf(std::string_view gpu_name);

// A run while it is audited: what was read of it, and after ClassifyRun what each second of it was. Samples are
// classified as they arrive, so memory does not grow with the length of a log.
//
// Members refer to each other, so it is neither copied nor moved, and is shared by pointer.
struct RunInputs {
  // `thresholds` must outlive the run. `named` is the window of --window, which replaces the window that inputs tell.
  explicit RunInputs(const Thresholds& thresholds, const std::optional<RunWindow>& named = std::nullopt)
      : window(named), classifier(thresholds, devices, quality, FactsOf, window ? &*window : &summary.window()) {}
  RunInputs(const RunInputs&) = delete;
  RunInputs& operator=(const RunInputs&) = delete;

  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  RunSummary summary;               // of a recording or a live run; else empty
  std::vector<Profile> profiles;    // profilers' files
  std::optional<RunWindow> window;  // --window
  RunClassifier classifier;         // the sink of all samples

  // How files were read, for checks that need the whole run. Absent for a live run.
  struct FromFiles {
    std::string first;      // path that errors name
    bool in_order = false;  // one input, which was not sorted
    std::int64_t rows_outside = 0;
    std::optional<Instant> first_row, last_row;  // seen by --window
    std::optional<Nanos> max_gap;                // --max-gap
  };
  std::optional<FromFiles> files;

  // Set by ClassifyRun, once.
  bool classified = false;
  RunResult run;
  std::optional<TraceDiagnosis> trace;  // of the profiles
  bool traced_only = false;             // `run` is what the profiles cover
  std::string why_no_gpu;               // why no GPU counts; a live run may say so before
};

}  // namespace idleburn
