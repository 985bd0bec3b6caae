#include "recommend/try_first.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "diagnose/cause_table.h"
#include "diagnose/make_finding.h"
#include "recommend/lever_table.h"
#include "recommend/try_evidence.h"
#include "recommend/try_patterns.h"
#include "recommend/try_settings.h"
#include "recommend/try_table.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Whether the pattern has this cause is not known: even odds.
constexpr double kOdds = 0.5;

// Levers that make busy work cheaper: how many times as fast all of it gets at most, and why. `speedup` 0: by the GPU.
struct Speedup {
  std::string_view lever;
  double speedup;
  std::string_view why;
};
constexpr double kUsualSpeedup = 2;
constexpr auto kSpeedups = std::to_array<Speedup>({
    {"mixed_precision", kUsualSpeedup, "half the bytes to move, and twice the peak of TF32"},
    {"fp8", 0, "the peak of FP8 over that of bf16"},
    {"fused_kernels", kUsualSpeedup, "an assumption: half the memory traffic"},
    {"bucketing", kUsualSpeedup, "an assumption: half of all tokens are padding"},
    {"packing", kUsualSpeedup, "an assumption: half of all tokens are padding"},
});

double NsOf(const GpuPicture& gpu, Reach reach) {
  const std::array<double, kReachCount> ns = {gpu.long_idle_ns, gpu.waste_ns, gpu.pauses_ns, gpu.busy_ns};
  return ns[static_cast<std::size_t>(reach)];
}

// Where a lever would act.
struct Chance {
  std::vector<const TryRow*> rows;  // that suggest it, of the largest reach first
  std::vector<const GpuPicture*> gpus;
  std::vector<double> ns;  // of each GPU: the most that it could give back, GPU-nanoseconds
};

// GPU-time as a share of the bill. Where hours have several prices a dear one counts for more.
double ShareOfBill(const CostReport& cost, const Chance& chance) {
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

// The share of all pauses that no proved cause has claimed.
double Unclaimed(const Scene& scene, const std::vector<GpuPicture>& gpus, const std::vector<Finding>& findings) {
  double pauses = 0;
  for (const GpuPicture& gpu : gpus) pauses += gpu.pauses_ns;
  double claimed = 0;
  for (const Finding& f : findings) {
    const Pool pool = CauseOf(f.cause).pool;
    const bool of_pauses = pool != Pool::kNone && pool != Pool::kIdle && pool != Pool::kThrottle &&
                           pool != Pool::kCompute && f.cause != "spin_wait";
    if (of_pauses && f.status != Status::kUnknown) claimed += static_cast<double>(f.gpu_ns);
  }
  const bool none_left = pauses - claimed < kMaterialShare * static_cast<double>(scene.cost.whole.observed_ns);
  if (claimed > 0 && none_left) return 0;
  return pauses <= 0 ? 0 : std::max(0.0, 1 - claimed / pauses);
}

Chance ChanceOf(const Scene& scene, const std::vector<GpuPicture>& gpus, std::string_view lever, double unclaimed) {
  Chance chance;
  std::map<const TryRow*, double> by_row;
  for (const GpuPicture& gpu : gpus) {
    if (!CanTry(scene, gpu, lever)) continue;
    double most = 0;
    for (const TryRow& row : TryRows()) {
      if (row.lever != lever || !gpu.Shows(row.pattern)) continue;
      const double ns = NsOf(gpu, row.reach) * (row.reach == Reach::kPauses ? unclaimed : 1);
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

double SpeedupOf(const Scene& scene, const Speedup& row, const Chance& chance) {
  if (row.speedup > 0) return row.speedup;
  double most = 1;
  for (const GpuPicture* gpu : chance.gpus) {
    most = std::max(most, Fp8Speedup(scene.devices[gpu->result->device].name).value_or(kUsualSpeedup));
  }
  return most;
}

std::string SettingsOf(const Scene& scene, const Chance& chance) {
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
  if (!smaller) return std::string(LeverOf(row.lever).how);
  return "rent one of " + ListText(*smaller, ", ") + (held > 0 ? ": their memory holds the peak" : "");
}

void Describe(const Scene& scene, const Chance& chance, TryFirst& out) {
  for (const TryRow* row : chance.rows) {
    std::vector<const GpuPicture*> showing;
    for (const GpuPicture* gpu : chance.gpus) {
      if (gpu->Shows(row->pattern)) showing.push_back(gpu);
    }
    std::vector<DeviceId> ids;
    for (const GpuPicture* gpu : showing) ids.push_back(gpu->result->device);
    out.evidence.push_back(EvidenceOf(scene, row->pattern, showing) + ": " + scene.ListOf(ids));
    const bool said = std::find(out.against.begin(), out.against.end(), row->unseen) != out.against.end();
    if (!said) out.against.emplace_back(row->unseen);
  }
  const Weighed weighed = Weigh(scene, chance.gpus, out.id);
  out.evidence.insert(out.evidence.end(), weighed.evidence.begin(), weighed.evidence.end());
  out.against.insert(out.against.begin(), weighed.against.begin(), weighed.against.end());
}

TryFirst Try(const Scene& scene, const Chance& chance, const RecoveredShare& recovered) {
  const TryRow& row = *chance.rows.front();
  const Lever& lever = LeverOf(row.lever);
  TryFirst out;
  out.id = lever.id;
  out.title = lever.title;
  out.pattern = Info(row.pattern).name;
  out.reaches = Name(row.reach);
  out.reachable = ShareOfBill(scene.cost, chance);
  out.basis = "at most " + std::string(InWords(row.reach));
  double part = 1;
  const auto* faster =
      std::find_if(kSpeedups.begin(), kSpeedups.end(), [&](const Speedup& s) { return s.lever == row.lever; });
  if (row.reach == Reach::kBusy && faster != kSpeedups.end()) {
    const double speedup = SpeedupOf(scene, *faster, chance);
    part = 1 - 1 / speedup;
    out.basis += fmt::format(" {:.3g} times as fast ({})", speedup, faster->why);
  }
  const double high = out.reachable * part;
  out.saving = {0, kOdds * recovered.mean * high, high};
  out.basis += "; expected: even odds that this is the cause, then " + idleburn::Describe(recovered);
  const UsageCost& w = scene.cost.whole;
  if (w.total && w.unpriced.window_ns == 0) {
    if (const Result<Money> money = Estimate(*w.total, high)) out.most = *money;
  }
  out.how = SettingsOf(scene, chance);
  out.confirm = row.confirm;
  Describe(scene, chance, out);
  return out;
}

std::ptrdiff_t PlaceOf(const TryFirst& t) {
  const std::span<const TryRow> rows = TryRows();
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const TryRow& row) {
    return row.lever == t.id && Info(row.pattern).name == t.pattern;
  });
  return at - rows.begin();
}

}  // namespace

std::vector<TryFirst> FindTries(const Scene& scene, const Advice& advice, const RecoveredShares& shares) {
  const std::vector<GpuPicture> gpus = PicturesOf(scene);
  const double unclaimed = Unclaimed(scene, gpus, advice.findings);
  std::vector<TryFirst> tries;
  const auto taken = [&](std::string_view id) {
    return std::any_of(advice.recommendations.begin(), advice.recommendations.end(),
                       [&](const Recommendation& r) { return r.id == id; }) ||
           std::any_of(tries.begin(), tries.end(), [&](const TryFirst& t) { return t.id == id; });
  };
  for (const TryRow& row : TryRows()) {
    if (taken(row.lever) || !WhyNotTry(scene, advice.findings, row.lever).empty()) continue;
    const Chance chance = ChanceOf(scene, gpus, row.lever, unclaimed);
    if (!chance.gpus.empty()) tries.push_back(Try(scene, chance, shares.Of(row.lever)));
  }
  // What differs by less than a thousandth of the cost stays in the order of the table.
  const auto before = [](const TryFirst& a, const TryFirst& b) {
    const auto per_mille = [](const TryFirst& t) { return std::llround(1000 * t.saving.high); };
    return per_mille(a) != per_mille(b) ? per_mille(a) > per_mille(b) : PlaceOf(a) < PlaceOf(b);
  };
  std::stable_sort(tries.begin(), tries.end(), before);
  return tries;
}

}  // namespace idleburn
