#include "verify/jobs_csv.h"

#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include "text/csv.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::array<std::string_view, 4> kColumns = {"job", "before", "after", "selected"};
constexpr double kMost = 1e15;  // squares of what lies beyond would lose the differences

Result<double> Value(const CsvTable& table, std::string_view column) {
  const std::string_view cell = Trim(table.Cell(column));
  double value = 0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || fault != std::errc() || end != cell.data() + cell.size() || !(std::abs(value) <= kMost)) {
    return table.Bad(column, "is no number up to 1e15; write a plain decimal");
  }
  return value;
}

Result<bool> Selected(const CsvTable& table) {
  const std::string_view cell = Trim(table.Cell("selected"));
  for (const std::string_view yes : {"yes", "true", "1"}) {
    if (EqualsIgnoreCase(cell, yes)) return true;
  }
  for (const std::string_view no : {"no", "false", "0"}) {
    if (EqualsIgnoreCase(cell, no)) return false;
  }
  return table.Bad("selected", "is neither yes nor no");
}

}  // namespace

Result<std::vector<JobPair>> ReadJobsCsv(ByteSource& in) {
  CsvTable table(in);
  TRY(table.ReadHeader());
  TRY(table.Require(kColumns));
  std::vector<JobPair> jobs;
  std::set<std::string> names;
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) return jobs;
    if (!names.emplace(Trim(table.Cell("job"))).second) {
      return table.Bad("job", "stands there twice; give each job one row");
    }
    const double before = TRY(Value(table, "before"));
    const double after = TRY(Value(table, "after"));
    const bool selected = TRY(Selected(table));
    jobs.push_back({before, after, selected});
  }
}

}  // namespace idleburn
