#include "agent/node_counters.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace idleburn {
namespace {

constexpr std::int64_t kBorn = 1'790'000'000;  // divisible by 60 only
constexpr std::int64_t kPeriod = 60;

NodeGpuShare Gpu(const std::string& uuid, std::int64_t slices = 1, std::int64_t of = 1) {
  return {uuid, "NVIDIA H100 80GB HBM3", 0, slices, of};
}

GpuSecond Busy(std::size_t phase, std::int64_t ms = kMsPerSecond) {
  GpuSecond second;
  second.phase_ms[phase] = ms;
  second.phase_ms[kUnobservedPhase] = kMsPerSecond - ms;
  second.reason_ms[0] = kMsPerSecond - ms;
  if (phase == 0) second.idle_ms[0] = ms;
  return second;
}

Owner JobOfTeam(const std::string& job, const std::string& team, std::int64_t start_s) {
  Owner owner{"c1", job, "ada", team, "exp", Instant::FromNanos(start_s * kNanosPerSecond)};
  return owner;
}

Holdings Held(std::vector<Holding> held, std::vector<std::string> unknown = {}) {
  Holdings holdings;
  holdings.held = std::move(held);
  holdings.unknown = std::move(unknown);
  return holdings;
}

Holding Holds(const std::string& uuid, Owner owner, std::int64_t part = 1, std::int64_t parts = 1) {
  return {uuid, std::move(owner), OwnerProof::kScheduler, part, parts, {}};
}

std::int64_t Sum(const PhaseUnits& units) {
  std::int64_t sum = 0;
  for (const std::int64_t each : units) sum += each;
  return sum;
}

// Every identity that bills rest on, for the live and for the closed values.
void ExpectSums(const NodeCounters& counters) {
  PhaseUnits gpus{}, closed_gpus{}, teams{}, closed_teams{};
  for (const GpuCounters& gpu : counters.gpus()) {
    for (std::size_t p = 0; p < kAgentPhaseCount; ++p) {
      gpus[p] += gpu.live[p];
      closed_gpus[p] += gpu.closed[p];
    }
    EXPECT_EQ(Sum(gpu.live) * gpu.gpu.of_slices,
              (counters.next() - gpu.born) * kMsPerSecond * kUnitsPerMs * gpu.gpu.slices);
    std::int64_t idle = 0, unobserved = 0;
    for (const std::int64_t each : gpu.idle) idle += each;
    for (const std::int64_t each : gpu.reasons) unobserved += each;
    EXPECT_EQ(idle, gpu.live[0]);
    EXPECT_EQ(unobserved, gpu.live[kUnobservedPhase]);
  }
  for (const auto& [name, team] : counters.teams()) {
    for (std::size_t p = 0; p < kAgentPhaseCount; ++p) {
      teams[p] += team.live[p];
      closed_teams[p] += team.closed[p];
    }
  }
  EXPECT_EQ(gpus, teams);
  EXPECT_EQ(closed_gpus, closed_teams);
}

TEST(NodeCounters, PhasesOfAGpuSumToWallTime) {
  NodeCounters counters(kBorn, kPeriod);
  counters.Enter(Gpu("GPU-a"));
  counters.Add(std::vector<GpuSecond>{Busy(3)});
  counters.Add(std::vector<GpuSecond>{Busy(1, 400)});
  counters.Add({});
  EXPECT_EQ(counters.gpus()[0].live[3], 1000 * kUnitsPerMs);
  EXPECT_EQ(counters.gpus()[0].live[1], 400 * kUnitsPerMs);
  EXPECT_EQ(counters.gpus()[0].live[kUnobservedPhase], 1600 * kUnitsPerMs);
  ExpectSums(counters);
}

TEST(NodeCounters, ClosesAtEveryFullPeriodAndOnlyThere) {
  NodeCounters counters(kBorn - kBorn % kPeriod + 58, kPeriod);
  counters.Enter(Gpu("GPU-a"));
  counters.Add(std::vector<GpuSecond>{Busy(0)});
  EXPECT_FALSE(counters.closed_at());
  counters.Add(std::vector<GpuSecond>{Busy(0)});
  ASSERT_TRUE(counters.closed_at());
  EXPECT_EQ(*counters.closed_at() % kPeriod, 0);
  EXPECT_EQ(counters.gpus()[0].closed[0], 2000 * kUnitsPerMs);
  counters.Add(std::vector<GpuSecond>{Busy(0)});
  EXPECT_EQ(counters.gpus()[0].closed[0], 2000 * kUnitsPerMs);
  EXPECT_EQ(counters.gpus()[0].live[0], 3000 * kUnitsPerMs);
}

TEST(NodeCounters, AnEdgeThatTheClockJumpedOverIsNotPublished) {
  NodeCounters counters(kBorn - kBorn % kPeriod + 59, kPeriod);
  counters.Enter(Gpu("GPU-a"));
  counters.Add(std::vector<GpuSecond>{Busy(0)}, {true});
  EXPECT_FALSE(counters.closed_at());
  counters.AddWithout(counters.next() + kPeriod, 0);
  ASSERT_TRUE(counters.closed_at());
  EXPECT_EQ(Sum(counters.gpus()[0].closed), (kPeriod + 1) * 1000 * kUnitsPerMs);
}

// The job begins 300 ms into a second and ends 700 ms into a later one.
TEST(NodeCounters, ASecondIsSplitAtTheMillisecondOfAChange) {
  NodeCounters counters(kBorn, kPeriod);
  counters.Enter(Gpu("GPU-a"));
  Holding holding = Holds("GPU-a", JobOfTeam("7", "vision", kBorn + 1));
  holding.owner.start = Instant::FromNanos((kBorn * 1000 + 1300) * 1'000'000);
  counters.Hold(kBorn * 1000 + 100, Held({}));
  counters.Hold(kBorn * 1000 + 1800, Held({holding}));  // noticed half a second later
  counters.Hold(kBorn * 1000 + 2700, Held({}));
  for (int i = 0; i < 4; ++i) counters.Add(std::vector<GpuSecond>{Busy(3)});
  EXPECT_EQ(counters.teams().at("vision").live[3], 1400 * kUnitsPerMs);
  EXPECT_EQ(counters.teams().at("_unallocated").live[3], 2600 * kUnitsPerMs);
  ASSERT_EQ(counters.jobs().size(), 1U);
  EXPECT_EQ(counters.jobs().begin()->second.ended, kBorn + 3);
  ExpectSums(counters);
}

TEST(NodeCounters, AnAllocatedGpuWhoseOwnerCannotBeToldIsUnknownAndNotUnallocated) {
  NodeCounters counters(kBorn, kPeriod);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(kBorn * 1000, Held({}, {"GPU-a"}));
  counters.Add(std::vector<GpuSecond>{Busy(0)});
  EXPECT_EQ(counters.teams().at("_unknown").live[0], 1000 * kUnitsPerMs);
  EXPECT_EQ(counters.jobs().begin()->first.job, "_unknown");
  ExpectSums(counters);
}

TEST(NodeCounters, SharesOfOneGpuSumToItAndTheRestIsUnallocated) {
  NodeCounters counters(kBorn, kPeriod);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(kBorn * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", kBorn), 1, 3),
                                    Holds("GPU-a", JobOfTeam("2", "b", kBorn), 1, 3),
                                    Holds("GPU-a", JobOfTeam("3", "c", kBorn), 1, 3)}));
  counters.Add(std::vector<GpuSecond>{Busy(2, 997)});
  EXPECT_EQ(Sum(counters.teams().at("_unallocated").live), 0);
  ExpectSums(counters);
  counters.Hold(counters.next() * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", kBorn), 1, 4)}));
  counters.Add(std::vector<GpuSecond>{Busy(2)});
  EXPECT_EQ(Sum(counters.teams().at("_unallocated").live), 750 * kUnitsPerMs);
  ExpectSums(counters);
}

TEST(NodeCounters, SevenSlicesAreOneGpu) {
  NodeCounters counters(kBorn, kPeriod);
  for (int i = 0; i < 7; ++i) counters.Enter(Gpu("MIG-" + std::to_string(i), 1, 7));
  counters.Add(std::vector<GpuSecond>(7, Busy(1)));
  std::int64_t all = 0;
  for (const GpuCounters& gpu : counters.gpus()) all += Sum(gpu.live);
  EXPECT_EQ(all, 1000 * kUnitsPerMs);
}

TEST(NodeCounters, AJobIsKeptForThreeScrapesAfterItsEnd) {
  NodeCounters counters(kBorn, kPeriod);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(kBorn * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", kBorn))}));
  counters.Add(std::vector<GpuSecond>{Busy(2)});
  counters.Hold(counters.next() * 1000, Held({}));
  counters.Add(std::vector<GpuSecond>{Busy(0)});
  EXPECT_EQ(counters.TakeEnded().size(), 1U);
  EXPECT_TRUE(counters.TakeEnded().empty());
  for (int scrape = 0; scrape < 3; ++scrape) {
    ASSERT_EQ(counters.jobs().size(), 1U);
    EXPECT_TRUE(counters.jobs().begin()->second.LiveShown(counters.next()));
    EXPECT_EQ(counters.jobs().begin()->second.live[2], 1000 * kUnitsPerMs);
    counters.OnScrape();
  }
  counters.Add(std::vector<GpuSecond>{Busy(0)});
  EXPECT_TRUE(counters.jobs().empty());
}

// The closed twin of a job stays to the end of the hour in which the job ended.
TEST(NodeCounters, TheTwinOfAJobThatCrossedAnEdgeStaysToTheNextEdge) {
  const std::int64_t born = kBorn - kBorn % kPeriod + 58;
  NodeCounters counters(born, kPeriod);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(born * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", born))}));
  for (int i = 0; i < 4; ++i) counters.Add(std::vector<GpuSecond>{Busy(2)});
  counters.Hold(counters.next() * 1000, Held({}));
  counters.Add(std::vector<GpuSecond>{Busy(0)});
  counters.TakeEnded();
  for (int i = 0; i < 5; ++i) counters.OnScrape();
  while ((counters.next() + 1) % kPeriod != 0) counters.Add(std::vector<GpuSecond>{Busy(0)});
  ASSERT_EQ(counters.jobs().size(), 1U);
  EXPECT_EQ(counters.jobs().begin()->second.closed[2], 2000 * kUnitsPerMs);
  counters.Add(std::vector<GpuSecond>{Busy(0)});
  EXPECT_TRUE(counters.jobs().empty());
}

TEST(NodeCounters, OwnersBeyondTheirCapAreOtherAndCounted) {
  NodeCounters counters(kBorn, kPeriod, {2, 3});
  counters.Enter(Gpu("GPU-a"));
  for (int i = 0; i < 6; ++i) {
    counters.Hold(counters.next() * 1000,
                  Held({Holds("GPU-a", JobOfTeam(std::to_string(i), "team" + std::to_string(i), kBorn + i))}));
    counters.Add(std::vector<GpuSecond>{Busy(2)});
    ExpectSums(counters);
  }
  EXPECT_GT(counters.capped(), 0);
  EXPECT_TRUE(counters.teams().contains("_other"));
  EXPECT_LE(counters.teams().size(), 5U);
}

// Random jobs, shares, gaps and restarts: all sums hold, and bytes bring back the same state at any second.
TEST(NodeCounters, SumsHoldForRandomFleetsAndOverRestarts) {
  std::mt19937_64 random(7);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 40; ++round) {
    NodeCounters counters(kBorn + upto(1000), kPeriod);
    const std::int64_t gpus = 1 + upto(8);
    for (std::int64_t i = 0; i < gpus; ++i) counters.Enter(Gpu("GPU-" + std::to_string(i), 1 + upto(7), 7));
    std::int64_t poll_ms = counters.next() * 1000;
    for (int second = 0; second < 200; ++second) {
      poll_ms = std::max(poll_ms, counters.next() * 1000) + upto(1500);
      Holdings holdings;
      for (std::int64_t i = 0; i < gpus; ++i) {
        const std::string uuid = "GPU-" + std::to_string(i);
        if (upto(4) == 0) holdings.unknown.push_back(uuid);
        for (std::int64_t k = upto(3); k > 0; --k) {
          const std::string team = upto(3) == 0 ? "" : "t" + std::to_string(k);
          const Owner owner = JobOfTeam(std::to_string(upto(5)), team, counters.next() - upto(3));
          holdings.held.push_back(Holds(uuid, owner, 1, 1 + upto(3)));
        }
      }
      counters.Hold(poll_ms, holdings);
      std::vector<GpuSecond> seconds;
      for (std::int64_t i = 0; i < gpus; ++i) seconds.push_back(Busy(static_cast<std::size_t>(upto(4)), upto(1001)));
      counters.Add(seconds);
      if (upto(20) == 0) {
        Result<NodeCounters> again = NodeCounters::FromBytes(counters.ToBytes(), kPeriod);
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->ToBytes(), counters.ToBytes());
        counters = std::move(*again);
        if (upto(2) == 0) counters.AddWithout(counters.next() + upto(100), kAgentDown);
      }
    }
    ExpectSums(counters);
  }
}

TEST(NodeCounters, BytesOfAnotherPeriodOrDamagedBytesAreRefused) {
  NodeCounters counters(kBorn, kPeriod);
  EXPECT_FALSE(NodeCounters::FromBytes(counters.ToBytes(), 3600));
  EXPECT_FALSE(NodeCounters::FromBytes("\xff\xff", kPeriod));
}

std::int64_t Signal(const NodeCounters& counters, const std::string& job, JobSignal signal) {
  for (const auto& [owner, each] : counters.jobs()) {
    if (owner.job == job) return each.signals[Index(signal)] / (kUnitsPerMs * kMsPerSecond);
  }
  return -1;
}

// Adds seconds of one kind to a node of one GPU.
void AddSeconds(NodeCounters* counters, std::int64_t count, const GpuSecond& second, PressedSecond pressed = {}) {
  for (std::int64_t i = 0; i < count; ++i)
    counters->Add(std::vector<GpuSecond>(counters->gpus().size(), second), {false, pressed});
}

TEST(JobSignals, AStretchOfIdleTimeCountsFromItsBeginAndAPauseNever) {
  NodeCounters counters(kBorn, 3600);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(kBorn * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", kBorn))}));
  AddSeconds(&counters, 59, Busy(0));
  EXPECT_EQ(Signal(counters, "1", JobSignal::kIdleHeld), 0);
  AddSeconds(&counters, 1, Busy(2));
  AddSeconds(&counters, 59, Busy(0));
  AddSeconds(&counters, 1, Busy(0, 900));  // a tenth of a second without data ends it
  AddSeconds(&counters, 60, Busy(0));
  EXPECT_EQ(Signal(counters, "1", JobSignal::kIdleHeld), 60);
  AddSeconds(&counters, 7, Busy(0));
  EXPECT_EQ(Signal(counters, "1", JobSignal::kIdleHeld), 67);
  GpuSecond empty = Busy(0);
  empty.idle_ms = {0, 250, 750};
  AddSeconds(&counters, 8, empty);
  EXPECT_EQ(Signal(counters, "1", JobSignal::kIdleHeld), 67);
  EXPECT_EQ(Signal(counters, "1", JobSignal::kIdleEmpty), 2);
  EXPECT_EQ(Signal(counters, "1", JobSignal::kIdleUnknown), 6);
}

// Half a minute of each of two jobs is no stretch of either.
TEST(JobSignals, AStretchBelongsToOneJob) {
  NodeCounters counters(kBorn, 3600);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(kBorn * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", kBorn))}));
  AddSeconds(&counters, 40, Busy(0));
  counters.Hold(counters.next() * 1000, Held({Holds("GPU-a", JobOfTeam("2", "a", counters.next()))}));
  AddSeconds(&counters, 40, Busy(0));
  EXPECT_EQ(Signal(counters, "1", JobSignal::kIdleHeld), 0);
  EXPECT_EQ(Signal(counters, "2", JobSignal::kIdleHeld), 0);
}

TEST(JobSignals, ASharedGpuTellsOnlyThatItIsShared) {
  NodeCounters counters(kBorn, 3600);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(kBorn * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", kBorn), 1, 2),
                                    Holds("GPU-a", JobOfTeam("2", "b", kBorn), 1, 2)}));
  GpuSecond spinning = Busy(3);
  spinning.spin_ms = spinning.slowed_ms = 1000;
  spinning.link_full = true;
  AddSeconds(&counters, 100, Busy(0), {true, true});
  AddSeconds(&counters, 20, spinning, {true, true});
  for (const std::string job : {"1", "2"}) {
    for (const JobSignalRow& row : kJobSignals)
      EXPECT_EQ(Signal(counters, job, row.id), row.id == JobSignal::kSharedGpu ? 60 : 0) << row.name;
  }
  for (const auto& [owner, job] : counters.jobs()) EXPECT_EQ(job.spin, 0);
}

// The pressure of a node is nobody's in particular while two jobs run there.
TEST(JobSignals, PressureCountsForTheOnlyJobOfANodeAndOnlyWhileItsGpusAreLow) {
  NodeCounters counters(kBorn, 3600);
  counters.Enter(Gpu("GPU-a"));
  counters.Enter(Gpu("GPU-b"));
  const Holding first = Holds("GPU-a", JobOfTeam("1", "a", kBorn));
  counters.Hold(kBorn * 1000, Held({first}));
  AddSeconds(&counters, 10, Busy(1), {true, false});
  AddSeconds(&counters, 20, Busy(1), {false, true});
  AddSeconds(&counters, 40, Busy(2), {true, true});
  EXPECT_EQ(Signal(counters, "1", JobSignal::kNodeCpuPressure), 10);
  EXPECT_EQ(Signal(counters, "1", JobSignal::kNodeIoPressure), 20);
  counters.Hold(counters.next() * 1000, Held({first, Holds("GPU-b", JobOfTeam("2", "b", counters.next()))}));
  AddSeconds(&counters, 50, Busy(1), {true, true});
  EXPECT_EQ(Signal(counters, "1", JobSignal::kNodeCpuPressure), 10);
  EXPECT_EQ(Signal(counters, "2", JobSignal::kNodeCpuPressure), 0);
  counters.Hold(counters.next() * 1000, Held({first}, {"GPU-b"}));  // somebody, but nobody knows who
  AddSeconds(&counters, 50, Busy(1), {true, true});
  EXPECT_EQ(Signal(counters, "1", JobSignal::kNodeCpuPressure), 10);
}

// A full link explains a second before pressure does, and a stretch of idle time before both.
TEST(JobSignals, ASecondOfLowUseHasOneSignal) {
  NodeCounters counters(kBorn, 3600);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(kBorn * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", kBorn))}));
  GpuSecond full = Busy(1);
  full.link_full = true;
  AddSeconds(&counters, 10, full, {true, true});
  AddSeconds(&counters, 5, Busy(0), {true, true});
  AddSeconds(&counters, 1, Busy(2));
  AddSeconds(&counters, 70, Busy(0), {true, true});
  EXPECT_EQ(Signal(counters, "1", JobSignal::kPcieFull), 10);
  EXPECT_EQ(Signal(counters, "1", JobSignal::kNodeCpuPressure), 5);
  EXPECT_EQ(Signal(counters, "1", JobSignal::kNodeIoPressure), 0);
  EXPECT_EQ(Signal(counters, "1", JobSignal::kIdleHeld), 70);
}

// The end of a spin-wait becomes certain when the job is gone, and must not become another job's.
TEST(JobSignals, NeverExceedTheTimeOfTheirPhases) {
  NodeCounters counters(kBorn, 3600);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(kBorn * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", kBorn))}));
  GpuSecond late = Busy(1);
  late.spin_ms = 1000;
  late.slowed_ms = late.clock_lost_ms = 1000;
  AddSeconds(&counters, 1, late);
  EXPECT_EQ(Signal(counters, "1", JobSignal::kSpinWait), 0);
  EXPECT_EQ(Signal(counters, "1", JobSignal::kThrottled), 1);
}

// Random jobs and seconds: signals stay within their phases, those that exclude each other also together, and none
// steps back, over restarts too. The stretches equal those of a naive reader of the same seconds.
TEST(JobSignals, HoldForRandomJobsAndOverRestarts) {
  std::mt19937_64 random(11);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 30; ++round) {
    NodeCounters counters(kBorn, 3600);
    counters.Enter(Gpu("GPU-a", 1 + upto(7), 7));
    std::int64_t run = 0, stretches = 0;  // of the naive reader, in seconds of the job at hand
    std::string job;
    std::map<std::string, SignalUnits> before;
    GpuSecond now = Busy(0);
    for (int second = 0; second < 2000; ++second) {
      if (second % 500 == 0) {
        job = std::to_string(second);
        run = stretches = 0;
        counters.Hold(counters.next() * 1000, Held({Holds("GPU-a", JobOfTeam(job, "a", counters.next()))}));
      }
      if (upto(30) == 0) now = Busy(static_cast<std::size_t>(upto(8) == 0 ? 1 + upto(3) : 0));
      now.spin_ms = upto(1001);
      now.slowed_ms = upto(1001);
      now.clock_lost_ms = upto(now.slowed_ms + 1);
      now.link_full = upto(3) == 0;
      counters.Add(std::vector<GpuSecond>{now}, {false, {upto(2) == 0, upto(2) == 0}});
      run = now.phase_ms[0] == 1000 ? run + 1 : 0;
      stretches += run == 60 ? 60 : run > 60 ? 1 : 0;
      if (upto(300) == 0) {
        counters = *NodeCounters::FromBytes(counters.ToBytes(), 3600);
        counters.AddWithout(counters.next() + 1, kAgentDown);
        run = 0;
      }
      for (const auto& [owner, each] : counters.jobs()) {
        const auto& s = each.signals;
        const std::int64_t idle = s[0] + s[1] + s[2];
        EXPECT_LE(idle, each.live[0]);
        EXPECT_LE(idle + s[Index(JobSignal::kPcieFull)] + s[Index(JobSignal::kNodeCpuPressure)] +
                      s[Index(JobSignal::kNodeIoPressure)],
                  each.live[0] + each.live[1]);
        EXPECT_LE(s[Index(JobSignal::kSpinWait)], each.live[3]);
        EXPECT_LE(s[Index(JobSignal::kClockLost)], s[Index(JobSignal::kThrottled)]);
        EXPECT_LE(s[Index(JobSignal::kThrottled)], each.live[1] + each.live[2] + each.live[3]);
        for (std::size_t i = 0; i < kJobSignalCount; ++i) EXPECT_GE(s[i], before[owner.job][i]);
        before[owner.job] = s;
      }
      for (const auto& [owner, each] : counters.jobs()) {
        if (owner.job != job) continue;
        const std::int64_t unit = kUnitsPerMs * 1000 * counters.gpus()[0].gpu.slices / 7;
        EXPECT_EQ(each.signals[Index(JobSignal::kIdleHeld)], stretches * unit) << second;
      }
      if (HasFailure()) return;
    }
  }
}

// Removes a field of a message's bytes: what an older agent wrote.
std::string WithoutField(const std::string& bytes, std::uint64_t field, std::uint64_t inside = 0) {
  std::string out;
  std::size_t at = 0;
  const auto number = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  };
  const auto put = [&](std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  };
  while (at < bytes.size()) {
    const std::size_t begin = at;
    const std::uint64_t tag = number();
    if (tag % 8 == 0) {
      number();
      out += bytes.substr(begin, at - begin);
      continue;
    }
    const std::size_t size = number();
    std::string content = bytes.substr(at, size);
    at += size;
    if (inside == 0 && tag / 8 == field) continue;
    if (inside != 0 && tag / 8 == inside) content = WithoutField(content, field);
    put(tag);
    put(content.size());
    out += content;
  }
  return out;
}

TEST(JobSignals, TheStateOfAnAgentThatCountedNoneIsContinued) {
  NodeCounters counters(kBorn, 3600);
  counters.Enter(Gpu("GPU-a"));
  counters.Hold(kBorn * 1000, Held({Holds("GPU-a", JobOfTeam("1", "a", kBorn))}));
  AddSeconds(&counters, 100, Busy(0));
  const std::string now = counters.ToBytes();
  const std::string old = WithoutField(now, 12, 8);
  ASSERT_LT(old.size(), now.size());
  Result<NodeCounters> resumed = NodeCounters::FromBytes(old, 3600);
  ASSERT_TRUE(resumed) << resumed.error().message;
  ExpectSums(*resumed);
  EXPECT_EQ(resumed->jobs().begin()->second.live, counters.jobs().begin()->second.live);
  EXPECT_EQ(resumed->jobs().begin()->second.idle_held, counters.jobs().begin()->second.idle_held);
  EXPECT_EQ(Signal(*resumed, "1", JobSignal::kIdleHeld), 0);
  AddSeconds(&*resumed, 60, Busy(0));
  EXPECT_EQ(Signal(*resumed, "1", JobSignal::kIdleHeld), 60);
  EXPECT_EQ(resumed->jobs().begin()->second.live[0], 160'000 * kUnitsPerMs);
}

}  // namespace
}  // namespace idleburn
