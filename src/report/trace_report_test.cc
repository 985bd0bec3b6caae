// What a traced run looks like to people: figures worked out by hand beside each.
#include <gtest/gtest.h>

#include "diagnose/findings.h"
#include "diagnose/trace_diagnosis.h"
#include "report/audit_view.h"
#include "report/write_audit.h"
#include "support/audit_fixture.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

// Five steps of 1 ms: 400 us in the loader, 20 us launching, 380 us computing, then 150 us of which 50 us are idle
// before an exposed copy of 100 us, and 50 us of nothing.
std::unique_ptr<AuditFixture> Starved(std::optional<Money> rate, bool cut_off = false) {
  test::TinyProfile profile;
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::int64_t at = 1000 * i;
    profile.Step(i, at, at + 1000).Loader(at, at + 400).Kernel(at + 420, at + 800, at + 400);
    profile.Copy(CopyKind::kHtoD, MemoryKind::kPinned, 4'000'000, at + 850, at + 950, at + 800);
  }
  auto audit = std::make_unique<AuditFixture>();
  std::vector<Profile> profiles;
  profiles.push_back(profile.Build());
  profiles[0].events_missing = cut_off;
  AuditReport& report = audit->report;
  report.trace = DiagnoseProfiles(profiles);
  report.traced_only = true;
  report.run = TracedRun(profiles, *report.trace, audit->devices, audit->quality);
  audit->Settle(rate);
  report.advice.findings = Diagnose({report.run, audit->devices, report.cost, {}, &*report.trace, true});
  return audit;
}

TEST(TraceReportTest, TheVerdictSaysWhatComputedAndWhatAnHourOfItBuys) {
  // 380 of 1000 compute, 520 idle, 100 exposed copies; 62 % of $4.00 is $2.48.
  EXPECT_EQ(ViewOf(Starved(Money::Cents(400))->report, {}).verdict,
            "1 GPU computed 38.0 % of 5 ms (profiled steps), was 52.0 % idle and moved data for 10.0 %. A GPU-hour "
            "costs $4.00; $2.48 of that paid for time without compute.");
  EXPECT_EQ(ViewOf(Starved(std::nullopt)->report, {}).verdict,
            "1 GPU computed 38.0 % of 5 ms (profiled steps), was 52.0 % idle and moved data for 10.0 %.");
}

TEST(TraceReportTest, FiguresOfAPartAreNotSaidOfTheWhole) {
  EXPECT_EQ(ViewOf(Starved(std::nullopt, true)->report, {}).verdict,
            "1 GPU computed 38.0 % of 5 ms (profiled steps), was 52.0 % idle and moved data for 10.0 %. Events are "
            "missing or damaged in the file: the figures cover the rest, and idle time may be lost work.");
}

std::unique_ptr<AuditFixture> Audited(test::TinyProfile& tiny) {
  auto audit = std::make_unique<AuditFixture>();
  std::vector<Profile> profiles;
  profiles.push_back(tiny.Build());
  AuditReport& report = audit->report;
  report.trace = DiagnoseProfiles(profiles);
  report.traced_only = true;
  report.run = TracedRun(profiles, *report.trace, audit->devices, audit->quality);
  audit->Settle(Money::Cents(400));
  report.advice.findings = report.trace->findings;
  return audit;
}

// One of four milliseconds of work lies in the steps, or none: what an hour buys is then not told from them.
TEST(TraceReportTest, WorkOutsideTheStepsIsSaidBeforeAnyMoney) {
  test::TinyProfile most;
  most.Step(1, 0, 2000).Kernel(0, 1000, 0).Kernel(2000, 5000, 1990);
  const auto partly = Audited(most);
  EXPECT_EQ(ViewOf(partly->report, {}).verdict,
            "1 GPU computed 50.0 % of 2 ms (profiled steps), was 50.0 % idle. Most of the work lies outside the "
            "profiled steps, so they say little about the run.");
  const std::vector<std::string> notes = ViewOf(partly->report, {}).trace.notes;
  EXPECT_NE(
      std::find(notes.begin(), notes.end(), "GPU 0: 3 ms of its 4 ms of work (75.0 %) lie outside the profiled steps."),
      notes.end());
  test::TinyProfile all;
  all.Step(1, 0, 2000).Kernel(3000, 4000, 2990);
  EXPECT_EQ(ViewOf(Audited(all)->report, {}).verdict,
            "1 GPU computed 100.0 % of 1 ms (first to last GPU event), was 0.0 % idle. Most of the work lies outside "
            "the profiled steps, so they say little about the run.");
}

TEST(TraceReportTest, KernelsWithoutNamesAreSaidToCountAsComputing) {
  test::TinyProfile nameless;
  nameless.Kernel(0, 1000, 0, 5, "");
  const AuditView view = ViewOf(Audited(nameless)->report, {});
  EXPECT_NE(view.verdict.find("Kernels have no name in the file: communication among them counts as computing."),
            std::string::npos)
      << view.verdict;
}

TEST(TraceReportTest, TheTablesAddUpToTheWindow) {
  const AuditView view = ViewOf(Starved(Money::Cents(400))->report, {});
  ASSERT_EQ(view.trace.rows.size(), 2U);
  EXPECT_EQ(view.trace.rows[1], (TableRow{"GPU 0", "profiler_steps", "5", "38.0 %", "0.0 %", "10.0 %", "52.0 %"}));
  EXPECT_TRUE(view.phases.rows.empty());
  EXPECT_TRUE(view.gpus.rows.empty());
  double ms = 0;
  for (const TableRow& row : view.idle.rows) ms += std::stod(row[2]);
  EXPECT_NEAR(ms, 2.6, 1e-9);
  ASSERT_FALSE(view.idle.rows.empty());
  EXPECT_EQ(view.idle.rows[0], (TableRow{"GPU 0", "dataloader", "2", "40.0 %"}));
}

TEST(TraceReportTest, MoneyIsSaidPerHourSinceATraceCostsNextToNothing) {
  const auto audit = Starved(Money::Cents(400));
  const AuditView view = ViewOf(audit->report, {});
  ASSERT_FALSE(view.why.empty());
  EXPECT_NE(view.why[0].find("$1.60 of each GPU-hour, 40.0 % of the traced window"), std::string::npos) << view.why[0];
  for (const std::string& text :
       {AuditText(audit->report, 100, false), AuditMarkdown(audit->report), AuditHtml(audit->report)}) {
    EXPECT_EQ(text.find("$0.00"), std::string::npos);
    EXPECT_NE(text.find("dataloader"), std::string::npos);
    EXPECT_EQ(text.find("observed time"), std::string::npos) << "a trace has a window";
  }
}

TEST(TraceReportTest, WithoutDeviceEventsNothingIsSaidOfAGpu) {
  std::vector<Profile> profiles;
  profiles.push_back(test::TinyProfile().Step(1, 0, 100).Build());
  AuditFixture audit;
  audit.report.trace = DiagnoseProfiles(profiles);
  audit.report.traced_only = true;
  audit.Settle(Money::Cents(400));
  audit.report.advice.findings = audit.report.trace->findings;
  const std::string text = AuditText(audit.report, 100, false);
  EXPECT_EQ(text.find('%'), std::string::npos) << text;
  EXPECT_NE(text.find("no GPU activity"), std::string::npos) << text;
}

}  // namespace
}  // namespace idleburn
