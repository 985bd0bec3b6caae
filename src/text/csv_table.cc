#include "text/csv_table.h"

#include <algorithm>
#include <optional>

#include "text/byte_order_mark.h"
#include "text/escape.h"
#include "text/number.h"

namespace idleburn {
namespace {

// Takes the quoted cell at the start of `line`, without its quotes; nothing if the quote is never closed.
std::optional<std::string> TakeQuoted(std::string_view& line) {
  std::string cell;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] != '"') {
      cell += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '"') {
      cell += line[i++];
    } else {
      line.remove_prefix(std::min(line.find(',', i), line.size()));
      return cell;
    }
  }
  return std::nullopt;
}

// The cells of one line; nothing if a quote is left open.
std::optional<std::vector<std::string>> SplitCells(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (!line.empty() && line.front() == '"') {
      std::optional<std::string> cell = TakeQuoted(line);
      if (!cell) return std::nullopt;
      cells.push_back(std::move(*cell));
    } else {
      const std::size_t comma = std::min(line.find(','), line.size());
      cells.emplace_back(Trim(line.substr(0, comma)));
      line.remove_prefix(comma);
    }
    if (line.empty()) return cells;
    line.remove_prefix(1);
  }
}

}  // namespace

Result<bool> CsvTable::NextCells(std::vector<std::string>* cells) {
  std::string_view line;
  while (true) {
    const Result<bool> more = lines_.Next(&line);
    if (!more || !*more) return more;
    if (lines_.number() == 1) line = WithoutByteOrderMark(line);
    const std::string_view text = Trim(line);
    if (!text.empty() && text.front() != '#') break;
  }
  std::optional<std::vector<std::string>> split = SplitCells(line);
  if (!split) return Fail(Where() + ": a quoted cell is not closed; end it with \" on the same line");
  *cells = std::move(*split);
  return true;
}

Result<void> CsvTable::ReadHeader() {
  const Result<bool> more = NextCells(&header_);
  if (!more) return tl::unexpected<Error>(more.error());
  if (!*more) return Fail(name() + ": no header row; the first line names the columns");
  return {};
}

Result<void> CsvTable::Require(std::span<const std::string_view> columns) const {
  for (const std::string_view column : columns) {
    if (!Has(column)) return Fail(Where() + ": no column '" + std::string(column) + "' in the header; add it");
  }
  return {};
}

Result<bool> CsvTable::Next() {
  const Result<bool> more = NextCells(&cells_);
  if (!more || !*more) return more;
  if (cells_.size() > header_.size()) {
    return Fail(Where() + ": " + std::to_string(cells_.size()) + " cells, but the header names " +
                std::to_string(header_.size()) + "; quote cells that contain a comma");
  }
  cells_.resize(header_.size());
  return true;
}

bool CsvTable::Has(std::string_view column) const {
  return std::find(header_.begin(), header_.end(), column) != header_.end();
}

std::string_view CsvTable::Cell(std::string_view column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  if (found == header_.end()) return {};
  return cells_[static_cast<std::size_t>(found - header_.begin())];
}

tl::unexpected<Error> CsvTable::Bad(std::string_view column, std::string_view how) const {
  constexpr std::size_t kShown = 60;
  return Fail(Where() + ": " + std::string(column) + ": '" + Printable(Cell(column).substr(0, kShown)) + "' " +
              std::string(how));
}

}  // namespace idleburn
