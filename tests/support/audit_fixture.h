#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "audit/audit_report.h"

namespace idleburn {

// An audit made by hand for the tests of its writers, without classifier, price list or rules: seconds of
// utilisation in, a filled AuditReport out. Held by pointer because the report points into it.
class AuditFixture {
 public:
  struct Gpu {
    std::string uuid;
    std::string name = "NVIDIA H100 80GB HBM3";
    std::string host = "node1";
    std::function<std::optional<int>(int second)> percent;  // absent: unobserved
    bool held = true;
    bool power = true;
    std::string counter = "nvml.utilization.gpu";
  };
  static constexpr std::int64_t kStart = 1'783'000'800;  // 2026-07-02T14:00:00Z

  AuditFixture() {
    report.devices = &devices;
    report.quality = &quality;
    report.version = "0.1.0";
    report.inputs = {"gpu.csv"};
    report.cost.rate.reason = "no_price";
  }
  AuditFixture(const AuditFixture&) = delete;
  AuditFixture& operator=(const AuditFixture&) = delete;

  void Add(const Gpu& gpu, int seconds) {
    DeviceKey key;
    key.uuid = gpu.uuid;
    key.index = static_cast<int>(report.run.devices.size());
    key.host = gpu.host;
    key.name = gpu.name;
    DeviceResult result;
    result.device = devices.Enter(key);
    devices.NameCounter(result.device, Signal::kUtilization, gpu.counter);
    result.counter = Signal::kUtilization;
    result.fast = true;
    result.period = Nanos(kNanosPerSecond / 10);
    result.tick_window = Nanos(kNanosPerSecond / 5);
    result.first = Instant::FromNanos(kStart * kNanosPerSecond);
    result.last = Instant::FromNanos((kStart + seconds) * kNanosPerSecond);
    result.totals.timeline.first = kStart;
    result.totals.timeline.buckets.resize(static_cast<std::size_t>(seconds));
    for (int s = 0; s < seconds; ++s) AddSecond(gpu, s, &result.totals);
    report.run.start = result.first;
    report.run.end = std::max(report.run.end, result.last);
    report.run.devices.push_back(std::move(result));
  }

  // Sums the GPUs and prices them at `rate` per GPU-hour, if given.
  void Settle(std::optional<Money> rate) {
    CostReport& cost = report.cost;
    for (const DeviceResult& d : report.run.devices) {
      cost.Add({d.device, 1, UsageOf(d)});
      AddUsage(cost.devices.back().usage, &cost.whole);
    }
    cost.gpus = static_cast<int>(cost.devices.size());
    if (cost.whole.observed_ns > 0) {
      cost.whole.mean_utilization = 100 * cost.whole.effective_ns / static_cast<double>(cost.whole.observed_ns);
      cost.waste_share = 1 - cost.whole.effective_ns / static_cast<double>(cost.whole.observed_ns);
    }
    cost.rates = {{cost.rate, cost.gpus, 0, cost.whole.window_ns, std::nullopt}};
    if (!rate) return;
    cost.rate.reason.clear();
    cost.rate.kind = RateKind::kGiven;
    cost.rate.per_gpu_hour = rate;
    cost.rate.source = "--price";
    cost.whole.total = Money();
    for (CostReport::DeviceCost& d : cost.devices) PriceUsage(*rate, &d.usage);
    for (const CostReport::DeviceCost& d : cost.devices) AddMoney(d.usage, &cost.whole);
    cost.rates = {{cost.rate, cost.gpus, 0, cost.whole.window_ns, cost.whole.total}};
    const auto effective = static_cast<std::int64_t>(std::llround(cost.whole.effective_ns));
    if (effective > 0) cost.per_effective_gpu_hour = Scale(*cost.whole.total, kNanosPerHour, effective).value();
    cost.hourly = Scale(*rate, cost.gpus, 1).value();
    cost.monthly = Scale(*cost.hourly, cost.month_hours, 1).value();
    cost.yearly = Scale(*cost.hourly, 8760, 1).value();
  }

  DeviceTable devices;
  DataQuality quality;
  AuditReport report;

 private:
  static void AddSecond(const Gpu& gpu, int s, DeviceTotals* totals) {
    Timeline::Bucket& bucket = totals->timeline.buckets[static_cast<std::size_t>(s)];
    const std::optional<int> percent = gpu.percent(s);
    if (!percent) {
      totals->unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)] += kNanosPerSecond;
      return;
    }
    const std::size_t phase = *percent < 10 ? 0 : *percent < 70 ? 1 : *percent < 90 ? 2 : 3;
    totals->phase_ns[phase] += kNanosPerSecond;
    totals->ticks[phase] += 5;
    bucket.phase_ns[phase] = kNanosPerSecond;
    totals->utilization.Add(kNanosPerSecond, *percent * kPercent);
    bucket.utilization.Add(kNanosPerSecond, *percent * kPercent);
    if (phase == 0) (gpu.held ? totals->idle_held_ns : totals->idle_empty_ns) += kNanosPerSecond;
    if (phase == 0 && gpu.held) bucket.held_ns = kNanosPerSecond;
    if (gpu.power) {
      totals->power.Add(kNanosPerSecond, 70'000 + 6'000 * *percent);
      bucket.power.Add(kNanosPerSecond, 70'000 + 6'000 * *percent);
      if (phase == 3) totals->bound_with_power_ns += kNanosPerSecond;
      if (phase == 3) bucket.busy_power.Add(kNanosPerSecond, 70'000 + 6'000 * *percent);
    }
  }

  static UsageCost UsageOf(const DeviceResult& d) {
    const DeviceTotals& t = d.totals;
    UsageCost u;
    u.phase_ns = t.phase_ns;
    u.observed_ns = std::accumulate(t.phase_ns.begin(), t.phase_ns.end(), std::int64_t{0});
    u.unobserved_ns = std::accumulate(t.unobserved_ns.begin(), t.unobserved_ns.end(), std::int64_t{0});
    u.window_ns = u.observed_ns + u.unobserved_ns;
    u.idle_held_ns = t.idle_held_ns;
    u.idle_empty_ns = t.idle_empty_ns;
    u.idle_unknown_ns = t.idle_unknown_ns;
    u.spin_wait_ns = d.spin.time.ns;
    u.effective_ns = static_cast<double>(t.utilization.area) / static_cast<double>(kFull);
    if (u.observed_ns > 0) u.mean_utilization = 100 * u.effective_ns / static_cast<double>(u.observed_ns);
    if (t.power.ns > 0) {
      u.mean_power_w = *t.power.Mean() / 1000;
      u.energy_kwh = static_cast<double>(t.power.area) / 3.6e18;
      u.energy_ns = t.power.ns;
      u.energy_window_ns = u.window_ns;
    }
    return u;
  }

  static void AddUsage(const UsageCost& from, UsageCost* into) {
    for (std::size_t p = 0; p < kPhaseCount; ++p) into->phase_ns[p] += from.phase_ns[p];
    into->window_ns += from.window_ns;
    into->observed_ns += from.observed_ns;
    into->unobserved_ns += from.unobserved_ns;
    into->idle_held_ns += from.idle_held_ns;
    into->idle_empty_ns += from.idle_empty_ns;
    into->idle_unknown_ns += from.idle_unknown_ns;
    into->spin_wait_ns += from.spin_wait_ns;
    into->effective_ns += from.effective_ns;
    if (from.energy_kwh) into->energy_kwh = into->energy_kwh.value_or(0) + *from.energy_kwh;
    into->energy_ns += from.energy_ns;
    into->energy_window_ns += from.energy_window_ns;
    if (from.mean_power_w) into->mean_power_w = *into->energy_kwh * 3.6e15 / static_cast<double>(into->observed_ns);
  }

  static void PriceUsage(Money rate, UsageCost* u) {
    const auto price = [&](std::int64_t ns) { return Price(rate, ns).value(); };
    for (std::size_t p = 0; p < kPhaseCount; ++p) u->phase_cost[p] = price(u->phase_ns[p]);
    u->unobserved_cost = price(u->unobserved_ns);
    u->unallocated_cost = Money();
    u->idle_held_cost = price(u->idle_held_ns);
    u->idle_empty_cost = price(u->idle_empty_ns);
    u->idle_unknown_cost = price(u->idle_unknown_ns);
    u->spin_wait_cost = price(u->spin_wait_ns);
    std::int64_t total = u->unobserved_cost->nano();
    for (const std::optional<Money>& m : u->phase_cost) total += m->nano();
    u->total = Money::Nano(total);
    u->waste = price(u->observed_ns - static_cast<std::int64_t>(std::llround(u->effective_ns)));
  }

  static void AddTo(std::optional<Money>* into, const std::optional<Money>& m) {
    *into = Money::Nano(into->value_or(Money()).nano() + m.value().nano());
  }
  static void AddMoney(const UsageCost& from, UsageCost* into) {
    for (std::size_t p = 0; p < kPhaseCount; ++p) AddTo(&into->phase_cost[p], from.phase_cost[p]);
    AddTo(&into->unobserved_cost, from.unobserved_cost);
    AddTo(&into->unallocated_cost, from.unallocated_cost);
    AddTo(&into->idle_held_cost, from.idle_held_cost);
    AddTo(&into->idle_empty_cost, from.idle_empty_cost);
    AddTo(&into->idle_unknown_cost, from.idle_unknown_cost);
    AddTo(&into->spin_wait_cost, from.spin_wait_cost);
    AddTo(&into->total, from.total);
    AddTo(&into->waste, from.waste);
  }
};

inline TryFirst MoreWorkers(const std::optional<Money>& total) {
  TryFirst workers;
  workers.id = "num_workers";
  workers.title = "More data-loader workers";
  workers.pattern = "bursts";
  workers.reaches = "pauses";
  workers.reachable = workers.saving.high = 0.25;
  workers.saving.expected = 0.1;
  if (total) workers.most = Estimate(*total, 0.25).value();
  workers.how = "DataLoader(num_workers=8)";
  workers.evidence = {"nvml.utilization.gpu swings by 30 points or more 15 times"};
  workers.against = {"not in this log: loader workers, CPU cores and storage"};
  workers.confirm = "50 steps on one batch that stays on the device";
  workers.basis = "at most the pauses";
  return workers;
}

// Eight GPUs for 15 minutes: steady work, input stalls, a job that is held and idle, a gap, an empty GPU.
inline std::unique_ptr<AuditFixture> EightGpus(std::optional<Money> rate) {
  auto fixture = std::make_unique<AuditFixture>();
  for (int g = 0; g < 8; ++g) {
    AuditFixture::Gpu gpu;
    gpu.uuid = "GPU-0000000" + std::to_string(g) + "-1111-2222-3333-444444444444";
    gpu.held = g != 7;
    gpu.percent = [g](int s) -> std::optional<int> {
      if (g == 5 && s >= 300 && s < 420) return std::nullopt;
      if (g == 7) return 0;
      if (g == 6) return s < 200 ? 96 : 2;
      const int phase = (s + 37 * g) % 60;
      if (g < 3) return phase < 3 ? 40 : 93 + (s * 7 + g) % 7;
      return phase < 22 ? 4 : phase < 30 ? 55 : phase < 40 ? 78 : 97;
    };
    fixture->Add(gpu, 900);
  }
  fixture->Settle(rate);
  AuditReport& report = fixture->report;
  Advice& advice = report.advice;
  const UsageCost& whole = report.cost.whole;
  const double share = static_cast<double>(whole.idle_held_ns) / static_cast<double>(whole.observed_ns);
  advice.findings.push_back({"idle_held",
                             "GPUs are held without being used",
                             Status::kConfirmed,
                             share,
                             {"compute_processes >= 1 while nvml.utilization.gpu < 10 % (threshold 10 %)"},
                             {"a checkpoint written in that time"},
                             "record host CPU and disk beside the GPU: pidstat, iostat",
                             whole.idle_held_ns,
                             whole.idle_held_cost,
                             whole.idle_held_ns,
                             whole.idle_held_cost,
                             0,
                             {}});
  advice.findings.push_back({"idle_empty",
                             "GPUs are allocated with nothing on them",
                             Status::kConfirmed,
                             0.125,
                             {"memory.used below 100 MiB, no process"},
                             {},
                             "",
                             whole.idle_empty_ns,
                             whole.idle_empty_cost,
                             whole.idle_empty_ns,
                             whole.idle_empty_cost,
                             0,
                             {}});
  Recommendation stop;
  stop.id = "stop_idle";
  stop.title = "Stop jobs that hold an idle GPU";
  stop.cause = "idle_held";
  stop.saving = SavingRange{0, 0.8 * share, share};
  if (whole.total) stop.saving_cost = Estimate(*whole.total, 0.8 * share).value();
  stop.how = "timeout 4h CMD, or your scheduler's idle limit";
  stop.verify_with = "idleburn compare before.ibr --vs after.ibr";
  stop.basis = "0.8 x bound: idle_held share of observed time";
  advice.recommendations.push_back(stop);
  Recommendation spot;
  spot.id = "spot";
  spot.title = "Run on spot capacity";
  spot.axis = Axis::kRate;
  spot.how = "--price gcp:a3-highgpu-8g:spot@us-central1";
  spot.basis = "needs a catalogue price";
  advice.recommendations.push_back(spot);
  advice.try_first.push_back(MoreWorkers(whole.total));
  advice.declined.push_back({"larger_batch", "memory.used was not recorded"});
  advice.savings.naive_sum = share;
  advice.savings.cap = report.cost.waste_share;
  advice.savings.time_fraction = advice.savings.total_fraction = 0.8 * share;
  advice.savings.high = share;
  if (whole.total) advice.savings.cost = Estimate(*whole.total, 0.8 * share).value();
  fixture->quality.Count(QualityId::kTimezoneAssumed, {&report.inputs.front(), 2});
  fixture->quality.CountNamed(QualityId::kUnknownColumn, "fan.speed", {&report.inputs.front(), 1});
  return fixture;
}

}  // namespace idleburn
