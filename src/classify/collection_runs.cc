#include "classify/collection_runs.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace idleburn {
namespace {

constexpr std::uint32_t kGauges =
    Bit(Signal::kUtilization) | Bit(Signal::kMemoryUtilization) | Bit(Signal::kGrEngineActive) |
    Bit(Signal::kSmActive) | Bit(Signal::kTensorActive) | Bit(Signal::kDramActive) | Bit(Signal::kPower) |
    Bit(Signal::kSmClock) | Bit(Signal::kMemoryUsed) | Bit(Signal::kTemperature) | Bit(Signal::kPcieRx) |
    Bit(Signal::kPcieTx) | Bit(Signal::kNvlink) | Bit(Signal::kEncoderUtilization) | Bit(Signal::kDecoderUtilization);

}  // namespace

void CollectionRuns::Close(std::int64_t length) {
  ++runs_[static_cast<std::size_t>(std::min<std::int64_t>(length, kLongest))];
}

void CollectionRuns::OnScrape(bool changed) {
  ++scrapes_;
  if (changed && changed_) Close(tail_);
  changed_ = changed_ || changed;
  (changed_ ? tail_ : lead_) = changed ? 1 : (changed_ ? tail_ : lead_) + 1;
}

Collection CollectionRuns::Told() const {
  constexpr std::int64_t kRunsNeeded = 5;
  constexpr std::int64_t kEarlyOfRuns = 10;
  const std::int64_t runs = std::accumulate(runs_.begin(), runs_.end(), std::int64_t{0});
  if (!changed_) return {scrapes_ > 1 ? Collection::Known::kConstant : Collection::Known::kTooFew, 1};
  if (runs < kRunsNeeded) return {Collection::Known::kTooFew, 1};
  std::size_t n = 0;
  for (std::int64_t seen = 0; 2 * seen < runs; ++n) seen += runs_[n + 1];
  const auto early = runs_.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(n, 1) - 1);
  const std::int64_t shorter = std::accumulate(runs_.begin(), early, std::int64_t{0});
  const bool regular = n < kLongest && shorter * kEarlyOfRuns <= runs;
  return {regular ? Collection::Known::kTold : Collection::Known::kIrregular, static_cast<std::int64_t>(n)};
}

void CollectionWatch::Settle() {
  if (!counted_) return;
  runs_.OnScrape(changed_);
  counted_ = changed_ = false;
}

void CollectionWatch::Forget() {
  Settle();
  time_ = INT64_MIN;
  before_ = now_ = 0;
}

void CollectionWatch::OnRow(const Sample& sample, std::int64_t time, std::uint32_t counter) {
  if (time != time_) {
    Settle();
    time_ = time;
    before_ = now_;
    now_ = 0;
  }
  const std::uint32_t gauges = sample.present & kGauges;
  for (std::uint32_t bits = gauges; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    const bool known = (((before_ | now_) >> i) & 1) != 0;
    changed_ = changed_ || (known && value_[i] != sample.value[i]);
    value_[i] = sample.value[i];
  }
  now_ |= gauges;
  counted_ = counted_ || (sample.present & counter) != 0;
}

}  // namespace idleburn
