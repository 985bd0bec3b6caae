#include "diagnose/without_time.h"

#include <gtest/gtest.h>

#include "support/property.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

// The naive twin: how many instants before `t` stay.
std::int64_t Moved(std::int64_t t, const IntervalSet& removed) {
  std::int64_t stay = 0;
  for (std::int64_t i = 0; i < t; ++i) stay += removed.OverlapNs({i, i + 1}) == 0 ? 1 : 0;
  return stay;
}

void EveryRowMovesUp() {
  ProfileBuilder b;
  const auto range = [] {
    const std::int64_t start = *rc::gen::inRange<std::int64_t>(0, 60);
    return Interval{start, start + *rc::gen::inRange<std::int64_t>(0, 20)};
  };
  std::vector<Interval> cuts;
  const int n = *rc::gen::inRange(0, 5);
  for (int i = 0; i < n; ++i) cuts.push_back(range());
  const IntervalSet removed = IntervalSet::UnionOf(cuts);
  const Interval event = range();
  const Interval call = range();
  const Interval op = range();
  DeviceEvent e;
  e.start_ns = event.start;
  e.end_ns = event.end;
  b.AddDeviceEvent(0, e);
  b.AddCall("cudaLaunchKernel", {call.start, call.end, 1, 0, 0, CallKind::kOther});
  b.AddHostRange("aten::mm", op, 0);
  b.AddStep({call.start, call.end, 1, 0});
  const Profile shorter = WithoutTime(b.Build(), 0, removed);
  RC_ASSERT(shorter.devices[0].events[0].start_ns == Moved(event.start, removed));
  RC_ASSERT(shorter.devices[0].events[0].end_ns == Moved(event.end, removed));
  RC_ASSERT(shorter.calls[0].start_ns == Moved(call.start, removed));
  RC_ASSERT(shorter.steps[0].end_ns == Moved(call.end, removed));
  RC_ASSERT(shorter.host.cpu_op.TotalNs() == Moved(op.end, removed) - Moved(op.start, removed));
}

TEST(WithoutTimeTest, EveryRowMovesUpByWhatWasCutBeforeIt) {
  test::ExpectProperty("rows after a cut", EveryRowMovesUp);
}

TEST(WithoutTimeTest, KeepsOneDevice) {
  test::TinyProfile tiny;
  tiny.Kernel(0, 10, 0).OnDevice(1).Kernel(20, 30, 15);
  const Profile shorter = WithoutTime(tiny.Build(), 1, {});
  ASSERT_EQ(shorter.devices.size(), 1U);
  EXPECT_EQ(shorter.devices[0].id, 1);
}

}  // namespace
}  // namespace idleburn
