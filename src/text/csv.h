#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "text/line_reader.h"

namespace idleburn {

// Whether a program wrote the text or a person keeps it.
enum class CsvKind : std::uint8_t {
  // A log. The separator is the most frequent of comma, semicolon, tab and bar in the first line; a comma if none is.
  kLog,
  // A table. The separator is a comma, and a record is one line. Lines that begin with # are comments. Misplaced quotes
  // are errors, because a person can correct them.
  kTable,
};

// Reads records of delimiter-separated text (RFC 4180). A quoted cell may hold separators, line ends and doubled
// quotes. Blank lines are skipped. A quote inside an unquoted cell is an ordinary character. Blanks outside the
// quotes do not belong to a quoted cell.
//
//     1, "a ""b"", c" ,2   ->   cells  1 | a "b", c | 2
//
// Memory is bounded by the longest record. nvidia-smi logs have a faster reader of their own (import/csv_scan.h).
class CsvReader {
 public:
  static constexpr std::size_t kMaxRecord = LineReader::kMaxLine;

  explicit CsvReader(LineReader& lines, CsvKind kind = CsvKind::kLog)
      : lines_(lines), kind_(kind), separator_(kind == CsvKind::kTable ? ',' : '\0') {}

  // Reads the next record; false at the end. A quoted cell that is still open after kMaxRecord bytes is an error. The
  // error names the line where the record starts.
  Result<bool> Next();

  // The cells of the current record, valid until the next call. Unquoted cells keep their blanks.
  [[nodiscard]] const std::vector<std::string_view>& cells() const { return cells_; }
  // The line where the current record starts, from 1.
  [[nodiscard]] std::int64_t line() const { return line_; }
  // True if the input ended inside the record: without a line end, or in a quoted cell.
  [[nodiscard]] bool torn() const { return torn_; }
  // True if text follows the closing quote of a cell. Such a cell has no clear meaning.
  [[nodiscard]] bool malformed() const { return malformed_; }
  [[nodiscard]] const std::string& name() const { return lines_.name(); }

 private:
  // Private steps: a line, a record with quotes, a line without, a line of a record with quotes.
  Result<bool> NextLine(std::string_view* line);
  Result<void> ReadQuoted(std::string_view line);
  [[nodiscard]] tl::unexpected<Error> Bad(const std::string& why) const;
  void SplitPlain(std::string_view line);
  void ScanQuoted(std::string_view line);

  LineReader& lines_;
  CsvKind kind_;
  char separator_;  // '\0' until the first line
  std::vector<std::string_view> cells_;
  std::int64_t line_ = 0;
  bool torn_ = false;
  bool malformed_ = false;

  // A record with quotes: its text without the quotes, and where each cell ends in it. Cells cannot point into the
  // line, because their doubled quotes are gone and a record may span lines.
  std::string text_;
  std::vector<std::size_t> ends_;
  bool in_quotes_ = false;
};

// Reads a comma-separated table by the column names of its header row: the price catalogue, GPU models, contracts,
// paid bills. Cells may be quoted within one line. Blanks at the ends of a cell are dropped. Empty lines and lines
// that begin with # are skipped. All errors name the line and what to do, because people edit these files.
class CsvTable {
 public:
  explicit CsvTable(ByteSource& in) : lines_(in), rows_(lines_, CsvKind::kTable) {}
  CsvTable(const CsvTable&) = delete;
  CsvTable& operator=(const CsvTable&) = delete;

  // Reads the header row. Fails if there is none, or if two columns have the same name.
  Result<void> ReadHeader();
  // Fails if the header lacks one of `columns`.
  [[nodiscard]] Result<void> Require(std::span<const std::string_view> columns) const;
  // Reads the next row; false at the end. A row with more cells than the header, an open quote, or text after a closing
  // quote is an error. Missing cells at the end of a row are empty.
  Result<bool> Next();

  // Whether the header has this column.
  [[nodiscard]] bool Has(std::string_view column) const;
  // The names of the header row, in order.
  [[nodiscard]] const std::vector<std::string>& columns() const { return header_; }
  // A cell of the current row, valid until the next row. Empty if there is no such column.
  [[nodiscard]] std::string_view Cell(std::string_view column) const;
  // The error for a bad cell of the current row: "FILE:LINE: COLUMN: 'CELL' HOW". `how` says what is wrong and what to
  // do.
  [[nodiscard]] tl::unexpected<Error> Bad(std::string_view column, std::string_view how) const;
  // "file:line" of the current row, for messages.
  [[nodiscard]] std::string Where() const { return lines_.Where(); }
  [[nodiscard]] std::int64_t line() const { return lines_.number(); }
  [[nodiscard]] const std::string& name() const { return lines_.name(); }

 private:
  LineReader lines_;
  CsvReader rows_;
  std::vector<std::string> header_;
};

}  // namespace idleburn
