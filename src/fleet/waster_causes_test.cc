#include "fleet/waster_causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "diagnose/cause_table.h"
#include "recommend/lever_table.h"
#include "recommend/try_table.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;

FleetOwner JobOf(const PhaseMs& phases, std::int64_t dollars = 1000) {
  FleetOwner job;
  job.name = "7";
  job.team = "vision";
  job.user = "ada";
  job.time.phases = phases;
  job.cost.total = Money::Nano(dollars * 1'000'000'000);
  job.nodes = {"n1"};
  return job;
}

JobKnowledge Told(const std::vector<std::pair<JobSignal, std::int64_t>>& signals) {
  JobKnowledge known;
  known.signals = SignalMs{};
  known.told.fill(true);
  known.nodes = 1;
  for (const auto& [signal, ms] : signals) (*known.signals)[Index(signal)] = ms;
  return known;
}

FleetWaster Judged(const FleetOwner& job, const JobKnowledge& known) {
  Result<FleetWaster> waster = JudgeWaster(job, known);
  EXPECT_TRUE(waster) << waster.error().message;
  return waster ? *waster : FleetWaster{};
}

bool Says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What is planted: a signal, the phase that holds it, the cause that must be named, and the waste of a millisecond of
// it in thousandths.
struct PlantedSignal {
  JobSignal signal;
  std::size_t phase;
  std::string_view cause;
  std::int64_t waste;
};
constexpr auto kPlanted = std::to_array<PlantedSignal>({
    {JobSignal::kIdleHeld, 0, "idle_held", 900},
    {JobSignal::kIdleEmpty, 0, "idle_empty", 900},
    {JobSignal::kIdleUnknown, 0, "idle", 900},
    {JobSignal::kSpinWait, 3, "spin_wait", 1000},
    {JobSignal::kThrottled, 3, "throttling", 400},  // the clock lost 40 %
    {JobSignal::kPcieFull, 1, "h2d_bandwidth", 300},
    {JobSignal::kNodeCpuPressure, 1, "loader_cpu_no_cores", 300},
});

void Plant(const PlantedSignal& row, std::int64_t ms, PhaseMs* phases, JobKnowledge* known) {
  (*phases)[row.phase] += ms;
  (*known->signals)[Index(row.signal)] += ms;
  if (row.signal == JobSignal::kThrottled) (*known->signals)[Index(JobSignal::kClockLost)] += ms * row.waste / 1000;
}

TEST(WasterCauses, APlantedCauseIsNamedWithItsShare) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    const PlantedSignal& row = kPlanted[random() % kPlanted.size()];
    const auto ms = static_cast<std::int64_t>(kHourMs + random() % (50 * kHourMs));
    PhaseMs phases{};
    JobKnowledge known = Told({});
    Plant(row, ms, &phases, &known);
    phases[3] += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(ms));  // work without waste
    phases[4] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(ms));
    const FleetWaster waster = Judged(JobOf(phases), known);
    SCOPED_TRACE(waster.why);
    EXPECT_EQ(waster.cause, row.cause);
    ASSERT_EQ(waster.causes.size(), 1U);
    EXPECT_NEAR(static_cast<double>(waster.causes[0].waste_ms), static_cast<double>(ms * row.waste / 1000), 2);
    EXPECT_NEAR(waster.causes[0].share, 1, 1e-6);
    const std::int64_t observed = phases[0] + phases[1] + phases[2] + phases[3];
    EXPECT_EQ(waster.evidence.front().ms, ms);
    EXPECT_NEAR(waster.evidence.front().share, static_cast<double>(ms) / static_cast<double>(observed), 1e-9);
    EXPECT_TRUE(Says(waster.why, std::string(kJobSignals[Index(row.signal)].name)));
    EXPECT_TRUE(waster.try_first.empty());
  }
}

TEST(WasterCauses, TwoPlantedCausesAreBothNamedAndNeitherCountsTwice) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 500; ++round) {
    const PlantedSignal& one = kPlanted[random() % kPlanted.size()];
    const PlantedSignal& two = kPlanted[random() % kPlanted.size()];
    if (one.signal == two.signal) continue;
    const auto first = static_cast<std::int64_t>(kHourMs + random() % kHourMs);
    const auto second = static_cast<std::int64_t>(kHourMs + random() % kHourMs);
    PhaseMs phases{};
    JobKnowledge known = Told({});
    Plant(one, first, &phases, &known);
    Plant(two, second, &phases, &known);
    phases[3] += kHourMs;
    const FleetWaster waster = Judged(JobOf(phases), known);
    SCOPED_TRACE(waster.why);
    ASSERT_EQ(waster.causes.size(), 2U);
    std::int64_t parts = 0;
    for (const PlantedSignal* each : {&one, &two}) {
      const auto named = std::find_if(waster.causes.begin(), waster.causes.end(),
                                      [&](const WasterCause& part) { return part.cause == each->cause; });
      ASSERT_NE(named, waster.causes.end()) << each->cause;
      EXPECT_NEAR(static_cast<double>(named->waste_ms),
                  static_cast<double>((each == &one ? first : second) * each->waste) / 1000, 3);
      parts += named->waste_ms;
    }
    EXPECT_NEAR(static_cast<double>(parts), static_cast<double>(waster.waste_ms), 5);
    EXPECT_EQ(waster.cause, waster.causes.front().cause);
    EXPECT_GE(waster.causes[0].waste_ms, waster.causes[1].waste_ms);
  }
}

// Whatever was counted, also signals that reach beyond the window: parts never exceed the waste, nor waste the time.
TEST(WasterCauses, PartsNeverExceedTheWasteNorTheirMoneyItsMoney) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 3000; ++round) {
    PhaseMs phases{};
    for (std::int64_t& ms : phases) ms = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % (9 * kHourMs));
    JobKnowledge known = Told({});
    for (std::int64_t& ms : *known.signals)
      ms = random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random() % (12 * kHourMs));
    if (random() % 5 == 0) known.signals.reset();
    const FleetOwner job = JobOf(phases, static_cast<std::int64_t>(random() % 1000));
    const FleetWaster waster = Judged(job, known);
    EXPECT_GE(waster.waste_ms, WasteOf(job.time).low_ms);
    EXPECT_LE(waster.waste_ms, job.time.ObservedMs());
    std::int64_t parts = 0, money = 0;
    for (const WasterCause& part : waster.causes) {
      parts += part.waste_ms;
      money += part.waste->nano();
      EXPECT_GT(part.waste_ms, 0);
    }
    EXPECT_LE(parts, waster.waste_ms);
    EXPECT_LE(money, waster.waste->nano());
    EXPECT_EQ(waster.cause == "unknown", parts * 2 < waster.waste_ms || waster.causes.empty());
    for (const WasterEvidence& seen : waster.evidence) EXPECT_LE(seen.ms, job.time.TotalMs());
  }
}

TEST(WasterCauses, NothingIsBlamedWhereNothingWasPlanted) {
  for (const PhaseMs& phases : {PhaseMs{0, 0, 10 * kHourMs, 90 * kHourMs, 0}, PhaseMs{kHourMs, 0, 0, 9 * kHourMs, 0},
                                PhaseMs{0, 5 * kHourMs, 0, 0, 0}, PhaseMs{4 * kHourMs, 0, 0, 0, 0}}) {
    const FleetWaster waster = Judged(JobOf(phases), Told({}));
    EXPECT_EQ(waster.cause, "unknown");
    EXPECT_TRUE(waster.causes.empty());
    EXPECT_TRUE(waster.evidence.empty());
    EXPECT_TRUE(Says(waster.why, "no signal of its agents explains it")) << waster.why;
    EXPECT_TRUE(Says(waster.fix, "try first: ")) << waster.fix;
    ASSERT_FALSE(waster.try_first.empty());
    for (const WasterTry& lever : waster.try_first) {
      EXPECT_TRUE(std::any_of(TryRows().begin(), TryRows().end(), [&](const TryRow& row) {
        return row.lever == lever.lever && row.how == lever.how && row.confirm == lever.confirm;
      })) << lever.lever;
    }
  }
}

// Idle time that is no stretch of a minute is pauses between work: an audit tries the loader first.
TEST(WasterCauses, WhatToTryFollowsThePatternOfTheBands) {
  const auto first = [](const PhaseMs& phases) { return Judged(JobOf(phases), Told({})).try_first.front().lever; };
  EXPECT_EQ(first({5 * kHourMs, 0, 0, 5 * kHourMs, 0}), "num_workers");
  EXPECT_EQ(first({0, 5 * kHourMs, 0, 5 * kHourMs, 0}), "larger_batch");
  JobKnowledge old;
  old.nodes = old.silent_nodes = 1;
  EXPECT_EQ(Judged(JobOf({5 * kHourMs, 0, 0, 5 * kHourMs, 0}), old).try_first.front().lever, "stop_idle");
}

TEST(WasterCauses, ACauseBelowThreePercentOfTheTimeIsEvidenceOnly) {
  const FleetWaster waster =
      Judged(JobOf({2 * kHourMs, 10 * kHourMs, 0, 88 * kHourMs, 0}), Told({{JobSignal::kIdleHeld, 2 * kHourMs}}));
  EXPECT_EQ(waster.cause, "unknown");
  EXPECT_TRUE(waster.causes.empty());
  ASSERT_EQ(waster.evidence.size(), 1U);
  EXPECT_EQ(waster.evidence[0].signal, "idle_held");
}

// A third of the waste is explained: that is said, and the cause of the job stays unknown.
TEST(WasterCauses, ACauseOfASmallPartLeavesTheRestUnknown) {
  const FleetWaster waster =
      Judged(JobOf({10 * kHourMs, 60 * kHourMs, 0, 0, 0}), Told({{JobSignal::kIdleHeld, 10 * kHourMs}}));
  EXPECT_EQ(waster.cause, "unknown");
  ASSERT_EQ(waster.causes.size(), 1U);
  EXPECT_NEAR(waster.causes[0].share, 1.0 / 3, 1e-6);
  EXPECT_TRUE(Says(waster.why, "signal idle_held")) << waster.why;
  EXPECT_TRUE(Says(waster.why, "66.7 % of the waste is unexplained")) << waster.why;
  EXPECT_FALSE(waster.try_first.empty());
}

TEST(WasterCauses, OlderAgentsAreNamed) {
  JobKnowledge old;
  old.nodes = old.silent_nodes = 2;
  const FleetWaster waster = Judged(JobOf({0, 10 * kHourMs, 0, 0, 0}), old);
  EXPECT_EQ(waster.cause, "unknown");
  EXPECT_TRUE(Says(waster.why, "count no signals")) << waster.why;
  // A GPU that hardly works is idle, and its bands do not tell who held it.
  const FleetWaster idle = Judged(JobOf({95 * kHourMs, 0, 0, 5 * kHourMs, 0}), old);
  EXPECT_EQ(idle.cause, "idle");
  EXPECT_TRUE(Says(idle.why, "nine of ten seconds")) << idle.why;
  JobKnowledge mixed = Told({});
  mixed.nodes = 2;
  mixed.silent_nodes = 1;
  EXPECT_TRUE(Says(Judged(JobOf({0, 10 * kHourMs, 0, 0, 0}), mixed).why, "1 of its 2 nodes"));
}

TEST(WasterCauses, SharedGpusAndPressureOfStorageAreSaidAndNotBlamed) {
  const FleetOwner job = JobOf({0, 10 * kHourMs, 0, 0, 0});
  const FleetWaster shared = Judged(job, Told({{JobSignal::kSharedGpu, 9 * kHourMs}}));
  EXPECT_EQ(shared.cause, "unknown");
  EXPECT_TRUE(Says(shared.why, "other jobs shared its GPUs for 9 GPU-hours")) << shared.why;
  const FleetWaster storage = Judged(job, Told({{JobSignal::kNodeIoPressure, 9 * kHourMs}}));
  EXPECT_EQ(storage.cause, "unknown");
  EXPECT_TRUE(Says(storage.why, "storage is a suspect")) << storage.why;
  JobKnowledge blind = Told({});
  blind.told[Index(JobSignal::kPcieFull)] = false;
  EXPECT_TRUE(Says(Judged(job, blind).why, "cannot tell pcie_full"));
}

// A fleet and an audit advise the same.
TEST(WasterCauses, FixesAreTheLeversOfTheAuditsCauses) {
  for (const PlantedSignal& row : kPlanted) {
    PhaseMs phases{};
    JobKnowledge known = Told({});
    Plant(row, kHourMs, &phases, &known);
    const FleetWaster waster = Judged(JobOf(phases), known);
    const Lever& lever = LeverById(CauseById(row.cause).levers[0]);
    EXPECT_TRUE(waster.fix.starts_with(lever.title)) << waster.fix;
    EXPECT_TRUE(waster.fix.ends_with(": " + std::string(lever.how))) << waster.fix;
    // Only a reported slowdown shows by itself that the fix applies.
    EXPECT_EQ(Says(waster.fix, ", if "), row.signal != JobSignal::kThrottled) << waster.fix;
  }
}

// A job that spins looks busy. Its waste is in no band, and it still wastes most.
TEST(WasterCauses, JobsAreRankedByWhatTheyLoseAndTheDoubtsSayWhatIsBeyondTheTotals) {
  FleetReport report;
  JobSignals signals;
  signals.known["n1"].fill(true);
  for (int i = 0; i < 14; ++i) {
    FleetOwner job = JobOf({(i + 1) * kHourMs, 0, 0, 100 * kHourMs, 0});
    job.name = std::to_string(i);
    if (i == 3) signals.jobs[{"", "3", "ada", "vision", ""}][Index(JobSignal::kSpinWait)] = 90 * kHourMs;
    if (i == 12) job.nodes = {"n2"};
    report.jobs.push_back(job);
  }
  report.jobs.push_back(JobOf({900 * kHourMs, 0, 0, 0, 0}));
  report.jobs.back().name = "_unknown";
  ASSERT_TRUE(FillWasters(signals, &report));
  ASSERT_EQ(report.wasters.size(), 10U);
  EXPECT_EQ(report.wasters[0].job, "3");
  EXPECT_EQ(report.wasters[0].cause, "spin_wait");
  EXPECT_EQ(report.wasters[1].job, "13");
  EXPECT_TRUE(Says(report.wasters[2].why, "count no signals")) << report.wasters[2].why;
  std::vector<std::string> doubts;
  for (const FleetDoubt& doubt : report.doubts) doubts.push_back(doubt.id);
  EXPECT_EQ(doubts, (std::vector<std::string>{"no_job_signals", "waste_beyond_bands"}));
}

// Without the values at the start, what a job had before the window counts as of the window.
TEST(WasterCauses, AnUnreadStartMayMakeCausesTooLarge) {
  for (const bool start_known : {true, false}) {
    FleetReport report;
    JobSignals signals;
    signals.missing = {"2026-03-02T00:00:00Z: timeout"};
    signals.start_known = start_known;
    ASSERT_TRUE(FillWasters(signals, &report));
    ASSERT_EQ(report.doubts.size(), 1U);
    EXPECT_EQ(Says(report.doubts[0].sentence, "too large"), !start_known) << report.doubts[0].sentence;
  }
}

}  // namespace
}  // namespace idleburn
