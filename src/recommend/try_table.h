// The tables behind "try first": patterns in readings, the levers that each pattern suggests, and settings by
// GPU model.

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

// What the readings of a run look like, without a proved cause. A run may show several patterns. The working
// time of one GPU shows at most one of bursts, steady_underutilized, productive and compute_bound.
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

// A row of the table of patterns.
struct PatternInfo {
  Pattern id;
  std::string_view name;   // as in JSON
  std::string_view title;  // a short sentence for people
  // When a GPU shows it, with its thresholds.
  std::string_view rule;
};
// All patterns in the order of Pattern, and the row of one.
std::span<const PatternInfo, kPatternCount> Patterns();
const PatternInfo& Info(Pattern p);

// Thresholds of the rules. docs/try-first.md, "What to try first", gives the reason for each.
inline constexpr double kIdleHeavyShare = 0.4;     // of observed time
inline constexpr double kSwingPoints = 30;         // of utilization, up or down
inline constexpr int kSwings = 8;                  // four times down and up
inline constexpr double kSwingEverySeconds = 300;  // at least so often
inline constexpr double kHighMemoryShare = 0.85;   // of the GPU's memory, at the peak
inline constexpr double kPowerVaries = 0.1;        // from one part of the timeline to the next, of the mean

// Where the time of one GPU went, in GPU-nanoseconds, and which patterns it shows. A MIG instance counts by its
// slices.
struct GpuPicture {
  const DeviceResult* result = nullptr;
  double observed_ns = 0;
  // Not busy, in idle stretches that somebody could have used.
  double long_idle_ns = 0;
  double waste_ns = 0;  // observed and not busy
  // Not busy between first and last work, outside idle stretches of a minute.
  double pauses_ns = 0;
  // Utilization x time, without spin-wait.
  double busy_ns = 0;
  std::optional<double> memory_peak;  // share of its memory
  int swings = 0;                     // of kSwingPoints or more
  double swing_seconds = 0;           // mean interval between swings
  // Mean step of power while busy / mean power.
  std::optional<double> power_varies;
  std::array<bool, kPatternCount> shows{};

  [[nodiscard]] bool Shows(Pattern p) const { return shows[static_cast<std::size_t>(p)]; }
};

// One picture for each priced device that was observed, in the order of CostReport::devices. Empty for a run
// known only from a trace, which has no readings.
std::vector<GpuPicture> TakePictures(const Scene& scene);

// The figures that show a pattern, as a sentence with counter and threshold. `gpus` show it and are not empty.
std::string DescribeEvidence(const Scene& scene, Pattern pattern, const std::vector<const GpuPicture*>& gpus);

// The time that a try can affect at most.
enum class Reach : std::uint8_t {
  kIdleStretches,  // idle time that somebody could have used
  kWaste,          // all time not busy
  kPauses,         // time not busy, outside idle stretches
  kBusy            // busy time: the same work becomes cheaper
};
inline constexpr std::size_t kReachCount = 4;
// A reach by its id and in words.
std::string_view Name(Reach r);     // "idle_stretches"
std::string_view InWords(Reach r);  // "the idle time that somebody could have used"

// A lever that a pattern suggests. The settings are for PyTorch, the source of most logs; a log does not name
// its framework.
struct TryRow {
  Pattern pattern;
  std::string_view lever;
  Reach reach;
  // Exact settings; empty if they depend on the GPU (the functions below).
  std::string_view how;
  // What a plain log cannot show and would speak against it.
  std::string_view unseen;
  // The measurement that would prove the cause.
  std::string_view confirm;
};

// The rows of each pattern, in the order in which to try them.
std::span<const TryRow> TryRows();

// Settings that depend on the GPU, for the rows of the table that leave theirs empty. GPUs are named as a driver
// prints them.

// Whether the GPU multiplies FP8 matrices: NVIDIA from Ada and Hopper on, AMD from CDNA 3 on. Unknown GPUs do not.
bool HasFp8(std::string_view gpu_name);
// The ratio of the FP8 peak to the bf16 peak, if both are published.
std::optional<double> Fp8Speedup(std::string_view gpu_name);

// torch.autocast with bf16. Before compute capability 8.0, without bf16 in hardware, fp16 with a gradient
// scaler.
std::string MixedPrecisionSettings(std::string_view gpu_name);

// The commands that divide the GPU into as many equal instances as hold `memory_peak` of its memory each.
// Profile ids come from NVIDIA's MIG User Guide; if they are unknown, it is the command that lists them.
// `index` is the -i argument of nvidia-smi.
std::string MigSettings(std::string_view gpu_name, std::optional<double> memory_peak, const std::string& index);

// Up to three models of the same vendor with a lower peak whose memory holds `memory_bytes` with 15 % to spare,
// the fastest first. Absent if nothing is known about the GPU itself.
std::optional<std::vector<std::string>> SmallerGpus(std::string_view gpu_name, double memory_bytes);

}  // namespace idleburn
