#include "recommend/try_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "recommend/lever_table.h"
#include "telemetry/gpu_facts.h"

namespace idleburn {
namespace {

TEST(TryTableTest, NamesEveryPatternOnceAndInItsPlace) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kPatternCount; ++i) {
    const PatternInfo& info = Patterns()[i];
    EXPECT_EQ(static_cast<std::size_t>(info.id), i) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.title.empty() || info.rule.empty()) << info.name;
  }
}

// The levers that each pattern must offer at least, as the documentation promises them.
TEST(TryTableTest, EveryPatternOffersAtLeastTheLeversThatAreDocumented) {
  const std::map<Pattern, std::set<std::string_view>> promised = {
      {Pattern::kIdleHeavy, {"stop_idle", "autoscale", "mps", "mig", "bin_packing", "smaller_gpu"}},
      {Pattern::kBursts, {"num_workers", "prefetch", "pin_memory", "dali", "cache_dataset"}},
      {Pattern::kSteadyUnderutilized, {"larger_batch", "num_workers", "dali", "smaller_gpu", "mig"}},
      {Pattern::kProductive, {"larger_batch", "overlap_copies", "smaller_gpu"}},
      {Pattern::kComputeBound, {"mixed_precision", "fp8", "fused_kernels"}},
      {Pattern::kHighMemory, {"gradient_checkpointing", "gradient_accumulation"}},
      {Pattern::kPadding, {"bucketing", "packing"}},
      {Pattern::kSmallAllReduces, {"overlap_communication", "gradient_accumulation"}}};
  std::map<Pattern, std::set<std::string_view>> offered;
  for (const TryRow& row : TryRows()) {
    EXPECT_TRUE(offered[row.pattern].insert(row.lever).second) << row.lever << " twice";
  }
  for (const auto& [pattern, levers] : promised) {
    EXPECT_GE(offered[pattern].size(), 2U) << Info(pattern).name;
    for (const std::string_view lever : levers) {
      EXPECT_TRUE(offered[pattern].contains(lever)) << Info(pattern).name << " lacks " << lever;
    }
  }
}

TEST(TryTableTest, EveryRowHasALeverOfTimeSettingsDoubtsAndAMeasurement) {
  const std::set<std::string_view> by_gpu = {"mig", "smaller_gpu", "mixed_precision"};
  const std::set<std::string_view> cheaper = {"mixed_precision", "fp8", "fused_kernels", "bucketing", "packing"};
  for (const TryRow& row : TryRows()) {
    EXPECT_EQ(LeverById(row.lever).axis, Axis::kTime) << row.lever;
    EXPECT_EQ(row.how.empty(), by_gpu.contains(row.lever)) << row.lever;
    EXPECT_FALSE(row.unseen.empty() || row.confirm.empty()) << row.lever;
    EXPECT_EQ(row.reach == Reach::kBusy, cheaper.contains(row.lever)) << row.lever;
  }
}

// "FP8 where the GPU has it": tensor cores multiply FP8 from Ada and Hopper on (CUDA compute capability 8.9 and 9.0).
TEST(TrySettingsTest, OffersFp8ToGpusThatHaveIt) {
  for (const char* name : {"NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL", "NVIDIA H200", "NVIDIA L4", "NVIDIA L40S",
                           "NVIDIA GeForce RTX 4090", "NVIDIA B200", "AMD Instinct MI300X"}) {
    EXPECT_TRUE(HasFp8(name)) << name;
  }
  for (const char* name : {"Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-80GB", "NVIDIA A10G", "NVIDIA A30", "Tesla T4",
                           "NVIDIA GeForce RTX 3090", "NVIDIA RTX A6000", ""}) {
    EXPECT_FALSE(HasFp8(name)) << name;
  }
  EXPECT_NEAR(Fp8Speedup("NVIDIA H100 80GB HBM3").value(), 1979.0 / 989, 1e-12);
  EXPECT_FALSE(Fp8Speedup("NVIDIA A100-SXM4-80GB"));
}

TEST(TrySettingsTest, OffersBf16OnlyWhereTheHardwareHasIt) {
  EXPECT_NE(MixedPrecisionSettings("NVIDIA A100-SXM4-80GB").find("torch.bfloat16"), std::string::npos);
  for (const char* name : {"Tesla V100-SXM2-16GB", "Tesla T4"}) {
    const std::string how = MixedPrecisionSettings(name);
    EXPECT_EQ(how.find("torch.bfloat16"), std::string::npos) << how;
    EXPECT_NE(how.find("torch.amp.GradScaler(\"cuda\")"), std::string::npos) << how;
  }
  const std::string unknown = MixedPrecisionSettings("");
  EXPECT_NE(unknown.find("torch.bfloat16"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("torch.float16"), std::string::npos) << unknown;
}

// Profile ids of `nvidia-smi mig -lgip`: 9 and 5 are half of an A100 and of an A30, 19 and 14 their smallest.
TEST(TrySettingsTest, CutsAGpuByTheProfilesOfItsModel) {
  const auto has = [](const std::string& text, const char* words) { return text.find(words) != std::string::npos; };
  EXPECT_TRUE(has(MigSettings("NVIDIA A100-SXM4-80GB", 0.4, "3"), "nvidia-smi mig -i 3 -cgi 9,9 -C"));
  EXPECT_TRUE(has(MigSettings("NVIDIA H100 80GB HBM3", 0.1, "0"), "-cgi 19,19,19,19,19,19,19 -C"));
  EXPECT_TRUE(has(MigSettings("NVIDIA A100-SXM4-40GB", std::nullopt, "0"), "-cgi 9,9 -C"));
  EXPECT_TRUE(has(MigSettings("NVIDIA A30", 0.4, "0"), "-cgi 5,5 -C"));
  EXPECT_TRUE(has(MigSettings("NVIDIA A30", 0.2, "0"), "-cgi 14,14,14,14 -C"));
  EXPECT_TRUE(has(MigSettings("NVIDIA B200", 0.2, "0"), "-lgip"));
  EXPECT_FALSE(has(MigSettings("NVIDIA B200", 0.2, "0"), "-cgi 9"));
}

TEST(TrySettingsTest, ASmallerGpuHoldsThePeakAndIsOfTheSameVendor) {
  const std::vector<std::string> small = SmallerGpus("NVIDIA H100 80GB HBM3", 9e9).value();
  ASSERT_FALSE(small.empty());
  EXPECT_EQ(small.front(), "H100-80GB-PCIe");
  for (const std::string& name : small) EXPECT_NE(name.substr(0, 2), "MI") << name;
  const std::vector<std::string> large = SmallerGpus("NVIDIA H100 80GB HBM3", 40e9).value();
  EXPECT_FALSE(large.empty());
  for (const std::string& name : large) {
    EXPECT_GE(FactsFor(name).value().memory_gb.value(), 48) << name;  // 40 / 0.85 = 47.06
  }
  EXPECT_TRUE(SmallerGpus("NVIDIA H100 80GB HBM3", 75e9).value().empty());  // 80 GB x 0.85 = 68 GB
  EXPECT_TRUE(SmallerGpus("Tesla T4", 1e9).value().empty());                // nothing listed is slower
  EXPECT_FALSE(SmallerGpus("NVIDIA H42", 1e9));
}

}  // namespace
}  // namespace idleburn
