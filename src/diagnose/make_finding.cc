#include "diagnose/make_finding.h"

#include <cmath>

#include "price/gpu_time.h"

namespace idleburn {

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
    "run torch.profiler for 20 steps on every rank; it separates loader, launches, copies and synchronisation. Or add "
    "SM activity (dcgm-exporter's DCGM_FI_PROF_SM_ACTIVE) to this log";

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
