#include "report/isolate_output.h"

#include <gtest/gtest.h>

#include "support/documented_keys.h"

namespace idleburn {
namespace {

WorkRate PerSecond(double rate) { return {WorkUnit::kStep, 1'000'000, Nanos(static_cast<std::int64_t>(1e15 / rate))}; }

KnobResult Measured(std::string_view id, std::vector<double> changed, std::optional<double> ratio = 0.5) {
  KnobResult knob;
  knob.knob = FindKnob(id);
  knob.status = KnobStatus::kRan;
  knob.before = "8";
  knob.after = "4";
  knob.resource_ratio = ratio;
  for (const double rate : changed) knob.pairs.push_back({PerSecond(10), PerSecond(rate)});
  return knob;
}

IsolateReport Report(std::vector<KnobResult> knobs) {
  IsolateReport report;
  report.command = "python train.py";
  report.spec.bounds.time = Nanos(60 * kNanosPerSecond);
  report.result.first.rate = PerSecond(10);
  report.result.knobs = std::move(knobs);
  return report;
}

std::string Verdict(std::vector<KnobResult> knobs) { return IsolatePage(Report(std::move(knobs))).verdict; }
// As one line a paragraph, however long it is.
std::string IsolateText(const IsolateReport& report) { return PageMarkdown(IsolatePage(report)); }

TEST(IsolateOutputTest, TheVerdictComesFirstAndNamesTheLargestEffect) {
  const ReportPage page =
      IsolatePage(Report({Measured("cpu_quota", {9, 9.02, 8.98}), Measured("cpu_affinity", {5.4, 5.41, 5.39})}));
  const std::string text = PageText(page, 140, false);
  EXPECT_EQ(page.verdict.find("CPU cores bound this job: half of the CPUs to run on (8 -> 4) cost 46.0 % of its "
                              "steps a second (95 % interval 45."),
            0U)
      << text;
  EXPECT_NE(text.find("  next  cpu_affinity: give it more cores"), std::string::npos);
  EXPECT_NE(text.find("CPU time bounds this job in part"), std::string::npos);
}

TEST(IsolateOutputTest, WhatWasNotShownIsNotClaimed) {
  EXPECT_EQ(Verdict({Measured("cpu_affinity", {5, 12, 9})}).find("Inconclusive: noise exceeds any effect."), 0U);
  EXPECT_EQ(Verdict({Measured("cpu_affinity", {5})}).find("Unknown after one round"), 0U);
  EXPECT_EQ(Verdict({}), "Unknown: no knob was measured.");
  EXPECT_EQ(Verdict({Measured("cpu_affinity", {10, 10.01, 9.99})}),
            "No tested knob bounds this job: each changes its speed by less than 3 %.");
  EXPECT_EQ(Verdict({Measured("workers", {8, 8.01, 8.02}, 2)})
                .find("More loader workers make this job slower: twice as many loader workers (8 -> 4) cost 19.9 %"),
            0U);
}

TEST(IsolateOutputTest, WhatDisturbedTheRunsIsNamed) {
  KnobResult waits = Measured("cpu_affinity", {5, 12, 9});
  waits.pairs[0].variant.longest_wait = Nanos(2'100'000'000);
  waits.pairs[1].baseline.longest_wait = Nanos(6'100'000'000);
  KnobResult still = Measured("cpu_quota", {7, 7.1, 7.15});
  still.stood_still = Nanos(4 * kNanosPerSecond);
  const std::string text = IsolateText(Report({waits, still}));
  EXPECT_NE(text.find("cpu_affinity: longest wait 6.1 s in pair 2, unchanged; a longer --for"), std::string::npos)
      << text;
  EXPECT_NE(text.find("cpu_quota: this machine stood still in every pair, for 4 s in all"), std::string::npos);
  EXPECT_NE(text.find("CPU time bounds this job at least in part: "), std::string::npos) << text;
  EXPECT_EQ(IsolateText(Report({Measured("cpu_affinity", {5, 5.1, 5})})).find("longest wait"), std::string::npos);
}

TEST(IsolateOutputTest, WhatCouldNotBeTurnedSaysWhy) {
  KnobResult closed;
  closed.knob = FindKnob("cpu_quota");
  closed.status = KnobStatus::kNotAvailable;
  closed.why = "cannot create a control group in /x: Permission denied; run as root";
  const std::string text = IsolateText(Report({closed}));
  EXPECT_NE(text.find("cpu_quota: not available; cannot create a control group in /x: Permission denied; run as root"),
            std::string::npos)
      << text;
}

TEST(IsolateOutputTest, TheDocumentAndTheWriterDescribeEachOther) {
  IsolateReport all = Report({Measured("cpu_affinity", {5.4, 5.41, 5.39}), Measured("workers", {5}, 2)});
  all.spec.bounds.steps = 100;
  all.result.knobs[0].stood_still = Nanos(kNanosPerSecond);
  all.result.knobs[0].pairs[0].baseline.longest_wait = Nanos(3 * kNanosPerSecond);
  all.result.knobs[0].pairs[0].variant.longest_wait = Nanos(3 * kNanosPerSecond);
  all.result.interrupted = 15;
  all.result.first.read_per_second = 1e6;
  all.result.first.other_cpus = 0.5;
  all.result.first.hooks = {4, 0};
  KnobResult failed;
  failed.knob = FindKnob("page_cache");
  failed.status = KnobStatus::kFailed;
  failed.why = "it does not fit";
  all.result.knobs.push_back(failed);
  IsolateReport least =
      Report({failed, KnobResult{FindKnob("cpu_quota"), KnobStatus::kNotReached, {}, {}, {}, {}, {}, 0, Nanos(0)}});
  least.spec.bounds.time.reset();
  least.spec.bounds.steps = 5;
  least.result.first = Trial{};
  const std::vector<std::string> documents = {IsolateJson(all), IsolateJson(least)};
  test::ExpectDocumented("idleburn.isolate/1", documents);
}

}  // namespace
}  // namespace idleburn
