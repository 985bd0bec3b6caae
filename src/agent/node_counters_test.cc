#include "agent/node_counters.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace idleburn
