#pragma once

#include <cstdint>
#include <optional>

#include "base/int128.h"
#include "telemetry/sample.h"
#include "telemetry/signal.h"

namespace idleburn {

// What a GPU can report at all in a unit: far above any product, and below the all-ones codes for "no value".
struct ValueRange {
  Unit unit;
  std::int64_t low;
  std::int64_t high;
};
const ValueRange& RangeOf(Unit unit);

// A reading within its possible range; nullopt if it is impossible. Shares up to half a per cent outside 0 to 100 %
// count as the limit: rounding of the source, not a wrong reading.
std::optional<std::int64_t> InRange(Unit unit, Int128 value);

// Sets a reading of a live counter; one that is impossible is unavailable.
void SetInRange(Signal signal, Int128 value, Sample& sample);

}  // namespace idleburn
