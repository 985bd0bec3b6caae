#include "fit/probe_accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/measured_steps.h"
#include "stats/order.h"
#include "text/csv.h"
#include "text/figures.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

// Errors of one kind of step, and how many lay in their interval.
struct Judged {
  std::vector<double> errors;
  double inside = 0;

  void Add(const LikelyRange& predicted, double measured) {
    errors.push_back(std::abs(predicted.likely / measured - 1));
    inside += measured >= predicted.low && measured <= predicted.high ? 1 : 0;
  }
  [[nodiscard]] double Covered() const { return errors.empty() ? 0 : inside / static_cast<double>(errors.size()); }
  [[nodiscard]] ErrorSummary Summary() const {
    if (errors.empty()) return {};
    std::vector<double> sorted = errors;
    std::sort(sorted.begin(), sorted.end());
    return {sorted.size(), SortedQuantile(sorted, 0.5), SortedQuantile(sorted, 0.95)};
  }
};

// The steps of every configuration. Its name is all cells but the length and what was measured.
Result<std::map<std::string, std::vector<MeasuredStep>>> StepsOf(CsvTable& table) {
  std::map<std::string, std::vector<MeasuredStep>> steps;
  TRY(table.ReadHeader());
  while (TRY(table.Next())) {
    std::string configuration;
    for (const std::string& column : table.columns()) {
      const bool measured = column == "seq_len" || column == "s_per_iter" || column == "tokens_s_per_gpu";
      if (!measured) configuration += std::string(table.Cell(column)) + ",";
    }
    MeasuredStep step = TRY(ReadStepTime(std::string(table.Cell("s_per_iter")) + "s"));
    step.size = std::stod(std::string(table.Cell("seq_len")));
    steps[configuration].push_back(step);
  }
  return steps;
}

}  // namespace

Result<ProbeErrors> JudgeProbes(std::string text, const std::string& file) {
  StringSource in{std::move(text), file};
  CsvTable table(in);
  const auto steps = TRY(StepsOf(table));
  ProbeErrors errors;
  Judged between;
  Judged beyond;
  Judged all;
  for (const auto& [name, points] : steps) {
    for (std::size_t i = 0; i < points.size() && points.size() > 2; ++i) {
      for (std::size_t j = i + 1; j < points.size(); ++j) {
        const Result<StepLine> line = FitSteps({points[i], points[j]});
        if (!line) ++errors.refused;
        for (std::size_t k = 0; k < points.size() && line; ++k) {
          if (k == i || k == j) continue;
          const LikelyRange predicted = StepSecondsAt(*line, points[k].size);
          (line->Measured(points[k].size) ? between : beyond).Add(predicted, points[k].seconds);
          all.Add(predicted, points[k].seconds);
        }
      }
    }
  }
  errors.between = between.Summary();
  errors.beyond = beyond.Summary();
  errors.all = all.Summary();
  errors.between_covered = between.Covered();
  errors.beyond_covered = beyond.Covered();
  errors.all_covered = all.Covered();
  return errors;
}

std::string ProbeSection(const ProbeErrors& errors) {
  std::string text =
      "\nTwo measured steps (`--measured`, `probe1_*`), by Qwen's table. Every pair of lengths of a configuration\n"
      "predicts its other lengths. No coefficient is fitted to these rows. The width of the\n"
      "interval was chosen by published errors of two probes, so its share here is no independent test.\n\n"
      "| the length | steps | median error | 95th percentile | in the 90 % interval |\n|---|---:|---:|---:|---:|\n";
  const auto row = [&](const char* name, const ErrorSummary& summary, double covered) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", name, summary.rows, PercentText(summary.median),
                        PercentText(summary.p95), PercentText(covered));
  };
  row("between the two", errors.between, errors.between_covered);
  row("outside of them", errors.beyond, errors.beyond_covered);
  row("all", errors.all, errors.all_covered);
  return text;
}

}  // namespace idleburn
