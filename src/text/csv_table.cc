#include "text/csv_table.h"

#include <algorithm>
#include <set>

#include "text/escape.h"
#include "text/number.h"

namespace idleburn {

Result<void> CsvTable::ReadHeader() {
  const bool more = TRY(rows_.Next());
  if (!more) return Fail(name() + ": no header row; the first line names the columns");
  std::set<std::string_view> seen;
  for (const std::string_view cell : rows_.cells()) {
    const std::string_view column = Trim(cell);
    if (!column.empty() && !seen.insert(column).second) {
      return Fail(Where() + ": two columns are named '" + Printable(column) + "'; keep or rename one of them");
    }
    header_.emplace_back(column);
  }
  return {};
}

Result<void> CsvTable::Require(std::span<const std::string_view> columns) const {
  for (const std::string_view column : columns) {
    if (!Has(column)) return Fail(Where() + ": no column '" + std::string(column) + "' in the header; add it");
  }
  return {};
}

Result<bool> CsvTable::Next() {
  const Result<bool> more = rows_.Next();
  if (!more || !*more) return more;
  if (rows_.cells().size() > header_.size()) {
    return Fail(Where() + ": " + std::to_string(rows_.cells().size()) + " cells, but the header names " +
                std::to_string(header_.size()) + "; quote cells that contain a comma");
  }
  return true;
}

bool CsvTable::Has(std::string_view column) const {
  return std::find(header_.begin(), header_.end(), column) != header_.end();
}

std::string_view CsvTable::Cell(std::string_view column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  const auto position = static_cast<std::size_t>(found - header_.begin());
  return position < rows_.cells().size() ? Trim(rows_.cells()[position]) : std::string_view();
}

tl::unexpected<Error> CsvTable::Bad(std::string_view column, std::string_view how) const {
  constexpr std::size_t kShown = 60;
  return Fail(Where() + ": " + std::string(column) + ": '" + Printable(Cell(column).substr(0, kShown)) + "' " +
              std::string(how));
}

}  // namespace idleburn
