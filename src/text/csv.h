#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "text/line_reader.h"

namespace idleburn {

// What text a reader is given: a log that some program wrote, or a table that a person keeps.
enum class CsvKind : std::uint8_t {
  kLog,    // the separator is whichever of comma, semicolon, tab and bar the first line holds most of, else a comma
  kTable,  // comma; a record is one line, lines that begin with # are skipped, and misplaced quotes are errors
};

// Records of delimiter-separated text after RFC 4180: cells may be quoted, quoted cells may hold the separator, line
// ends and doubled quotes. Blank lines are skipped. A quote inside an unquoted cell is an ordinary character;
// blanks outside quotes are no part of a quoted cell.
class CsvReader {
 public:
  static constexpr std::size_t kMaxRecord = LineReader::kMaxLine;

  explicit CsvReader(LineReader& lines, CsvKind kind = CsvKind::kLog)
      : lines_(lines), kind_(kind), separator_(kind == CsvKind::kTable ? ',' : '\0') {}

  // True if there is a next record, false at the end. A quoted cell that never closes within kMaxRecord bytes is an
  // error that names the line where its record starts.
  Result<bool> Next();

  // Of the record last read. Unquoted cells keep their blanks; all are valid until the next call.
  [[nodiscard]] const std::vector<std::string_view>& cells() const { return cells_; }
  [[nodiscard]] std::int64_t line() const { return line_; }
  // True if the input ended in the record: without a line end, or inside a quoted cell.
  [[nodiscard]] bool torn() const { return torn_; }
  // True if text follows the closing quote of a cell: what the cell means is anyone's guess.
  [[nodiscard]] bool malformed() const { return malformed_; }
  [[nodiscard]] const std::string& name() const { return lines_.name(); }

 private:
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

  // A record with quotes: its text without them, and where each cell of it ends.
  std::string text_;
  std::vector<std::size_t> ends_;
  bool in_quotes_ = false;
};

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
