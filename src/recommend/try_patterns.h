#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/scene.h"

namespace idleburn {

// What the readings of a run look like, without a cause. A run may show several patterns; of one GPU the time at work
// has at most one of bursts, steady_underutilized, productive and compute_bound.
enum class Pattern : std::uint8_t {
  kIdleHeavy,
  kBursts,
  kSteadyUnderutilized,
  kProductive,
  kComputeBound,
  kHighMemory,
  kPadding,
  kSmallAllReduces
};
inline constexpr std::size_t kPatternCount = 8;

struct PatternInfo {
  Pattern id;
  std::string_view name;   // as in JSON
  std::string_view title;  // a short sentence for people
  std::string_view rule;   // when a GPU shows it, with its thresholds
};
std::span<const PatternInfo, kPatternCount> Patterns();
const PatternInfo& Info(Pattern p);

// Thresholds of the rules; docs/diagnosis.md, "What to try first", has the reason of each.
inline constexpr double kIdleHeavyShare = 0.4;     // of observed time
inline constexpr double kSwingPoints = 30;         // of utilization, up or down
inline constexpr int kSwings = 8;                  // four times down and up
inline constexpr double kSwingEverySeconds = 300;  // at least so often
inline constexpr double kHighMemoryShare = 0.85;   // of the GPU's memory, at the peak
inline constexpr double kPowerVaries = 0.1;        // from one part of the timeline to the next, of the mean

// Where the time of one GPU went, in GPU-nanoseconds (a MIG instance counts by its slices), and what it looks like.
struct GpuPicture {
  const DeviceResult* result = nullptr;
  double observed_ns = 0;
  double long_idle_ns = 0;             // not busy, in idle stretches that somebody could have used
  double waste_ns = 0;                 // observed and not busy
  double pauses_ns = 0;                // not busy between its first and last work, outside idle stretches of a minute
  double busy_ns = 0;                  // utilization x time, without spin-wait
  std::optional<double> memory_peak;   // share of its memory
  int swings = 0;                      // of kSwingPoints or more
  double swing_seconds = 0;            // between two of them, on average
  std::optional<double> power_varies;  // mean step of power while busy / its mean
  std::array<bool, kPatternCount> shows{};

  [[nodiscard]] bool Shows(Pattern p) const { return shows[static_cast<std::size_t>(p)]; }
};

// One picture for each priced device that was observed, in the order of CostReport::devices. None of a traced run: a
// trace has no readings.
std::vector<GpuPicture> PicturesOf(const Scene& scene);

// The figures that show a pattern, as a sentence with counter and threshold. `gpus` show it and are not empty.
std::string EvidenceOf(const Scene& scene, Pattern pattern, const std::vector<const GpuPicture*>& gpus);

}  // namespace idleburn
