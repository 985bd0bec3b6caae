// Traces in which a cause of a known share is planted: each is found with that share, two are both found, and nothing
// is counted twice. The twin of the rules is the layout of the trace itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "diagnose/trace_diagnosis.h"
#include "support/property.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

using test::TinyProfile;

constexpr std::int64_t kStepUs = 10'000;
constexpr std::int64_t kStepCount = 6;
constexpr std::int64_t kHead = 100;  // a kernel at the start of each step, so that waits begin while the device works

// Plants a cause in [at, at + us) of a step.
struct Plant {
  std::string cause;
  std::function<void(TinyProfile&, std::int64_t at, std::int64_t us)> put;
};

const std::vector<Plant>& Plants() {
  static const std::vector<Plant> kPlants = {
      {"loader_cpu_spare_cores", [](TinyProfile& t, std::int64_t at, std::int64_t us) { t.Loader(at, at + us); }},
      // It begins one us before the device falls idle: its work is in the file.
      {"synchronization",
       [](TinyProfile& t, std::int64_t at, std::int64_t us) { t.Call("cudaDeviceSynchronize", at - 1, at + us); }},
      {"h2d_small", [](TinyProfile& t, std::int64_t at,
                       std::int64_t us) { t.Copy(CopyKind::kHtoD, MemoryKind::kPageable, 64, at, at + us, at); }},
      {"d2h", [](TinyProfile& t, std::int64_t at,
                 std::int64_t us) { t.Copy(CopyKind::kDtoH, MemoryKind::kPageable, 64, at, at + us, at); }},
      {"allocation",
       [](TinyProfile& t, std::int64_t at, std::int64_t us) {
         t.Call("cudaMalloc", at, at + us / 2).Call("cudaFree", at + us / 2, at + us);
       }},
      {"comm_exposed", [](TinyProfile& t, std::int64_t at, std::int64_t us) { t.Comm(at, at + us, at); }},
  };
  return kPlants;
}

// Steps with the plants one after the other behind the head, and kernels to the end.
Profile Planted(const std::vector<std::pair<const Plant*, std::int64_t>>& plants) {
  TinyProfile tiny;
  for (std::int64_t step = 0; step < kStepCount; ++step) {
    const std::int64_t from = step * kStepUs;
    tiny.Step(step, from, from + kStepUs).Kernel(from, from + kHead, from);
    std::int64_t at = from + kHead;
    for (const auto& [plant, us] : plants) {
      plant->put(tiny, at, us);
      at += us;
      tiny.Kernel(at, at + kHead, at);  // so that each plant ends with a launch
      at += kHead;
    }
    tiny.Kernel(at, from + kStepUs, at);
  }
  return tiny.Build();
}

// The share of each cause found.
std::map<std::string, double> Found(const Profile& profile) {
  std::map<std::string, double> shares;
  for (const Finding& f : DiagnoseProfiles(std::span(&profile, 1)).findings) shares[std::string(f.cause)] += f.share;
  return shares;
}

void OneIsFound() {
  const Plant& plant = *rc::gen::elementOf(Plants());
  const auto us = *rc::gen::inRange<std::int64_t>(400, 6000);
  const std::map<std::string, double> found = Found(Planted({{&plant, us}}));
  RC_ASSERT(found.size() == 1U);
  RC_ASSERT(found.begin()->first == plant.cause);
  RC_ASSERT(std::abs(found.begin()->second - static_cast<double>(us) / kStepUs) < 0.002);
}

void TwoAreFoundApart() {
  const auto first = *rc::gen::inRange<std::size_t>(0, Plants().size());
  const auto second = *rc::gen::inRange<std::size_t>(0, Plants().size());
  RC_PRE(first != second);
  const auto a = *rc::gen::inRange<std::int64_t>(400, 4000);
  const auto b = *rc::gen::inRange<std::int64_t>(400, 4000);
  std::map<std::string, double> found = Found(Planted({{&Plants()[first], a}, {&Plants()[second], b}}));
  RC_ASSERT(found.size() == 2U);
  RC_ASSERT(std::abs(found[Plants()[first].cause] - static_cast<double>(a) / kStepUs) < 0.002);
  RC_ASSERT(std::abs(found[Plants()[second].cause] - static_cast<double>(b) / kStepUs) < 0.002);
}

// What lies beside work of the device costs nothing.
void HealthyStaysSilent() {
  TinyProfile tiny;
  for (std::int64_t step = 0; step < kStepCount; ++step) {
    const std::int64_t from = step * kStepUs;
    tiny.Step(step, from, from + kStepUs);
    const auto gap = *rc::gen::inRange<std::int64_t>(0, 200);  // at most 2 %
    tiny.Kernel(from, from + kStepUs - gap, from);
    tiny.Loader(from, from + kStepUs / 2).Call("cudaStreamSynchronize", from, from + kStepUs / 3);
    tiny.Call("cudaMalloc", from + 10, from + 4000).Call("cuModuleLoadData", from + 4000, from + 8000);
  }
  const std::map<std::string, double> found = Found(tiny.Build());
  RC_ASSERT(found.size() == 1U && found.begin()->first == "healthy");
}

TEST(PlantedCausesTest, OneIsFoundWithItsShare) { test::ExpectProperty("one planted cause", OneIsFound); }
TEST(PlantedCausesTest, TwoAreFoundAndNeitherTwice) { test::ExpectProperty("two planted causes", TwoAreFoundApart); }
TEST(PlantedCausesTest, HealthyTracesAreSilent) { test::ExpectProperty("healthy traces", HealthyStaysSilent); }

// A kernel whose first launch loads its code for 3 ms, in a run of short launches.
TEST(PlantedCausesTest, FirstUseIsFoundAndSavesNothing) {
  TinyProfile tiny;
  tiny.Kernel(0, 100, 0);
  tiny.Kernel(3100, 3200, 100, 3000, "new_kernel");
  for (std::int64_t at = 3200; at < 10'000; at += 100) tiny.Kernel(at, at + 100, at);
  const Profile profile = tiny.Build();
  const Finding f = DiagnoseProfiles(std::span(&profile, 1)).findings.at(0);
  EXPECT_EQ(f.cause, "first_use");
  EXPECT_DOUBLE_EQ(f.share, 0.3);
  EXPECT_EQ(f.bound, 0);
}

// The same wait in every step is no cut: nobody launches before recording began more than once.
TEST(PlantedCausesTest, AWaitForWorkThatIsNotThereIsACut) {
  const auto waits = [](std::int64_t count) {
    TinyProfile tiny;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < 20; ++i) {
      if (i < count) {
        tiny.Call("cudaDeviceSynchronize", at + 10, at + 2010);
        at += 2010;
      }
      tiny.Kernel(at, at + 1000, at);
      at += 1000;
    }
    const Profile profile = tiny.Kernel(at, at + 10, at).Build();
    return DiagnoseProfiles(std::span(&profile, 1)).findings.at(0);
  };
  Finding cut = waits(2);
  EXPECT_EQ(cut.cause, "unknown");
  EXPECT_EQ(cut.title.rfind("The capture is cut", 0), 0U) << cut.title;
  EXPECT_EQ(cut.bound, 0);
  EXPECT_EQ(waits(3).cause, "synchronization");
}

TEST(PlantedCausesTest, OneKernelIsTooShortToJudge) {
  const Profile profile = TinyProfile().Step(1, 0, 13'000'000).Kernel(100, 102, 50).Build();
  const Finding f = DiagnoseProfiles(std::span(&profile, 1)).findings.at(0);
  EXPECT_EQ(f.cause, "unknown");
  EXPECT_EQ(f.title, "The capture is too short to judge");
  EXPECT_NE(f.evidence.at(0).find("the device worked for 0.00 % of this capture"), std::string::npos) << f.evidence[0];
}

// A cast inside a range of communication computes; what is launched directly under it does not.
TEST(PlantedCausesTest, WhatACommunicationRangeLaunchesCommunicates) {
  TinyProfile tiny;
  tiny.Op("vllm::all_reduce", 0, 100).Op("aten::copy_", 10, 30);
  tiny.Kernel(20, 40, 15, 5, "cast").Kernel(60, 90, 50, 5, "some_custom_kernel").Kernel(120, 200, 110, 5, "gemm");
  const Profile profile = tiny.Build();
  const std::vector<DeviceEvent>& events = profile.devices[0].events;
  EXPECT_EQ(events[0].op, DeviceOp::kKernel);
  EXPECT_EQ(events[1].op, DeviceOp::kComm);
  EXPECT_EQ(events[2].op, DeviceOp::kKernel);
  ASSERT_EQ(profile.devices[0].collectives.size(), 1U);
  EXPECT_EQ(profile.names[profile.devices[0].collectives[0].operation], "all_reduce");
}

}  // namespace
}  // namespace idleburn
