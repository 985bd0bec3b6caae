#pragma once

#include <string>
#include <vector>

#include "fit/calibrate.h"

namespace idleburn {

// Errors of predictions of what was left out, as fractions of what was measured.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0;
  double p95 = 0;
};
ErrorSummary Summarize(const std::vector<HeldOutRow>& rows);

// How often the decision "it fits" was wrong, over every left-out row and every usual size of memory.
struct FitDecisions {
  std::size_t decisions = 0;
  std::size_t false_fits = 0;     // said to fit, needed more: an out-of-memory after queueing
  std::size_t false_rejects = 0;  // said not to fit, needed less: a larger GPU for nothing

  [[nodiscard]] double FalseFits() const { return Share(false_fits); }
  [[nodiscard]] double FalseRejects() const { return Share(false_rejects); }

 private:
  [[nodiscard]] double Share(std::size_t count) const {
    return decisions == 0 ? 0 : static_cast<double>(count) / static_cast<double>(decisions);
  }
};

// Fits are judged with kDefaultMargin on the likely value.
FitDecisions JudgeFits(const std::vector<HeldOutRow>& rows);

// Share of the `known` rows (of one framework, if named) that lie in the 90 % interval which the rows of other groups
// would have given them; without any, share of the `unknown` in the interval that the other frameworks would, `widen`
// times as wide (in logarithms).
double Coverage(const std::vector<HeldOutRow>& known, const std::vector<HeldOutRow>& unknown,
                std::string_view framework = {}, double widen = 1);
// The probability of a coverage no likelier than `inside` of `rows`, if each row lies inside with the probability
// `share`: the exact binomial test, both sides.
double BinomialTest(std::size_t inside, std::size_t rows, double share);
// Share of the rows, each left out with its family of models, that lie in the interval which the other families of
// `left_out` would have given them.
double CoverageOf(const std::vector<HeldOutRow>& rows, const std::vector<HeldOutRow>& left_out,
                  const std::vector<HeldOutRow>& unknown);
// How many times as wide (in logarithms) their intervals would have to be for that share of every framework left out to
// be at least `least`.
double WideningForEach(const std::vector<HeldOutRow>& unknown, double least);

// The same share without any known, each framework counting alike however many rows it has.
double CoverageOfFrameworks(const std::vector<HeldOutRow>& unknown);

// Share of rows left out with their GPU (of one framework, if named) that lie in the interval which the others would
// have given them.
double CoverageOfGpus(const std::vector<HeldOutRow>& left_out, std::string_view framework = {});

// Everything that `make accuracy` prints, and what it must stay below.
struct AccuracyReport {
  ErrorSummary throughput;      // llm-foundry, a model left out
  ErrorSummary memory_known;    // a model left out, its framework known
  ErrorSummary memory_unknown;  // a framework left out
  FitDecisions fits;            // a model left out
  double throughput_coverage = 0;
  double memory_known_coverage = 0;
  double memory_unknown_coverage = 0;
  std::string text;   // the summary and the tables of memory, as Markdown
  std::string speed;  // the tables of throughput
};

AccuracyReport JudgeAccuracy(const PublishedRows& published);

}  // namespace idleburn
