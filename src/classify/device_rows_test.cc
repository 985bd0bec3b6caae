#include "classify/device_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "support/property.h"

namespace idleburn {
namespace {

using Listed = std::vector<std::pair<DeviceId, std::vector<std::uint32_t>>>;

Listed Sorted(DeviceRows& rows, const std::vector<DeviceId>& devices, std::size_t from, std::size_t to) {
  Listed listed;
  rows.Set(std::span(devices).subspan(from, to - from));
  rows.ForEach([&](DeviceId device, std::span<const std::uint32_t> of) {
    listed.emplace_back(device, std::vector<std::uint32_t>(of.begin(), of.end()));
  });
  return listed;
}

// The same, slowly.
Listed Expected(const std::vector<DeviceId>& devices, std::size_t from, std::size_t to) {
  Listed listed;
  for (std::size_t row = from; row < to; ++row) {
    auto found = std::find_if(listed.begin(), listed.end(), [&](const auto& l) { return l.first == devices[row]; });
    if (found == listed.end()) found = listed.insert(found, {devices[row], {}});
    found->second.push_back(static_cast<std::uint32_t>(row - from));
  }
  return listed;
}

TEST(DeviceRowsTest, RoundsAndAnythingElseAreSorted) {
  DeviceRows rows;
  for (const std::vector<DeviceId>& devices : std::vector<std::vector<DeviceId>>{{},
                                                                                 {3},
                                                                                 {5, 5, 5},
                                                                                 {0, 1, 2, 0, 1, 2, 0},
                                                                                 {2, 0, 2, 0},
                                                                                 {0, 1, 1, 0, 1, 1},
                                                                                 {0, 1, 2, 0, 2, 1},
                                                                                 {7, 1, 1}}) {
    EXPECT_EQ(Sorted(rows, devices, 0, devices.size()), Expected(devices, 0, devices.size()));
  }
  test::ExpectProperty([&] {
    const auto gpus = *rc::gen::inRange<DeviceId>(1, 10);
    const auto round = *rc::gen::container<std::vector<DeviceId>>(8, rc::gen::inRange<DeviceId>(0, gpus));
    std::vector<DeviceId> devices(static_cast<std::size_t>(*rc::gen::inRange(1, 60)));
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i] = round[i % round.size()];
    if (*rc::gen::arbitrary<bool>()) devices[devices.size() / 2] = *rc::gen::inRange<DeviceId>(0, gpus);
    const std::size_t from = *rc::gen::inRange<std::size_t>(0, devices.size());
    RC_ASSERT(Sorted(rows, devices, from, devices.size()) == Expected(devices, from, devices.size()));
  });
}

}  // namespace
}  // namespace idleburn
