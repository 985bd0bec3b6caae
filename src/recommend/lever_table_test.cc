#include "recommend/lever_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "recommend/try_table.h"

namespace idleburn {
namespace {

// The documented ids (docs/json.md): adding, dropping or renaming one is a change of the interface.
const std::set<std::string_view> kRecommendationIds = {"num_workers",
                                                       "persistent_workers",
                                                       "prefetch",
                                                       "pin_memory",
                                                       "non_blocking_copies",
                                                       "dali",
                                                       "cache_dataset",
                                                       "pretokenize",
                                                       "faster_storage",
                                                       "sharded_reads",
                                                       "larger_batch",
                                                       "mixed_precision",
                                                       "fp8",
                                                       "gradient_accumulation",
                                                       "fused_kernels",
                                                       "cuda_graphs",
                                                       "nccl_tuning",
                                                       "fix_straggler",
                                                       "overlap_communication",
                                                       "remove_syncs",
                                                       "async_checkpoint",
                                                       "mps",
                                                       "mig",
                                                       "gradient_checkpointing",
                                                       "power_cap_or_cooling",
                                                       "smaller_gpu",
                                                       "larger_gpu",
                                                       "bin_packing",
                                                       "stop_idle",
                                                       "autoscale",
                                                       "overlap_copies",
                                                       "quantize_weights",
                                                       "reduce_offload",
                                                       "smaller_micro_batch",
                                                       "bucketing",
                                                       "packing",
                                                       "spot",
                                                       "reserved",
                                                       "right_size_region"};
const std::set<std::string_view> kCauseIds = {"loader_cpu_spare_cores",
                                              "loader_cpu_no_cores",
                                              "storage",
                                              "h2d_small",
                                              "h2d_bandwidth",
                                              "launch_bound",
                                              "comm_exposed",
                                              "straggler_or_dependency",
                                              "synchronization",
                                              "checkpoint_stall",
                                              "throttling",
                                              "memory_pressure",
                                              "idle_held",
                                              "idle_empty",
                                              "idle",
                                              "spin_wait",
                                              "compute_bound",
                                              "healthy",
                                              "unknown"};

TEST(LeverTableTest, HasEveryDocumentedIdOnce) {
  ASSERT_EQ(kRecommendationIds.size(), 39U);
  ASSERT_EQ(kCauseIds.size(), 19U);
  std::set<std::string_view> levers;
  for (const Lever& l : Levers()) EXPECT_TRUE(levers.insert(l.id).second) << l.id;
  EXPECT_EQ(levers, kRecommendationIds);
  std::set<std::string_view> causes;
  for (const Cause& c : Causes()) EXPECT_TRUE(causes.insert(c.id).second) << c.id;
  EXPECT_EQ(causes, kCauseIds);
}

TEST(LeverTableTest, LeavesNoTextEmpty) {
  for (const Lever& l : Levers()) {
    for (const std::string_view text : {l.title, l.evidence, l.refuted, l.how, l.verify})
      EXPECT_FALSE(text.empty()) << l.id;
  }
  for (const Cause& c : Causes()) {
    for (const std::string_view text : {c.title, c.evidence, c.refuted, c.isolate}) EXPECT_FALSE(text.empty()) << c.id;
  }
}

// What is written there is run as it stands, or with the capitals replaced.
TEST(LeverTableTest, SaysHowInWordsThatTheToolsKnow) {
  struct Words {
    std::string_view lever;
    std::vector<std::string_view> said;
    std::vector<std::string_view> unsaid;
  };
  const std::vector<Words> rows = {
      // bf16 needs compute capability 8.0; fp16 needs its gradients scaled.
      {"mixed_precision", {"torch.bfloat16", "V100, T4", "torch.float16", "torch.amp.GradScaler('cuda')"}, {}},
      // A profile fits one board: 3g.40gb is none of an A30 or an A100 of 40 GB. MIG is off until it is enabled.
      {"mig", {"nvidia-smi -i N -mig 1", "nvidia-smi mig -lgip", "-cgi PROFILE -C"}, {"3g.40gb"}},
      // CR_Pack_Nodes packs the tasks of one job on the nodes it has, and written alone it unsets CR_Core_Memory.
      {"bin_packing", {"without CR_LLN or LLN=YES", "MostAllocated on nvidia.com/gpu"}, {"CR_Pack_Nodes"}},
      // Notebooks are for runs that show one: see HowTo.
      {"stop_idle", {"release what is empty"}, {"jupyter"}}};
  for (const Words& row : rows) {
    const std::string_view how = LeverOf(row.lever).how;
    for (const std::string_view word : row.said) EXPECT_NE(how.find(word), std::string_view::npos) << how;
    for (const std::string_view word : row.unsaid) EXPECT_EQ(how.find(word), std::string_view::npos) << how;
  }
}

TEST(LeverTableTest, EveryCauseNamesLeversThatExistOnceAndWithoutGaps) {
  for (const Cause& c : Causes()) {
    const auto* end = std::find(c.levers.begin(), c.levers.end(), std::string_view());
    EXPECT_TRUE(std::all_of(end, c.levers.end(), [](std::string_view id) { return id.empty(); })) << c.id;
    EXPECT_EQ(std::set<std::string_view>(c.levers.begin(), end).size(),
              static_cast<std::size_t>(end - c.levers.begin()));
    for (const auto* id = c.levers.begin(); id != end; ++id) {
      ASSERT_TRUE(kRecommendationIds.contains(*id)) << c.id << " names " << *id;
      EXPECT_EQ(LeverOf(*id).axis, Axis::kTime) << *id;
    }
    EXPECT_EQ(end == c.levers.begin(), c.id == "healthy" || c.id == "unknown") << c.id;
  }
}

TEST(LeverTableTest, EveryLeverOfTimeAnswersACauseOrAPattern) {
  std::set<std::string_view> reached;
  for (const TryRow& row : TryRows()) reached.insert(row.lever);
  for (const Cause& c : Causes()) reached.insert(c.levers.begin(), c.levers.end());
  for (const Lever& l : Levers()) {
    EXPECT_EQ(reached.contains(l.id), l.axis == Axis::kTime) << l.id;
  }
}

TEST(LeverTableTest, DoesNotAdviseMoreWorkersWithoutCores) {
  const auto& levers = CauseOf("loader_cpu_no_cores").levers;
  EXPECT_EQ(std::find(levers.begin(), levers.end(), "num_workers"), levers.end());
}

}  // namespace
}  // namespace idleburn
