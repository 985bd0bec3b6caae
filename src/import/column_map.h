#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/column_roles.h"
#include "import/importer.h"

namespace idleburn {

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
