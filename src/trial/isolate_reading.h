#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "stats/mean.h"
#include "trial/series.h"

namespace idleburn {

inline constexpr double kConfidence = 0.95;
// The share of a job's speed below which a change is not worth a fix; as for causes of idle time.
inline constexpr double kMaterial = 0.03;

enum class KnobFinding : std::uint8_t {
  kBounds,         // the claim of the knob holds; for a resource: surely at least half in proportion
  kPartly,         // it holds, with a sensitivity surely below one half
  kAtLeastPartly,  // it holds, and the interval does not tell which of the two
  kOpposite,       // the change works the other way round
  kNone,           // whatever effect there is, is less than kMaterial
  kNotShown,       // the interval holds both none and one that matters
  kOneRound,       // no interval
};
inline constexpr std::array<std::string_view, 7> kFindingNames = {"bounds", "partly",    "at_least_partly", "opposite",
                                                                  "none",   "not_shown", "one_round"};

// How far unchanged runs differ by themselves: the standard deviation of ln(rate), pooled over the runs before any knob
// and the unchanged runs of each knob, each group about its own mean (a knob may prepare its unchanged runs, too).
struct RunNoise {
  double log_sd = 0;
  double freedom = 0;  // runs - groups
  int runs = 0;
};
// Absent where no group has two runs.
std::optional<RunNoise> NoiseOf(const SeriesResult& series);

// What the pairs of a knob tell.
//
//   d_i         = ln(rate changed / rate unchanged) of pair i
//   effect      = exp(mean d) - 1                      what the change does to the speed
//   sensitivity = mean d / ln(resource after / before) 1: speed falls in proportion, 0: not at all
//
// with the wider of two intervals of the mean d (docs/isolate.md): by t on the d, pairs - 1 degrees of freedom; and by
// the noise of unchanged runs, t x log_sd x sqrt(2 / pairs). Three pairs may agree by chance: with slow changes of the
// machine, or a busy neighbour, the first alone called noise an effect. The second is wrong where the change itself
// makes runs differ more; the first covers that.
struct KnobReading {
  KnobFinding finding = KnobFinding::kOneRound;
  double effect = 0;
  std::optional<ConfidenceInterval> effect_interval;
  std::optional<double> sensitivity;
  std::optional<ConfidenceInterval> sensitivity_interval;
};

// Of a knob with at least one pair.
KnobReading ReadKnob(const KnobResult& result, const std::optional<RunNoise>& noise = std::nullopt);

}  // namespace idleburn
