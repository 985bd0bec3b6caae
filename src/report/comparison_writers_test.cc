#include "report/comparison_writers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace idleburn {
namespace {

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

ComparisonReport OfTwoRuns() {
  ComparisonReport report;
  report.verdict.unit = WorkUnit::kSample;
  report.verdict.layout = RunLayout::kBeforeAfter;
  report.verdict.before.runs = report.verdict.after.runs = 1;
  return report;
}

TEST(ComparisonPageTest, AnInvalidComparisonSavesNothing) {
  ComparisonReport report = OfTwoRuns();
  report.verdict.verdict = Verdict::kInvalid;
  const std::string text = PageText(ComparisonPage(report), 120, false);
  EXPECT_TRUE(Contains(text, "no saving is given"));
  EXPECT_TRUE(Contains(text, "saved        not known\n")) << text;
  EXPECT_TRUE(Contains(text, "1 before, 1 after, one after the other\n")) << text;
}

// 154 sums of 372 readings at tau = 1.0274 are worth 149.9.
TEST(ComparisonPageTest, WhatReadingsAreWorthCanBeComputedAgain) {
  ComparisonReport report = OfTwoRuns();
  SideEstimate& before = report.verdict.before;
  before.rows = 372;
  before.summed = 154;
  before.tau = 1.0274;
  before.n_eff = 154 / 1.0274;
  SideEstimate& after = report.verdict.after;
  after.rows = after.summed = 40;
  after.tau = 1;
  after.n_eff = 40;
  EXPECT_TRUE(Contains(PageText(ComparisonPage(report), 160, false),
                       "372 readings before, summed to 154, are worth 150 (tau 1.03); 40 readings after are worth "
                       "40 (tau 1)"));
  after.n_eff.reset();
  EXPECT_TRUE(Contains(PageText(ComparisonPage(report), 160, false), "(tau 1.03); totals only after\n"));
  report.verdict.pairs = 4;  // a switchback's tau is of its whole series
  before.tau = 2;
  EXPECT_TRUE(Contains(PageText(ComparisonPage(report), 160, false),
                       "worth 150 (tau 1.03); totals only after; over all blocks tau 2"));
}

TEST(ComparisonPageTest, APathIsShortenedFromTheLeftAndNeverBroken) {
  ComparisonReport report = OfTwoRuns();
  ComparisonReport::Input input;
  input.kind = "recording";
  input.start = Instant::FromNanos(1'783'000'800 * kNanosPerSecond);
  input.name = "/data/experiments/of/2026/july/before/run-0001.idleburn";
  input.note = "a note that is long enough to be wrapped when the terminal is narrow, as they are at times";
  report.inputs = {input};
  const std::string text = PageText(ComparisonPage(report), 100, false);
  EXPECT_TRUE(Contains(text, "  .../before/run-0001.idleburn")) << text;
  EXPECT_TRUE(Contains(text, "start (UTC)"));
}

}  // namespace

}  // namespace idleburn
