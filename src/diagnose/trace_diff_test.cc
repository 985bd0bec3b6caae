#include "diagnose/trace_diff.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "support/any_profile.h"
#include "support/property.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

using test::TinyProfile;

TraceDiff DiffOf(const Profile& before, const Profile& after) {
  return DiffTraces(DiagnoseProfiles({&before, 1}), DiagnoseProfiles({&after, 1}));
}

// Five steps of 1 ms. In each aten::mm launches a kernel, `mm` us long.
Profile Steps(std::int64_t mm, std::int64_t step = 1000, int steps = 5) {
  TinyProfile tiny;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t at = step * i;
    tiny.Step(i, at, at + step).Kernel(at + 100, at + 100 + mm, at + 20);
    tiny.builder().AddScope("aten::mm", {(at + 10) * 1000, (at + 90) * 1000}, tiny.builder().Thread("main"),
                            ScopeKind::kOperator);
  }
  return tiny.Build();
}

TEST(TraceDiffTest, IsOfOneStepAndAddsUp) {
  const TraceDiff diff = DiffOf(Steps(400), Steps(250, 800, 10));
  EXPECT_TRUE(diff.per_step);
  EXPECT_DOUBLE_EQ(diff.window.before_ns, 1e6);
  EXPECT_DOUBLE_EQ(diff.window.after_ns, 8e5);
  EXPECT_DOUBLE_EQ(diff.parts[0].before_ns, 4e5);  // compute
  EXPECT_DOUBLE_EQ(diff.parts[0].after_ns, 2.5e5);
  EXPECT_DOUBLE_EQ(diff.parts[3].ChangeNs(), -5e4);  // idle
  ASSERT_EQ(diff.Of(TimeBy::kOperator).size(), 1U);
  EXPECT_EQ(diff.Of(TimeBy::kOperator)[0].name, "aten::mm");
  EXPECT_DOUBLE_EQ(diff.Of(TimeBy::kOperator)[0].ChangeNs(), -1.5e5);
  EXPECT_DOUBLE_EQ(diff.Of(TimeBy::kOperator)[0].before_count, 1);
  ASSERT_TRUE(diff.before.median_step_ns);
  EXPECT_DOUBLE_EQ(*diff.before.median_step_ns, 1e6);
  EXPECT_TRUE(diff.doubts.empty());
}

// For any two traces the changes of the parts are that of the window, and those of each grouping that of busy time.
TEST(TraceDiffTest, NothingIsLeftUnexplained) {
  test::ExpectProperty([] {
    const Profile a = test::AnyProfile();
    const Profile b = test::AnyProfile();
    const TraceDiff diff = DiffOf(a, b);
    const auto sum = [](const std::vector<DiffRow>& rows) {
      return std::accumulate(rows.begin(), rows.end(), 0.0,
                             [](double s, const DiffRow& r) { return s + r.ChangeNs(); });
    };
    RC_ASSERT(std::abs(sum(diff.parts) - diff.window.ChangeNs()) < 1);
    const double busy = diff.parts[0].ChangeNs() + diff.parts[1].ChangeNs() + diff.parts[2].ChangeNs();
    for (const auto& rows : diff.by) {
      if (!rows.empty()) RC_ASSERT(std::abs(sum(rows) - busy) < 1);
    }
  });
}

// A trace beside itself has no change.
TEST(TraceDiffTest, ATraceDoesNotDifferFromItself) {
  const Profile profile = Steps(400);
  const TraceDiff diff = DiffOf(profile, profile);
  EXPECT_EQ(diff.window.ChangeNs(), 0);
  for (const auto& rows : diff.by) {
    for (const DiffRow& row : rows) EXPECT_EQ(row.ChangeNs(), 0) << row.name;
  }
}

bool Doubts(const TraceDiff& diff, std::string_view words) {
  for (const std::string& doubt : diff.doubts) {
    if (doubt.find(words) != std::string::npos) return true;
  }
  return false;
}

// Where it would be wrong to read a difference as a gain, it says so.
TEST(TraceDiffTest, SaysWhyTheSidesMayNotDoTheSameWork) {
  const Profile no_steps = TinyProfile().Kernel(0, 100, 0).Build();
  const TraceDiff windows = DiffOf(no_steps, Steps(400));
  EXPECT_FALSE(windows.per_step);
  EXPECT_TRUE(Doubts(windows, "no profiled steps"));
  Profile other = Steps(400);
  other.devices.front().model = "NVIDIA H100 80GB HBM3";
  EXPECT_TRUE(Doubts(DiffOf(Steps(400), other), "another GPU"));
  TinyProfile more;
  for (int i = 0; i < 5; ++i) {
    more.Step(i, 1000 * i, 1000 * i + 1000).Kernel(1000 * i + 100, 1000 * i + 200, 1000 * i);
    more.Kernel(1000 * i + 300, 1000 * i + 400, 1000 * i + 10);
  }
  EXPECT_TRUE(Doubts(DiffOf(Steps(400), more.Build()), "1 GPU events a step before and 2 after"));
  EXPECT_TRUE(Doubts(DiffOf(Steps(400, 1000, 2), Steps(400)), "only 2 profiled steps"));
}

}  // namespace
}  // namespace idleburn
