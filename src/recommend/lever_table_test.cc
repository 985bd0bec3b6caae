// What a run says against a lever. Those that rest on samples are tested with the advice they change.

#include "recommend/lever_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/trace_diagnosis.h"
#include "recommend/try_table.h"
#include "support/tiny_profile.h"

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
                                                       "caching_allocator",
                                                       "warm_pool",
                                                       "discard_warmup",
                                                       "preload",
                                                       "compile_cache",
                                                       "aot",
                                                       "async_offload",
                                                       "keep_on_device",
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
                                              "first_use",
                                              "allocation",
                                              "d2h",
                                              "idle_held",
                                              "idle_empty",
                                              "idle",
                                              "spin_wait",
                                              "compute_bound",
                                              "healthy",
                                              "unknown"};

TEST(LeverTableTest, HasEveryDocumentedIdOnce) {
  ASSERT_EQ(kRecommendationIds.size(), 47U);
  ASSERT_EQ(kCauseIds.size(), 22U);
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
    const std::string_view how = LeverById(row.lever).how;
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
      EXPECT_EQ(LeverById(*id).axis, Axis::kTime) << *id;
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
  const auto& levers = CauseById("loader_cpu_no_cores").levers;
  EXPECT_EQ(std::find(levers.begin(), levers.end(), "num_workers"), levers.end());
}

using test::TinyProfile;

// GPUs as a source that tells all of these would leave them.
struct SmallRun {
  RunResult run;
  DeviceTable devices;
  CostReport cost;
  std::optional<TraceDiagnosis> trace;
  bool traced_only = false;

  // A GPU that works for a minute.
  DeviceResult& Gpu(const std::string& name, Phase phase = Phase::kComputeBound) {
    DeviceKey key;
    key.index = static_cast<int>(run.devices.size());
    key.name = name;
    DeviceResult d;
    d.device = devices.Enter(key);
    d.totals.phase_ns[static_cast<std::size_t>(phase)] = kMinute;
    return run.devices.emplace_back(d);
  }
  DeviceResult& Gpu(const std::string& name, std::int64_t tensor, std::int64_t dram = 0) {
    DeviceResult& d = Gpu(name);
    d.totals.tensor_active.Add(kMinute, tensor * kPercent);
    d.totals.dram_active.Add(kMinute, dram * kPercent);
    return d;
  }
  static void Hold(DeviceResult& d, std::int64_t used, std::int64_t of) {
    d.totals.range[Slot(Signal::kMemoryUsed)].peak = used << 30;
    d.totals.memory_total = of << 30;
  }
  [[nodiscard]] Scene Seen() const { return {run, devices, cost, {}, trace ? &*trace : nullptr, traced_only}; }
  [[nodiscard]] std::string Against(std::string_view lever) const { return WhyNot(Seen(), lever); }
  [[nodiscard]] bool Shows(std::string_view lever, std::string_view cause) const {
    return IsShown(Seen(), lever, cause);
  }

  static constexpr std::int64_t kMinute = 60 * kNanosPerSecond;
};

std::string WhyNotStraggler(std::vector<Profile> profiles, int sampled = 0) {
  SmallRun run;
  run.trace = DiagnoseProfiles(profiles);
  run.traced_only = sampled == 0;
  for (int i = 0; i < sampled; ++i) run.Gpu("NVIDIA H100 80GB HBM3");
  return run.Against("fix_straggler");
}

// Queued wait of one device without a collective is a dependency of its own streams: there is no rank to look for.
TEST(RefutersTest, ADeviceWithoutPeersHasNoLateRank) {
  const Profile alone = TinyProfile().Kernel(0, 100, 0).Kernel(200, 300, 10).Build();
  const Profile meets = TinyProfile().Kernel(0, 100, 0).Comm(200, 300, 10).Build();
  EXPECT_EQ(WhyNotStraggler({alone}), "one device without peers in this data, so it shows no late rank");
  EXPECT_EQ(WhyNotStraggler({meets}), "");
  EXPECT_EQ(WhyNotStraggler({alone, alone}), "") << "two devices may wait for each other";
  EXPECT_EQ(WhyNotStraggler({alone}, 2), "") << "samples beside the trace show peers";
  EXPECT_NE(WhyNotStraggler({alone}, 1), "");
  EXPECT_EQ(WhyNotStraggler({meets}, 1), "");
}

// The collective lies before the steps: a peer there is.
TEST(RefutersTest, ACollectiveOutsideTheStepsCountsToo) {
  EXPECT_EQ(WhyNotStraggler({TinyProfile().Comm(0, 10, 0).Step(1, 20, 100).Kernel(30, 90, 25).Build()}), "");
}

TEST(RefutersTest, AGpuThatNobodyUsesIsNoPeer) {
  SmallRun run;
  run.Gpu("NVIDIA H100 80GB HBM3");
  DeviceResult& empty = run.Gpu("NVIDIA H100 80GB HBM3", Phase::kIdle);
  EXPECT_NE(run.Against("fix_straggler"), "");
  empty.totals.idle_held_ns = SmallRun::kMinute;
  EXPECT_EQ(run.Against("fix_straggler"), "");
}

// FP8 is for GPUs that have it and that run their matrix products in a lower precision already.
TEST(RefutersTest, Fp8NeedsTensorActivityOnAGpuThatHasIt) {
  const auto against = [](const std::string& name, std::optional<std::int64_t> tensor) {
    SmallRun run;
    if (tensor) {
      run.Gpu(name, *tensor);
    } else {
      run.Gpu(name);
      run.trace = DiagnoseProfiles(std::vector<Profile>{TinyProfile().Kernel(0, 100, 0).Build()});
      run.traced_only = true;
    }
    return run.Against("fp8");
  };
  EXPECT_EQ(against("NVIDIA H100 80GB HBM3", 40), "");
  EXPECT_NE(against("NVIDIA H100 80GB HBM3", 5).find("start with mixed_precision"), std::string::npos);
  EXPECT_NE(against("NVIDIA H100 80GB HBM3", std::nullopt).find("start with mixed_precision"), std::string::npos)
      << "a trace reads no tensor activity";
  for (const char* name : {"Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-80GB", "Voodoo 5"}) {
    EXPECT_NE(against(name, 40).find("idleburn does not know of FP8"), std::string::npos) << name;
    EXPECT_NE(against(name, std::nullopt), "") << name;
  }
}

TEST(RefutersTest, ALargerBatchNeedsMemory) {
  SmallRun run;
  DeviceResult& gpu = run.Gpu("NVIDIA H100 80GB HBM3");
  EXPECT_EQ(run.Against("larger_batch"), "");
  SmallRun::Hold(gpu, 71, 80);
  EXPECT_EQ(run.Against("larger_batch"), "");
  SmallRun::Hold(gpu, 72, 80);
  EXPECT_EQ(run.Against("larger_batch"), "memory is 90 % full: a larger batch would not fit");
  SmallRun traced;
  Profile profile = TinyProfile().Kernel(0, 100, 0).Build();
  profile.devices[0].memory_bytes = std::int64_t{80} << 30;
  for (const auto& [held, refused] : {std::pair(40, false), std::pair(79, true)}) {
    profile.devices[0].most_reserved_bytes = std::int64_t{held} << 30;
    traced.trace = DiagnoseProfiles(std::vector<Profile>{profile});
    EXPECT_EQ(!traced.Against("larger_batch").empty(), refused) << held;
    EXPECT_EQ(traced.Shows("mps", "launch_bound"), !refused) << held;
  }
}

TEST(RefutersTest, WhatIsNvidiasIsNotAdvisedToOthers) {
  const std::vector<std::string> levers = {"mps", "mig", "dali", "power_cap_or_cooling"};
  const auto refused = [&](const SmallRun& run) {
    return std::all_of(levers.begin(), levers.end(), [&](const std::string& lever) {
      return run.Against(lever) == "it needs NVIDIA GPUs, and this run has AMD GPUs";
    });
  };
  for (const char* name : {"AMD Instinct MI300X", "MI300X-192GB", "AMD Radeon RX 7900"}) {
    SmallRun run;
    run.Gpu(name);
    EXPECT_TRUE(refused(run)) << name;
  }
  SmallRun mixed;
  mixed.Gpu("AMD Instinct MI300X");
  mixed.Gpu("NVIDIA H100 80GB HBM3");
  EXPECT_FALSE(refused(mixed));
  SmallRun unnamed;
  DeviceResult& gpu = unnamed.Gpu("");
  EXPECT_FALSE(refused(unnamed)) << "nobody knows whose it is";
  unnamed.trace = DiagnoseProfiles(std::vector<Profile>{TinyProfile().Kernel(0, 100, 0).Build()});
  unnamed.traced_only = true;
  EXPECT_FALSE(refused(unnamed));
  unnamed.trace->devices[0].facts["hip_runtime"] = "60443483";
  EXPECT_TRUE(refused(unnamed));
  unnamed.trace.reset();
  unnamed.devices.NameCounter(gpu.device, Signal::kUtilization, "rocm_smi.GPU use (%)");
  EXPECT_TRUE(refused(unnamed));
}

TEST(RefutersTest, FusedKernelsNeedShortOrMemoryBoundOnes) {
  SmallRun run;
  DeviceResult& gpu = run.Gpu("NVIDIA H100 80GB HBM3", 40, 60);
  EXPECT_FALSE(run.Shows("fused_kernels", "compute_bound")) << "large matrix products dominate";
  EXPECT_TRUE(run.Shows("fused_kernels", "launch_bound")) << "the cause is that they are short";
  gpu.totals.tensor_active = {};
  EXPECT_TRUE(run.Shows("fused_kernels", "compute_bound")) << "DRAM bounds them";
  gpu.totals.dram_active = {};
  EXPECT_FALSE(run.Shows("fused_kernels", "compute_bound"));
}

// A slice is for a small job: a GPU on which nothing runs needs none, and what a job holds must have been read.
TEST(RefutersTest, SharingNeedsASmallJobToBeSeen) {
  SmallRun run;
  DeviceResult& gpu = run.Gpu("NVIDIA H100 80GB HBM3");
  for (const char* lever : {"mig", "mps", "smaller_gpu"}) {
    EXPECT_FALSE(run.Shows(lever, "idle_held")) << lever;
    SmallRun::Hold(gpu, 60, 80);
    EXPECT_FALSE(run.Shows(lever, "idle_held")) << lever;
    SmallRun::Hold(gpu, 20, 80);
    EXPECT_TRUE(run.Shows(lever, "idle_held")) << lever;
    gpu.totals.phase_ns = {SmallRun::kMinute, 0, 0, 0};
    EXPECT_FALSE(run.Shows(lever, "idle_held")) << lever;
    gpu.totals.phase_ns = {0, 0, 0, SmallRun::kMinute};
    gpu.totals.range[Slot(Signal::kMemoryUsed)] = {};
  }
  EXPECT_TRUE(run.Shows("stop_idle", "idle_held")) << "the cause is its evidence";
}

TEST(RefutersTest, ALowerPrecisionNeedsAGpuThatComputes) {
  SmallRun run;
  DeviceResult& gpu = run.Gpu("NVIDIA H100 80GB HBM3", 1);
  EXPECT_TRUE(run.Shows("mixed_precision", "memory_pressure"));
  gpu.totals.tensor_active = {};
  EXPECT_FALSE(run.Shows("mixed_precision", "memory_pressure"));
  EXPECT_TRUE(run.Shows("mixed_precision", "compute_bound"));
}

}  // namespace
}  // namespace idleburn
