#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trial/knob.h"

namespace idleburn {

// Runs of both sides, one right after the other.
struct TrialPair {
  WorkRate baseline;
  WorkRate variant;
  [[nodiscard]] bool spoiled() const { return baseline.spoiled || variant.spoiled; }
};

enum class KnobStatus : std::uint8_t {
  kRan,
  kNotAvailable,  // it cannot be turned here
  kFailed,        // the changed command did not work, or did not follow
  kNotReached,    // the user ended it all before
};
inline constexpr std::array<std::string_view, 4> kKnobStatusNames = {"measured", "not_available", "failed",
                                                                     "not_reached"};

struct KnobResult {
  const Knob* knob = nullptr;
  KnobStatus status = KnobStatus::kNotReached;
  std::string why;  // it was not measured; empty if it was
  std::string before;
  std::string after;
  std::optional<double> resource_ratio;
  std::vector<TrialPair> pairs;
  int repeated = 0;      // pairs that were run again, since the machine stood still in them
  Nanos stood_still{0};  // it did in every pair: in those that are here, for so long
};

struct SeriesResult {
  Trial first;  // not counted: it shows that the command works and what it uses, and fills caches
  // Unchanged runs before any knob is turned: how far runs differ by themselves.
  std::vector<WorkRate> unchanged;
  std::vector<KnobResult> knobs;
  std::optional<int> interrupted;  // by that signal
};

struct SeriesSpec {
  TrialBounds bounds;
  int rounds = 3;
  std::vector<const Knob*> knobs;
};

// What the series asks of the world.
struct SeriesWorld {
  KnobContext context;  // `first` and `stop` are set by the series
  std::function<tl::expected<Trial, StartFailure>(const KnobChange& change)> run;
  std::function<std::optional<int>()> interrupted;  // by a signal between two runs
  std::function<void(const std::string& line)> tell;
};

// Runs the command once, then `rounds` times unchanged (not for a single round, which has no interval), then for each
// knob that can be turned `rounds` pairs, unchanged and changed, in the order A B B A A B ...: what drifts evenly while
// it lasts cancels out of each two pairs. A pair in which the machine stood still is run again in its order, `rounds`
// of them a knob at most, and used only where no other is left. A knob whose changed run fails is left out. Fails if
// the unchanged command does.
Result<SeriesResult> RunSeries(const SeriesSpec& spec, SeriesWorld world);

}  // namespace idleburn
