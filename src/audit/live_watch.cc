#include "audit/live_watch.h"

#include <algorithm>
#include <utility>

#include "audit/link_speeds.h"
#include "audit/tell_alert.h"
#include "base/billing.h"
#include "price/cost_report.h"
#include "price/find_rate.h"
#include "telemetry/reading_text.h"
#include "telemetry/run_facts.h"

namespace idleburn {

std::vector<WatchAlert> LiveWatch::OnSamples(std::span<const Sample> samples, const RunInputs& inputs) {
  watch_.OnSamples(samples);
  std::int64_t second = second_;
  for (const Sample& s : samples) second = std::max(second, s.time.nanos() / kNanosPerSecond);
  if (second == second_) return {};
  second_ = second;

  const DeviceTable& devices = inputs.devices;
  const std::vector<DeviceId> hidden =
      all_gpus_ ? std::vector<DeviceId>() : HiddenGpus::From(inputs.summary.facts(), devices).devices;
  FindRates(inputs);
  std::vector<WatchedGpu> gpus;
  const std::vector<LinkSpeed> links = watch_.limits().watches_load() ? LinksOf(devices, inputs.summary.facts())
                                                                      : std::vector<LinkSpeed>(devices.size());
  for (DeviceId id = 0; id < devices.size(); ++id) {
    const bool counts = std::find(hidden.begin(), hidden.end(), id) == hidden.end() && !devices[id].has_instances;
    if (counts)
      gpus.push_back({id, ShortName(devices[id]), card_.Of(id).per_gpu_hour, links[id].pcie, links[id].nvlink});
  }
  std::vector<WatchAlert> fresh = watch_.Look(gpus, SpendSoFar(hidden, inputs));
  if (gpus.empty() && !told_of_none_) {
    fresh.push_back(NothingIsWatched("the command can see none of this machine"));
    told_of_none_ = true;
  }
  for (const WatchedGpu& gpu : gpus) {
    if (!watch_.limits().budget || gpu.per_hour || told_of_unpriced_) continue;
    fresh.push_back({WatchAct::kWarn, gpu.name + " has no price: the budget does not count what it costs"});
    told_of_unpriced_ = true;
  }
  const std::lock_guard lock(mutex_);
  alerts_.insert(alerts_.end(), fresh.begin(), fresh.end());
  return fresh;
}

void LiveWatch::FindRates(const RunInputs& inputs) {
  if (carded_ == inputs.devices.size()) return;
  carded_ = inputs.devices.size();
  const Instant now = Instant::FromNanos(second_ * kNanosPerSecond);
  Result<RateCard> card = RatesOf(rates_, inputs.devices, AllOf(inputs.devices), RunSpan{now, now});
  if (card) card_ = *std::move(card);  // if not, the audit says why
}

Spend LiveWatch::SpendSoFar(const std::vector<DeviceId>& hidden, const RunInputs& inputs) const {
  Spend spend;
  if (!watch_.limits().budget && !watch_.limits().gpu_time) return spend;
  RunResult run = inputs.classifier.SoFar();
  run.LeaveOut(hidden);
  const Result<CostReport> cost = PriceRun(run, inputs.devices, {}, card_, {}, {}, kUsualMonthHours);
  if (!cost) return spend;  // the audit says why
  spend.gpu_time = Nanos(cost->whole.window_ns);
  spend.cost = cost->whole.total;
  spend.per_hour = cost->hourly;
  spend.gpus = cost->gpus - cost->others;
  return spend;
}

std::vector<WatchAlert> LiveWatch::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(alerts_, {});
}

}  // namespace idleburn
