#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/importer.h"
#include "telemetry/signal.h"

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

// A role found in a table.
struct BoundColumn {
  const ColumnRole* role = nullptr;
  std::size_t position = 0;  // from 0
  std::string name;          // the header's, or "#3" without a header
  const ColumnUnit* unit = nullptr;
  bool unit_assumed = false;
  bool scale_doubtful = false;  // a field that counts whole percents, unless its values were divided on the way here
  TimeForm time = TimeForm::kByFirstRow;
};

// The text of --columns, "time:s=ts,gpu=container,util=\"a, b\":ratio", to ImportOptions::columns: role to
// "column[:unit]". The unit may follow the role or the column.
Result<std::map<std::string, std::string>> ParseColumns(std::string_view text);

// True if every column is named by its position ("#3"), which a table without a header needs.
bool NamesOnlyPositions(const std::map<std::string, std::string>& columns);

// Finds the columns that the user named in a table of `width` columns; `header` is empty where it has none. A name
// that is the whole header cell wins over one that is followed by ":unit". A time and at least one signal are needed.
// `where` starts the message of an error.
Result<std::vector<BoundColumn>> BindColumns(const std::map<std::string, std::string>& columns,
                                             std::span<const std::string> header, std::size_t width,
                                             const std::string& where);

// The columns whose names are nvidia-smi's, DCGM's or plain ("ts", "gpu", "util", "power"), for tables read without
// --columns; absent unless a time and a utilisation, or the graphics-engine activity of MIG, are among them.
std::optional<std::vector<BoundColumn>> RecognizeColumns(std::span<const std::string> header);

// What --unit says of columns whose header leaves their unit open.
void SettleUnits(const std::map<std::string, PercentUnit>& units, std::vector<BoundColumn>& columns);

// The names of a header for a message: at most thirty, safe to print.
std::string ListColumns(std::span<const std::string> header);

}  // namespace idleburn
