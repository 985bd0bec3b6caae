#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "text/csv_record.h"
#include "text/line_reader.h"

namespace idleburn {

// A comma-separated table with a header row, read row by row and by column name. Cells may be quoted as in
// RFC 4180, within one line; blanks at its ends are no part of a cell. Empty lines and lines that begin with # are
// skipped.
class CsvTable {
 public:
  explicit CsvTable(ByteSource& in) : lines_(in), rows_(lines_, CsvKind::kTable) {}
  CsvTable(const CsvTable&) = delete;
  CsvTable& operator=(const CsvTable&) = delete;

  // Reads the header row; fails if there is none, or if two columns have one name.
  Result<void> ReadHeader();
  // Fails if the header lacks one of `columns`.
  [[nodiscard]] Result<void> Require(std::span<const std::string_view> columns) const;
  // True and the next row, or false at the end. A row with more cells than the header has, with an open quote,
  // or with text after a closing one, is an error; missing cells at its end are empty.
  Result<bool> Next();

  [[nodiscard]] bool Has(std::string_view column) const;
  // The header row, in its order.
  [[nodiscard]] const std::vector<std::string>& columns() const { return header_; }
  // A cell of the row, valid until the next one; empty if there is no such column.
  [[nodiscard]] std::string_view Cell(std::string_view column) const;
  // The error that a cell of the row makes: "FILE:LINE: COLUMN: 'CELL' HOW", HOW saying what is wrong and what to do.
  [[nodiscard]] tl::unexpected<Error> Bad(std::string_view column, std::string_view how) const;
  // "file:line" of the row.
  [[nodiscard]] std::string Where() const { return lines_.Where(); }
  [[nodiscard]] std::int64_t line() const { return lines_.number(); }
  [[nodiscard]] const std::string& name() const { return lines_.name(); }

 private:
  LineReader lines_;
  CsvReader rows_;
  std::vector<std::string> header_;
};

}  // namespace idleburn
