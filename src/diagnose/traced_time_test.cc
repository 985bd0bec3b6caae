#include "diagnose/traced_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "diagnose/painted_time.h"
#include "support/any_profile.h"
#include "support/device_traces.h"
#include "support/property.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

using test::TinyProfile;

TracedTime TimeOf(const Profile& profile) {
  const LaunchIndex launches(profile);
  const LaunchScopes scopes(profile);
  const DeviceTrace trace = test::TraceDevices(profile).back();
  return MeasureTracedTime(profile, *trace.device, launches, scopes, trace.budget, trace.steps.size());
}

using Rows = std::map<std::string, std::int64_t>;  // own microseconds by name

Rows OwnUs(const TracedTime& time, TimeBy by) {
  Rows rows;
  for (const TimeRow& row : time.Table(by).rows) rows[row.name] = row.own_ns / TinyProfile::kUs;
  return rows;
}

std::int64_t SumOwn(const TimeTable& table) {
  std::int64_t ns = table.rest.own_ns;
  for (const TimeRow& row : table.rows) ns += row.own_ns;
  return ns;
}

// The naive twin: each cell of the grid on which AnyProfile lives goes to the event that comes first by class, start
// and position in the file.
std::map<std::uint32_t, std::int64_t> NaiveOwn(const ProfiledDevice& device, Interval window) {
  std::map<std::uint32_t, std::int64_t> own;
  for (std::int64_t t = window.start; t < window.end; t += test::kCell) {
    const DeviceEvent* best = nullptr;
    const auto key = [](const DeviceEvent& e) { return std::pair(PaintRank(e.op), e.start_ns); };
    for (const DeviceEvent& e : device.events) {
      if (e.start_ns <= t && t < e.end_ns && (best == nullptr || key(e) < key(*best))) best = &e;
    }
    if (best != nullptr) own[static_cast<std::uint32_t>(best - device.events.data())] += test::kCell;
  }
  return own;
}

TEST(PaintEventsTest, AgreesWithANaiveTwin) {
  test::ExpectProperty([] {
    const Profile profile = test::AnyProfile();
    const ProfiledDevice& device = profile.devices.front();
    const std::int64_t from = test::AnyCell(30);
    const Interval window{from, from + test::kCell + test::AnyCell(30)};
    std::map<std::uint32_t, std::int64_t> own;
    std::map<std::uint32_t, std::int64_t> within;
    const StartOrder<DeviceEvent> order(device.events);
    PaintEvents(device, order, window, [&](std::uint32_t row, std::int64_t within_ns, std::int64_t own_ns) {
      RC_ASSERT(within.emplace(row, within_ns).second);  // each event once
      if (own_ns > 0) own[row] = own_ns;
    });
    RC_ASSERT(own == NaiveOwn(device, window));
    for (std::uint32_t i = 0; i < device.events.size(); ++i) {
      const DeviceEvent& e = device.events[i];
      const std::int64_t part = std::min(e.end_ns, window.end) - std::max(e.start_ns, window.start);
      const bool point = e.start_ns == e.end_ns && e.start_ns >= window.start && e.start_ns < window.end;
      RC_ASSERT(within.contains(i) == (part > 0 || point));
      if (part > 0) RC_ASSERT(within.at(i) == part);
    }
  });
}

// Every table splits the same busy time, and classes split it as the budget does.
TEST(TracedTimeTest, EveryTableAddsUpToTheBudget) {
  test::ExpectProperty([] {
    const Profile profile = test::AnyProfile();
    const LaunchIndex launches(profile);
    const LaunchScopes scopes(profile);
    for (const DeviceTrace& trace : test::TraceDevices(profile)) {
      const TracedTime time = MeasureTracedTime(profile, *trace.device, launches, scopes, trace.budget, 0);
      for (const TimeTable& table : time.tables) RC_ASSERT(SumOwn(table) == trace.budget.busy_ns);
      std::map<int, std::int64_t> by_class;
      const StartOrder<DeviceEvent> order(trace.device->events);
      PaintEvents(*trace.device, order, trace.budget.span, [&](std::uint32_t row, std::int64_t, std::int64_t own_ns) {
        by_class[PaintRank(trace.device->events[row].op)] += own_ns;
      });
      RC_ASSERT(by_class[0] == trace.budget.compute_ns);
      RC_ASSERT(by_class[1] == trace.budget.exposed_comm_ns);
      RC_ASSERT(by_class[2] == trace.budget.exposed_copy_ns);
    }
  });
}

void Scope(TinyProfile& tiny, std::string_view name, std::int64_t start, std::int64_t end, ScopeKind kind,
           std::string_view thread = "main") {
  tiny.builder().AddScope(name, {start * TinyProfile::kUs, end * TinyProfile::kUs}, tiny.builder().Thread(thread),
                          kind);
}

TEST(TracedTimeTest, NamesWorkByTheInnermostScopeOfItsLaunch) {
  TinyProfile tiny;
  Scope(tiny, "forward 1", 0, 100, ScopeKind::kRange);
  Scope(tiny, "nn.Module: Net_0", 0, 100, ScopeKind::kModule);
  Scope(tiny, "train.py(7): step", 0, 100, ScopeKind::kPython);
  Scope(tiny, "nn.Module: Linear_3", 10, 40, ScopeKind::kModule);
  Scope(tiny, "nn.Module: Linear_4", 50, 90, ScopeKind::kModule);
  Scope(tiny, "aten::linear", 12, 38, ScopeKind::kOperator);
  Scope(tiny, "aten::addmm", 15, 30, ScopeKind::kOperator);
  Scope(tiny, "forward 2", 100, 200, ScopeKind::kRange);
  tiny.Kernel(200, 210, 5).Kernel(210, 230, 20).Kernel(230, 260, 35).Kernel(260, 300, 60).Kernel(300, 350, 120);
  tiny.Orphan(350, 360);
  const TracedTime time = TimeOf(tiny.Build());
  EXPECT_EQ(OwnUs(time, TimeBy::kOperator), (Rows{{"aten::addmm", 20}, {"aten::linear", 30}, {"", 110}}));
  EXPECT_EQ(OwnUs(time, TimeBy::kModule), (Rows{{"Net", 10}, {"Net > Linear", 90}, {"", 60}}));
  EXPECT_EQ(OwnUs(time, TimeBy::kRange), (Rows{{"forward #", 150}, {"", 10}}));
  EXPECT_EQ(OwnUs(time, TimeBy::kPython), (Rows{{"train.py(7): step", 100}, {"", 60}}));
  EXPECT_EQ(OwnUs(time, TimeBy::kFamily), (Rows{{"matrix multiply", 160}}));
  EXPECT_EQ(time.Table(TimeBy::kOperator).rows.back().name, "") << "work of no operator comes last";
}

// The threads of autograd have no modules.
TEST(TracedTimeTest, BackwardWorkIsAModuleOfItsOwn) {
  TinyProfile tiny;
  Scope(tiny, "autograd::engine::evaluate_function: AddmmBackward0", 0, 50, ScopeKind::kOperator);
  Scope(tiny, "aten::mm", 5, 20, ScopeKind::kOperator);
  const TracedTime time = TimeOf(tiny.Kernel(30, 40, 10).Kernel(60, 80, 55).Build());
  EXPECT_EQ(OwnUs(time, TimeBy::kModule), (Rows{{"(backward pass)", 10}, {"", 20}}));
  EXPECT_EQ(OwnUs(time, TimeBy::kOperator), (Rows{{"aten::mm", 10}, {"", 20}}));
}

TEST(TracedTimeTest, ScopesOfOtherThreadsSayNothing) {
  TinyProfile tiny;
  Scope(tiny, "aten::mm", 0, 100, ScopeKind::kOperator, "other");
  Scope(tiny, "aten::add", 50, 60, ScopeKind::kOperator);
  const TracedTime time = TimeOf(tiny.Kernel(200, 210, 20).Kernel(220, 230, 55).Build());
  EXPECT_EQ(OwnUs(time, TimeBy::kOperator), (Rows{{"aten::add", 10}, {"", 10}}));
}

// Scopes in a random tree on each of two threads; a call lies in those that hold its start, the innermost is the last
// that began.
TEST(LaunchScopesTest, AgreesWithASearchOfAllScopes) {
  test::ExpectProperty([] {
    ProfileBuilder builder;
    for (const char* thread : {"a", "b"}) (void)builder.Thread(thread);
    std::vector<std::pair<Interval, std::string>> all[2];
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      std::vector<Interval> open = {{0, 1000}};
      for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
        const Interval in = open[*rc::gen::inRange<std::size_t>(0, open.size())];
        const std::int64_t start = *rc::gen::inRange(in.start, in.end);
        const std::int64_t end = *rc::gen::inRange(start, in.end + 1);
        const Interval at{start, end};
        const auto clash = [&](const auto& other) {  // keeps it a tree
          const Interval& o = other.first;
          const bool apart = at.end <= o.start || o.end <= at.start;
          const bool inside = o.start <= at.start && at.end <= o.end && !(o == at);
          return !apart && !inside;
        };
        if (at.Ns() == 0 || std::any_of(all[thread].begin(), all[thread].end(), clash)) continue;
        open.push_back(at);
        all[thread].emplace_back(at, "op" + std::to_string(all[thread].size()));
        builder.AddScope(all[thread].back().second, at, thread, ScopeKind::kOperator);
      }
    }
    for (std::int64_t i = 0; i < 20; ++i) {
      const std::int64_t start = *rc::gen::inRange<std::int64_t>(0, 1010);
      builder.AddCall("cudaLaunchKernel", {start, start + 1, i, *rc::gen::inRange(0U, 2U), 0, CallKind::kOther});
    }
    const Profile profile = builder.Build();
    const LaunchScopes scopes(profile);
    for (const HostCall& call : profile.calls) {
      std::string naive;
      std::int64_t length = INT64_MAX;
      for (const auto& [at, name] : all[call.thread]) {
        if (at.start <= call.start_ns && call.start_ns < at.end && at.Ns() < length) {
          naive = name;
          length = at.Ns();
        }
      }
      RC_ASSERT(scopes.Text(ScopeKind::kOperator, scopes.Of(call)[0]) == naive);
    }
  });
}

TEST(LaunchScopesTest, InstancesOfAClassAndNumbersCountTogether) {
  EXPECT_EQ(ModuleClass("nn.Module: Linear_12"), "Linear");
  EXPECT_EQ(ModuleClass("nn.Module: Conv2d_0"), "Conv2d");
  EXPECT_EQ(ModuleClass("nn.Module: T5"), "T5");
  EXPECT_EQ(WithoutNumbers("iteration 12/500"), "iteration #/#");
  EXPECT_EQ(WithoutNumbers("forward"), "forward");
}

// A table never holds more rows than its limit, and loses no time.
TEST(TracedTimeTest, RowsBeyondTheLimitAreOneRest) {
  TinyProfile tiny;
  constexpr int kKernels = 1500;
  for (int i = 0; i < kKernels; ++i) tiny.Kernel(10 * i, 10 * i + 2, 10 * i, 1, "kernel" + std::to_string(i));
  const TracedTime time = TimeOf(tiny.Build());
  EXPECT_EQ(time.Table(TimeBy::kKernel).rows.size(), TimeTable::kMost);
  EXPECT_EQ(time.Table(TimeBy::kKernel).rest.count, kKernels - static_cast<std::int64_t>(TimeTable::kMost));
  EXPECT_EQ(SumOwn(time.Table(TimeBy::kKernel)), time.busy_ns);
  const std::array<const TracedTime*, 2> twice = {&time, &time};
  const TracedTime sum = SumOf(twice);
  EXPECT_EQ(SumOwn(sum.Table(TimeBy::kKernel)), 2 * time.busy_ns);
  EXPECT_EQ(sum.window_ns, 2 * time.window_ns);
}

}  // namespace
}  // namespace idleburn
