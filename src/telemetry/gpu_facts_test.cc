#include "telemetry/gpu_facts.h"

#include <gtest/gtest.h>

#include <set>

namespace idleburn {
namespace {

TEST(GpuFactsTest, KnowsModelsAsDriversPrintThem) {
  const std::optional<GpuFacts> h100 = FactsFor("NVIDIA H100 80GB HBM3");
  ASSERT_TRUE(h100);
  EXPECT_EQ(h100->gpu, "H100-80GB-SXM");
  EXPECT_EQ(h100->power_limit_mw, 700'000);
  EXPECT_EQ(h100->max_sm_khz, 1'980'000);
  EXPECT_EQ(h100->half_tflops, 989);
  EXPECT_EQ(FactsFor("NVIDIA H100 PCIe")->gpu, "H100-80GB-PCIe");
  EXPECT_EQ(FactsFor("NVIDIA H100 NVL")->gpu, "H100-94GB-NVL");
  EXPECT_EQ(FactsFor("NVIDIA A100-SXM4-80GB")->gpu, "A100-80GB-SXM");
  EXPECT_EQ(FactsFor("A100-SXM4-40GB")->gpu, "A100-40GB-SXM");
  EXPECT_EQ(FactsFor("NVIDIA A100-SXM4-40GB MIG 1g.5gb")->gpu, "A100-40GB-SXM");
  EXPECT_EQ(FactsFor("NVIDIA A100 80GB PCIe")->gpu, "A100-80GB-PCIe");
  EXPECT_EQ(FactsFor("Tesla T4")->max_sm_khz, 1'590'000);
  EXPECT_EQ(FactsFor("NVIDIA L40S")->max_sm_khz, 2'520'000);
  EXPECT_EQ(FactsFor("NVIDIA H200")->gpu, "H200-141GB");
  EXPECT_EQ(FactsFor("NVIDIA A10G")->power_limit_mw, 300'000);
  EXPECT_EQ(FactsFor("AMD Instinct MI300X")->gpu, "MI300X-192GB");
  EXPECT_EQ(FactsFor("nvidia geforce rtx 2080 super")->max_sm_khz, 2'145'000);
}

TEST(GpuFactsTest, NeverTakesANeighbour) {
  EXPECT_FALSE(FactsFor("NVIDIA H200 NVL"));
  EXPECT_FALSE(FactsFor("NVIDIA H100"));
  EXPECT_FALSE(FactsFor("NVIDIA A100-PCIE-40GB"));
  EXPECT_FALSE(FactsFor(""));
  EXPECT_FALSE(FactsFor("H100-80GB-PCIe")->max_sm_khz);
}

TEST(GpuFactsTest, NoSpellingMeansTwoModels) {
  std::set<std::string> seen;
  for (const GpuFacts& facts : AllGpuFacts()) {
    std::set<std::string> own = {NormalGpuName(facts.gpu)};
    for (const std::string& name : facts.names) own.insert(NormalGpuName(name));
    for (const std::string& name : own) EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_FALSE(facts.source.empty()) << facts.gpu;
    EXPECT_TRUE(facts.power_limit_mw || facts.memory_gb) << facts.gpu;
  }
  EXPECT_GE(seen.size(), 40U);
}

}  // namespace
}  // namespace idleburn
