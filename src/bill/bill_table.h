#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

// Billing files as tables of text: CSV of any size, and Parquet. Cells keep their text, because money must not pass
// through binary floating point, and because a rule may be about how a value is written.
namespace idleburn {

// A cell. An unquoted empty cell of CSV is null; "" is an empty text.
struct BillCell {
  std::string_view text;
  bool null = true;
};

// A table that is read once, row by row.
class BillTable {
 public:
  BillTable() = default;
  BillTable(const BillTable&) = delete;
  BillTable& operator=(const BillTable&) = delete;
  virtual ~BillTable() = default;

  [[nodiscard]] virtual const std::vector<std::string>& columns() const = 0;
  // The next row; false at the end. Rows that cannot be split into the columns are left out and reported to
  // `malformed`, by their line.
  virtual Result<bool> Next() = 0;
  // The cells of the current row, one for each column, valid until the next call.
  [[nodiscard]] virtual std::span<const BillCell> cells() const = 0;
  // Where the row begins: a line of a text, counted from 1, or the row of a Parquet file, counted from 1.
  [[nodiscard]] virtual std::int64_t line() const = 0;
  // Called with the line of each row that was left out.
  std::function<void(std::int64_t line)> malformed;
};

// Separated text (RFC 4180). The separator is the most frequent of comma, semicolon and tab in the header. A quoted
// cell may hold line ends. Fails without a header. `in` must outlive the table.
//
// A quote that is never closed would swallow the rest of a file. If a record of several lines does not have the cells
// of the header, only its first line is left out, and reading goes on with the second.
Result<std::unique_ptr<BillTable>> OpenBillCsv(ByteSource& in);

// A Parquet file, read by DuckDB.
Result<std::unique_ptr<BillTable>> OpenBillParquet(const std::string& path);

}  // namespace idleburn
