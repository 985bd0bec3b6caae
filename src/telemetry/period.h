#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace idleburn {

// Of so many intervals, the first of a source, its period is told.
inline constexpr std::size_t kIntervals = 101;

// The period of what reports at these intervals: positive, in order of time, at least one.
//
// It is the median interval. Where intervals are not alike, it is that of up to four readers of one GPU by turns, if
// their rounds are: two scrapes of 15 s, 3 s apart, make intervals of 3 and 12 s, whose median is either, by which of
// them comes first, and every second one is 15 s from the next.
std::int64_t PeriodOf(const std::vector<std::int64_t>& intervals);

}  // namespace idleburn
