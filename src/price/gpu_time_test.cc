#include "price/gpu_time.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

constexpr std::int64_t kHour = kNanosPerHour;

// A device of board `index` that worked for a time and was not observed for another; power was read for `power_ns`.
void AddDevice(int index, std::optional<MigInstance> mig, std::int64_t worked_ns, std::int64_t missed_ns,
               std::int64_t power_ns, DeviceTable* devices, RunResult* run) {
  DeviceKey key;
  key.index = index;
  key.name = "NVIDIA H100 80GB HBM3";
  key.mig = std::move(mig);
  DeviceResult d;
  d.device = devices->Enter(key);
  d.totals.phase_ns = {0, 0, worked_ns, 0};
  d.totals.utilization.Add(worked_ns, 80 * kPercent);
  d.totals.unobserved_ns[0] = missed_ns;
  d.totals.power.Add(power_ns, 250'000);
  d.last = d.first + Nanos(worked_ns + missed_ns);
  run->devices.push_back(d);
}

// Two slices of a board that both repeat its power, and a board that was read for a quarter of its two hours.
TEST(CapacityTest, EnergySaysHowMuchOfTheBoardsTimeItIsOf) {
  DeviceTable devices;
  RunResult run;
  for (const char* id : {"1", "2"}) AddDevice(0, MigInstance{id, "1g.10gb", 1}, kHour, 0, kHour, &devices, &run);
  AddDevice(1, {}, kHour, kHour, kHour / 2, &devices, &run);
  const Capacity capacity = CapacityOf(run, devices).value();
  EXPECT_EQ(capacity.energy.covered_ns, kHour + kHour / 2);
  EXPECT_EQ(capacity.energy.window_ns, 3 * kHour);
  int boards = 0;
  for (const DeviceTime& d : capacity.devices) {
    if (!d.a_gpu) continue;
    ++boards;
    const bool sliced = d.time.At(Line::kUnallocated) > 0;
    EXPECT_EQ(d.energy.covered_ns, sliced ? kHour : kHour / 2);
    EXPECT_EQ(d.energy.window_ns, sliced ? kHour : 2 * kHour);  // of the whole board, whatever its slices had of it
  }
  EXPECT_EQ(boards, 2);
}

}  // namespace
}  // namespace idleburn
