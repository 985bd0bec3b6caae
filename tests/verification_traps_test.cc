// Trap cases of data/traps on which plain statistics find savings that are not there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/shared_data.h"
#include "verify/judge.h"
#include "verify/reversion.h"

namespace idleburn {
namespace {

struct TrapCase {
  nlohmann::json right;

  void Expect(const char* answer, double got) const {
    const double value = right[answer]["value"].get<double>();
    EXPECT_NEAR(got, value, right[answer]["tol"].get<double>() + 1e-9 * std::fabs(value)) << answer;
  }
  void Expect(const char* answer, const nlohmann::json& got) const {
    EXPECT_EQ(got, right[answer]["equals"]) << answer;
  }
};

std::optional<TrapCase> ReadTrap(const std::string& name) {
  const std::optional<std::string> text = test::ReadShared("data/traps/" + name + "/case.json");
  if (!text) return std::nullopt;
  return TrapCase{nlohmann::json::parse(*text)["right"]};
}

// Numbers of a CSV with a head, its first column as text.
struct CsvLine {
  std::string first;
  std::vector<double> numbers;
};
std::vector<CsvLine> Lines(const std::string& path) {
  std::istringstream in(test::ReadShared(path).value_or(""));
  std::vector<CsvLine> lines;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    CsvLine& row = lines.emplace_back();
    std::getline(cells, row.first, ',');
    for (std::string cell; std::getline(cells, cell, ',');) row.numbers.push_back(std::strtod(cell.c_str(), nullptr));
  }
  return lines;
}

TEST(VerificationTraps, RegressionToTheMean) {
  const std::optional<TrapCase> trap = ReadTrap("18_regression_to_the_mean");
  if (!trap) GTEST_SKIP() << "../shared/data/traps/18_regression_to_the_mean is not there";
  std::vector<JobPair> jobs;
  for (const CsvLine& line : Lines("data/traps/18_regression_to_the_mean/jobs.csv")) {
    jobs.push_back({line.numbers.at(0), line.numbers.at(1), false});
  }
  ASSERT_EQ(jobs.size(), 200U);
  std::sort(jobs.begin(), jobs.end(), [](const JobPair& a, const JobPair& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < 20; ++i) jobs[i].chosen = true;
  const std::optional<ReversionReading> reading = ReadReversion(jobs, 0.95);
  ASSERT_TRUE(reading);
  trap->Expect("raw_change_points", reading->raw_change);
  trap->Expect("week_to_week_slope", reading->slope);
  trap->Expect("slope_se", reading->slope_error);
  trap->Expect("expected_null_change_points", reading->expected_change);
  trap->Expect("net_change_points", reading->net_change);
  trap->Expect("net_change_se_points", reading->net_error);
  trap->Expect("verdict", nlohmann::json(VerdictName(reading->verdict)));
}

MeasuredRun ReadRun(const std::string& name) {
  MeasuredRun run;
  run.name = name;
  run.unit = WorkUnit::kSample;
  WorkPiece rows;
  for (const CsvLine& line : Lines("data/traps/19_autocorrelated_before_after/" + name)) {
    const double seconds = std::strtod(line.first.c_str(), nullptr);
    rows.push_back(
        {Instant::FromNanos(static_cast<std::int64_t>(seconds * 1e9)), line.numbers.at(0), line.numbers.at(1)});
    run.gpu_seconds += line.numbers.at(0);
    run.work += line.numbers.at(1);
  }
  run.pieces.push_back(std::move(rows));
  return run;
}

TEST(VerificationTraps, AutocorrelatedBeforeAfter) {
  const std::optional<TrapCase> trap = ReadTrap("19_autocorrelated_before_after");
  if (!trap) GTEST_SKIP() << "../shared/data/traps/19_autocorrelated_before_after is not there";
  Comparison comparison;
  comparison.before.push_back(ReadRun("before.csv"));
  comparison.after.push_back(ReadRun("after.csv"));
  const SavingVerdict verdict = Judge(comparison);
  ASSERT_TRUE(verdict.saving);
  trap->Expect("neff_before", *verdict.before.n_eff);
  trap->Expect("neff_after", *verdict.after.n_eff);
  trap->Expect("point_saving", *verdict.fraction);
  trap->Expect("interval95_half_width", (verdict.saving->high - verdict.saving->low) / 2);
  trap->Expect("interval95_contains_zero", nlohmann::json(verdict.saving->low < 0 && verdict.saving->high > 0));
  trap->Expect("verdict", nlohmann::json(VerdictName(verdict.verdict)));
}

}  // namespace
}  // namespace idleburn
