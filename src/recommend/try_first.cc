#include "recommend/try_first.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "diagnose/findings.h"
#include "diagnose/make_finding.h"
#include "recommend/lever_table.h"
#include "telemetry/gpu_facts.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// The limits of these conditions. Two jobs fit into the memory of one GPU if each needs at most half.
constexpr double kHalf = 0.5;
// Kernels below this share of the limit may only wait. Measured idle boards reach 30 %, and the sensor is off
// by up to 5 %.
constexpr double kLittlePower = 0.35;
constexpr double kWorksPower = 0.5;  // of the limit
constexpr double kWorksSm = 50.0 * kPercent;

using Pictures = std::vector<const GpuPicture*>;

// Whether the GPU worked at all.
bool Worked(const GpuPicture& gpu) { return BusyPhasesNs(gpu.result->totals) > 0; }

// Mean power while compute_bound over the limit; absent if either is unknown.
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

// Whether more than utilization proves that the kernels work.
bool ShowsWork(const Scene& scene, const GpuPicture& gpu) {
  const std::optional<double> sm = BusySmActivity(gpu.result->totals);
  return sm ? *sm >= kWorksSm : BusyPowerShare(scene, gpu).value_or(0) >= kWorksPower;
}

// Whether the GPU is busy at little power, without any sign of work.
bool BusyWithoutPower(const Scene& scene, const GpuPicture& gpu) {
  return BusyPowerShare(scene, gpu).value_or(1) <= kLittlePower && !ShowsWork(scene, gpu);
}

// Whether memory peaks at most at this share. Memory that was not read is no obstacle here; it becomes a reason
// against.
bool HasRoom(const GpuPicture& gpu, double most) { return !gpu.memory_peak || *gpu.memory_peak <= most; }

// Whether a second job fits.
bool CanShare(const Scene& /*scene*/, const GpuPicture& gpu) { return Worked(gpu) && HasRoom(gpu, kHalf); }

// Whether the GPU can be divided: a whole MIG-capable board with half of its memory free.
bool CanCut(const Scene& scene, const GpuPicture& gpu) {
  const Device& device = scene.devices[gpu.result->device];
  return CanShare(scene, gpu) && !device.mig && !device.has_instances && MigSlices(device.name).has_value();
}

// Whether a smaller GPU would do: one whose memory holds the job. If nothing is known about the model, half of
// the memory must be free.
bool CanShrink(const Scene& scene, const GpuPicture& gpu) {
  const Device& device = scene.devices[gpu.result->device];
  if (!Worked(gpu) || device.mig) return false;
  const auto held = static_cast<double>(gpu.result->totals.Peak(Signal::kMemoryUsed).value_or(0));
  const std::optional<std::vector<std::string>> smaller = SmallerGpus(device.name, held);
  return smaller ? !smaller->empty() : HasRoom(gpu, kHalf);
}

// Whether memory has room for a larger batch.
bool CanGrowBatch(const Scene& /*scene*/, const GpuPicture& gpu) {
  return !gpu.memory_peak || *gpu.memory_peak < kHighMemoryShare;
}

// Whether nothing suggests that the kernels only wait.
bool Computes(const Scene& scene, const GpuPicture& gpu) {
  return gpu.result->spin.time.ns * 100 < gpu.result->totals.ObservedNs() * 3 && !BusyWithoutPower(scene, gpu);
}

// Lower precision needs a sign of work. If waiting and working look alike, the GPU may only wait longer.
bool CanLowerPrecision(const Scene& scene, const GpuPicture& gpu) {
  return Computes(scene, gpu) && ShowsWork(scene, gpu) && !UsesTensorCores(*gpu.result);
}

// FP8 needs a sign of work, like any lower precision, and the hardware.
bool CanUseFp8(const Scene& scene, const GpuPicture& gpu) {
  return Computes(scene, gpu) && ShowsWork(scene, gpu) && HasFp8(scene.devices[gpu.result->device].name);
}

bool HasWorked(const Scene& /*scene*/, const GpuPicture& gpu) { return Worked(gpu); }

// What one GPU must fulfil for a lever. A run-wide reason is WhyNotTry's.
// * The functions below add the readings for and against one kind of lever. Each Weigh function adds the readings for
//   and against one kind of lever. A reading that is missing is a reason against too: the user must know what was not
//   seen.
struct Condition {
  std::string_view lever;
  bool (*holds)(const Scene& scene, const GpuPicture& gpu);
};
// Levers without a row apply to every GPU.
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

// --- evidence ------------------------------------------------------------------------------------------------------

// The functions below add the readings for and against one kind of lever.
void WeighMemory(const Scene& scene, const Pictures& gpus, Weighed& out) {
  double most = 0;
  for (const GpuPicture* gpu : gpus) {
    if (!gpu->memory_peak) {
      out.against.emplace_back("memory.used or memory.total was not read, so it may not fit");
      return;
    }
    most = std::max(most, *gpu->memory_peak);
  }
  out.evidence.push_back(fmt::format("{} peaks at {:.0f} % of the GPU's memory: there is room",
                                     CounterOf(scene, Signal::kMemoryUsed), 100 * most));
}

// A watched host without a slow loader speaks against loader levers.
void WeighHost(const Scene& scene, const Pictures& /*gpus*/, Weighed& out) {
  if (scene.machine.host != nullptr) out.against.emplace_back("the host was measured, and no slow loader was found");
}

// Sharing needs room, and a job that is not starved in bursts.
void WeighSharing(const Scene& scene, const Pictures& gpus, Weighed& out) {
  WeighMemory(scene, gpus, out);
  if (scene.Share(BurstNs(scene)) >= kMaterialShare) {
    out.against.emplace_back("starved in bursts: a second job takes the bursts too, not only the pauses");
  }
}

// Cheaper arithmetic needs work. Power and SM activity are signs of it; utilization alone is not.
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

// Fusing kernels helps when memory traffic limits them. Matrix products are fused already.
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
                          " is 10 % or more: matrix products, which are already fused");
  }
}

// Which readings are weighed for a lever.
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

// A proved loader cause has a fix of its own, so other loader levers are not suggested.
std::string WhyNotTry(const Scene& scene, const std::vector<Finding>& findings, std::string_view lever) {
  const Pool pool = LeverById(lever).pool;
  const bool loader_known = std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.status != Status::kUnknown && CauseById(f.cause).pool == Pool::kLoader;
  });
  if (pool == Pool::kLoader && loader_known) return "the cause of the slow loader is known and needs another fix";
  if (pool == Pool::kCompute && WaitsWhileBusy(scene)) return "the GPUs wait while they look busy";
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

namespace {

// Whether the pattern has the assumed cause is unknown: even odds.
constexpr double kOdds = 0.5;

// Levers that make busy work cheaper: the largest possible speed-up of all of it, and why. A `speedup` of 0
// depends on the GPU.
struct Speedup {
  std::string_view lever;
  double speedup;
  std::string_view why;
};
// The ratio of peak rates when the precision halves.
constexpr double kUsualSpeedup = 2;
constexpr auto kSpeedups = std::to_array<Speedup>({
    {"mixed_precision", kUsualSpeedup, "half the bytes to move, and twice the peak of TF32"},
    {"fp8", 0, "the peak of FP8 over that of bf16"},
    {"fused_kernels", kUsualSpeedup, "an assumption: half the memory traffic"},
    {"bucketing", kUsualSpeedup, "an assumption: half of all tokens are padding"},
    {"packing", kUsualSpeedup, "an assumption: half of all tokens are padding"},
});

// The time of a GPU that a reach covers.
double ReachableNs(const GpuPicture& gpu, Reach reach) {
  const std::array<double, kReachCount> ns = {gpu.long_idle_ns, gpu.waste_ns, gpu.pauses_ns, gpu.busy_ns};
  return ns[static_cast<std::size_t>(reach)];
}

// Where a lever would act: on which GPUs, because of which patterns, and how much it could recover at most.
struct Chance {
  std::vector<const TryRow*> rows;  // rows that suggest it, largest reach first
  std::vector<const GpuPicture*> gpus;
  std::vector<double> ns;  // the most that each GPU could recover, in GPU-nanoseconds
};

// The GPU-time of a chance as a share of the bill. With several prices, an expensive hour counts more.
double ReachableShare(const CostReport& cost, const Chance& chance) {
  const UsageCost& w = cost.whole;
  const bool weigh = cost.several() && w.unpriced.window_ns == 0 && w.total && *w.total > Money();
  double sum = 0;
  for (std::size_t i = 0; i < chance.gpus.size(); ++i) {
    const CostReport::DeviceCost* d = cost.Of(chance.gpus[i]->result->device);
    const double rate = weigh ? static_cast<double>(cost.RateOf(*d).per_gpu_hour->nano()) : 1;
    sum += chance.ns[i] * rate;
  }
  const double whole = weigh ? static_cast<double>(w.total->nano()) * static_cast<double>(kNanosPerHour)
                             : static_cast<double>(w.window_ns);
  return whole <= 0 ? 0 : std::min(1.0, sum / whole);
}

// The share of all pauses that no proved cause has claimed. A try must not offer the time of a recommendation once
// more.
double Unclaimed(const Scene& scene, const std::vector<GpuPicture>& gpus, const std::vector<Finding>& findings) {
  double pauses = 0;
  for (const GpuPicture& gpu : gpus) pauses += gpu.pauses_ns;
  double claimed = 0;
  for (const Finding& f : findings) {
    const Pool pool = CauseById(f.cause).pool;
    const bool of_pauses = pool != Pool::kNone && pool != Pool::kIdle && pool != Pool::kThrottle &&
                           pool != Pool::kCompute && f.cause != "spin_wait";
    if (of_pauses && f.status != Status::kUnknown) claimed += static_cast<double>(f.gpu_ns);
  }
  const bool none_left = pauses - claimed < kMaterialShare * static_cast<double>(scene.cost.whole.observed_ns);
  if (claimed > 0 && none_left) return 0;
  return pauses <= 0 ? 0 : std::max(0.0, 1 - claimed / pauses);
}

// Collects the GPUs and rows for which a lever could act.
Chance FindChance(const Scene& scene, const std::vector<GpuPicture>& gpus, std::string_view lever, double unclaimed) {
  Chance chance;
  std::map<const TryRow*, double> by_row;
  for (const GpuPicture& gpu : gpus) {
    if (!CanTry(scene, gpu, lever)) continue;
    double most = 0;
    for (const TryRow& row : TryRows()) {
      if (row.lever != lever || !gpu.Shows(row.pattern)) continue;
      const double ns = ReachableNs(gpu, row.reach) * (row.reach == Reach::kPauses ? unclaimed : 1);
      if (ns > 0) by_row[&row] += ns;
      most = std::max(most, ns);
    }
    if (most <= 0) continue;
    chance.gpus.push_back(&gpu);
    chance.ns.push_back(most);
  }
  for (const auto& [row, ns] : by_row) chance.rows.push_back(row);
  std::stable_sort(chance.rows.begin(), chance.rows.end(),
                   [&](const TryRow* a, const TryRow* b) { return by_row[a] > by_row[b]; });
  return chance;
}

// The possible speed-up of a lever: that of the table, or by GPU.
double LargestSpeedup(const Scene& scene, const Speedup& row, const Chance& chance) {
  if (row.speedup > 0) return row.speedup;
  double most = 1;
  for (const GpuPicture* gpu : chance.gpus) {
    most = std::max(most, Fp8Speedup(scene.devices[gpu->result->device].name).value_or(kUsualSpeedup));
  }
  return most;
}

// The settings for the GPUs of a chance.
std::string DescribeSettings(const Scene& scene, const Chance& chance) {
  const TryRow& row = *chance.rows.front();
  if (!row.how.empty()) return std::string(row.how);
  const GpuPicture& gpu = *chance.gpus.front();
  const Device& device = scene.devices[gpu.result->device];
  if (row.lever == "mixed_precision") return MixedPrecisionSettings(device.name);
  if (row.lever == "mig") {
    return MigSettings(device.name, gpu.memory_peak, device.index ? std::to_string(*device.index) : "N");
  }
  const auto held = static_cast<double>(gpu.result->totals.Peak(Signal::kMemoryUsed).value_or(0));
  const std::optional<std::vector<std::string>> smaller = SmallerGpus(device.name, held);
  if (!smaller) return std::string(LeverById(row.lever).how);
  return "rent one of " + ListText(*smaller, ", ") + (held > 0 ? ": their memory holds the peak" : "");
}

// Fills in the evidence of each pattern, and what was weighed for and against the lever.
void DescribeChance(const Scene& scene, const Chance& chance, TryFirst& out) {
  for (const TryRow* row : chance.rows) {
    std::vector<const GpuPicture*> showing;
    for (const GpuPicture* gpu : chance.gpus) {
      if (gpu->Shows(row->pattern)) showing.push_back(gpu);
    }
    std::vector<DeviceId> ids;
    for (const GpuPicture* gpu : showing) ids.push_back(gpu->result->device);
    out.evidence.push_back(DescribeEvidence(scene, row->pattern, showing) + ": " + scene.ListOf(ids));
    const bool said = std::find(out.against.begin(), out.against.end(), row->unseen) != out.against.end();
    if (!said) out.against.emplace_back(row->unseen);
  }
  const Weighed weighed = Weigh(scene, chance.gpus, out.id);
  out.evidence.insert(out.evidence.end(), weighed.evidence.begin(), weighed.evidence.end());
  out.against.insert(out.against.begin(), weighed.against.begin(), weighed.against.end());
}

// A try with its range. Even odds that the pattern has the assumed cause halve the expected saving.
TryFirst Try(const Scene& scene, const Chance& chance, const RecoveredShare& recovered) {
  const TryRow& row = *chance.rows.front();
  const Lever& lever = LeverById(row.lever);
  TryFirst out;
  out.id = lever.id;
  out.title = lever.title;
  out.pattern = Info(row.pattern).name;
  out.reaches = Name(row.reach);
  out.reachable = ReachableShare(scene.cost, chance);
  out.basis = "at most " + std::string(InWords(row.reach));
  double part = 1;
  const auto* faster =
      std::find_if(kSpeedups.begin(), kSpeedups.end(), [&](const Speedup& s) { return s.lever == row.lever; });
  if (row.reach == Reach::kBusy && faster != kSpeedups.end()) {
    const double speedup = LargestSpeedup(scene, *faster, chance);
    part = 1 - 1 / speedup;
    out.basis += fmt::format(" {:.3g} times as fast ({})", speedup, faster->why);
  }
  const double high = out.reachable * part;
  out.saving = {0, kOdds * recovered.mean * high, high};
  out.basis += "; expected: 50 % chance that this is the cause, then " + Describe(recovered);
  const UsageCost& w = scene.cost.whole;
  if (w.total && w.unpriced.window_ns == 0) {
    if (const Result<Money> money = Estimate(*w.total, high)) out.most = *money;
  }
  out.how = DescribeSettings(scene, chance);
  out.confirm = row.confirm;
  DescribeChance(scene, chance, out);
  return out;
}

// The position of a try in the table.
std::ptrdiff_t TablePosition(const TryFirst& t) {
  const std::span<const TryRow> rows = TryRows();
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const TryRow& row) {
    return row.lever == t.id && Info(row.pattern).name == t.pattern;
  });
  return at - rows.begin();
}

}  // namespace

std::vector<TryFirst> FindTries(const Scene& scene, const Advice& advice, const RecoveredShares& shares) {
  const std::vector<GpuPicture> gpus = TakePictures(scene);
  const double unclaimed = Unclaimed(scene, gpus, advice.findings);
  std::vector<TryFirst> tries;
  const auto taken = [&](std::string_view id) {
    return std::any_of(advice.recommendations.begin(), advice.recommendations.end(),
                       [&](const Recommendation& r) { return r.id == id; }) ||
           std::any_of(tries.begin(), tries.end(), [&](const TryFirst& t) { return t.id == id; });
  };
  for (const TryRow& row : TryRows()) {
    if (taken(row.lever) || !WhyNotTry(scene, advice.findings, row.lever).empty()) continue;
    const Chance chance = FindChance(scene, gpus, row.lever, unclaimed);
    if (!chance.gpus.empty()) tries.push_back(Try(scene, chance, shares.Of(row.lever)));
  }
  // Differences below a thousandth of the cost keep the order of the table.
  const auto before = [](const TryFirst& a, const TryFirst& b) {
    const auto per_mille = [](const TryFirst& t) { return std::llround(1000 * t.saving.high); };
    return per_mille(a) != per_mille(b) ? per_mille(a) > per_mille(b) : TablePosition(a) < TablePosition(b);
  };
  std::stable_sort(tries.begin(), tries.end(), before);
  return tries;
}

}  // namespace idleburn
