#include "classify/dense_second.h"

#include <algorithm>
#include <bit>

namespace idleburn {

void DenseSecond::Expect(std::uint32_t signals) {
  usual_ = signals;
  usual_count_ = 0;
  for (std::uint32_t bits = signals & AveragedMask(); bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    usual_signal_[usual_count_++] = {i, kMeasuredSlot[i]};
  }
}

// The sums come with two columns to a pair, so there may be one more of them than signals.
void DenseSecond::AddUsual(const RowSums& sums, std::size_t from, std::size_t to) {
  std::array<std::int64_t, kAveragedCount + 2> sum;  // not cleared: a part of it is used
  sums.SumsOf(from, to, sum.data());
  for (std::size_t k = 0; k < usual_count_; ++k) side_sum_[usual_signal_[k].slot] += sum[k];
  sum_ += sum[usual_count_];
  usual_rows_ += static_cast<std::int64_t>(to - from);
}

// One count stands for all signals of usual rows until here.
std::int64_t DenseSecond::SettleUsual() {
  if (usual_rows_ == 0) return 0;
  count_ += usual_rows_;
  for (const Averaged signal : usual_signals()) side_count_[signal.slot] += usual_rows_;
  return std::exchange(usual_rows_, 0);
}

// What is left of the second before is overwritten here or was cleared by Forget.
const Cell& DenseSecond::Mean(std::int64_t span, const LastReadings& last, const Cadence& cadence) {
  Cell& cell = cell_;
  cell.second = end_ / kNanosPerSecond - 1;
  cell.covered_ns = count_ > 0 ? span : 0;
  cell.area = 0;
  // Most signals have as many readings as the counter, so they share its divisor.
  const SpanMean* mean = &MeanOver(span, std::max<std::int64_t>(count_, 1));
  if (count_ > 0) {
    cell.area = static_cast<std::int64_t>(mean->Of(sum_));
  } else {
    cell.unobserved_ns[static_cast<std::size_t>(why_empty_)] = span;
  }
  for (std::uint32_t bits = read_slots_; bits != 0; bits &= bits - 1) {
    const auto slot = static_cast<std::size_t>(std::countr_zero(bits));
    const std::size_t signal = Index(kMeasured[slot]);
    cell.sides |= std::uint32_t{1} << slot;
    if (side_count_[slot] > 0) {
      if (side_count_[slot] != mean->count()) mean = &MeanOver(span, side_count_[slot]);
      cell.side[slot] = {span, mean->Of(side_sum_[slot])};
    } else if (last.Holds(signal, end_ - 1, cadence.hold[signal])) {
      cell.side[slot] = {span, static_cast<Int128>(last[signal].value) * span};
    } else {
      cell.side[slot] = {};
      cell.sides &= ~(std::uint32_t{1} << slot);
    }
  }
  constexpr std::size_t kReasons = Index(Signal::kEventReasons);
  if (masks_.known == 0 && last.Holds(kReasons, end_ - 1, cadence.hold[kReasons])) {
    masks_.Add(last[kReasons].value, 1);
  }
  if (masks_.known > 0) SetReasons(span);
  return cell;
}

// Each reading of the mask speaks for the same part of the second.
void DenseSecond::SetReasons(std::int64_t span) {
  const auto share = [&](std::int64_t count) { return span * count / masks_.known; };
  cell_.reasons = {span, share(masks_.throttled), share(masks_.slowdown), share(masks_.power_cap), {}};
  for (std::size_t i = 0; i < kEventReasonCount; ++i) cell_.reasons.each[i] = share(masks_.each[i]);
}

void DenseSecond::Forget() {
  for (std::uint32_t bits = read_slots_; bits != 0; bits &= bits - 1) {
    const auto slot = static_cast<std::size_t>(std::countr_zero(bits));
    side_sum_[slot] = side_count_[slot] = 0;
  }
  if (masks_.known > 0) masks_ = cell_.reasons = {};
  if (count_ == 0) cell_.unobserved_ns = {};
  sum_ = count_ = 0;
  // A device that is read so often has its counter all the time, so a second without a reading is a gap.
  why_empty_ = has_counter_ ? Unobserved::kGap : Unobserved::kUnsupported;
}

}  // namespace idleburn
