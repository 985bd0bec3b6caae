#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trial/drill.h"

namespace idleburn {

// This file judges a drill: does the job survive an interruption, what does one cost, and what would that mean on
// capacity that is lost now and then. A verdict rests on faults that a round showed. Figures never decide it: a slow
// restart is expensive, not wrong.

// The confidence of the intervals that are reported.
inline constexpr double kDrillConfidence = 0.95;
// Two values have an interval too, but one so wide that it says nothing.
inline constexpr std::size_t kFewestForInterval = 3;

// What a drill comes to, and its names in documents.
enum class DrillVerdict : std::uint8_t { kPass, kFail, kCannotTell };
inline constexpr std::array<std::string_view, 3> kDrillVerdicts = {"PASS", "FAIL", "CANNOT_TELL"};

// A quantity over rounds, legs or checkpoints, in the unit that its name in DrillFigures ends with.
struct DrillFigure {
  std::size_t count = 0;
  double mean = 0;
  // The interval of the mean by Student's t. Of fewer than kFewestForInterval values: the least and the largest.
  double low = 0;
  double high = 0;
  [[nodiscard]] bool interval() const { return count >= kFewestForInterval; }
};
// Sums values up; absent where there are none. The values are 0 or more, so the interval is cut at 0.
std::optional<DrillFigure> FigureOf(std::span<const double> values);

// What was measured. Each figure is absent where nothing told it.
struct DrillFigures {
  std::optional<DrillFigure> step_s;
  // The time of writing one checkpoint: C in the formulas below.
  std::optional<DrillFigure> checkpoint_s;
  std::optional<DrillFigure> checkpoint_bytes;
  // From one begin to the next, as the job writes them by itself.
  std::optional<DrillFigure> checkpoint_interval_s;
  // From the start of the resume command to its first step: R, without the time to get a machine.
  std::optional<DrillFigure> restart_s;
  std::optional<DrillFigure> stop_s;
  std::optional<DrillFigure> lost_steps;
  std::optional<DrillFigure> lost_samples;
  // Steps that were lost, at the mean speed of all legs.
  std::optional<DrillFigure> lost_s;
  // Time and size of checkpoints were seen in files, because no marker told them. Such times are lower bounds.
  bool checkpoint_from_files = false;
};

// What a drill tells.
struct DrillReading {
  DrillVerdict verdict = DrillVerdict::kCannotTell;
  // Each once, in the order of kDrillReasons.
  std::vector<DrillReason> reasons;
  std::size_t clean_rounds = 0;
  DrillFigures figures;
};
// Judges a drill. The verdict is FAIL if a round shows a fault. Else it is PASS if one round has no reason at all: what
// other rounds could not show, that one did. Else it is CANNOT_TELL.
DrillReading ReadDrill(const DrillResult& result);

// What the measured figures mean on capacity that is lost every `uptime` on the mean. The time of a run is expected to
// first order (plan/spot_formulas.h), and the run is so long that its own start does not matter:
//
//   T / W = (1 + C / tau) (1 + (R + l) / M)     l: work lost per interruption, as measured or tau / 2
//   1 + o = (T / W) / (1 + C / tau_now)         an uninterrupted run writes its checkpoints too, as it does now
//
// Young's interval is tau = sqrt(2 C M), for C much less than M. All of this holds for (R + tau) / M much less than 1.
struct DrillOutlook {
  // M of the job: that of one node by the number of nodes.
  double uptime_s = 0;
  // o at the interval that the job has now, with the loss that was measured.
  std::optional<double> overhead_now;
  // Where C is known and more than 0.
  std::optional<double> young_interval_s;
  // o at that interval, with half of it lost each time. Below 0: the job would write less than it does now.
  std::optional<double> overhead_young;
  // (R + tau) / M where that is more than kFirstOrderReach: then the formulas are doubtful.
  std::optional<double> outside;
};
// `uptime_s`: how long one node lasts on the mean, in seconds, more than 0. `nodes`: how many the job has, at least
// one.
DrillOutlook OutlookOf(const DrillFigures& figures, double uptime_s, std::int64_t nodes);
// The least discount at which capacity with that overhead is cheaper: d / (1 - d) = overhead.
inline double BreakEvenDiscount(double overhead) { return overhead <= 0 ? 0 : overhead / (1 + overhead); }

}  // namespace idleburn
