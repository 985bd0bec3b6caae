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

// The table "Supported GPUs" of NVIDIA's MIG user guide, by the names that drivers and exporters print.
TEST(MigBoardsTest, SlicesAreThoseOfTheModel) {
  const std::pair<const char*, std::optional<int>> cases[] = {
      {"NVIDIA A30", 4},
      {"NVIDIA_A30", 4},
      {"NVIDIA A100-SXM4-80GB", 7},
      {"A100-80GB-PCIe", 7},
      {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 7},
      {"nvidia h100 80gb hbm3", 7},
      {"NVIDIA H100 NVL", 7},
      {"NVIDIA H20", 7},
      {"NVIDIA H200", 7},
      {"NVIDIA GH200 480GB", 7},
      {"NVIDIA B200", 7},
      {"NVIDIA GB300", 7},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 4},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 4},
      {"NVIDIA-RTX-PRO-6000-Blackwell-Workstation-Edition", 4},
      {"NVIDIA RTX PRO 5000 Blackwell", 2},
      {"NVIDIA RTX PRO 4500 Blackwell Server Edition", 2},
      {"NVIDIA Thor", 2},
      {"NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU", std::nullopt},
      {"NVIDIA RTX A3000", std::nullopt},
      {"NVIDIA RTX 6000 Ada Generation", std::nullopt},
      {"NVIDIA L40S", std::nullopt},
      {"NVIDIA A10", std::nullopt},
      {"NVIDIA A1000", std::nullopt},
      {"NVIDIA RTX PRO 4000 Blackwell", std::nullopt},
      {"Tesla T4", std::nullopt},
      {"AMD Instinct MI300X", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [name, slices] : cases) EXPECT_EQ(MigSlices(name), slices) << name;
}

TEST(GpuFactsTest, OnlyAGeForceIsReplacedByAGeForce) {
  const GpuFacts geforce = FactsFor("NVIDIA GeForce RTX 3090").value();
  const GpuFacts workstation = FactsFor("NVIDIA RTX A6000").value();
  EXPECT_FALSE(CanReplace("NVIDIA H100 80GB HBM3", geforce));
  EXPECT_FALSE(CanReplace("NVIDIA RTX 6000 Ada Generation", geforce));
  EXPECT_TRUE(CanReplace("NVIDIA GeForce RTX 4090", geforce));
  EXPECT_TRUE(CanReplace("RTX-4090", geforce));
  EXPECT_TRUE(CanReplace("NVIDIA H100 80GB HBM3", workstation));
  EXPECT_TRUE(CanReplace("NVIDIA GeForce RTX 4090", workstation));
  EXPECT_FALSE(CanReplace("AMD Instinct MI300X", workstation));
}

}  // namespace
}  // namespace idleburn
