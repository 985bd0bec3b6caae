#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/trace_diagnosis.h"

namespace idleburn {

// Two captures of one job, before and after a change: did the steps shrink as the diagnosis of the first said? The
// median step is the effect on a step; money is the mean over whole evaluation cycles, which no capture holds.
struct BeforeAfter {
  std::string_view cause;           // the first one of the capture before that a fix could recover; "" if none
  double bound = 0;                 // share of the step that its fix could give back at most
  double expected = 0;              // 0.8 of it: one public pair realised 0.84
  std::optional<double> before_ns;  // median step
  std::optional<double> after_ns;
  std::optional<double> realised;   // cut of the median step; below 0 if steps grew
  std::optional<double> recovered;  // realised / bound
  // Kernels and compute time a step, after against before: 0.01 is 1 % more.
  std::optional<double> kernels_change;
  std::optional<double> compute_change;
  std::vector<std::string> doubts;  // what keeps this from being proof, each a sentence
  std::string_view next;            // the first cause of the capture after
};

BeforeAfter CompareCaptures(const DeviceDiagnosis& before, const DeviceDiagnosis& after);

}  // namespace idleburn
