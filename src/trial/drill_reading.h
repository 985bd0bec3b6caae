#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trial/drill.h"

namespace idleburn {

inline constexpr double kDrillConfidence = 0.95;
inline constexpr std::size_t kFewestForInterval = 3;

enum class DrillVerdict : std::uint8_t { kPass, kFail, kCannotTell };
inline constexpr std::array<std::string_view, 3> kDrillVerdicts = {"PASS", "FAIL", "CANNOT_TELL"};

// A quantity over rounds, legs or checkpoints.
struct DrillFigure {
  std::size_t count = 0;
  double mean = 0;
  double low = 0;  // of the interval of the mean by Student's t; of fewer than three values the least and the largest
  double high = 0;
  [[nodiscard]] bool interval() const { return count >= kFewestForInterval; }
};
// Absent without values.
std::optional<DrillFigure> FigureOf(std::span<const double> values);

// All of them absent where not known.
struct DrillFigures {
  std::optional<DrillFigure> step_s;
  std::optional<DrillFigure> checkpoint_s;  // C
  std::optional<DrillFigure> checkpoint_bytes;
  std::optional<DrillFigure> checkpoint_interval_s;  // from one to the next, as the job writes them by itself
  std::optional<DrillFigure> restart_s;              // R without provisioning
  std::optional<DrillFigure> stop_s;
  std::optional<DrillFigure> lost_steps;
  std::optional<DrillFigure> lost_samples;
  std::optional<DrillFigure> lost_s;
  bool checkpoint_from_files = false;  // its time and size
};

struct DrillReading {
  DrillVerdict verdict = DrillVerdict::kCannotTell;
  std::vector<DrillReason> reasons;  // each once, in the order of the table
  std::size_t clean_rounds = 0;
  DrillFigures figures;
};
// FAIL if a round shows a fault; else PASS if one round shows that nothing is wrong, and nothing that others could not
// show; else CANNOT_TELL.
DrillReading ReadDrill(const DrillResult& result);

// What the measured figures mean on capacity that is lost every `uptime` on the mean, by the first order of expected
// time (spot/formulas.h), for a run so long that its own start does not matter:
//
//   T / W = (1 + C / tau) (1 + (R + l) / M)     l: work lost per interruption, as measured or tau / 2
//   1 + o = (T / W) / (1 + C / tau_now)         an uninterrupted run writes its checkpoints too, as it does now
//
// and by Young's interval tau = sqrt(2 C M), for C much less than M. It holds for (R + tau) / M much less than 1.
struct DrillOutlook {
  double uptime_s = 0;                     // M of the job: that of one node by their number
  std::optional<double> overhead_now;      // o at its own interval, with the loss that was measured
  std::optional<double> young_interval_s;  // where C is known and more than 0
  std::optional<double> overhead_young;    // o at that interval, with half of it lost; below 0: it writes less
  std::optional<double> outside;           // (R + tau) / M where that is more than kFirstOrderReach
};
DrillOutlook OutlookOf(const DrillFigures& figures, double uptime_s, std::int64_t nodes);
// The least discount at which capacity with that overhead is cheaper: d / (1 - d) = overhead.
inline double BreakEvenDiscount(double overhead) { return overhead <= 0 ? 0 : overhead / (1 + overhead); }

}  // namespace idleburn
