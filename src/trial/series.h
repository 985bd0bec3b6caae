#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "stats/order.h"
#include "trial/knob.h"

namespace idleburn {

// A series runs a command again and again: unchanged, and with one knob turned at a time. RunSeries makes the runs;
// NoiseOf and ReadKnob say what they tell. The two are apart so that both can be tested without a machine.
//
// Runs are compared in pairs, not as two means: what changes slowly on the machine touches both runs of a pair alike.

// One run of each side, one right after the other.
struct TrialPair {
  WorkRate baseline;
  WorkRate variant;
  // The machine stood still for too long in one of them.
  [[nodiscard]] bool spoiled() const { return baseline.spoiled || variant.spoiled; }
};

// What became of a knob, and its names in documents.
enum class KnobStatus : std::uint8_t {
  kRan,
  // It cannot be turned here.
  kNotAvailable,
  // The changed command did not work, or did not follow the change.
  kFailed,
  // The user ended the series before.
  kNotReached,
};
inline constexpr std::array<std::string_view, 4> kKnobStatusNames = {"measured", "not_available", "failed",
                                                                     "not_reached"};

// What was done with one knob.
struct KnobResult {
  const Knob* knob = nullptr;
  KnobStatus status = KnobStatus::kNotReached;
  // Why it was not measured; empty if it was.
  std::string why;
  // The resource on both sides in words, and after by before, as in KnobPlan.
  std::string before;
  std::string after;
  std::optional<double> resource_ratio;
  std::vector<TrialPair> pairs;
  // Pairs that were run again because the machine stood still in them.
  int repeated = 0;
  // Where it stood still in every pair: for so long in the pairs that are here.
  Nanos stood_still{0};
};

// All that a series measured.
struct SeriesResult {
  // The first run is not counted. It shows that the command works and what it uses, and it fills caches.
  Trial first;
  // Unchanged runs before any knob is turned. They show how far runs differ by themselves.
  std::vector<WorkRate> unchanged;
  std::vector<KnobResult> knobs;
  // The user ended the series with this signal. What was measured until then is here.
  std::optional<int> interrupted;
};

// What a series does.
struct SeriesSpec {
  TrialBounds bounds;
  // Pairs of each knob.
  int rounds = 3;
  std::vector<const Knob*> knobs;
};

// What a series asks of the world, so that a test can play it.
struct SeriesWorld {
  // The series sets `first` and `stop` of it.
  KnobContext context;
  // Runs the command once, changed so.
  std::function<tl::expected<Trial, StartFailure>(const KnobChange& change)> run;
  // The signal of the user that came between two runs, if one did.
  std::function<std::optional<int>()> interrupted;
  // Takes a line of progress for people.
  std::function<void(const std::string& line)> tell;
};

// Runs the command once, then `rounds` times unchanged, then `rounds` pairs for each knob that can be turned. A single
// round has no interval, so it needs no unchanged runs.
//
// The runs of a knob come in the order A B B A A B ...: what drifts evenly cancels out of each two pairs. A pair in
// which the machine stood still is run again in its order, at most `rounds` times a knob. It is used only where no
// other is left.
//
// A knob whose changed run fails is left out. The series fails if the unchanged command does.
Result<SeriesResult> RunSeries(const SeriesSpec& spec, SeriesWorld world);

// The confidence of every interval of this file.
inline constexpr double kConfidence = 0.95;
// The share of a job's speed below which a change is not worth a fix. Causes of idle time have the same edge.
inline constexpr double kMaterial = 0.03;

// What the pairs of a knob show, and its names in documents.
enum class KnobFinding : std::uint8_t {
  // The claim of the knob holds. For a resource: speed falls surely at least half in proportion.
  kBounds,
  // It holds, with a sensitivity surely below one half.
  kPartly,
  // It holds, and the interval does not tell which of the two.
  kAtLeastPartly,
  // The change works the other way round.
  kOpposite,
  // Whatever effect there is, it is less than kMaterial.
  kNone,
  // The interval holds no effect as well as one that matters.
  kNotShown,
  // One pair has no interval.
  kOneRound,
};
inline constexpr std::array<std::string_view, 7> kFindingNames = {"bounds", "partly",    "at_least_partly", "opposite",
                                                                  "none",   "not_shown", "one_round"};

// How far unchanged runs differ by themselves: the standard deviation of ln(rate). It is pooled over the runs before
// any knob and the unchanged runs of each knob. Each group counts about its own mean, since a knob may prepare its
// unchanged runs too.
struct RunNoise {
  double log_sd = 0;
  // Degrees of freedom: runs less groups.
  double freedom = 0;
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
// The mean d has two intervals, and the wider one counts (docs/isolate.md). One is by t on the d, with pairs - 1
// degrees of freedom. The other is by the noise of unchanged runs: t x log_sd x sqrt(2 / pairs).
//
// The first alone is not enough. Three pairs may agree by chance, and with slow changes of the machine or a busy
// neighbour it called noise an effect. The second is wrong where the change itself makes runs differ more, which the
// first covers.
struct KnobReading {
  KnobFinding finding = KnobFinding::kOneRound;
  double effect = 0;
  std::optional<ConfidenceInterval> effect_interval;
  std::optional<double> sensitivity;
  std::optional<ConfidenceInterval> sensitivity_interval;
};

// Reads the pairs of a knob; there must be at least one. Without `noise` only the first interval counts.
KnobReading ReadKnob(const KnobResult& result, const std::optional<RunNoise>& noise = std::nullopt);

}  // namespace idleburn
