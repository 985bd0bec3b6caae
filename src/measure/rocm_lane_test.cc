#include "measure/rocm_lane.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/live_log.h"

namespace idleburn {
namespace {

namespace fs = std::filesystem;

// A tree as the kernel would show it.
class Tree {
 public:
  Tree() {
    std::string name = (fs::temp_directory_path() / "idleburn-sysfs-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  void Write(const std::string& file, const std::string& text) const {
    const fs::path path = root_ / "class/drm" / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::trunc) << text << "\n";
  }
  void Gpu(const std::string& card, const std::string& id) const {
    Write(card + "/device/vendor", "0x1002");
    Write(card + "/device/unique_id", id);
    Write(card + "/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c1:00.0\nMODALIAS=x");
    Write(card + "/device/gpu_busy_percent", "37");
    Write(card + "/device/mem_info_vram_used", "21474836480");
    Write(card + "/device/mem_info_vram_total", "206141652992");
    Write(card + "/device/hwmon/hwmon4/power1_average", "312000000");
    Write(card + "/device/hwmon/hwmon4/freq1_input", "1700000000");
    Write(card + "/device/hwmon/hwmon4/temp1_input", "54000");
  }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

TEST(RocmLane, ReadsWhatTheKernelShowsInItsUnits) {
  const Tree tree;
  tree.Gpu("card1", "79ccd55167a2124a");
  tree.Write("card0/device/vendor", "0x1a03");  // the board's own graphics
  tree.Write("card1-DP-1/status", "disconnected");
  DeviceTable devices;
  testing::LiveLog log;
  auto lane = RocmLane::Open(tree.root(), devices, log);
  ASSERT_TRUE(lane.has_value()) << lane.error().message;
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].uuid, "GPU-79ccd55167a2124a");
  EXPECT_EQ(devices[0].bus_id, "0000:C1:00.0");
  (*lane)->Tick(Instant::FromNanos(0), log);
  tree.Write("card1/device/gpu_busy_percent", "100");
  (*lane)->Tick(Instant::FromNanos(100'000'000), log);
  EXPECT_EQ(log.Of(0, Signal::kUtilization).at(0).second, 37 * kPercent);
  EXPECT_EQ(log.Of(0, Signal::kUtilization).at(1).second, 100 * kPercent);
  EXPECT_EQ(log.Of(0, Signal::kPower).at(0).second, 312'000);
  EXPECT_EQ(log.Of(0, Signal::kSmClock).at(0).second, 1'700'000);
  EXPECT_EQ(log.Of(0, Signal::kTemperature).at(0).second, 54'000);
  EXPECT_EQ(log.Of(0, Signal::kMemoryUsed).at(0).second, 21'474'836'480);
  EXPECT_EQ(log.Of(0, Signal::kMemoryTotal).at(0).second, 206'141'652'992);
  EXPECT_EQ(log.Of(0, Signal::kMemoryUsed).size(), 1U);  // once a second
  EXPECT_EQ(devices[0].counter[Index(Signal::kUtilization)], "amdgpu.gpu_busy_percent");
}

TEST(RocmLane, WhatCannotBeReadIsUnavailableAndNeverZero) {
  const Tree tree;
  tree.Gpu("card0", "79ccd55167a2124a");
  tree.Write("card0/device/gpu_busy_percent", "");
  tree.Write("card0/device/hwmon/hwmon4/power1_average", "-22");
  DeviceTable devices;
  testing::LiveLog log;
  auto lane = RocmLane::Open(tree.root(), devices, log);
  (*lane)->Tick(Instant::FromNanos(0), log);
  EXPECT_TRUE(log.samples.at(0).Lacks(Signal::kUtilization));
  EXPECT_TRUE(log.samples.at(0).Lacks(Signal::kPower));
  EXPECT_TRUE(log.Of(0, Signal::kUtilization).empty());
}

TEST(RocmLane, WhatNoGpuCanReportIsUnavailable) {
  const Tree tree;
  tree.Gpu("card0", "79ccd55167a2124a");
  tree.Write("card0/device/gpu_busy_percent", "101");
  tree.Write("card0/device/mem_info_vram_used", "9223372036854775807");
  tree.Write("card0/device/hwmon/hwmon4/temp1_input", "9223372036854775807");
  DeviceTable devices;
  testing::LiveLog log;
  auto lane = RocmLane::Open(tree.root(), devices, log);
  (*lane)->Tick(Instant::FromNanos(0), log);
  for (const Signal signal : {Signal::kUtilization, Signal::kMemoryUsed, Signal::kTemperature}) {
    EXPECT_TRUE(log.Of(0, signal).empty()) << Info(signal).name;
    EXPECT_TRUE(log.samples.at(0).Lacks(signal)) << Info(signal).name;
  }
  EXPECT_EQ(log.Of(0, Signal::kPower).at(0).second, 312'000);
}

TEST(RocmLane, WithoutAnAmdGpuItSaysWhereItLooked) {
  const Tree tree;
  DeviceTable devices;
  testing::LiveLog log;
  const auto lane = RocmLane::Open(tree.root(), devices, log);
  ASSERT_FALSE(lane.has_value());
  EXPECT_EQ(lane.error().message,
            "no AMD GPU: " + tree.root() + "/class/drm/card*/device/gpu_busy_percent does not exist");
}

}  // namespace
}  // namespace idleburn
