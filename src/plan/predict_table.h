#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "plan/calibration.h"

namespace idleburn {

// What came of predicting every row of a table.
struct PredictedTable {
  std::string csv;  // key,predicted,low,high: a line for each row, in order, empty cells where nothing can be predicted
  std::size_t rows = 0;
  std::size_t predicted = 0;
  std::size_t repeated_keys = 0;                // rows whose key an earlier one has
  std::map<std::string, std::size_t> reasons;   // why rows were left empty
  std::vector<std::string> unknown_columns;     // of the header or of `config`, that no table known has
  std::map<std::string, std::size_t> nearness;  // rows predicted, by Name(Nearness)
};

// Reads `key`, `quantity` (tokens_s_per_gpu, peak_bytes, s_per_iter) and the columns of a planning table, or a column
// `config` of name=value pairs joined by semicolons, which count where both are given. Fails on a table without key or
// quantity, or one that is no CSV.
Result<PredictedTable> PredictTable(ByteSource& in, const Calibration& calibration);

// "a=1;b=x;y;c=2" -> a: 1, b: x;y, c: 2. A piece without "=" belongs to the value before it.
TableCells ReadConfigCell(std::string_view text);

}  // namespace idleburn
