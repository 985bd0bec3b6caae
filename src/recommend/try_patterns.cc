#include "recommend/try_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diagnose/idle_stretches.h"
#include "diagnose/make_finding.h"
#include "diagnose/stop_time.h"

namespace idleburn {
namespace {

constexpr auto kIdle = static_cast<std::size_t>(Phase::kIdle);
constexpr auto kUnder = static_cast<std::size_t>(Phase::kUnderutilized);
constexpr auto kProductive = static_cast<std::size_t>(Phase::kProductive);
constexpr auto kBound = static_cast<std::size_t>(Phase::kComputeBound);

constexpr double kPart = 0.1;             // a part of a bucket that counts
constexpr std::size_t kFewestSteps = 30;  // of power, to speak of how it varies
constexpr double kLinkInUse = 1e6;        // bytes a second: less is housekeeping

constexpr std::array<PatternInfo, kPatternCount> kPatterns = {{
    {Pattern::kIdleHeavy, "idle_heavy", "GPUs are idle for much of the time", "idle for 40 % of observed time or more"},
    {Pattern::kBursts, "bursts", "GPUs work in bursts and pause in between",
     "utilization swings by 30 points, eight times or more and once in five minutes or oftener; or starved in bursts "
     "by "
     "the burst index"},
    {Pattern::kSteadyUnderutilized, "steady_underutilized", "GPUs are steadily under-used",
     "no bursts, and more time below 70 % than in either higher band"},
    {Pattern::kProductive, "productive", "GPUs work with some time to spare",
     "no bursts, and more time from 70 to 90 % than in either other band"},
    {Pattern::kComputeBound, "compute_bound", "GPUs are busy nearly all the time",
     "no bursts, and more time at 90 % or above than in either lower band"},
    {Pattern::kHighMemory, "high_memory", "GPU memory is nearly full", "memory peaks at 85 % or more"},
    {Pattern::kPadding, "padding", "Steps of uneven size, as batches padded to their longest sample have",
     "productive or compute_bound, and power varies by 10 % or more of its mean from one part of the timeline to the "
     "next"},
    {Pattern::kSmallAllReduces, "small_all_reduces", "Several GPUs work at once and none is full",
     "two GPUs or more that are not compute_bound, and no link counter that stands at 0"},
}};

double NotBusy(const Timeline::Bucket& bucket) {
  const double used = static_cast<double>(bucket.utilization.area) / static_cast<double>(kFull);
  return std::max(0.0, static_cast<double>(bucket.ObservedNs()) - used);
}

bool Worked(const Timeline::Bucket& bucket) { return bucket.ObservedNs() > bucket.phase_ns[kIdle]; }

double Part(std::int64_t ns, const Timeline::Bucket& bucket) {
  return static_cast<double>(ns) / static_cast<double>(bucket.ObservedNs());
}

// Counts how often utilization turns by kSwingPoints. A bucket that holds both extremes turns twice by itself.
class Swings {
 public:
  void Add(const Timeline::Bucket& bucket) {
    if (bucket.ObservedNs() == 0) return;
    const double at = bucket.utilization.Mean().value_or(0) / kPercent;
    const bool both = Part(bucket.phase_ns[kIdle], bucket) >= kPart &&
                      Part(bucket.phase_ns[kProductive] + bucket.phase_ns[kBound], bucket) >= kPart;
    if (both) count_ += 2;
    if (!started_) low_ = high_ = at;
    started_ = true;
    low_ = std::min(low_, at);
    high_ = std::max(high_, at);
    if (direction_ <= 0 && at >= low_ + kSwingPoints) Turn(1, at);
    if (direction_ >= 0 && at <= high_ - kSwingPoints) Turn(-1, at);
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  void Turn(int direction, double at) {
    ++count_;
    direction_ = direction;
    low_ = high_ = at;
  }
  int count_ = 0;
  int direction_ = 0;  // of the last turn; 0: none yet
  double low_ = 0;     // since it
  double high_ = 0;
  bool started_ = false;
};

// How much power changes from one busy bucket to the next, as a share of its mean: a mean over the whole run would see
// an evaluation after the training as variation.
class PowerSteps {
 public:
  void Add(const Timeline::Bucket& bucket) {
    const bool busy =
        bucket.ObservedNs() > 0 && Part(bucket.phase_ns[kProductive] + bucket.phase_ns[kBound], bucket) >= 1 - kPart;
    const std::optional<double> power = busy ? bucket.power.Mean() : std::nullopt;
    if (power && last_) {
      changes_ += std::fabs(*power - *last_);
      sum_ += *power;
      ++count_;
    }
    last_ = power;
  }
  [[nodiscard]] std::optional<double> Varies() const {
    if (count_ < kFewestSteps || sum_ <= 0) return std::nullopt;
    return changes_ / sum_;
  }

 private:
  std::optional<double> last_;
  double changes_ = 0;
  double sum_ = 0;
  std::size_t count_ = 0;
};

// What the timeline tells beside the totals. `weight`: GPU-time per nanosecond of the device; `stop_ns`: idle time of
// it that somebody could have used.
void ReadTimeline(const IdleStretches& idle, std::int64_t stop_ns, double weight, GpuPicture& gpu) {
  const std::vector<Timeline::Bucket>& buckets = gpu.result->totals.timeline.buckets;
  gpu.long_idle_ns = std::min(static_cast<double>(stop_ns) * weight, gpu.waste_ns);
  const auto first = std::find_if(buckets.begin(), buckets.end(), Worked);
  const auto last = std::find_if(buckets.rbegin(), buckets.rend(), Worked).base();
  Swings swings;
  PowerSteps power;
  double pauses = 0;
  std::int64_t seconds = 0;
  for (auto at = first; at < last; ++at) {
    if (idle.marked[static_cast<std::size_t>(at - buckets.begin())]) continue;
    pauses += NotBusy(*at);
    swings.Add(*at);
    power.Add(*at);
    seconds += at->ObservedNs() / kNanosPerSecond;
  }
  gpu.pauses_ns = std::min(pauses * weight, gpu.waste_ns - gpu.long_idle_ns);
  gpu.swings = swings.count();
  gpu.swing_seconds = swings.count() == 0 ? 0 : static_cast<double>(seconds) / swings.count();
  gpu.power_varies = power.Varies();
}

bool InBursts(const GpuPicture& gpu) {
  const DeviceTotals& t = gpu.result->totals;
  const bool starved = static_cast<double>(t.burst.ns) >= kMaterialShare * static_cast<double>(t.ObservedNs());
  const bool swings = gpu.swings >= kSwings && gpu.swing_seconds <= kSwingEverySeconds;
  return (starved || swings) && gpu.pauses_ns >= kMaterialShare * gpu.observed_ns;
}

// The band that holds most of the time at work; without bursts.
Pattern SteadyPattern(const GpuPicture& gpu, const IdleStretches& idle) {
  std::array<std::int64_t, kPhaseCount> at_work{};
  const auto& buckets = gpu.result->totals.timeline.buckets;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    for (std::size_t p = 0; p < kPhaseCount && !idle.marked[i]; ++p) at_work[p] += buckets[i].phase_ns[p];
  }
  const std::int64_t low = at_work[kIdle] + at_work[kUnder];
  const std::int64_t bound = at_work[kBound] - gpu.result->spin.time.ns;
  if (low >= at_work[kProductive] && low >= bound) return Pattern::kSteadyUnderutilized;
  return at_work[kProductive] >= bound ? Pattern::kProductive : Pattern::kComputeBound;
}

void Show(Pattern p, bool shown, GpuPicture& gpu) { gpu.shows[static_cast<std::size_t>(p)] = shown; }

GpuPicture PictureOf(const Scene& scene, const CostReport::DeviceCost& capacity, const DeviceResult& d,
                     const StopTime& stop) {
  GpuPicture gpu;
  gpu.result = &d;
  const UsageCost& u = capacity.usage;
  gpu.observed_ns = static_cast<double>(u.observed_ns);
  gpu.waste_ns = std::max(0.0, gpu.observed_ns - u.effective_ns);
  gpu.busy_ns = std::max(0.0, u.effective_ns - u.spin_effective_ns);
  gpu.memory_peak = d.totals.PeakMemoryShare();
  const IdleStretches idle = FindIdleStretches(d.totals);
  const Timeline& timeline = d.totals.timeline;
  const std::vector<bool> none_taken(timeline.buckets.size());
  ReadTimeline(idle, BeyondGrace(scene.thresholds, stop, timeline, none_taken), capacity.weight, gpu);
  Show(Pattern::kIdleHeavy, static_cast<double>(u.phase_ns[kIdle]) >= kIdleHeavyShare * gpu.observed_ns, gpu);
  if (BusyPhasesNs(d.totals) == 0) return gpu;
  Show(InBursts(gpu) ? Pattern::kBursts : SteadyPattern(gpu, idle), true, gpu);
  Show(Pattern::kHighMemory, gpu.memory_peak.value_or(0) >= kHighMemoryShare, gpu);
  const bool full = gpu.Shows(Pattern::kProductive) || gpu.Shows(Pattern::kComputeBound);
  Show(Pattern::kPadding, full && gpu.power_varies.value_or(0) >= kPowerVaries, gpu);
  return gpu;
}

// Whether a counter of a link between GPUs was read, and nothing came over it.
bool LinkIsQuiet(const DeviceTotals& t) {
  return t.nvlink_readings.ns > 0 && t.nvlink_readings.Mean().value_or(0) < kLinkInUse;
}

void MarkExchange(std::vector<GpuPicture>& gpus) {
  const auto may_wait = [](const GpuPicture& gpu) {
    const bool works =
        gpu.Shows(Pattern::kBursts) || gpu.Shows(Pattern::kSteadyUnderutilized) || gpu.Shows(Pattern::kProductive);
    return works && gpu.pauses_ns >= kMaterialShare * gpu.observed_ns && !LinkIsQuiet(gpu.result->totals);
  };
  if (std::count_if(gpus.begin(), gpus.end(), may_wait) < 2) return;
  for (GpuPicture& gpu : gpus) Show(Pattern::kSmallAllReduces, may_wait(gpu), gpu);
}

double Percent(double share) { return 100 * share; }

template <typename Value>
double Largest(const std::vector<const GpuPicture*>& gpus, Value value) {
  double most = 0;
  for (const GpuPicture* gpu : gpus) most = std::max(most, value(*gpu));
  return most;
}

// Their share of observed time in a phase, spin-wait left out.
double PhaseShare(const std::vector<const GpuPicture*>& gpus, std::size_t phase) {
  std::int64_t in = 0;
  std::int64_t all = 0;
  for (const GpuPicture* gpu : gpus) {
    const DeviceTotals& t = gpu->result->totals;
    in += t.phase_ns[phase] - (phase == kBound ? gpu->result->spin.time.ns : 0);
    all += t.ObservedNs();
  }
  return all == 0 ? 0 : static_cast<double>(in) / static_cast<double>(all);
}

std::string InBand(const Scene& scene, const std::vector<const GpuPicture*>& gpus, std::size_t phase) {
  const Thresholds& t = scene.thresholds;
  const std::string band =
      phase == kIdle         ? "below " + InPercent(t.idle_below) + " %"
      : phase == kUnder      ? "from " + InPercent(t.idle_below) + " to " + InPercent(t.productive_from) + " %"
      : phase == kProductive ? "from " + InPercent(t.productive_from) + " to " + InPercent(t.bound_from) + " %"
                             : "at " + InPercent(t.bound_from) + " % or above";
  return fmt::format("{} is {} for {:.1f} % of the observed time", scene.BusyCounter(), band,
                     Percent(PhaseShare(gpus, phase)));
}

std::string BurstEvidence(const Scene& scene, const std::vector<const GpuPicture*>& gpus) {
  const GpuPicture& most = **std::max_element(
      gpus.begin(), gpus.end(), [](const GpuPicture* a, const GpuPicture* b) { return a->swings < b->swings; });
  if (most.swings < kSwings) {
    return fmt::format("{} alternates between both extremes within seconds (burst index)", scene.BusyCounter());
  }
  return fmt::format("{} swings by {:.0f} points or more {} times, every {:.1f} s on average (threshold: {} times)",
                     scene.BusyCounter(), kSwingPoints, most.swings, most.swing_seconds, kSwings);
}

std::string LinkEvidence(const Scene& scene, const std::vector<const GpuPicture*>& gpus) {
  const double rate =
      Largest(gpus, [](const GpuPicture& gpu) { return gpu.result->totals.nvlink_readings.Mean().value_or(0); });
  const std::string several = fmt::format("{} GPUs work at once, and none is compute_bound", gpus.size());
  if (rate <= 0) return several;
  return fmt::format("{}; {} moves up to {:.3g} GB/s", several, CounterOf(scene, Signal::kNvlink), rate / 1e9);
}

}  // namespace

std::span<const PatternInfo, kPatternCount> Patterns() { return kPatterns; }

const PatternInfo& Info(Pattern p) { return kPatterns[static_cast<std::size_t>(p)]; }

std::vector<GpuPicture> PicturesOf(const Scene& scene) {
  std::vector<GpuPicture> gpus;
  if (scene.traced_only) return gpus;
  const std::vector<StopTime> stops = FindStopTimes(scene);
  for (const CostReport::DeviceCost& d : scene.cost.devices) {
    const DeviceResult* result = scene.run.Of(d.device);
    if (result == nullptr || d.usage.observed_ns <= 0) continue;
    gpus.push_back(PictureOf(scene, d, *result, stops[static_cast<std::size_t>(result - scene.run.devices.data())]));
  }
  MarkExchange(gpus);
  return gpus;
}

std::string EvidenceOf(const Scene& scene, Pattern pattern, const std::vector<const GpuPicture*>& gpus) {
  switch (pattern) {
    case Pattern::kIdleHeavy:
      return InBand(scene, gpus, kIdle) + fmt::format(" (threshold {:.0f} %)", Percent(kIdleHeavyShare));
    case Pattern::kBursts:
      return BurstEvidence(scene, gpus);
    case Pattern::kSteadyUnderutilized:
      return InBand(scene, gpus, kUnder) + ", without bursts";
    case Pattern::kProductive:
      return InBand(scene, gpus, kProductive) + ", without bursts";
    case Pattern::kComputeBound:
      return InBand(scene, gpus, kBound);
    case Pattern::kHighMemory:
      return fmt::format("{} peaks at {:.0f} % of the GPU's memory (threshold {:.0f} %)",
                         CounterOf(scene, Signal::kMemoryUsed),
                         Percent(Largest(gpus, [](const GpuPicture& g) { return g.memory_peak.value_or(0); })),
                         Percent(kHighMemoryShare));
    case Pattern::kPadding:
      return fmt::format("{} varies by {:.0f} % of its mean while busy (threshold {:.0f} %)",
                         CounterOf(scene, Signal::kPower),
                         Percent(Largest(gpus, [](const GpuPicture& g) { return g.power_varies.value_or(0); })),
                         Percent(kPowerVaries));
    case Pattern::kSmallAllReduces:
      return LinkEvidence(scene, gpus);
  }
  return "";
}

}  // namespace idleburn
