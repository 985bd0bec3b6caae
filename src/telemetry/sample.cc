#include "telemetry/sample.h"

#include <algorithm>
#include <bit>

namespace idleburn {

void SampleColumns::Get(std::size_t row, Sample& sample) const {
  sample.time = times[row];
  sample.device = devices[row];
  sample.present = present;
  sample.unavailable = 0;
  for (std::uint32_t bits = present; bits != 0; bits &= bits - 1) {
    const auto signal = static_cast<std::size_t>(std::countr_zero(bits));
    sample.value[signal] = values[signal][row];
  }
}

// Converts in small batches, so that the rows stay in the cache until the sink has read them.
void SampleSink::OnColumns(const SampleColumns& columns) {
  std::array<Sample, 128> batch;  // fits into the L1 cache
  for (std::size_t at = 0; at < columns.rows; at += batch.size()) {
    const std::size_t count = std::min(batch.size(), columns.rows - at);
    for (std::size_t i = 0; i < count; ++i) columns.Get(at + i, batch[i]);
    OnSamples(std::span(batch).first(count));
  }
}

namespace {

// The ranges in the order of Unit, so that RangeOf is an index.
constexpr std::array<ValueRange, 9> kRanges = {{
    {Unit::kMicroPercent, 0, kFull},
    {Unit::kMilliwatt, 0, 100'000'000},
    {Unit::kMillijoule, 0, INT64_MAX},
    {Unit::kKilohertz, 0, 100'000'000},
    {Unit::kByte, 0, std::int64_t{1} << 43},
    {Unit::kMillicelsius, -100'000, 250'000},
    {Unit::kMask, 0, INT32_MAX},
    {Unit::kCount, 0, 1'000'000'000},
    {Unit::kBytePerSecond, 0, 100'000'000'000'000},
}};
// How far outside 0 to 100 % a rounded share may lie: half a percent.
constexpr std::int64_t kSlack = kFull / 200;

// Proves at compile time that kRanges is in the order of Unit.
constexpr bool InOrder() {
  for (std::size_t i = 0; i < kRanges.size(); ++i) {
    if (static_cast<std::size_t>(kRanges[i].unit) != i) return false;
  }
  return true;
}
static_assert(InOrder());

}  // namespace

const ValueRange& RangeOf(Unit unit) { return kRanges[static_cast<std::size_t>(unit)]; }

std::optional<std::int64_t> InRange(Unit unit, Int128 value) {
  const ValueRange& range = RangeOf(unit);
  const std::int64_t slack = unit == Unit::kMicroPercent ? kSlack : 0;
  if (value < range.low - slack || value - slack > range.high) return std::nullopt;
  return static_cast<std::int64_t>(std::clamp<Int128>(value, range.low, range.high));
}

void SetInRange(Signal signal, Int128 value, Sample& sample) {
  if (const std::optional<std::int64_t> possible = InRange(Info(signal).unit, value)) {
    sample.Set(signal, *possible);
  } else {
    sample.SetUnavailable(signal, Unobserved::kInvalidCounter);
  }
}

}  // namespace idleburn
