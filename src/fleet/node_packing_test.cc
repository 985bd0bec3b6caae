// Bounds of packing against every packing there is, on small fleets.
#include "fleet/node_packing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stats/random.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kSlots = 12;  // of an hour: five minutes each

// A job that holds some GPUs of one node without a break.
struct HeldJob {
  std::size_t node = 0;
  std::int64_t gpus = 0;
  std::int64_t from = 0;  // slots
  std::int64_t to = 0;
};

// The fewest nodes that hold all items: every assignment is tried.
std::int64_t FewestNodes(const std::vector<std::int64_t>& items, std::int64_t size, std::size_t next,
                         std::vector<std::int64_t>* bins) {
  if (next == items.size()) return static_cast<std::int64_t>(bins->size());
  auto best = static_cast<std::int64_t>(items.size()) + 1;
  for (std::size_t b = 0; b < bins->size(); ++b) {
    if ((*bins)[b] + items[next] > size) continue;
    (*bins)[b] += items[next];
    best = std::min(best, FewestNodes(items, size, next + 1, bins));
    (*bins)[b] -= items[next];
  }
  bins->push_back(items[next]);
  best = std::min(best, FewestNodes(items, size, next + 1, bins));
  bins->pop_back();
  return best;
}

// Nodes that the fleet needs at its busiest moment, with all freedom to move jobs.
std::int64_t NeededByForce(const std::vector<HeldJob>& jobs, std::int64_t size, std::int64_t slots, bool split) {
  std::int64_t most = 0;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    std::vector<std::int64_t> items;
    for (const HeldJob& job : jobs) {
      if (slot < job.from || slot >= job.to) continue;
      if (split) {
        items.insert(items.end(), static_cast<std::size_t>(job.gpus), 1);
      } else {
        items.push_back(job.gpus);
      }
    }
    std::vector<std::int64_t> bins;
    std::int64_t sum = 0;
    for (const std::int64_t item : items) sum += item;
    most = std::max(most, split ? (sum + size - 1) / size : FewestNodes(items, size, 0, &bins));
  }
  return most;
}

std::map<std::string, PackedNode> HoursOf(const std::vector<HeldJob>& jobs, std::size_t nodes, std::int64_t size,
                                          std::int64_t hours) {
  std::map<std::string, PackedNode> all;
  for (std::size_t n = 0; n < nodes; ++n) {
    PackedNode& node = all["n" + std::to_string(n)];
    node.hours.resize(static_cast<std::size_t>(hours));
    for (PackedHour& hour : node.hours) hour.capacity_ms = size * kHourMs;
  }
  for (const HeldJob& job : jobs) {
    for (std::int64_t h = 0; h < hours; ++h) {
      const std::int64_t slots =
          std::max<std::int64_t>(0, std::min(job.to, (h + 1) * kSlots) - std::max(job.from, h * kSlots));
      const std::int64_t ms = job.gpus * slots * kHourMs / kSlots;
      PackedHour& hour = all["n" + std::to_string(job.node)].hours[static_cast<std::size_t>(h)];
      hour.held_ms += ms;
      hour.largest_job_ms = std::max(hour.largest_job_ms, ms);
    }
  }
  return all;
}

// Jobs of `least` GPUs at least that fit their nodes as they are.
std::vector<HeldJob> RandomJobs(Random& random, std::size_t nodes, std::int64_t size, std::int64_t hours,
                                std::int64_t least) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random.Uniform() * static_cast<double>(n));
  };
  std::vector<std::vector<std::int64_t>> used(nodes,
                                              std::vector<std::int64_t>(static_cast<std::size_t>(hours * kSlots)));
  std::vector<HeldJob> jobs;
  for (int i = 0; i < 9; ++i) {
    HeldJob job{static_cast<std::size_t>(below(static_cast<std::int64_t>(nodes))), least + below(size - least + 1), 0,
                0};
    // Large ones run long, so that several of them meet.
    job.from = below(least > 1 ? 4 : hours * kSlots - 1);
    job.to = least > 1 ? hours * kSlots - below(3) : job.from + 1 + below(hours * kSlots - job.from);
    if (least > 1) job.gpus = least + below(2) * (size - least);
    auto& slots = used[job.node];
    bool fits = true;
    for (std::int64_t s = job.from; s < job.to; ++s)
      fits = fits && slots[static_cast<std::size_t>(s)] + job.gpus <= size;
    if (!fits) continue;
    for (std::int64_t s = job.from; s < job.to; ++s) slots[static_cast<std::size_t>(s)] += job.gpus;
    jobs.push_back(job);
  }
  return jobs;
}

TEST(NodePackingTest, NoPackingFreesMoreThanTheBound) {
  Random random(11);
  int tight = 0;
  int by_jobs = 0;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    const std::size_t nodes = 2 + static_cast<std::size_t>(random.Uniform() * 4);
    const std::int64_t size = 2 + round % 7;
    const std::int64_t hours = 1 + round % 3;
    const std::vector<HeldJob> jobs = RandomJobs(random, nodes, size, hours, round % 2 == 0 ? 1 : size / 2 + 1);
    const PackedClass bounds = PackNodes(HoursOf(jobs, nodes, size, hours), {})->classes.at(0);
    const std::int64_t whole = NeededByForce(jobs, size, hours * kSlots, false);
    ASSERT_LE(bounds.needed_peak, NeededByForce(jobs, size, hours * kSlots, true));
    ASSERT_LE(bounds.needed_whole, whole);
    ASSERT_GE(bounds.FreedAtMost(), static_cast<std::int64_t>(nodes) - whole);
    ASSERT_LE(bounds.needed_p95, bounds.needed_whole);
    ASSERT_LE(bounds.gpus_mean, bounds.gpus_peak);
    tight += bounds.needed_whole == whole ? 1 : 0;
    by_jobs += bounds.needed_whole > bounds.needed_peak ? 1 : 0;
  }
  EXPECT_GT(tight, 300);    // the bound says something
  EXPECT_GT(by_jobs, 100);  // and whole jobs add to it
}

TEST(NodePackingTest, TwoHalfHoursOfWholeNodesNeedOneNode) {
  // Each holds all 8 GPUs for half of the hour. Means of 4 must not be taken for two nodes.
  const std::vector<HeldJob> jobs = {{0, 8, 0, 6}, {1, 8, 6, 12}};
  EXPECT_EQ(PackNodes(HoursOf(jobs, 2, 8, 1), {})->classes.at(0).needed_whole, 1);
}

TEST(NodePackingTest, NodesOfAnotherModelOrSizeAreNoPlaceToMoveTo) {
  std::map<std::string, PackedNode> nodes = HoursOf({{0, 4, 0, 12}, {1, 4, 0, 12}}, 2, 8, 1);
  FleetReport report;
  report.gpus = {{"GPU-a", "n0", "NVIDIA H100", {}, {Money::Cents(800), {}, {}}},
                 {"GPU-b", "n1", "NVIDIA L4", {}, {Money::Cents(100), {}, {}}}};
  const FleetPacking two = PackNodes(nodes, report).value();
  ASSERT_EQ(two.classes.size(), 2U);
  for (const PackedClass& each : two.classes) EXPECT_EQ(each.FreedAtMost(), 0);
  report.gpus[1].model = "NVIDIA H100";
  const FleetPacking one = PackNodes(nodes, report).value();
  ASSERT_EQ(one.classes.size(), 1U);
  EXPECT_EQ(one.classes[0].FreedAtMost(), 1);
  EXPECT_EQ(one.classes[0].saving_at_most, Money::Cents(450));
}

TEST(NodePackingTest, TheLedgersHoursSayWhoHeldWhat) {
  FleetLedger ledger =
      FleetLedger::Open(::testing::TempDir() + "packing" + std::to_string(::getpid()), Nanos{kNanosPerSecond}).value();
  constexpr std::int64_t kBegin = 1'772'409'600;
  NodePull pull;
  const auto span = [](std::int64_t from, std::int64_t hours) {
    NodeSpan one{"n", from, from + hours * 3600, {}, {}, {}, {}};
    FleetTime time;
    time.phases = {hours * kHourMs, 0, 0, 0, 0};
    one.gpus = {{"GPU-1", time}, {"GPU-2", time}};
    one.teams["ml"] = time.phases;
    one.teams["_unallocated"] = {hours * kHourMs / 2, 0, 0, 0, 0};
    one.teams["_unknown"] = {hours * kHourMs / 2, 0, 0, 0, 0};
    one.jobs[{"", "7", "u", "ml", ""}] = time.phases;
    one.jobs[{"", "_unknown", "", "_unknown", ""}] = {hours * kHourMs / 2, 0, 0, 0, 0};
    return one;
  };
  pull.spans = {span(kBegin, 1), span(kBegin + 3600, 2), span(kBegin + 3 * 3600, 2)};
  pull.after.edge = kBegin + 5 * 3600;
  ASSERT_TRUE(ledger.Write(kBegin, {{"n", pull}}).value().empty());
  const auto nodes = PackedHours(ledger, kBegin, kBegin + 4 * 3600).value();
  const PackedNode& node = nodes.at("n");
  ASSERT_EQ(node.hours.size(), 4U);
  for (std::size_t h = 0; h < 3; ++h) {
    EXPECT_EQ(node.hours[h].capacity_ms, 2 * kHourMs) << h;
    EXPECT_EQ(node.hours[h].held_ms, kHourMs) << h;  // what is not allocated or not known is no need
    EXPECT_EQ(node.hours[h].unknown_ms, kHourMs / 2) << h;
  }
  EXPECT_EQ(node.hours[0].largest_job_ms, kHourMs);
  EXPECT_EQ(node.hours[1].largest_job_ms, 0);  // a span of two hours does not say in which one the job ran
  EXPECT_EQ(node.hours[3].capacity_ms, 0);     // the last span reaches over the end
}

}  // namespace
}  // namespace idleburn
