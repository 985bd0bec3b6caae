#include "diagnose/cause_table.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "price/gpu_time.h"

namespace idleburn {
namespace {

// In each row: id, title, pool, evidence, what refutes it, how to isolate it, levers. Texts are for people; only ids
// are compared.
constexpr auto kCauses = std::to_array<Cause>({
    {"loader_cpu_spare_cores",
     "The data loader is slow, with CPU cores to spare",
     Pool::kLoader,
     "3 % or more of the step idle in the loader, workers on CPU, free cores",
     "workers waiting for CPU or storage",
     "a synthetic batch that stays on the device",
     {"num_workers", "persistent_workers", "prefetch"}},
    {"loader_cpu_no_cores",
     "The data loader is slow for want of CPU cores",
     Pool::kLoader,
     "idle in the loader, and workers waiting in the run queue",
     "idle cores",
     "raise the CPU quota by two cores",
     {"dali", "pretokenize", "cache_dataset"}},
    {"storage",
     "The data loader waits for storage",
     Pool::kLoader,
     "idle in the loader, and workers blocked on reads",
     "reads served from the page cache",
     "the second epoch from memory (tmpfs)",
     {"faster_storage", "sharded_reads", "prefetch"}},
    {"h2d_small",
     "Small or pageable copies to the device",
     Pool::kCopy,
     "copies of less than 1 MB, or pageable, in 3 % of the step",
     "overlapped, pinned and large copies",
     "a batch that stays on the device",
     {"pin_memory", "non_blocking_copies", "prefetch"}},
    {"h2d_bandwidth",
     "The link to the device is full",
     Pool::kCopy,
     "exposed copies in 20 % of the step at 60 % of the link's speed",
     "copies far below the link's speed",
     "fewer offloaded layers",
     {"overlap_copies", "larger_gpu", "quantize_weights", "reduce_offload"}},
    {"launch_bound",
     "Kernel launches take longer than the kernels",
     Pool::kLaunch,
     "host time in 20 % of the step in many gaps",
     "a deep launch queue, or one long gap",
     "the batch doubled: time per sample must halve",
     {"larger_batch", "cuda_graphs", "fused_kernels", "mps", "mig", "smaller_gpu"}},
    {"comm_exposed",
     "Communication that compute does not hide",
     Pool::kComm,
     "exposed communication in 3 % of the step",
     "a rank that waits for another",
     "one step without synchronisation, or one GPU",
     {"overlap_communication", "nccl_tuning", "gradient_accumulation"}},
    {"straggler_or_dependency",
     "One rank makes the others wait",
     Pool::kSpin,
     "collectives longer than their fastest rank by 3 %",
     "all ranks alike",
     "swap the rank's host",
     {"fix_straggler"}},
    {"synchronization",
     "The host waits for the device",
     Pool::kSync,
     "synchronising calls over 3 % of idle device time",
     "calls that wait while the device works",
     "log every N steps",
     {"remove_syncs"}},
    {"checkpoint_stall",
     "Checkpoints stop the job",
     Pool::kCheckpoint,
     "three or more stalls with writes and a regular period",
     "no writes, no period",
     "save ten times less often for as many steps",
     {"async_checkpoint"}},
    {"throttling",
     "The board is slowed down",
     Pool::kThrottle,
     "slowdown reasons in 3 % of observed time with 5 % clock loss",
     "full clocks under load",
     "lock the clocks, or run on a second node",
     {"power_cap_or_cooling"}},
    {"memory_pressure",
     "Device memory is short",
     Pool::kMemory,
     "memory 90 % full and allocator retries",
     "a steady allocator",
     "half the micro-batch",
     {"smaller_micro_batch", "gradient_checkpointing", "mixed_precision", "gradient_accumulation"}},
    {"idle_held",
     "GPUs are held without being used",
     Pool::kIdle,
     "idle stretches of a minute or more with memory held",
     "short pauses between bursts",
     "ask the owner of the process what it waits for",
     {"stop_idle", "autoscale", "mig"}},
    {"idle_empty",
     "GPUs are allocated with nothing on them",
     Pool::kIdle,
     "idle stretches of a minute or more at 0 % without a process",
     "a short start or end",
     "release the GPU and watch who misses it",
     {"stop_idle", "autoscale", "bin_packing", "mig"}},
    {"idle",
     "GPUs are idle; whether a process holds them was not read",
     Pool::kIdle,
     "idle stretches of a minute or more, without a list of processes or memory",
     "a process list, which tells held from empty",
     "read who holds the GPU",
     {"stop_idle", "autoscale", "bin_packing", "mig"}},
    {"spin_wait",
     "GPUs look busy but wait",
     Pool::kSpin,
     "utilisation of 90 % or more with little power or SM activity for 5 s",
     "SM or DRAM activity that shows work",
     "find the rank that is late and speed it up",
     {"fix_straggler"}},
    {"compute_bound",
     "The GPU computes",
     Pool::kCompute,
     "SM activity of 80 % or more, or tensor activity read",
     "only utilization.gpu of 90 % or more",
     "one run in mixed precision (torch.autocast, jmp, Keras mixed_float16)",
     {"mixed_precision", "fused_kernels", "fp8"}},
    {"healthy",
     "Nothing worth changing",
     Pool::kNone,
     "busy 90 % or more, power or SM activity that shows work, and no cause of 3 % or more",
     "any cause of 3 % or more",
     "nothing",
     {}},
    {"unknown",
     "The evidence does not name the cause",
     Pool::kNone,
     "time lost, but too little evidence",
     "a measured cause",
     "torch.profiler for 20 steps on every rank",
     {}},
});

}  // namespace

std::span<const Cause> Causes() { return kCauses; }

const Cause& CauseById(std::string_view id) {
  const auto* found = std::find_if(kCauses.begin(), kCauses.end(), [&](const Cause& c) { return c.id == id; });
  CHECK(found != kCauses.end());
  return *found;
}

std::string_view Name(Status s) {
  constexpr std::array<std::string_view, 3> kNames = {"confirmed", "likely", "unknown"};
  return kNames[static_cast<std::size_t>(s)];
}

DeviceShares PartOf(DeviceShares whole, std::int64_t ns) {
  std::vector<std::int64_t> weights;
  for (const auto& entry : whole) weights.push_back(entry.second);
  const Result<std::vector<std::int64_t>> parts = SplitNanos(ns, weights);
  std::size_t at = 0;
  for (auto& entry : whole) entry.second = parts ? (*parts)[at++] : 0;
  return whole;
}

double WastedNs(const UsageCost& u) {
  return static_cast<double>(u.observed_ns) - u.effective_ns + u.spin_effective_ns;
}

WasteLeft::WasteLeft(const CostReport& cost) : cost_(&cost), money_(cost.whole.waste.value_or(Money())) {
  for (const CostReport::DeviceCost& d : cost.devices) {
    left_[d.device] = static_cast<std::int64_t>(std::max(0.0, WastedNs(d.usage)));
  }
}

// Takes from each device at most what it has left. The cost is at most the money that is left.
void WasteLeft::Charge(const DeviceShares& wasted, Finding& finding) {
  DeviceShares taken;
  for (const auto& [device, ns] : wasted) {
    std::int64_t& left = left_[device];
    const std::int64_t part = std::clamp<std::int64_t>(ns, 0, left);
    if (part == 0) continue;
    left -= part;
    taken[device] = part;
    finding.waste_ns += part;
  }
  if (taken.empty()) return;
  // The price of each part is rounded separately, to a nano-unit.
  const std::optional<Money> cost = CostOfTime(*cost_, finding.waste_ns, taken);
  if (!cost) return;
  finding.cost = std::min(*cost, money_);
  money_ = Money::Nano(money_.nano() - finding.cost->nano());
}

void WasteLeft::Charge(std::int64_t wasted_ns, Finding& finding) { Charge(PartOf(left_, wasted_ns), finding); }

namespace {

// The next step for findings of unknown cause.
constexpr std::string_view kNextMeasurement =
    "torch.profiler for 20 steps on every rank tells loader, launches, copies and synchronisation apart; without "
    "touching the code: SM activity (dcgm-exporter's DCGM_FI_PROF_SM_ACTIVE) beside this log";

}  // namespace

double Seconds(std::int64_t ns) { return static_cast<double>(ns) / kNanosPerSecond; }

std::optional<Money> CostOfTime(const CostReport& cost, std::int64_t gpu_ns, const DeviceShares& where) {
  // With one price, every GPU-hour costs the same.
  if (cost.rate.per_gpu_hour) {
    const Result<Money> money = Price(*cost.rate.per_gpu_hour, gpu_ns);
    return money ? std::optional(*money) : std::nullopt;
  }
  // With several rates, the time is divided in proportion to each rate's time.
  std::vector<std::int64_t> by_rate(cost.rates.size(), 0);
  for (const CostReport::DeviceCost& d : cost.devices) {
    const auto share = where.find(d.device);
    by_rate[d.rate] += !where.empty() ? (share == where.end() ? 0 : share->second) : d.usage.observed_ns;
  }
  const Result<std::vector<std::int64_t>> times = SplitNanos(gpu_ns, by_rate);
  if (!times) return std::nullopt;
  std::optional<Money> sum;
  for (std::size_t i = 0; i < times->size(); ++i) {
    const std::optional<Money>& rate = cost.rates[i].rate.per_gpu_hour;
    if (!rate || by_rate[i] == 0) continue;
    const Result<Money> part = Price(*rate, (*times)[i]);
    const Result<Money> more = part ? Add(sum.value_or(Money()), *part) : part;
    if (!more) return std::nullopt;
    sum = *more;
  }
  return sum;
}

Finding MakeFinding(const Scene& scene, std::string_view cause, Status status, std::int64_t gpu_ns,
                    const DeviceShares& where) {
  const Cause& row = CauseById(cause);
  Finding f;
  f.cause = row.id;
  f.title = row.title;
  f.status = status;
  f.gpu_ns = gpu_ns;
  f.share = scene.Share(gpu_ns);
  f.refutes.emplace_back(row.refuted);
  f.isolate = status == Status::kUnknown ? kNextMeasurement : row.isolate;
  f.time_cost = CostOfTime(scene.cost, gpu_ns, where);
  return f;
}

void SortByLoss(const CostReport& cost, std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    if (cost.several() && a.cost != b.cost) return a.cost > b.cost;
    return a.waste_ns != b.waste_ns ? a.waste_ns > b.waste_ns : a.ShareOfRun() > b.ShareOfRun();
  });
}

std::string CounterOf(const Scene& scene, Signal s) {
  Example first(scene.cost);
  for (const DeviceResult& d : scene.run.devices) {
    if (!scene.devices[d.device].counter[Index(s)].empty()) first.Offer(d);
  }
  return first.best() == nullptr ? std::string(Info(s).name) : scene.Counter(*first.best(), s);
}

}  // namespace idleburn
