#include "fit/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "plan/gpu_rate.h"
#include "plan/memory.h"
#include "stats/order.h"
#include "text/figures.h"

namespace idleburn {
namespace {

std::vector<HeldOutRow> Of(const std::vector<HeldOutRow>& rows, std::string_view framework) {
  std::vector<HeldOutRow> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [&](const HeldOutRow& row) { return row.row->row.run.framework == framework; });
  return kept;
}

std::set<std::string> FrameworksOf(const std::vector<HeldOutRow>& rows) {
  std::set<std::string> frameworks;
  for (const HeldOutRow& row : rows) frameworks.insert(row.row->row.run.framework);
  return frameworks;
}

// Memory sizes that are sold, each once.
std::set<double> Capacities() {
  std::set<double> capacities;
  for (const GpuRate& gpu : AllGpuRates()) capacities.insert(gpu.memory_gib * kGib);
  return capacities;
}

bool SameGroup(const MeasuredRow& a, const MeasuredRow& b) {
  return a.row.run.framework == b.row.run.framework && a.group == b.group;
}

// What the binomial test says of a group's coverage: whether 90 % is believable. Small groups say nothing.
std::string Verdict(std::size_t rows, double coverage) {
  constexpr std::size_t kFewest = 20;
  constexpr double kLevel = 0.01;
  if (rows < kFewest) return "few rows";
  const auto inside = static_cast<std::size_t>(std::llround(coverage * static_cast<double>(rows)));
  return BinomialTest(inside, rows, 0.9) < kLevel ? "rejected" : "not rejected";
}

std::string Line(std::string_view what, const std::vector<HeldOutRow>& rows, double coverage) {
  const ErrorSummary errors = Summarize(rows);
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", what, errors.rows, PercentText(errors.median),
                     PercentText(errors.p95), PercentText(coverage), Verdict(errors.rows, coverage));
}

// Lines of rows left out with their family of models, by family.
std::string ByFamily(const std::vector<HeldOutRow>& left_out, const std::vector<HeldOutRow>& unknown) {
  std::map<std::string, std::vector<HeldOutRow>> families;
  for (const HeldOutRow& row : left_out) families[FamilyOf(row.row->row)].push_back(row);
  std::string text;
  for (const auto& [family, rows] : families) {
    text += Line(family, rows, CoverageOf(rows, left_out, unknown));
  }
  return text + Line("all", left_out, CoverageOf(left_out, left_out, unknown));
}

std::string ByFramework(const std::vector<HeldOutRow>& known, const std::vector<HeldOutRow>& unknown) {
  const std::vector<HeldOutRow>& rows = known.empty() ? unknown : known;
  std::string text;
  for (const std::string& framework : FrameworksOf(rows))
    text += Line(framework, Of(rows, framework), Coverage(known, unknown, framework));
  return text;
}

constexpr std::string_view kHead =
    "| left out | rows | median error | 95th percentile | in the 90 % interval | 90 % by a test at 1 % |\n"
    "|---|---:|---:|---:|---:|---|\n";

// Published estimators on the same tables, as the reference of this project found them.
constexpr std::string_view kOthers =
    "| estimator | median error | 95th percentile |\n"
    "|---|---:|---:|\n"
    "| time: 6 N at 40 % MFU | 18 % | 292 % |\n"
    "| time: llm-analysis, efficiency 1.0 / 0.5 | 92 % / 16 % | 197 % / 48 % |\n"
    "| memory: EleutherAI calculator | 23 % | 257 % |\n"
    "| memory: accelerate estimate-memory, fp16 / fp32 | 69 % / 37 % | 71 % / 43 % |\n"
    "| memory: DeepSpeed zero3 states | 31 % | 90 % |\n"
    "| memory: LLaMA-Factory table | 64 % | 89 % |\n"
    "| memory: fm-training-estimator | 47 % | 75 % |\n";

std::string Target(std::string_view what, const ErrorSummary& errors, double median, double p95) {
  return fmt::format("| {} | {} | {} at most {:.1f} % | {} at most {:.0f} % |\n", what, errors.rows,
                     PercentText(errors.median), median, PercentText(errors.p95), p95);
}

// What it would cost to hold most rows of each framework that was left out, instead of most of all.
std::string Widening(std::string_view what, const std::vector<HeldOutRow>& unknown) {
  constexpr double kLeast = 0.85;
  const double widen = WideningForEach(unknown, kLeast);
  return fmt::format(
      "To hold 85 % of every framework left out, {} intervals would have to be {:.2f} times as wide, in logarithms. "
      "They would then hold {} of all rows and no longer be 90 % intervals.\n",
      what, widen, PercentText(Coverage({}, unknown, {}, widen)));
}

}  // namespace

ErrorSummary Summarize(const std::vector<HeldOutRow>& rows) {
  if (rows.empty()) return {};
  std::vector<double> errors;
  for (const HeldOutRow& row : rows) errors.push_back(std::abs(row.predicted / row.measured - 1));
  std::sort(errors.begin(), errors.end());
  return {errors.size(), SortedQuantile(errors, 0.5), SortedQuantile(errors, 0.95)};
}

FitDecisions JudgeFits(const std::vector<HeldOutRow>& rows) {
  FitDecisions made;
  for (const HeldOutRow& row : rows) {
    for (const double capacity : Capacities()) {
      const bool said = FitsWithMargin(row.predicted, capacity);
      const bool fits = row.measured <= capacity;
      ++made.decisions;
      if (said && !fits) ++made.false_fits;
      if (!said && fits) ++made.false_rejects;
    }
  }
  return made;
}

double BinomialTest(std::size_t inside, std::size_t rows, double share) {
  const auto n = static_cast<double>(rows);
  const auto log_of = [&](std::size_t k) {
    const auto x = static_cast<double>(k);
    return std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) + x * std::log(share) +
           (n - x) * std::log(1 - share);
  };
  // Outcomes that are no likelier than this one, on both sides.
  constexpr double kRounding = 1e-9;
  const double seen = log_of(inside) + kRounding;
  double sum = 0;
  for (std::size_t k = 0; k <= rows; ++k) {
    if (log_of(k) <= seen) sum += std::exp(log_of(k));
  }
  return std::min(1.0, sum);
}

double CoverageOf(const std::vector<HeldOutRow>& rows, const std::vector<HeldOutRow>& left_out,
                  const std::vector<HeldOutRow>& unknown) {
  std::map<std::string, RatioBand> bands;  // by what is left out together
  double inside = 0;
  for (const HeldOutRow& row : rows) {
    const std::string family = FamilyOf(row.row->row);
    const std::string& framework = row.row->row.run.framework;
    const std::string key = framework + "/" + family;
    if (bands.count(key) == 0) {
      std::vector<HeldOutRow> others;
      std::copy_if(left_out.begin(), left_out.end(), std::back_inserter(others),
                   [&](const HeldOutRow& other) { return FamilyOf(other.row->row) != family; });
      bands[key] = BandFor(framework, others, unknown);
    }
    const double ratio = row.measured / row.predicted;
    inside += ratio >= bands[key].low && ratio <= bands[key].high ? 1 : 0;
  }
  return rows.empty() ? 0 : inside / static_cast<double>(rows.size());
}

double Coverage(const std::vector<HeldOutRow>& known, const std::vector<HeldOutRow>& unknown,
                std::string_view framework, double widen) {
  const std::vector<HeldOutRow>& rows = known.empty() ? unknown : known;
  std::map<std::string, RatioBand> bands;  // by what is left out together
  double inside = 0;
  double judged = 0;
  for (const HeldOutRow& row : rows) {
    const std::string& its = row.row->row.run.framework;
    if (!framework.empty() && its != framework) continue;
    const std::string key = its + "/" + (known.empty() ? "" : row.row->group);
    if (bands.count(key) == 0) {
      std::vector<HeldOutRow> others;
      std::copy_if(known.begin(), known.end(), std::back_inserter(others),
                   [&](const HeldOutRow& other) { return !SameGroup(*row.row, *other.row); });
      bands[key] = BandFor(its, others, unknown);
    }
    const double ratio = row.measured / row.predicted;
    ++judged;
    if (ratio >= std::pow(bands[key].low, widen) && ratio <= std::pow(bands[key].high, widen)) ++inside;
  }
  return judged > 0 ? inside / judged : 0;
}

double WideningForEach(const std::vector<HeldOutRow>& unknown, double least) {
  constexpr double kStep = 0.05;
  constexpr double kMost = 10;
  double widen = 1;
  for (const std::string& framework : FrameworksOf(unknown)) {
    while (widen < kMost && Coverage({}, unknown, framework, widen) < least) widen += kStep;
  }
  return widen;
}

double CoverageOfFrameworks(const std::vector<HeldOutRow>& unknown) {
  const std::set<std::string> frameworks = FrameworksOf(unknown);
  double sum = 0;
  for (const std::string& framework : frameworks) sum += Coverage({}, unknown, framework);
  return frameworks.empty() ? 0 : sum / static_cast<double>(frameworks.size());
}

double CoverageOfGpus(const std::vector<HeldOutRow>& left_out, std::string_view framework) {
  std::map<std::string, RatioBand> bands;
  double inside = 0;
  double judged = 0;
  for (const HeldOutRow& row : left_out) {
    if (!framework.empty() && row.row->row.run.framework != framework) continue;
    ++judged;
    const std::string group = GpuGroupOf(row.row->row);
    if (bands.count(group) == 0) bands[group] = BandOfUnseenGpu(left_out, group);
    const double ratio = row.measured / row.predicted;
    inside += ratio >= bands[group].low && ratio <= bands[group].high ? 1 : 0;
  }
  return judged > 0 ? inside / judged : 0;
}

AccuracyReport JudgeAccuracy(const PublishedRows& published) {
  const std::vector<HeldOutRow> time = PredictHeldOut(published.rows, PlanQuantity::kTime, HoldOut::kGroup);
  const std::vector<HeldOutRow> time_unknown = PredictHeldOut(published.rows, PlanQuantity::kTime, HoldOut::kFramework);
  const std::vector<HeldOutRow> tenth = PredictHeldOut(published.rows, PlanQuantity::kMemory, HoldOut::kTenth);
  const std::vector<HeldOutRow> known = PredictHeldOut(published.rows, PlanQuantity::kMemory, HoldOut::kGroup);
  const std::vector<HeldOutRow> unknown = PredictHeldOut(published.rows, PlanQuantity::kMemory, HoldOut::kFramework);
  const std::vector<HeldOutRow> foundry = Of(time, "llm-foundry");
  AccuracyReport report;
  report.throughput = Summarize(foundry);
  report.throughput_coverage = Coverage(time, time_unknown, "llm-foundry");
  report.memory_known = Summarize(known);
  report.memory_known_coverage = Coverage(known, unknown);
  report.memory_unknown = Summarize(unknown);
  report.memory_unknown_coverage = Coverage({}, unknown);
  report.fits = JudgeFits(known);

  std::string& text = report.text;
  text = "| what was left out | rows | median error | 95th percentile |\n|---|---:|---|---|\n";
  text += Target("throughput (llm-foundry), a model", report.throughput, 3.5, 14);
  text += Target("memory, a model, its framework known", report.memory_known, 4, 12);
  text += Target("memory, a framework", report.memory_unknown, 10, 22);
  text += fmt::format(
      "\nFit decisions at the default margin of {:.2f}, a model left out: {} rows x sizes of memory. False \"fits\": "
      "{:.2f} % (at most 0.5 %). False rejects: {:.2f} % (at most 5 %).\n",
      kDefaultMargin, report.fits.decisions, 100 * report.fits.FalseFits(), 100 * report.fits.FalseRejects());
  text += fmt::format(
      "90 % intervals cover throughput {}, memory {} (framework known), {} (unknown). The goal is 85 to 95 %.\n",
      PercentText(report.throughput_coverage), PercentText(report.memory_known_coverage),
      PercentText(report.memory_unknown_coverage));
  text += fmt::format(
      "With a framework left out, each row counting alike: throughput {}, memory {}. Each framework counting alike: "
      "{} and {}.\n\n",
      PercentText(Coverage({}, time_unknown)), PercentText(report.memory_unknown_coverage),
      PercentText(CoverageOfFrameworks(time_unknown)), PercentText(CoverageOfFrameworks(unknown)));
  text += Widening("throughput", time_unknown) + Widening("memory", unknown) + "\n";
  const std::vector<HeldOutRow> strangers = PredictStrangers(published);
  const ErrorSummary stranger = Summarize(strangers);
  text += fmt::format(
      "Memory of rows read as a plan is read, without their framework's defaults, the framework left out: {} rows, "
      "median {}, 95th percentile {}. The 90 % interval covers {}, each framework counting alike {}. A plan prints "
      "such an interval.\n\n",
      stranger.rows, PercentText(stranger.median), PercentText(stranger.p95), PercentText(Coverage({}, strangers)),
      PercentText(CoverageOfFrameworks(strangers)));
  text += "## Published estimators on the same tables\n\n" + std::string(kOthers);
  text += "\n## Memory\n\n" + std::string(kHead);
  text += Line("a tenth of the rows", tenth, Coverage(tenth, unknown)) +
          Line("a model (PEFT: a method)", known, report.memory_known_coverage) +
          Line("a framework", unknown, report.memory_unknown_coverage);
  text += "\nA model left out, by framework:\n\n" + std::string(kHead) + ByFramework(known, unknown);
  text += "\nA framework left out:\n\n" + std::string(kHead) + ByFramework({}, unknown);
  text += "\nA family of models left out of all frameworks:\n\n" + std::string(kHead) +
          ByFamily(PredictHeldOut(published.rows, PlanQuantity::kMemory, HoldOut::kFamily), unknown);
  std::string& speed = report.speed;
  speed = "A model left out (PEFT: a method), by framework:\n\n" + std::string(kHead) + ByFramework(time, time_unknown);
  speed += "\nA framework left out:\n\n" + std::string(kHead) + ByFramework({}, time_unknown);
  speed += "\nA family of models left out of all frameworks:\n\n" + std::string(kHead) +
           ByFamily(PredictHeldOut(published.rows, PlanQuantity::kTime, HoldOut::kFamily), time_unknown);
  speed += "\nA GPU left out, its framework known on another, by framework:\n\n" + std::string(kHead);
  const std::vector<HeldOutRow> gpus = PredictHeldOut(published.rows, PlanQuantity::kTime, HoldOut::kGpu);
  for (const std::string& framework : FrameworksOf(gpus)) {
    speed += Line(framework, Of(gpus, framework), CoverageOfGpus(gpus, framework));
  }
  speed += Line("all", gpus, CoverageOfGpus(gpus));
  return report;
}

}  // namespace idleburn
