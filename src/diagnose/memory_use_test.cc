#include "diagnose/memory_use.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace idleburn {
namespace {

using Action = MemoryEvent::Action;
using State = MemoryBlock::State;

// A program that allocates and frees at random, which knows at each moment what it holds: the naive twin. Each block
// has a segment of its own, so reserved is easy to follow.
struct RandomProgram {
  struct Held {
    std::int64_t size;
    CallSite site;
  };
  std::map<std::int64_t, Held> held;
  std::vector<MemoryEvent> events;
  std::vector<std::int64_t> allocated, reserved;  // after each event
  std::vector<std::map<CallSite, std::int64_t>> by_site;

  void Note(const MemoryEvent& event, std::int64_t reserved_now) {
    events.push_back(event);
    std::int64_t sum = 0;
    std::map<CallSite, std::int64_t> sites;
    for (const auto& [address, block] : held) {
      sum += block.size;
      sites[block.site] += block.size;
    }
    allocated.push_back(sum);
    reserved.push_back(reserved_now);
    by_site.push_back(std::move(sites));
  }

  explicit RandomProgram(unsigned seed) {
    std::mt19937 random(seed);
    std::int64_t reserved_now = 0;
    for (int i = 0; i < 300; ++i) {
      const auto address = static_cast<std::int64_t>(1 + random() % 20) * 4096;
      if (const auto at = held.find(address); at != held.end()) {
        const Held block = at->second;
        held.erase(at);
        Note({Action::kFreeRequested, address, block.size, 0}, reserved_now);
        Note({Action::kFreeCompleted, address, block.size, 0}, reserved_now);
        reserved_now -= 4096;
        Note({Action::kRelease, address, 4096, 0}, reserved_now);
      } else {
        reserved_now += 4096;
        Note({Action::kReserve, address, 4096, 0}, reserved_now);
        const Held block = {static_cast<std::int64_t>(1 + random() % 4096), 1 + static_cast<CallSite>(random() % 3)};
        held[address] = block;
        Note({Action::kAlloc, address, block.size, block.site}, reserved_now);
      }
    }
  }

  // The snapshot of a history that kept the events from `first` on.
  [[nodiscard]] MemorySnapshot SnapshotFrom(std::size_t first) const {
    MemorySnapshot snapshot;
    snapshot.sites = {"", "a.py:1", "b.py:2", "c.py:3"};
    snapshot.segments.emplace();
    for (const auto& [address, block] : held) {
      MemorySegment segment;
      segment.total = 4096;
      segment.blocks = {{address, 4096, block.size, State::kAllocated, block.site}};
      snapshot.segments->push_back(segment);
    }
    snapshot.traces = {{std::vector<MemoryEvent>(events.begin() + static_cast<std::ptrdiff_t>(first), events.end())}};
    return snapshot;
  }
};

TEST(MemoryUseTest, PeakIsThatOfTheNaiveTwinAlsoWithoutTheFirstEvents) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RandomProgram program(seed);
    for (const std::size_t first : {0U, 1U, 57U, 200U}) {
      const auto use = GpuMemoryUseOf(program.SnapshotFrom(first)).at(0);
      ASSERT_TRUE(use.peak && use.peak->exact);
      // Levels after event first-1 (the state in which the kept trace begins) and later.
      const std::size_t begin = first == 0 ? 0 : first - 1;
      std::size_t at = begin;
      for (std::size_t i = begin; i < program.allocated.size(); ++i) {
        if (program.allocated[i] > program.allocated[at]) at = i;
      }
      const auto from = static_cast<std::ptrdiff_t>(begin);
      EXPECT_EQ(use.peak->allocated, program.allocated[at]);
      EXPECT_EQ(use.peak->reserved_then, program.reserved[at]);
      EXPECT_EQ(use.peak->reserved, *std::max_element(program.reserved.begin() + from, program.reserved.end()));
      std::int64_t sum = 0;
      for (const MemoryHolder& holder : use.peak->holders) {
        sum += holder.bytes;
        if (first == 0) {
          EXPECT_EQ(holder.bytes, program.by_site[at].at(static_cast<CallSite>(holder.site[0] - 'a' + 1)));
        }
      }
      EXPECT_EQ(sum, use.peak->allocated);
    }
  }
}

TEST(MemoryUseTest, WithoutStateOrWithAContradictionPeaksAreAtLeast) {
  MemorySnapshot snapshot;
  snapshot.sites = {""};
  snapshot.traces = {{{{Action::kFreeRequested, 1, 50, 0}, {Action::kAlloc, 2, 70, 0}}}};
  auto use = GpuMemoryUseOf(snapshot).at(0);
  EXPECT_FALSE(use.peak->exact);
  EXPECT_EQ(use.peak->allocated, 70);  // at least 50 before, 0 after the free, 70 then
  EXPECT_FALSE(use.now);
  snapshot.segments.emplace();  // nothing is held, yet 70 was never freed
  use = GpuMemoryUseOf(snapshot).at(0);
  EXPECT_FALSE(use.peak->exact);
  EXPECT_EQ(use.peak->allocated, 70);
  EXPECT_EQ(use.peak->reserved_then, std::nullopt);
}

MemorySnapshot FailedWith(std::int64_t asked, std::int64_t device_free) {
  MemorySnapshot snapshot;
  snapshot.sites = {""};
  MemorySegment segment;
  segment.total = 100;
  segment.blocks = {{1, 40, 40, State::kAllocated, 0},
                    {41, 25, 0, State::kFree, 0},
                    {66, 5, 5, State::kPending, 0},
                    {71, 30, 0, State::kFree, 0}};
  snapshot.segments = {segment};
  snapshot.traces = {{{{Action::kOutOfMemory, device_free, asked, 0}}}};
  return snapshot;
}

TEST(MemoryUseTest, WhyAnAllocationFailed) {
  // 55 are unused: 100 less 40 allocated and 5 pending.
  const auto cause = [](std::int64_t asked, std::int64_t free) {
    return GpuMemoryUseOf(FailedWith(asked, free)).at(0).failed.at(0).CauseOf();
  };
  EXPECT_EQ(GpuMemoryUseOf(FailedWith(60, 5)).at(0).failed.at(0).unused, 55);
  EXPECT_EQ(cause(60, 5), OutOfMemory::Cause::kInPieces);
  EXPECT_EQ(cause(61, 5), OutOfMemory::Cause::kExhausted);
  EXPECT_EQ(cause(60, 60), OutOfMemory::Cause::kRefused);
  MemorySnapshot without = FailedWith(60, 5);
  without.segments.reset();
  EXPECT_EQ(GpuMemoryUseOf(without).at(0).failed.at(0).CauseOf(), OutOfMemory::Cause::kNotKnown);
}

TEST(MemoryUseTest, FreeMemoryIsOfThreeKinds) {
  MemorySnapshot snapshot = FailedWith(1, 0);
  MemorySegment segment = snapshot.segments->at(0);
  segment.expandable = true;
  snapshot.segments->push_back(segment);
  segment.blocks = {{200, 100, 0, State::kFree, 0}};
  snapshot.segments->push_back(segment);
  const MemoryState now = *GpuMemoryUseOf(snapshot).at(0).now;
  EXPECT_EQ(now.free_split, 55);
  EXPECT_EQ(now.free_mapped, 55);
  EXPECT_EQ(now.free_whole, 100);
  EXPECT_EQ(now.largest_free, 100);
  EXPECT_EQ(now.allocated + now.rounding + now.pending + now.Free(), now.reserved);
  EXPECT_TRUE(IsFragmented(now));  // 55 of 300
  snapshot.segments->erase(snapshot.segments->begin());
  EXPECT_FALSE(IsFragmented(*GpuMemoryUseOf(snapshot).at(0).now));
}

}  // namespace
}  // namespace idleburn
