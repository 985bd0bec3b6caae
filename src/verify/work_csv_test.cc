#include "verify/work_csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "text/line_reader.h"

namespace idleburn {
namespace {

constexpr auto kSteps = static_cast<std::size_t>(WorkUnit::kStep);
constexpr auto kSamples = static_cast<std::size_t>(WorkUnit::kSample);

CountedRun Counting(std::initializer_list<WorkUnit> units) {
  CountedRun run;
  for (const WorkUnit unit : units) run.total[static_cast<std::size_t>(unit)] = 10;
  return run;
}

TEST(CountedRunTest, SamplesGoBeforeSteps) {
  const std::vector<CountedRun> runs = {Counting({WorkUnit::kStep, WorkUnit::kSample}),
                                        Counting({WorkUnit::kSample, WorkUnit::kStep, WorkUnit::kToken})};
  EXPECT_EQ(CommonUnit(runs), WorkUnit::kSample);
}

TEST(CountedRunTest, WithoutACommonUnitThereIsNone) {
  const std::vector<CountedRun> runs = {Counting({WorkUnit::kStep}), Counting({WorkUnit::kSample})};
  EXPECT_FALSE(CommonUnit(runs).has_value());
  EXPECT_EQ(runs[0].In(CommonUnit(runs)).unit, WorkUnit::kStep);
  EXPECT_EQ(runs[1].In(WorkUnit::kStep).unit, WorkUnit::kSample);
  EXPECT_FALSE(CountedRun{}.In(WorkUnit::kStep).unit.has_value());
}

TEST(CountedRunTest, RowsAreOfTheUnit) {
  CountedRun run = Counting({WorkUnit::kStep, WorkUnit::kSample});
  CountedRow row;
  row.gpu_seconds = 4;
  row.work[kSteps] = 1;
  row.work[kSamples] = 32;
  run.pieces = {{row, row}};
  const MeasuredRun samples = run.In(WorkUnit::kSample);
  ASSERT_EQ(samples.pieces.size(), 1U);
  EXPECT_EQ(samples.pieces[0].at(1).work, 32);
  EXPECT_EQ(run.In(WorkUnit::kStep).pieces[0].at(0).work, 1);
}

CountedRow Row(double end, double gpu_seconds) {
  return {Instant::FromNanos(static_cast<std::int64_t>(end * 1e9)), gpu_seconds, {}};
}

TEST(CutAtGapsTest, CutsWhereTimeIsMissing) {
  std::vector<CountedRow> rows;
  for (int i = 1; i <= 10; ++i) rows.push_back(Row(i, 8));
  for (int i = 1; i <= 10; ++i) rows.push_back(Row(20 + i, 8));
  const auto pieces = CutAtGaps(rows);
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].size(), 10U);
}

// A long step is no gap: its GPU-seconds say so. Nor is a row that cost little in the same time.
TEST(CutAtGapsTest, LongRowsAreNoGaps) {
  std::vector<CountedRow> rows;
  double at = 0;
  for (int i = 0; i < 40; ++i) {
    const double seconds = i % 20 == 19 ? 20 : 1;
    at += seconds;
    rows.push_back(Row(at, 8 * seconds));
  }
  EXPECT_EQ(CutAtGaps(rows).size(), 1U);
  rows.clear();
  for (int i = 1; i <= 40; ++i) rows.push_back(Row(i, i % 3 == 0 ? 0.1 : 8));
  EXPECT_EQ(CutAtGaps(rows).size(), 1U);
}

TEST(CutAtGapsTest, FewRowsAreOnePiece) {
  EXPECT_TRUE(CutAtGaps({}).empty());
  EXPECT_EQ(CutAtGaps({Row(1, 1)}).size(), 1U);
}

Result<WorkTable> Read(const std::string& text) {
  StringSource source(text, "log.csv");
  return ReadWorkCsv(source);
}
std::string Refusal(const std::string& text) {
  const Result<WorkTable> table = Read(text);
  return table ? "" : table.error().message;
}

TEST(WorkCsvTest, ReadsALogOfSteps) {
  const auto table =
      Read("time_s,gpu_seconds,samples,steps,loss\n10.5,4,256,1,2.0\n11.0,4,256,1,1.9\n11.5,2,128,1,x\n");
  ASSERT_TRUE(table.has_value()) << table.error().message;
  ASSERT_EQ(table->blocks.size(), 1U);
  const CountedRun& run = table->blocks[0].run;
  EXPECT_DOUBLE_EQ(run.run.gpu_seconds, 10);
  EXPECT_EQ(run.total[kSamples], 640);
  EXPECT_EQ(run.total[kSteps], 3);
  EXPECT_FALSE(run.run.start.has_value());  // second 10 of no known clock
  EXPECT_EQ(run.pieces.at(0).at(1).end, Instant::FromNanos(11'000'000'000));
}

TEST(WorkCsvTest, TimesOfTheCalendarAreDates) {
  const auto table = Read("time_s,gpu_seconds,samples\n1700000010,20,1\n1700000020,20,1\n1700000030,20,1\n");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->blocks[0].run.run.start, Instant::FromNanos(1'700'000'000 * kNanosPerSecond));
  EXPECT_EQ(table->blocks[0].run.run.end, Instant::FromNanos(1'700'000'030 * kNanosPerSecond));
  const auto written = Read("time,gpu_seconds,samples\n2023-11-14T22:13:30Z,20,1\n2023-11-14T22:13:40Z,20,1\n");
  ASSERT_TRUE(written.has_value()) << written.error().message;
  EXPECT_EQ(written->blocks[0].run.run.start, Instant::FromNanos(1'700'000'000 * kNanosPerSecond));
}

TEST(WorkCsvTest, WorkOfNoNamedUnitCountsAsSteps) {
  const auto table = Read("time,gpu_seconds,work\n1700000010,20,3\n1700000020.5,20,4\n");
  ASSERT_TRUE(table.has_value()) << table.error().message;
  const CountedRun& run = table->blocks[0].run;
  EXPECT_EQ(run.total[kSteps], 7);
  EXPECT_FALSE(run.total[kSamples]);
  EXPECT_EQ(run.run.end, Instant::FromNanos(1'700'000'020'500'000'000));
  EXPECT_EQ(Read("time_s,gpu_seconds,work,steps\n1,1,9,2\n")->blocks[0].run.total[kSteps], 2);
  EXPECT_NE(Refusal("time,gpu_seconds,work\nsoon,1,1\n").find("log.csv:2: time: 'soon' is not a time"),
            std::string::npos);
}

TEST(WorkCsvTest, ArmsAreBlocks) {
  const auto table = Read("time_s,gpu_seconds,samples,arm\n1,1,1,A\n2,1,1,A\n3,2,1,B\n4,1,1,B\n5,1,1,A\n");
  ASSERT_TRUE(table.has_value()) << table.error().message;
  ASSERT_EQ(table->blocks.size(), 3U);
  EXPECT_EQ(table->blocks[0].arm + table->blocks[1].arm + table->blocks[2].arm, "ABA");
  EXPECT_DOUBLE_EQ(table->blocks[1].run.run.gpu_seconds, 3);
  for (std::size_t i = 1; i < table->blocks.size(); ++i) {  // blocks do not overlap
    EXPECT_GE(table->blocks[i].run.run.start, table->blocks[i - 1].run.run.end);
  }
  const auto same = Read("time_s,gpu_seconds,samples,arm,block\n1,1,1,A,1\n2,1,1,A,2\n");
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->blocks.size(), 2U);
}

TEST(WorkCsvTest, WithoutAColumnOfWorkTheWorkIsNotKnown) {
  const auto table = Read("time_s,gpu_seconds,utilization\n1,1,55\n2,1,88\n");
  ASSERT_TRUE(table.has_value());
  EXPECT_FALSE(table->blocks[0].run.In(std::nullopt).unit.has_value());
}

TEST(WorkCsvTest, RefusalsNameLineAndColumn) {
  const std::string header = "time_s,gpu_seconds,samples\n1,1,1\n";
  EXPECT_EQ(Refusal(header + "2,-1,1\n"),
            "log.csv:3: gpu_seconds: '-1' is negative; it counts what was spent or done in the row");
  EXPECT_EQ(Refusal(header + "2,1,many\n"), "log.csv:3: samples: 'many' is not a number; write a plain decimal");
  EXPECT_EQ(Refusal(header + "0.5,1,1\n"),
            "log.csv:3: time_s: '0.5' is not later than the row before; put rows in order of time, each once");
  EXPECT_EQ(Refusal(header + "1,1,1\n"),
            "log.csv:3: time_s: '1' is not later than the row before; put rows in order of time, each once");
  EXPECT_EQ(Refusal(header + "2,1,\n"), "log.csv:3: samples: '' is not a number; write a plain decimal");
  EXPECT_EQ(Refusal(header + "2,inf,1\n"), "log.csv:3: gpu_seconds: 'inf' is not a number; write a plain decimal");
  EXPECT_EQ(Refusal(header + "2,1e300,1\n"), "log.csv:3: gpu_seconds: '1e300' is more than 1e15; check its unit");
  EXPECT_EQ(Refusal(header + "late,1,1\n"),
            "log.csv:3: time_s: 'late' is not a time in seconds; write a plain decimal");
  EXPECT_EQ(Refusal("time_s,gpu_seconds,samples\n"),
            "log.csv: has no rows below its header, so there is nothing to compare");
  EXPECT_EQ(Refusal("gpu_seconds,samples\n1,1\n"), "log.csv:1: no column 'time_s' in the header; add it");
  EXPECT_EQ(Refusal("time_s,gpu_seconds,samples,arm\n1,1,1,\n"),
            "log.csv:2: arm: '' is empty; say which setting was on");
}

TEST(WorkCsvTest, IsToldByItsHeader) {
  EXPECT_TRUE(SniffWorkCsv("time_s,gpu_seconds,samples\n1,2,3\n"));
  EXPECT_TRUE(SniffWorkCsv("gpu_seconds, time_s\n"));
  EXPECT_TRUE(SniffWorkCsv("\"time\",\"gpu_seconds\"\r\n"));
  EXPECT_FALSE(SniffWorkCsv("timestamp, index, utilization.gpu [%]\n"));
  EXPECT_FALSE(SniffWorkCsv("time_s,my_gpu_seconds\n"));
  EXPECT_FALSE(SniffWorkCsv("time_s\n1\ngpu_seconds\n"));
}

}  // namespace

namespace {

// Steps of `ms`, a little uneven, with an evaluation of 2,000 ms every `every` steps (0: never); the profiler's ends
// are far off.
StepCapture Capture(double ms, int steps, int every = 0) {
  StepCapture capture;
  capture.step_seconds.push_back(5);
  for (int i = 0; i < steps; ++i) {
    const double uneven = 1 + 0.004 * ((i * 7 % 11) - 5);
    const bool evaluation = every > 0 && i % every == every - 1;
    capture.step_seconds.push_back((ms * uneven + (evaluation ? 2000 : 0)) / 1000);
  }
  capture.step_seconds.push_back(9);
  capture.kernels_per_step = 1000;
  return capture;
}

std::vector<StepCapture> Three(double ms, double hour, double noise = 0.01) {
  std::vector<StepCapture> captures;
  for (int i = 0; i < 3; ++i) {
    captures.push_back(Capture(ms * (1 + noise * (i - 1)), 30));
    captures.back().start = Instant::FromNanos(static_cast<std::int64_t>((hour + 2 * i) * 3.6e12));
  }
  return captures;
}

VerdictTerms Early() {
  VerdictTerms terms;
  terms.claim.emplace().written = Instant::FromNanos(0);
  return terms;
}

bool Has(const CaptureVerdict& verdict, std::string_view id) {
  return std::any_of(verdict.reasons.begin(), verdict.reasons.end(),
                     [id](const VerdictReason& reason) { return reason.id == id; });
}

// 200 -> 130 ms with an evaluation of 2,000 ms every 20 steps: the step gains 35 %, the bill, 6,000 -> 4,600 ms, 23.3
// %.
TEST(CapturesTest, TheStepGainsMoreThanTheBill) {
  const std::vector<StepCapture> before = {Capture(200, 40, 20)};
  const std::vector<StepCapture> after = {Capture(130, 40, 20)};
  const CaptureVerdict verdict = JudgeCaptures(before, after, Early(), 1);
  EXPECT_NEAR(*verdict.fraction, 0.35, 0.005);
  EXPECT_NEAR(*verdict.mean_fraction, 1 - 4600.0 / 6000, 0.002);
  EXPECT_TRUE(Has(verdict, "not_cashable_from_capture"));
  EXPECT_EQ(verdict.verdict, Verdict::kIndicated);  // one capture is one run
  EXPECT_TRUE(Has(verdict, "few_captures"));
  EXPECT_EQ(verdict.before.steps, 40);
  EXPECT_LT(verdict.saving->low, 0.35);
  EXPECT_GT(verdict.saving->low, 0.33);
}

TEST(CapturesTest, FewStepsShowAnEstimateOnly) {
  const std::vector<StepCapture> before = {Capture(200, 19)};
  const std::vector<StepCapture> after = {Capture(130, 40)};
  const CaptureVerdict verdict = JudgeCaptures(before, after, Early(), 1);
  EXPECT_EQ(verdict.verdict, Verdict::kNotShown);
  EXPECT_TRUE(Has(verdict, "few_steps"));
  EXPECT_NEAR(*verdict.fraction, 0.35, 0.01);
  EXPECT_FALSE(verdict.saving);
}

TEST(CapturesTest, OtherWorkCannotBeCompared) {
  const std::vector<StepCapture> before = {Capture(200, 40)};
  std::vector<StepCapture> after = {Capture(130, 40)};
  after[0].kernels_per_step = 1019;
  EXPECT_EQ(JudgeCaptures(before, after, Early(), 1).verdict, Verdict::kIndicated);
  after[0].kernels_per_step = 1021;
  EXPECT_EQ(JudgeCaptures(before, after, Early(), 1).verdict, Verdict::kInvalid);
  EXPECT_TRUE(Has(JudgeCaptures(before, after, Early(), 1), "unequal_work"));
  after[0].kernels_per_step.reset();
  EXPECT_TRUE(Has(JudgeCaptures(before, after, Early(), 1), "equal_work_not_shown"));
}

// Three a side in turn, claimed before: like runs.
TEST(CapturesTest, ThreeCapturesASideCanVerify) {
  const std::vector<StepCapture> before = Three(200, 1);
  const std::vector<StepCapture> after = Three(130, 2);
  const CaptureVerdict verdict = JudgeCaptures(before, after, Early(), 1);
  EXPECT_EQ(verdict.verdict, Verdict::kVerified);
  EXPECT_TRUE(verdict.guard->over_runs);
  // What differs between captures decides: var(ln) / 3 on each side, t with 4 degrees of freedom.
  const double deviation = (std::log(1.01) - std::log(0.99)) / 2;
  const double half = 2.776445 * std::sqrt(2 * deviation * deviation / 3);
  EXPECT_NEAR(verdict.saving->low, 1 - 0.65 * std::exp(half), 2e-4);
  EXPECT_EQ(JudgeCaptures(before, after, {}, 1).verdict, Verdict::kIndicated);
  EXPECT_EQ(JudgeCaptures(after, before, Early(), 1).verdict, Verdict::kRegression);
}

// What a claim asks of runs it asks of captures: each of these keeps three good captures a side from being VERIFIED.
TEST(CapturesTest, AClaimHoldsCapturesAsItHoldsRuns) {
  struct Spoiled {
    const char* reason;
    Verdict verdict;
    std::function<void(std::vector<StepCapture>& before, std::vector<StepCapture>& after, VerdictTerms& terms)> spoil;
  };
  const auto spoils = std::to_array<Spoiled>({
      {"baseline_differs_from_claim", Verdict::kIndicated,
       [](auto& before, auto&, auto& terms) {
         for (const StepCapture& capture : before) terms.claim->baseline.push_back({capture.name, "of a recording"});
       }},
      {"baseline_differs_from_claim", Verdict::kIndicated,
       [](auto& before, auto&, auto& terms) {
         terms.claim->baseline = {{"0", before[0].sha256}};
       }},
      {"retrospective", Verdict::kIndicated,
       [](auto&, auto& after, auto& terms) {
         terms.claim->written = *after[0].start + Nanos(-1);
         after[1].start.reset();  // it may have been the first, before the claim
       }},
      {"retrospective", Verdict::kIndicated, [](auto&, auto& after, auto& t) { t.claim->written = *after[0].start; }},
      {"retrospective", Verdict::kIndicated, [](auto&, auto&, auto& terms) { terms.claim.reset(); }},
      {"chosen_for_being_bad", Verdict::kIndicated,
       [](auto&, auto&, auto& terms) { terms.claim->choice = BaselineChoice::kWorst; }},
      {"chosen_for_being_bad", Verdict::kIndicated, [](auto&, auto&, auto& t) { t.chosen_for_being_bad = true; }},
      {"excluded_too_much", Verdict::kInvalid,
       [](auto&, auto&, auto& terms) {
         terms.exclusions = {{"slow", 0.03}, {"slower", 0.03}};
       }},
      {"unequal_units", Verdict::kInvalid, [](auto&, auto&, auto& t) { t.claim->unit = WorkUnit::kSample; }},
      {"sequential_needs_switchback", Verdict::kIndicated,
       [](auto&, auto&, auto& terms) { terms.claim->stop = StopRule::kSequential; }},
  });
  for (const Spoiled& spoiled : spoils) {
    std::vector<StepCapture> before = Three(200, 1);
    std::vector<StepCapture> after = Three(130, 2);
    for (std::size_t i = 0; i < 3; ++i) before[i].sha256 = std::to_string(i);
    VerdictTerms terms = Early();
    for (const StepCapture& capture : before) terms.claim->baseline.push_back({capture.name, capture.sha256});
    ASSERT_EQ(JudgeCaptures(before, after, terms, 1).verdict, Verdict::kVerified);
    if (std::string_view(spoiled.reason).starts_with("baseline")) terms.claim->baseline.clear();
    spoiled.spoil(before, after, terms);
    const CaptureVerdict verdict = JudgeCaptures(before, after, terms, 1);
    EXPECT_EQ(verdict.verdict, spoiled.verdict) << spoiled.reason;
    EXPECT_TRUE(Has(verdict, spoiled.reason)) << spoiled.reason;
    EXPECT_EQ(verdict.fraction.has_value(), spoiled.verdict != Verdict::kInvalid) << spoiled.reason;
    EXPECT_EQ(verdict.mean_fraction.has_value(), spoiled.verdict != Verdict::kInvalid) << spoiled.reason;
    const bool by_date = std::string_view(spoiled.reason) == "retrospective";
    EXPECT_EQ(verdict.retrospective, by_date) << spoiled.reason;
  }
}

// Before and after, a quarter less, of captures that differ by a tenth: the worst tenth of such would be, by itself,
// 1.755 deviations better the next time. Captures in turns, and a claim that says that these were all, need no guard.
TEST(CapturesTest, APickOfBadCapturesMayBeAllThereIs) {
  const CaptureVerdict apart = JudgeCaptures(Three(200, 1, 0.1), Three(150, 20, 0.1), Early(), 1);
  EXPECT_TRUE(Has(apart, "choice_not_excluded"));
  EXPECT_FALSE(Has(JudgeCaptures(Three(200, 1, 0.1), Three(150, 2, 0.1), Early(), 1), "choice_not_excluded"));
  VerdictTerms all = Early();
  all.claim->choice = BaselineChoice::kAll;
  EXPECT_FALSE(Has(JudgeCaptures(Three(200, 1, 0.1), Three(150, 20, 0.1), all, 1), "choice_not_excluded"));
  EXPECT_FALSE(Has(JudgeCaptures(Three(200, 1), Three(130, 20), Early(), 1), "choice_not_excluded"));
}

TEST(CapturesTest, NoCapturesAreNoStatement) {
  const CaptureVerdict verdict = JudgeCaptures({}, {}, {}, 1);
  EXPECT_EQ(verdict.verdict, Verdict::kInvalid);
  EXPECT_FALSE(verdict.fraction);
}

}  // namespace

}  // namespace idleburn
