#include "measure/infiniband.h"

#include <gtest/gtest.h>

#include "support/fake_proc.h"

namespace idleburn {
namespace {

constexpr const char* kFirst = "/sys/class/infiniband/mlx5_0/ports/1/counters/";
constexpr const char* kSecond = "/sys/class/infiniband/mlx5_1/ports/1/counters/";

class InfinibandTest : public ::testing::Test {
 protected:
  void Put(const std::string& port, std::int64_t received, std::int64_t sent) const {
    root_.Write(port + "port_rcv_data", std::to_string(received) + "\n");
    root_.Write(port + "port_xmit_data", std::to_string(sent) + "\n");
  }
  static HostSample Read(InfinibandPorts& ports) {
    HostSample sample;
    ports.Read(&sample);
    return sample;
  }
  [[nodiscard]] InfinibandPorts Ports() const { return InfinibandPorts(root_.path() + "/sys"); }
  test::FakeRoot root_;
};

TEST_F(InfinibandTest, AddsUpPortsInUnitsOfFourBytes) {
  Put(kFirst, 1000, 10);
  Put(kSecond, 500, 20);
  InfinibandPorts ports = Ports();
  EXPECT_EQ(Read(ports).Get(HostSignal::kRdmaReceived), 0);  // what was before is not the run's
  Put(kFirst, 1250, 11);
  Put(kSecond, 507, 20);
  const HostSample sample = Read(ports);
  EXPECT_EQ(sample.Get(HostSignal::kRdmaReceived), 4 * 257);
  EXPECT_EQ(sample.Get(HostSignal::kRdmaSent), 4);
}

TEST_F(InfinibandTest, APortThatIsResetOrLostMakesNoJump) {
  Put(kFirst, 1000, 1000);
  Put(kSecond, 1'000'000, 1'000'000);
  InfinibandPorts ports = Ports();
  Read(ports);
  root_.Remove(kSecond);
  Put(kFirst, 5, 1001);
  EXPECT_EQ(Read(ports).Get(HostSignal::kRdmaReceived), 0);
  Put(kFirst, 25, 1003);
  const HostSample sample = Read(ports);
  EXPECT_EQ(sample.Get(HostSignal::kRdmaReceived), 80);
  EXPECT_EQ(sample.Get(HostSignal::kRdmaSent), 12);
}

TEST_F(InfinibandTest, WithoutADeviceThereIsNothingToKnow) {
  InfinibandPorts ports = Ports();
  const HostSample sample = Read(ports);
  EXPECT_EQ(sample.present, 0U);
  EXPECT_EQ(sample.unavailable, 0U);
}

TEST_F(InfinibandTest, AFullCounterOf32BitsAndAMissingOneAreUnavailable) {
  Put(kFirst, 0xFFFFFFFF, 7);
  InfinibandPorts ports = Ports();
  const HostSample full = Read(ports);
  EXPECT_TRUE(full.Lacks(HostSignal::kRdmaReceived));
  EXPECT_TRUE(full.Has(HostSignal::kRdmaSent));
  root_.Remove(std::string(kFirst) + "port_xmit_data");
  root_.Write(std::string(kSecond) + "other", "1");
  InfinibandPorts none = Ports();
  EXPECT_TRUE(Read(none).Lacks(HostSignal::kRdmaSent));
}

}  // namespace
}  // namespace idleburn
