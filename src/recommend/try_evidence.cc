#include "recommend/try_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "diagnose/cause_table.h"
#include "diagnose/findings.h"
#include "diagnose/make_finding.h"
#include "recommend/lever_table.h"
#include "recommend/refuters.h"
#include "recommend/try_settings.h"
#include "telemetry/gpu_facts.h"
#include "telemetry/mig_boards.h"

namespace idleburn {
namespace {

// Two jobs fit into the memory of one GPU.
constexpr double kHalf = 0.5;
// Kernels that draw no more of the limit may only wait (telemetry: idle boards reach 30 %, the sensor is off by 5 %).
constexpr double kLittlePower = 0.35;
constexpr double kWorksPower = 0.5;  // of the limit
constexpr double kWorksSm = 50.0 * kPercent;

using Pictures = std::vector<const GpuPicture*>;

bool Worked(const GpuPicture& gpu) { return BusyPhasesNs(gpu.result->totals) > 0; }

// Mean power while compute_bound over the limit; absent where either is not known.
std::optional<double> BusyPowerShare(const Scene& scene, const GpuPicture& gpu) {
  const DeviceResult& d = *gpu.result;
  std::optional<std::int64_t> limit = d.power_limit_mw ? d.power_limit_mw : d.default_limit_mw;
  const std::optional<GpuFacts> facts = limit ? std::nullopt : FactsFor(scene.devices[d.device].name);
  if (facts) limit = facts->power_limit_mw;
  Integral power;
  for (const Timeline::Bucket& bucket : d.totals.timeline.buckets) power.Merge(bucket.busy_power);
  if (!limit || *limit <= 0 || power.ns == 0) return std::nullopt;
  return *power.Mean() / static_cast<double>(*limit);
}

// Whether more than utilization says that its kernels work.
bool ShowsWork(const Scene& scene, const GpuPicture& gpu) {
  const std::optional<double> sm = BusySmActivity(gpu.result->totals);
  return sm ? *sm >= kWorksSm : BusyPowerShare(scene, gpu).value_or(0) >= kWorksPower;
}

bool BusyWithoutPower(const Scene& scene, const GpuPicture& gpu) {
  return BusyPowerShare(scene, gpu).value_or(1) <= kLittlePower && !ShowsWork(scene, gpu);
}

bool HasRoom(const GpuPicture& gpu, double most) { return !gpu.memory_peak || *gpu.memory_peak <= most; }

bool CanShare(const Scene& /*scene*/, const GpuPicture& gpu) { return Worked(gpu) && HasRoom(gpu, kHalf); }

bool CanCut(const Scene& scene, const GpuPicture& gpu) {
  const Device& device = scene.devices[gpu.result->device];
  return CanShare(scene, gpu) && !device.mig && !device.has_instances && MigSlices(device.name).has_value();
}

bool CanShrink(const Scene& scene, const GpuPicture& gpu) {
  const Device& device = scene.devices[gpu.result->device];
  if (!Worked(gpu) || device.mig) return false;
  const auto held = static_cast<double>(gpu.result->totals.Peak(Signal::kMemoryUsed).value_or(0));
  const std::optional<std::vector<std::string>> smaller = SmallerGpus(device.name, held);
  return smaller ? !smaller->empty() : HasRoom(gpu, kHalf);
}

bool CanGrowBatch(const Scene& /*scene*/, const GpuPicture& gpu) {
  return !gpu.memory_peak || *gpu.memory_peak < kHighMemoryShare;
}

// Nothing says that the kernels only wait.
bool Computes(const Scene& scene, const GpuPicture& gpu) {
  return gpu.result->spin.time.ns * 100 < gpu.result->totals.ObservedNs() * 3 && !BusyWithoutPower(scene, gpu);
}

// Lower precision also needs a sign of work: where nobody can tell work from waiting, it may only wait longer.
bool CanLowerPrecision(const Scene& scene, const GpuPicture& gpu) {
  return Computes(scene, gpu) && ShowsWork(scene, gpu) && !UsesTensorCores(*gpu.result);
}

bool CanUseFp8(const Scene& scene, const GpuPicture& gpu) {
  return Computes(scene, gpu) && ShowsWork(scene, gpu) && HasFp8(scene.devices[gpu.result->device].name);
}

bool HasWorked(const Scene& /*scene*/, const GpuPicture& gpu) { return Worked(gpu); }

struct Condition {
  std::string_view lever;
  bool (*holds)(const Scene& scene, const GpuPicture& gpu);
};
constexpr auto kConditions = std::to_array<Condition>({
    {"autoscale", HasWorked},
    {"mps", CanShare},
    {"mig", CanCut},
    {"smaller_gpu", CanShrink},
    {"larger_batch", CanGrowBatch},
    {"mixed_precision", CanLowerPrecision},
    {"fp8", CanUseFp8},
    {"fused_kernels", Computes},
    {"bucketing", Computes},
    {"packing", Computes},
});

bool Waits(const Scene& scene) { return scene.Share(scene.cost.whole.spin_wait_ns) >= kMaterialShare; }

// --- evidence ------------------------------------------------------------------------------------------------------

void WeighMemory(const Scene& scene, const Pictures& gpus, Weighed& out) {
  double most = 0;
  for (const GpuPicture* gpu : gpus) {
    if (!gpu->memory_peak) {
      out.against.emplace_back("memory.used and memory.total were not both read: whether it fits is not known");
      return;
    }
    most = std::max(most, *gpu->memory_peak);
  }
  out.evidence.push_back(fmt::format("{} peaks at {:.0f} % of the GPU's memory: there is room",
                                     CounterOf(scene, Signal::kMemoryUsed), 100 * most));
}

void WeighHost(const Scene& scene, const Pictures& /*gpus*/, Weighed& out) {
  if (scene.machine.host != nullptr) out.against.emplace_back("the host was watched, and no slow loader was found");
}

void WeighSharing(const Scene& scene, const Pictures& gpus, Weighed& out) {
  WeighMemory(scene, gpus, out);
  if (scene.Share(BurstNs(scene)) >= kMaterialShare) {
    out.against.emplace_back("starved in bursts: a second job takes the bursts too, not the pauses alone");
  }
}

void WeighCompute(const Scene& scene, const Pictures& gpus, Weighed& out) {
  std::optional<double> power;
  std::optional<double> sm;
  for (const GpuPicture* gpu : gpus) {
    if (!power) power = BusyPowerShare(scene, *gpu);
    if (!sm) sm = BusySmActivity(gpu->result->totals);
  }
  if (power) {
    out.evidence.push_back(
        fmt::format("{} is {:.0f} % of the power limit while busy", CounterOf(scene, Signal::kPower), 100 * *power));
  }
  if (sm) {
    out.evidence.push_back(
        fmt::format("{} is {:.0f} % while busy", CounterOf(scene, Signal::kSmActive), *sm / kPercent));
  }
  if (!power && !sm) {
    out.against.push_back(scene.BusyCounter() + " alone cannot tell work from a resident kernel");
  }
}

void WeighFusion(const Scene& scene, const Pictures& gpus, Weighed& out) {
  WeighCompute(scene, gpus, out);
  for (const GpuPicture* gpu : gpus) {
    const std::optional<double> dram = gpu->result->totals.dram_active.Mean();
    if (dram) {
      out.evidence.push_back(
          fmt::format("{} averages {:.0f} %", CounterOf(scene, Signal::kDramActive), *dram / kPercent));
      break;
    }
  }
  if (std::any_of(gpus.begin(), gpus.end(), [](const GpuPicture* gpu) { return UsesTensorCores(*gpu->result); })) {
    out.against.push_back(CounterOf(scene, Signal::kTensorActive) +
                          " is 10 % or more: matrix products, which are fused");
  }
}

struct Weight {
  std::string_view lever;
  void (*weigh)(const Scene& scene, const Pictures& gpus, Weighed& out);
};
constexpr auto kWeights = std::to_array<Weight>({
    {"larger_batch", WeighMemory},
    {"smaller_gpu", WeighSharing},
    {"mps", WeighSharing},
    {"mig", WeighSharing},
    {"bin_packing", WeighSharing},
    {"num_workers", WeighHost},
    {"prefetch", WeighHost},
    {"dali", WeighHost},
    {"cache_dataset", WeighHost},
    {"pin_memory", WeighHost},
    {"mixed_precision", WeighCompute},
    {"fp8", WeighCompute},
    {"fused_kernels", WeighFusion},
    {"bucketing", WeighCompute},
    {"packing", WeighCompute},
});

}  // namespace

std::string WhyNotTry(const Scene& scene, const std::vector<Finding>& findings, std::string_view lever) {
  const Pool pool = LeverOf(lever).pool;
  const bool loader_known = std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.status != Status::kUnknown && CauseOf(f.cause).pool == Pool::kLoader;
  });
  if (pool == Pool::kLoader && loader_known) return "what slows the loader is known, and calls for another fix";
  if (pool == Pool::kCompute && Waits(scene)) return "the GPUs wait while they look busy";
  if (lever == "bin_packing" || lever == "autoscale") return WhyNot(scene, lever);
  if (lever == "dali" || lever == "mps" || lever == "mig") return AgainstOtherVendors(scene);
  return "";
}

bool CanTry(const Scene& scene, const GpuPicture& gpu, std::string_view lever) {
  return std::all_of(kConditions.begin(), kConditions.end(),
                     [&](const Condition& row) { return row.lever != lever || row.holds(scene, gpu); });
}

Weighed Weigh(const Scene& scene, const Pictures& gpus, std::string_view lever) {
  Weighed out;
  for (const Weight& row : kWeights) {
    if (row.lever == lever) row.weigh(scene, gpus, out);
  }
  return out;
}

}  // namespace idleburn
