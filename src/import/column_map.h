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
#include "telemetry/sample.h"

namespace idleburn {

// What the columns of a table mean. --columns gives each role a column; without it, the usual names decide. Both end
// in BoundColumns, which CSV and Parquet tables then read alike (import/column_rows.h).
//
//     --columns time:ms=ts,gpu=container,util=busy:ratio
//     header    ts,container,busy,note
//     result    time = column 0 in milliseconds, gpu = column 1, util = column 2 as a ratio; note is not read

// What a column is for. kGpu holds a UUID, an index, a bus id, or any text that names a GPU. kMig holds the id of a
// MIG instance on that GPU, kMigProfile its profile ("1g.10gb"), kOwner the job or pod that the reading is for.
enum class ColumnKind : std::uint8_t { kTime, kGpu, kUuid, kName, kHost, kMig, kMigProfile, kOwner, kSignal };

// A role that a column can have.
struct ColumnRole {
  std::string_view name;  // as written in --columns
  ColumnKind kind;
  Signal signal;          // of kSignal
  std::string_view unit;  // assumed if neither user, header nor cell gives one
};
std::span<const ColumnRole> ColumnRoles();
// Null if there is no role of that name.
const ColumnRole* FindColumnRole(std::string_view name);

// 10^n, for n from 0 to 18.
constexpr std::int64_t PowerOfTen(int n) {
  std::int64_t power = 1;
  for (int i = 0; i < n; ++i) power *= 10;
  return power;
}

// A unit of a column. One unit is 10^decimals x numerator / denominator of the signal's integer unit; text is read
// with that many decimals. For example, "mib" has 6 decimals and 16384/15625, which is 2^20/10^6. Integers
// throughout, so that decimal text becomes a reading without binary floating point.
struct ColumnUnit {
  std::string_view name;
  Unit unit;
  int decimals;
  std::int64_t numerator;
  std::int64_t denominator;
};
// Finds a unit that a signal of `unit` can have, by name in any case. Null if there is none.
const ColumnUnit* FindColumnUnit(std::string_view name, Unit unit);
std::span<const ColumnUnit> ColumnUnits();

// How a column writes times: as text, or as a number of units since 1970. With kByFirstRow, the magnitude of the
// first epoch decides its unit.
enum class TimeForm : std::uint8_t { kByFirstRow, kText, kSeconds, kMillis, kMicros, kNanos };

// A time unit as written in --columns.
struct TimeUnit {
  std::string_view name;
  TimeForm form;
};
std::span<const TimeUnit> TimeUnits();

// A usual name of a column. In the list, better names of a role come first. Names are in lower case, with "_" for "."
// and blanks, and without a unit in brackets.
struct ColumnAlias {
  std::string_view name;
  std::string_view role;
};
std::span<const ColumnAlias> ColumnAliases();

// A role found in a table: what to read, where it stands, and in which unit. `unit_assumed` and `scale_doubtful` stay
// set until --unit or the values settle them (SettleUnits, ColumnScale::CheckUnit).
struct BoundColumn {
  const ColumnRole* role = nullptr;
  std::size_t position = 0;  // from 0
  std::string name;          // from the header, or "#3" without one
  const ColumnUnit* unit = nullptr;
  bool unit_assumed = false;
  bool scale_doubtful = false;  // counts whole percents, unless the values were divided by 100 earlier
  TimeForm time = TimeForm::kByFirstRow;
};

// Parses --columns, "time:s=ts,gpu=container,util=\"a, b\":ratio", into ImportOptions::columns: role to
// "column[:unit]". The unit may follow the role or the column. An unknown role or unit, or a role given twice, is an
// error of usage.
Result<std::map<std::string, std::string>> ParseColumns(std::string_view text);

// True if every column is given by position ("#3"), as a table without a header needs.
bool NamesOnlyPositions(const std::map<std::string, std::string>& columns);

// Finds the columns that the user named in a table of `width` columns. `header` is empty if there is none. A header
// cell equal to the whole name wins over a cell followed by ":unit". A time and at least one signal are required.
// `where` starts the message of an error.
Result<std::vector<BoundColumn>> BindColumns(const std::map<std::string, std::string>& columns,
                                             std::span<const std::string> header, std::size_t width,
                                             const std::string& where);

// Finds columns by usual names: nvidia-smi's, DCGM's and plain ones ("ts", "gpu", "util", "power"). Absent unless
// there is a time and a utilization, or the graphics-engine activity of MIG. Without one of those, nothing says how
// busy a GPU was, and any table of prices could be taken for a log.
std::optional<std::vector<BoundColumn>> RecognizeColumns(std::span<const std::string> header);

// Applies --unit to columns whose header leaves the unit open.
void SettleUnits(const std::map<std::string, PercentUnit>& units, std::vector<BoundColumn>& columns);

// The names of a header for a message: at most thirty, safe to print.
std::string ListColumns(std::span<const std::string> header);

}  // namespace idleburn
