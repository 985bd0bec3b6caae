#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "telemetry/sample.h"

namespace idleburn {

// What a column of a foreign table means. kGpu holds a UUID, an index, a bus id or any text that names a GPU, kMig the
// id of a MIG instance on it.
enum class ColumnKind : std::uint8_t { kTime, kGpu, kUuid, kName, kHost, kMig, kMigProfile, kOwner, kSignal };

struct ColumnRole {
  std::string_view name;  // as in --columns
  ColumnKind kind;
  Signal signal;          // of kSignal
  std::string_view unit;  // assumed where neither the user, the header nor the cell says one
};
std::span<const ColumnRole> ColumnRoles();
// Null if there is none of that name.
const ColumnRole* FindColumnRole(std::string_view name);

constexpr std::int64_t PowerOfTen(int n) {
  std::int64_t power = 1;
  for (int i = 0; i < n; ++i) power *= 10;
  return power;
}

// One of a unit is 10^decimals x numerator / denominator of the signal's own: text is read with that many decimals.
struct ColumnUnit {
  std::string_view name;
  Unit unit;
  int decimals;
  std::int64_t numerator;
  std::int64_t denominator;
};
// The unit of that name, of those which a signal of `unit` can have; null if there is none. Case does not matter.
const ColumnUnit* FindColumnUnit(std::string_view name, Unit unit);
std::span<const ColumnUnit> ColumnUnits();

// How the times of a column are written. Epochs of kByFirstRow have their unit told by the magnitude of the first.
enum class TimeForm : std::uint8_t { kByFirstRow, kText, kSeconds, kMillis, kMicros, kNanos };

struct TimeUnit {
  std::string_view name;
  TimeForm form;
};
std::span<const TimeUnit> TimeUnits();

// A name by which a column is understood without --columns, the better of a role first: lower case, "_" for "." and
// blanks, without the unit in brackets.
struct ColumnAlias {
  std::string_view name;
  std::string_view role;
};
std::span<const ColumnAlias> ColumnAliases();

}  // namespace idleburn
