#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/calibration.h"

namespace idleburn {

// A few measured steps of different size predict a step of another size: seconds = a + b size. No model, framework or
// table is needed. `a` is what a step takes however small it is; 1/b is the speed without it. docs/plan-options.md,
// "From measured steps", states the formulas and where they are wrong.

// One measured step. Its time carries the rounding of its last digit.
struct MeasuredStep {
  // Tokens or sequences, above 0.
  double size = 0;
  double seconds = 0;
  // The last digit of the time as written, in seconds; 0 if it was not rounded.
  double rounding = 0;
  // Standard deviation of one step in seconds, and how many steps the time is the middle of.
  double scatter = 0;
  double steps = 1;
};

// The time of "182ms" or "0.182s", and its rounding. Fails on another unit or none, and on 0.
Result<MeasuredStep> ReadStepTime(std::string_view text);

// Reads "512=0.182s,4096=0.911s". A time may have its scatter and number of steps: "512=182ms+-4ms/20". `key` decides
// what a "k" is (see TakeCountUnit). Errors name the part.
Result<std::vector<MeasuredStep>> ReadMeasuredSteps(std::string_view key, std::string_view text);

// The line through measured steps.
struct StepLine {
  // The measured steps, by size.
  std::vector<MeasuredStep> points;
  // a and b with their 90 % intervals: seconds, and seconds for one more of the size.
  LikelyRange fixed;
  LikelyRange slope;
  // The largest |measured / line - 1|, and the size where it is.
  double worst_residual = 0;
  double worst_size = 0;

  [[nodiscard]] double At(double size) const { return fixed.likely + slope.likely * size; }
  [[nodiscard]] bool Measured(double size) const { return size >= points.front().size && size <= points.back().size; }
};

// Fits the line by least squares with weights 1 / (rounding^2 / 12 + scatter^2 / steps) and a >= 0. Fails on fewer than
// two sizes, a size given twice, and times that fall or do not grow with size.
Result<StepLine> FitSteps(std::vector<MeasuredStep> points);

// Seconds of a step of that size, with a 90 % interval that widens outside of the measured sizes.
LikelyRange StepSecondsAt(const StepLine& line, double size);

// What is wanted of measured steps, and what they say.
struct StepForecast {
  // What the sizes count: a name of kStepSizes.
  std::string by;
  double size = 0;
  StepLine line;
  LikelyRange seconds;
};

// What the size of a measured step may count.
inline constexpr std::string_view kStepSizes = "seq_len|micro_batch|global_batch|step_tokens";

// What could make the forecast wrong, in words: a size that is not between the measured ones, or steps that mostly take
// their fixed cost.
std::vector<std::string> DoubtsOf(const StepForecast& forecast);

}  // namespace idleburn
