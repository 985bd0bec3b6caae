#pragma once

#include <cstdint>
#include <optional>

#include "profile/interval_set.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// The range of an event by its times in a file. One that ends before it starts is an instant; one that lasts longer
// than kLongestEventNs, or lies further than 73 years off, is none. Each is counted.
std::optional<Interval> EventRange(std::int64_t start_ns, std::int64_t end_ns, DataQuality& quality, Place place);

}  // namespace idleburn
