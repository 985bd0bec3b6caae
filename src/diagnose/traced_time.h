// The device's time by kernel, family, operator, module, annotation and line of Python.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/launch_scopes.h"
#include "diagnose/trace_budget.h"
#include "diagnose/trace_rows.h"
#include "profile/profile.h"

namespace idleburn {

// What device time is grouped by.
enum class TimeBy : std::uint8_t { kKernel, kFamily, kOperator, kModule, kRange, kPython };
inline constexpr std::size_t kTimesBy = 6;
// "kernel", "python": the keys of documents.
std::string_view Name(TimeBy by);

// The device events of one kernel, operator or module in a window.
struct TimeRow {
  std::string name;         // "": without a name, or not launched under any
  std::string_view family;  // of a kernel or a family (profile/kernel_family.h); else ""
  std::int64_t count = 0;
  std::int64_t within_ns = 0;  // sum of their parts in the window; streams add up
  std::int64_t own_ns = 0;     // the instants they claim (diagnose/painted_time.h): rows add up to busy time
};

// The largest own time first, then by name. Rows beyond kMost are one row without a name, `rest`.
struct TimeTable {
  static constexpr std::size_t kMost = 1024;
  std::vector<TimeRow> rows;
  TimeRow rest;
};

// Where a device's busy time went in its deciding window. The own times of each table add up to `busy_ns`, which is
// the budget's. Example: a window of 10 ms is busy for 6 ms, 4 of them launched by aten::mm, 2 by aten::add.
struct TracedTime {
  std::int64_t window_ns = 0;
  std::int64_t busy_ns = 0;
  std::size_t steps = 0;  // profiled steps of the window; 0: no steps
  std::array<TimeTable, kTimesBy> tables;
  std::int64_t scopes_left_out = 0;  // ranges of the file beyond memory's limit: work under them has a coarser name

  [[nodiscard]] const TimeTable& Table(TimeBy by) const { return tables[static_cast<std::size_t>(by)]; }
  // Whether any event has a name of that kind.
  [[nodiscard]] bool Has(TimeBy by) const;
};

// Measures the device in the window of the budget.
TracedTime MeasureTracedTime(const Profile& profile, const ProfiledDevice& device, const LaunchIndex& launches,
                             const LaunchScopes& scopes, const TraceBudget& budget, std::size_t steps);

// The sum over several devices: windows and steps add up.
TracedTime SumOf(std::span<const TracedTime* const> devices);

}  // namespace idleburn
