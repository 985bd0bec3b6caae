#include "recommend/refuters.h"

#include <algorithm>
#include <array>

#include "diagnose/findings.h"
#include "diagnose/idle_stretches.h"
#include "telemetry/gpu_facts.h"
#include "telemetry/mig_boards.h"

namespace idleburn {
namespace {

// Tensor pipes that are this active run matrix products in a low precision already.
constexpr double kTensorInUse = 10.0 * kPercent;

bool Starved(const Scene& scene) { return scene.Share(BurstNs(scene)) >= kMaterialShare; }
bool Spins(const Scene& scene) { return scene.Share(scene.cost.whole.spin_wait_ns) >= kMaterialShare; }

bool UtilizationAlone(const Scene& scene) {
  if (scene.trace != nullptr) return false;  // a trace sees the kernels themselves
  return std::all_of(scene.run.devices.begin(), scene.run.devices.end(), [](const DeviceResult& d) {
    return d.totals.sm_active.ns == 0 && d.totals.tensor_active.ns == 0 && d.totals.gr_engine.ns == 0;
  });
}

// What forbids advice to those who would compute faster: nobody knows that these GPUs compute.
std::string NotKnownToCompute(const Scene& scene) {
  if (Spins(scene)) return "the GPUs wait while they look busy: faster arithmetic would only wait longer";
  if (Starved(scene)) return "the GPU is starved in bursts: faster arithmetic would only wait longer";
  if (UtilizationAlone(scene)) {
    return scene.BusyCounter() + " alone cannot tell work from a resident kernel; read SM or tensor activity first";
  }
  return "";
}

std::string AgainstMixedPrecision(const Scene& scene) {
  std::string why = NotKnownToCompute(scene);
  if (!why.empty()) return why;
  const bool in_use = std::any_of(scene.run.devices.begin(), scene.run.devices.end(), [](const DeviceResult& d) {
    return d.totals.tensor_active.Mean().value_or(0) >= kTensorInUse;
  });
  return in_use ? "tensor activity of 10 % or more: matrix products use the tensor cores already" : "";
}

std::string AgainstFp8(const Scene& scene) {
  std::string why = NotKnownToCompute(scene);
  if (!why.empty()) return why;
  for (const DeviceResult& d : scene.run.devices) {
    if (BackedComputeNs(d) == 0) continue;
    if (d.totals.tensor_active.Mean().value_or(0) < kTensorInUse) {
      return "no tensor activity of 10 % or more was read: lower precision starts with mixed_precision";
    }
    const std::optional<GpuFacts> facts = FactsFor(scene.devices[d.device].name);
    if (!facts || !facts->fp8_tflops) return "FP8 is not known to exist on '" + scene.devices[d.device].name + "'";
  }
  return "";
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
  const bool comes_and_goes =
      std::any_of(scene.run.devices.begin(), scene.run.devices.end(), [&](const DeviceResult& d) {
        return BusyPhasesNs(d.totals) > 0 && FindIdleStretches(d.totals, scene.thresholds.idle_below).TotalNs() > 0;
      });
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

// A trace in which no collective runs shows a device that has no peer.
std::string AgainstFixingStraggler(const Scene& scene) {
  if (!scene.traced_only || scene.trace == nullptr) return "";
  const bool peers = std::any_of(scene.trace->devices.begin(), scene.trace->devices.end(), [](const auto& device) {
    return device.budgets.front().comm_ns > 0 || device.Deciding().comm_ns > 0;
  });
  return peers || scene.trace->devices.size() > 1 ? "" : "one device without collectives: no rank can be late";
}

struct Refuter {
  std::string_view lever;
  std::string (*why_not)(const Scene& scene);
};
constexpr auto kRefuters = std::to_array<Refuter>({
    {"mixed_precision", AgainstMixedPrecision},
    {"fp8", AgainstFp8},
    {"fix_straggler", AgainstFixingStraggler},
    {"larger_gpu", NotKnownToCompute},
    {"mig", AgainstMig},
    {"mps", AgainstSharing},
    {"smaller_gpu", AgainstSharing},
    {"bin_packing", AgainstPacking},
    {"autoscale", AgainstAutoscale},
    {"spot", AgainstSpot},
    {"reserved", AgainstReserved},
    {"right_size_region", AgainstMoving},
});

}  // namespace

std::string WhyNot(const Scene& scene, std::string_view lever) {
  const auto* row =
      std::find_if(kRefuters.begin(), kRefuters.end(), [&](const Refuter& r) { return r.lever == lever; });
  return row == kRefuters.end() ? std::string() : row->why_not(scene);
}

}  // namespace idleburn
