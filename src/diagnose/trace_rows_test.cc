#include "diagnose/trace_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/property.h"

namespace idleburn {
namespace {

std::vector<std::uint32_t> Walked(const StartOrder<DeviceEvent>& order) {
  std::vector<std::uint32_t> rows;
  for (StartOrder<DeviceEvent>::Walk walk(order); !walk.done(); walk.Next()) rows.push_back(walk.row());
  return rows;
}

// All at once, in parts, or with many rows of one start: the order is the same.
void PartsShowInNothing() {
  std::vector<DeviceEvent> events(*rc::gen::inRange<std::size_t>(0, 60));
  std::vector<std::uint32_t> expected;
  for (DeviceEvent& e : events) {
    e.start_ns = *rc::gen::inRange<std::int64_t>(-20, 20);
    expected.push_back(static_cast<std::uint32_t>(expected.size()));
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return events[a].start_ns < events[b].start_ns; });
  for (const std::size_t at_once : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    RC_ASSERT(Walked(StartOrder<DeviceEvent>(events, at_once)) == expected);
  }
}

TEST(StartOrderTest, PartsShowInNothing) { test::ExpectProperty("rows by start, in parts", PartsShowInNothing); }

}  // namespace
}  // namespace idleburn
