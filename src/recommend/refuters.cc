#include "recommend/refuters.h"

#include <algorithm>
#include <array>
#include <vector>

#include "diagnose/findings.h"
#include "diagnose/idle_stretches.h"
#include "diagnose/late_peer.h"
#include "diagnose/live_causes.h"
#include "diagnose/work_evidence.h"
#include "telemetry/gpu_facts.h"
#include "telemetry/mig_boards.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Tensor pipes that are this active run matrix products in a low precision already.
constexpr double kTensorInUse = 10.0 * kPercent;
// DRAM that is this active bounds the kernels: it tops out near 80 %.
constexpr double kMemoryBound = 50.0 * kPercent;
// A job that holds no more of its GPU's memory leaves room for another one, and fits a smaller GPU.
constexpr double kLeavesRoom = 0.5;

bool Starved(const Scene& scene) { return scene.Share(BurstNs(scene)) >= kMaterialShare; }
bool Waits(const Scene& scene) { return scene.Share(scene.cost.whole.spin_wait_ns) >= kMaterialShare; }

bool UtilizationAlone(const Scene& scene) {
  if (scene.trace != nullptr) return false;  // a trace sees the kernels themselves
  return std::all_of(scene.run.devices.begin(), scene.run.devices.end(), [](const DeviceResult& d) {
    return d.totals.sm_active.ns == 0 && d.totals.tensor_active.ns == 0 && d.totals.gr_engine.ns == 0;
  });
}

// What forbids advice to those who would compute faster: nobody knows that these GPUs compute.
std::string NotKnownToCompute(const Scene& scene) {
  if (Waits(scene)) return "the GPUs wait while they look busy: faster arithmetic would only wait longer";
  if (Starved(scene)) return "the GPU is starved in bursts: faster arithmetic would only wait longer";
  if (UtilizationAlone(scene)) {
    return scene.BusyCounter() + " alone cannot tell work from a resident kernel; read SM or tensor activity first";
  }
  if (CannotTellWork(scene)) {
    return "the GPUs look busy, and nothing that was read shows that they work: faster arithmetic may only wait longer";
  }
  return "";
}

std::string AgainstMixedPrecision(const Scene& scene) {
  std::string why = NotKnownToCompute(scene);
  if (!why.empty()) return why;
  return std::any_of(scene.run.devices.begin(), scene.run.devices.end(), UsesTensorCores)
             ? "tensor activity of 10 % or more: matrix products use the tensor cores already"
             : "";
}

std::string AgainstFp8(const Scene& scene) {
  std::string why = NotKnownToCompute(scene);
  if (!why.empty()) return why;
  const char* const kNotInUse =
      "no tensor activity of 10 % or more was read: lower precision starts with mixed_precision";
  bool computes = false;
  for (const DeviceResult& d : scene.run.devices) {
    if (BackedComputeNs(d) == 0) continue;
    if (!UsesTensorCores(d)) return kNotInUse;
    const std::optional<GpuFacts> facts = FactsFor(scene.devices[d.device].name);
    if (!facts || !facts->fp8_tflops) return "FP8 is not known to exist on '" + scene.devices[d.device].name + "'";
    computes = true;
  }
  return computes ? "" : kNotInUse;  // of a trace alone no tensor activity is read
}

// Whether that device is known to be AMD's: by its name, by who read it, or by the calls in its trace.
bool IsAmd(const Scene& scene, const Device& device) {
  const std::optional<GpuFacts> facts = FactsFor(device.name);
  const auto names_amd = [](std::string_view name) { return StartsWithIgnoreCase(name, "AMD "); };
  if (names_amd(device.name) || (facts && std::any_of(facts->names.begin(), facts->names.end(), names_amd)))
    return true;
  const auto by_rocm = [](const std::string& counter) { return counter.rfind("rocm_smi.", 0) == 0; };
  if (std::any_of(device.counter.begin(), device.counter.end(), by_rocm)) return true;
  const auto calls_hip = [](const DeviceDiagnosis& d) { return d.facts.count("hip_runtime") > 0; };
  return scene.traced_only && scene.trace != nullptr &&
         std::all_of(scene.trace->devices.begin(), scene.trace->devices.end(), calls_hip);
}

// The share of its memory that each GPU at work held at most, where that was read.
std::vector<double> MemoryOfWorkers(const Scene& scene) {
  std::vector<double> shares;
  for (const DeviceResult& d : scene.run.devices) {
    const std::optional<double> share = d.totals.PeakMemoryShare();
    if (share && BusyPhasesNs(d.totals) > 0) shares.push_back(*share);
  }
  if (scene.trace == nullptr) return shares;
  for (const DeviceDiagnosis& d : scene.trace->devices) {
    if (d.memory_held) shares.push_back(*d.memory_held);
  }
  return shares;
}

std::string AgainstLargerBatch(const Scene& scene) {
  const std::vector<double> shares = MemoryOfWorkers(scene);
  const bool full = std::any_of(shares.begin(), shares.end(), [](double share) { return share >= kMemoryFull; });
  return full ? "memory is 90 % full: a larger batch would not fit" : "";
}

std::string AgainstSharing(const Scene& scene) {
  return Starved(scene) ? "the GPU is starved in bursts by one job: a neighbour would take the bursts, not the gaps"
                        : "";
}

std::string AgainstMig(const Scene& scene) {
  std::string why = AgainstSharing(scene);
  if (!why.empty()) return why;
  const bool possible = std::any_of(scene.run.devices.begin(), scene.run.devices.end(), [&](const DeviceResult& d) {
    const Device& device = scene.devices[d.device];
    return !device.mig && !device.has_instances && MigSlices(device.name).has_value();
  });
  return possible ? "" : "no GPU of this run is known to support MIG and not to be cut already";
}

std::string AgainstPacking(const Scene& scene) {
  return scene.cost.gpus < 2 ? "one GPU in the window: nothing to pack" : "";
}

std::string AgainstAutoscale(const Scene& scene) {
  const bool comes_and_goes = std::any_of(
      scene.run.devices.begin(), scene.run.devices.end(),
      [&](const DeviceResult& d) { return BusyPhasesNs(d.totals) > 0 && FindIdleStretches(d.totals).TotalNs() > 0; });
  return comes_and_goes ? "" : "no GPU both worked and was idle for long in this window: there is no load to follow";
}

// Whether that holds for the rate of every GPU.
template <typename Holds>
bool AllRates(const CostReport& cost, Holds holds) {
  return !cost.rates.empty() && std::all_of(cost.rates.begin(), cost.rates.end(),
                                            [&](const CostReport::RateUse& use) { return holds(use.rate); });
}

bool IsOwned(const Scene& scene) {
  return AllRates(scene.cost, [](const Rate& rate) { return rate.kind == RateKind::kOwned; });
}

std::string AgainstSpot(const Scene& scene) {
  if (IsOwned(scene)) return "the hardware is owned";
  const auto is_spot = [](const Rate& rate) { return rate.key.find(":spot@") != std::string::npos; };
  return AllRates(scene.cost, is_spot) ? "the price is a spot price already" : "";
}

std::string AgainstReserved(const Scene& scene) {
  if (IsOwned(scene)) return "the hardware is owned";
  const bool committed = AllRates(scene.cost, [](const Rate& rate) {
    return rate.kind == RateKind::kContract || rate.key.find(":reserved@") != std::string::npos;
  });
  return committed ? "the price is a committed one already" : "";
}

std::string AgainstMoving(const Scene& scene) { return IsOwned(scene) ? "the hardware is owned" : ""; }

// Peers are other GPUs that somebody uses, or whoever takes part in the collectives of a trace.
std::string AgainstFixingStraggler(const Scene& scene) {
  const auto used = std::count_if(scene.run.devices.begin(), scene.run.devices.end(),
                                  [](const DeviceResult& d) { return TakesPart(d.totals); });
  const auto traced = scene.trace == nullptr ? 0 : std::ssize(scene.trace->devices);
  if (std::max(used, traced) != 1) return "";
  const bool peers =
      traced > 0 && std::any_of(scene.trace->devices.begin(), scene.trace->devices.end(), [](const auto& device) {
        return device.budgets.front().comm_ns > 0 || device.Deciding().comm_ns > 0;
      });
  return peers ? "" : "one device, and no peer of it in this data: no rank is seen to be late";
}

struct Refuter {
  std::string_view lever;
  std::string (*why_not)(const Scene& scene);
};
// Of several rows of a lever each may speak.
constexpr auto kRefuters = std::to_array<Refuter>({
    {"dali", AgainstOtherVendors},
    {"larger_batch", AgainstLargerBatch},
    {"mixed_precision", AgainstMixedPrecision},
    {"fp8", AgainstFp8},
    {"fix_straggler", AgainstFixingStraggler},
    {"power_cap_or_cooling", AgainstOtherVendors},
    {"larger_gpu", NotKnownToCompute},
    {"mig", AgainstOtherVendors},
    {"mig", AgainstMig},
    {"mps", AgainstOtherVendors},
    {"mps", AgainstSharing},
    {"smaller_gpu", AgainstSharing},
    {"bin_packing", AgainstPacking},
    {"autoscale", AgainstAutoscale},
    {"spot", AgainstSpot},
    {"reserved", AgainstReserved},
    {"right_size_region", AgainstMoving},
});

bool SeenToCompute(const Scene& scene, std::string_view cause) {
  return cause == "compute_bound" || std::any_of(scene.run.devices.begin(), scene.run.devices.end(),
                                                 [](const DeviceResult& d) { return BackedComputeNs(d) > 0; });
}

// Launches take longer than short kernels, or DRAM is what bounds them while the tensor cores are not in use.
bool SeenShortKernels(const Scene& scene, std::string_view cause) {
  return cause == "launch_bound" ||
         std::any_of(scene.run.devices.begin(), scene.run.devices.end(), [](const DeviceResult& d) {
           return d.totals.dram_active.Mean().value_or(0) >= kMemoryBound && !UsesTensorCores(d);
         });
}

bool SeenSmallJob(const Scene& scene, std::string_view /*cause*/) {
  const std::vector<double> shares = MemoryOfWorkers(scene);
  return std::any_of(shares.begin(), shares.end(), [](double share) { return share <= kLeavesRoom; });
}

struct Evidence {
  std::string_view lever;
  bool (*seen)(const Scene& scene, std::string_view cause);
};
constexpr auto kEvidence = std::to_array<Evidence>({
    {"mixed_precision", SeenToCompute},
    {"fused_kernels", SeenShortKernels},
    {"mps", SeenSmallJob},
    {"mig", SeenSmallJob},
    {"smaller_gpu", SeenSmallJob},
});

// Whether a notebook held a GPU: by the name of a process, of an owner (JupyterHub names pods jupyter-USER), or of the
// command.
bool SawNotebook(const Scene& scene) {
  const std::vector<CostReport::DeviceCost>& all = scene.cost.devices;
  return IsNotebook(scene.machine.command) || std::any_of(all.begin(), all.end(), [&](const auto& d) {
           return scene.devices[d.device].notebook || std::any_of(d.owners.begin(), d.owners.end(), IsNotebook);
         });
}

// What a lever's `how` says besides, where the run shows what that is for.
struct HowAlso {
  std::string_view lever;
  bool (*seen)(const Scene& scene);
  std::string_view how;
};
constexpr auto kHowAlso = std::to_array<HowAlso>({
    {"stop_idle", SawNotebook,
     "cull notebooks: jupyter lab --MappingKernelManager.cull_idle_timeout=600 "
     "--MappingKernelManager.cull_connected=True"},
});

}  // namespace

std::string HowTo(const Scene& scene, const Lever& lever) {
  std::string how(lever.how);
  for (const HowAlso& row : kHowAlso) {
    if (row.lever == lever.id && row.seen(scene)) how += "; " + std::string(row.how);
  }
  return how;
}

bool UsesTensorCores(const DeviceResult& d) { return d.totals.tensor_active.Mean().value_or(0) >= kTensorInUse; }

std::string AgainstOtherVendors(const Scene& scene) {
  const std::vector<DeviceResult>& all = scene.run.devices;
  const bool none = !all.empty() && std::all_of(all.begin(), all.end(), [&](const DeviceResult& d) {
    return IsAmd(scene, scene.devices[d.device]);
  });
  return none ? "it is NVIDIA's, and the GPUs of this run are AMD's" : "";
}

std::string WhyNot(const Scene& scene, std::string_view lever) {
  for (const Refuter& row : kRefuters) {
    if (row.lever != lever) continue;
    if (std::string why = row.why_not(scene); !why.empty()) return why;
  }
  return "";
}

bool IsShown(const Scene& scene, std::string_view lever, std::string_view cause) {
  return std::all_of(kEvidence.begin(), kEvidence.end(),
                     [&](const Evidence& row) { return row.lever != lever || row.seen(scene, cause); });
}

}  // namespace idleburn
