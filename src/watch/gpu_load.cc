#include "watch/gpu_load.h"

#include <algorithm>
#include <bit>

#include "base/int128.h"
#include "watch/held_stretch.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSlots = 3600;
// Memory must fall this far below the limit before it is reported again, because allocators fluctuate.
constexpr std::int64_t kMemoryBack = 5 * kPercent;

// Whole seconds, rounded up.
std::int64_t WholeSeconds(Nanos time) { return (time.count() + kNanosPerSecond - 1) / kNanosPerSecond; }

}  // namespace

TrailingMean::TrailingMean(Nanos time)
    : slot_seconds_(std::max<std::int64_t>(1, (WholeSeconds(time) + kSlots - 1) / kSlots)),
      slots_(static_cast<std::size_t>(
          std::max<std::int64_t>(1, (WholeSeconds(time) + slot_seconds_ - 1) / slot_seconds_))) {}

// Fills the open slot. A full slot replaces the oldest one.
void TrailingMean::Add(std::int64_t value, std::int64_t seconds) {
  // Of a span that is longer than the window, only the end counts.
  seconds = std::min(seconds, static_cast<std::int64_t>(slots_.size() + 1) * slot_seconds_);
  while (seconds > 0) {
    const std::int64_t part = std::min(seconds, slot_seconds_ - open_seconds_);
    open_ += value * part;
    open_seconds_ += part;
    seconds -= part;
    if (open_seconds_ < slot_seconds_) return;
    sum_ += open_ - slots_[next_];
    slots_[next_] = open_;
    next_ = (next_ + 1) % slots_.size();
    filled_ = std::min(filled_ + 1, slots_.size());
    open_ = open_seconds_ = 0;
  }
}

std::optional<std::int64_t> TrailingMean::Mean() const {
  if (filled_ < slots_.size()) return std::nullopt;
  return sum_ / (static_cast<std::int64_t>(slots_.size()) * slot_seconds_);
}

void TrailingMean::Clear() {
  std::fill(slots_.begin(), slots_.end(), 0);
  filled_ = 0;
  sum_ = open_ = open_seconds_ = 0;
}

GpuLoad::GpuLoad(const LoadRules& rules, const Thresholds& thresholds)
    : rules_(rules),
      thresholds_(thresholds),
      trailing_(rules[Index(LoadAlert::kLowUtilization)].value_or(LoadRule()).time) {}

void GpuLoad::Feed(const Sample& sample) {
  const std::int64_t second = sample.time.nanos() / kNanosPerSecond;
  if (last_ && sample.time < *last_) {
    Break();
    second_.reset();
  }
  if (second_ && second > *second_) CloseSecond(second);
  second_ = second;
  last_ = sample.time;
  for (std::uint32_t bits = sample.present; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    sides_[i] = {sample.value[i], sample.time};
  }
  for (std::uint32_t bits = sample.unavailable; bits != 0; bits &= bits - 1) {
    sides_[static_cast<std::size_t>(std::countr_zero(bits))].time.reset();
  }
  const bool by_engine = !sides_[Index(Signal::kUtilization)].time;
  const Signal counter = by_engine ? Signal::kGrEngineActive : Signal::kUtilization;
  if (sample.Lacks(counter)) read_.reset();
  if (!sample.Has(counter)) return;
  sum_ += sample.Get(counter);
  ++count_;
  read_ = sample.time;
  const std::optional<std::int64_t> power = Known(Signal::kPower);
  if (sample.Get(counter) != 0 || !power) return;
  const Side& limit = sides_[Index(Signal::kPowerLimit)];
  const std::optional<std::int64_t> limit_mw = limit.time ? std::optional(limit.value) : std::nullopt;
  broken_ = broken_ || HeldStretch::IsBrokenZero(thresholds_, by_engine, *power, limit_mw);
}

// Closes the open second. Seconds without readings up to `next` repeat it, unless they are too many.
void GpuLoad::CloseSecond(std::int64_t next) {
  const std::int64_t seconds = next - *second_;
  const bool together = Nanos((seconds - 1) * kNanosPerSecond) <= HeldStretch::kHold;
  if (count_ > 0) mean_ = sum_ / count_;
  sum_ = count_ = 0;
  if (broken_) read_.reset();
  broken_ = false;
  Judge(together ? seconds : 1);
  if (together) return;
  Break();
  JudgeUtilization(std::nullopt, seconds - 1);
}

// The latest value of a signal; absent if it is too old.
std::optional<std::int64_t> GpuLoad::Known(Signal signal) const {
  const Side& side = sides_[Index(signal)];
  if (!side.time || *last_ - *side.time > thresholds_.side_hold) return std::nullopt;
  return side.value;
}

// Decides by SM activity, an average over all SMs; by tensor activity only if SM activity was not read.
bool GpuLoad::LittleComputes() const {
  if (const auto sm = Known(Signal::kSmActive)) return *sm < thresholds_.spin_sm_below;
  const std::optional<std::int64_t> tensor = Known(Signal::kTensorActive);
  return tensor && *tensor < thresholds_.spin_tensor_below;
}

// Decides like an audit (docs/trusted-readings.md). It uses power only if the idle power is given, because no trace has
// measured it yet.
bool GpuLoad::Spins(std::optional<std::int64_t> utilization) const {
  if (!utilization || *utilization < thresholds_.bound_from) return false;
  if (const auto sm = Known(Signal::kSmActive); sm && *sm > 0) {
    return *sm < thresholds_.spin_sm_below &&
           Known(Signal::kTensorActive).value_or(0) < thresholds_.spin_tensor_below &&
           Known(Signal::kDramActive).value_or(0) < thresholds_.spin_dram_below;
  }
  const Side& limit = sides_[Index(Signal::kPowerLimit)];
  const std::optional<std::int64_t> power = Known(Signal::kPower);
  if (!power || !limit.time || !thresholds_.idle_power) return false;
  return *power < thresholds_.SpinPowerBelow(*thresholds_.idle_power, limit.value);
}

bool GpuLoad::IsFull(std::optional<std::int64_t> moved, std::int64_t speed, std::int64_t share) {
  return moved && speed > 0 && static_cast<Int128>(*moved) * kFull >= static_cast<Int128>(speed) * share;
}

// Tests all rules on a closed second.
void GpuLoad::Judge(std::int64_t seconds) {
  const bool known = read_ && *last_ - *read_ <= HeldStretch::kHold;
  const std::optional<std::int64_t> utilization = known ? std::optional(mean_) : std::nullopt;
  JudgeUtilization(utilization, seconds);

  if (const auto& rule = rules_[Index(LoadAlert::kMemory)]) {
    const std::optional<std::int64_t> used = Known(Signal::kMemoryUsed);
    const Side& total = sides_[Index(Signal::kMemoryTotal)];
    const bool read = used && total.time && total.value > 0;
    const std::int64_t share = read ? static_cast<std::int64_t>(static_cast<Int128>(*used) * kFull / total.value) : 0;
    const bool told = stretches_[Index(LoadAlert::kMemory)].told;
    Hold(LoadAlert::kMemory, share > rule->share - (told ? kMemoryBack : 0), seconds, {share, false});
  }
  const bool little = LittleComputes();
  if (const auto& rule = rules_[Index(LoadAlert::kPcieStall)]) {
    const bool full =
        IsFull(Known(Signal::kPcieRx), pcie_, rule->share) || IsFull(Known(Signal::kPcieTx), pcie_, rule->share);
    Hold(LoadAlert::kPcieStall, little && full, seconds, {});
  }
  if (const auto& rule = rules_[Index(LoadAlert::kAllReduceStall)]) {
    const bool spins = Spins(utilization);
    const bool full = little && IsFull(Known(Signal::kNvlink), nvlink_, rule->share);
    Hold(LoadAlert::kAllReduceStall, spins || full, seconds, {0, spins});
  }
}

// Tests the trailing mean. Unknown utilization counts as full.
void GpuLoad::JudgeUtilization(std::optional<std::int64_t> utilization, std::int64_t seconds) {
  const auto& rule = rules_[Index(LoadAlert::kLowUtilization)];
  if (!rule) return;
  trailing_.Add(utilization.value_or(kFull), seconds);
  const std::optional<std::int64_t> mean = trailing_.Mean();
  bool& told = stretches_[Index(LoadAlert::kLowUtilization)].told;
  if (!mean) return;
  if (*mean >= rule->share) {
    if (told) trailing_.Clear();  // the next alert needs a whole new window
    told = false;
  } else if (!told) {
    told = true;
    met_[Index(LoadAlert::kLowUtilization)] = Met{*mean, false};
  }
}

// Extends or ends the stretch of a rule, and reports it once it is long enough.
void GpuLoad::Hold(LoadAlert alert, bool holds, std::int64_t seconds, const Met& met) {
  Stretch& stretch = stretches_[Index(alert)];
  if (!holds) {
    stretch = {};
    return;
  }
  if (!stretch.since) stretch.since = *second_;
  const std::int64_t lasted = *second_ + seconds - *stretch.since;
  if (stretch.told || Nanos(lasted * kNanosPerSecond) < rules_[Index(alert)]->time) return;
  stretch.told = true;
  met_[Index(alert)] = met;
}

// Ends all stretches because time is unknown. The trailing mean has counted that time already.
void GpuLoad::Break() {
  for (const LoadAlertInfo& info : kLoadAlerts) {
    if (info.id != LoadAlert::kLowUtilization) stretches_[Index(info.id)] = {};
  }
  sum_ = count_ = 0;
  read_.reset();
  broken_ = false;
}

std::optional<GpuLoad::Met> GpuLoad::Take(LoadAlert alert) {
  std::optional<Met>& met = met_[Index(alert)];
  const std::optional<Met> taken = met;
  met.reset();
  return taken;
}

}  // namespace idleburn
