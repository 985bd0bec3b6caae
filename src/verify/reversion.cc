#include "verify/reversion.h"

#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stats/least_squares.h"
#include "stats/order.h"
#include "text/csv.h"
#include "text/number.h"

// Regression to the mean, measured. Untouched jobs give the line of second value over first; what the line expects of
// the chosen jobs is what they would have gained without any measure. Comparing the chosen jobs with the mean of the
// untouched ones was rejected: chosen jobs begin lower, so they rise further by chance alone.

namespace idleburn {

std::optional<ReversionReading> ReadReversion(std::span<const JobPair> jobs, double level) {
  std::vector<std::vector<double>> columns(2);
  std::vector<double> second;
  double chosen_first = 0;
  double chosen_second = 0;
  ReversionReading reading;
  for (const JobPair& job : jobs) {
    if (job.chosen) {
      ++reading.chosen;
      chosen_first += job.first;
      chosen_second += job.second;
      continue;
    }
    columns[0].push_back(1);
    columns[1].push_back(job.first);
    second.push_back(job.second);
  }
  reading.untouched = static_cast<int>(second.size());
  const std::optional<LeastSquares> fit = FitLeastSquares(columns, second);
  if (reading.chosen == 0 || !fit) return std::nullopt;
  chosen_first /= reading.chosen;
  chosen_second /= reading.chosen;
  const double mean = MeanOf(columns[1]);
  // How far the chosen jobs begin from the untouched ones. The error of the line grows with it.
  const double away = mean - chosen_first;

  reading.raw_change = chosen_second - chosen_first;
  reading.slope = fit->coefficients[1];
  reading.slope_error = fit->errors[1];
  // What the line expects of jobs that began where the chosen ones began.
  reading.expected_change = (MeanOf(second) - mean) + (1 - reading.slope) * away;
  reading.net_change = reading.raw_change - reading.expected_change;
  const double expected_variance =
      fit->residual_variance * (1.0 / reading.untouched + away * away / SquaresAbout(columns[1], mean));
  reading.expected_error = std::sqrt(expected_variance);
  // The chosen jobs scatter around the line too.
  reading.net_error = std::sqrt(expected_variance + fit->residual_variance / reading.chosen);
  reading.df = fit->df;
  const double half = StudentTQuantile(reading.df, (1 + level) / 2) * reading.net_error;
  reading.low = reading.net_change - half;
  reading.high = reading.net_change + half;
  if (reading.low > 0) reading.verdict = Verdict::kIndicated;
  if (reading.high < 0) reading.verdict = Verdict::kIndicatedRegression;
  return reading;
}

ExpectedReversion AsExpected(const ReversionReading& logs) {
  return {logs.expected_change, logs.expected_error, logs.df};
}

namespace {

constexpr std::array<std::string_view, 4> kColumns = {"job", "before", "after", "selected"};
// Beyond this, squares would lose the differences between values.
constexpr double kMostValue = 1e15;

// A plain decimal number up to kMostValue. The negated comparison also refuses "nan".
Result<double> Value(const CsvTable& table, std::string_view column) {
  const std::string_view cell = Trim(table.Cell(column));
  double value = 0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || fault != std::errc() || end != cell.data() + cell.size() || !(std::abs(value) <= kMostValue)) {
    return table.Bad(column, "is not a number up to 1e15; write a plain decimal");
  }
  return value;
}

// Whether the job was to be improved, in words as people write them. Anything else is an error, because a guess would
// move a job to the other group.
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
      return table.Bad("job", "appears twice; give each job one row");
    }
    const double before = TRY(Value(table, "before"));
    const double after = TRY(Value(table, "after"));
    const bool selected = TRY(Selected(table));
    jobs.push_back({before, after, selected});
  }
}

}  // namespace idleburn
