#include "diagnose/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "telemetry/device.h"

namespace idleburn {
namespace {

constexpr std::size_t kNamed = 4;  // GPUs named in a sentence

}  // namespace

double Scene::Share(std::int64_t gpu_ns) const {
  return cost.whole.observed_ns == 0 ? 0 : static_cast<double>(gpu_ns) / static_cast<double>(cost.whole.observed_ns);
}

std::int64_t Scene::Weighted(std::int64_t ns, DeviceId id) const {
  const CostReport::DeviceCost* capacity = cost.Of(id);
  return capacity == nullptr ? 0 : std::llround(static_cast<double>(ns) * capacity->weight);
}

std::string Scene::Counter(const DeviceResult& d, Signal s) const {
  const std::string& name = devices[d.device].counter[Index(s)];
  return name.empty() ? std::string(Info(s).name) : name;
}

std::string Scene::BusyCounter() const {
  Example first(cost);
  for (const DeviceResult& d : run.devices) {
    if (d.counter) first.Offer(d);
  }
  return first.best() == nullptr ? "a busy counter" : Counter(*first.best(), *first.best()->counter);
}

std::string Scene::NameOf(DeviceId id) const {
  const Device& d = devices[id];
  std::string name = !d.host.empty() && OfSeveralHosts(devices) ? d.host + " GPU " : "GPU ";
  name += d.index ? std::to_string(*d.index) : d.uuid.empty() ? std::to_string(id) : d.uuid.substr(0, 12);
  return d.mig ? name + " instance " + d.mig->id : name;
}

std::string Scene::ListOf(std::vector<DeviceId> gpus) const {
  const std::size_t named = std::min(gpus.size(), kNamed);
  std::partial_sort(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(named), gpus.end(),
                    [&](DeviceId a, DeviceId b) { return cost.StandsBefore(a, b); });
  std::string text;
  for (std::size_t i = 0; i < named; ++i) text += (i > 0 ? ", " : "") + NameOf(gpus[i]);
  return named < gpus.size() ? text + fmt::format(" and {} more", gpus.size() - named) : text;
}

void Example::Offer(const DeviceResult& d, double has) {
  const bool better = best_ == nullptr || has > has_ || (has == has_ && cost_.StandsBefore(d.device, best_->device));
  if (!better) return;
  best_ = &d;
  has_ = has;
}

std::string InPercent(std::int64_t micro_percent) {
  return fmt::format("{:g}", static_cast<double>(micro_percent) / static_cast<double>(kPercent));
}

std::int64_t BusyPhasesNs(const DeviceTotals& totals) {
  return std::accumulate(totals.phase_ns.begin() + 1, totals.phase_ns.end(), std::int64_t{0});
}

bool LacksPowerLimits(const RunResult& run) {
  constexpr std::size_t kPowerCapBit = 2;
  static_assert(kPowerCapMask == std::int64_t{1} << kPowerCapBit);
  return std::any_of(run.devices.begin(), run.devices.end(), [](const DeviceResult& d) {
    return d.totals.reason_ns[kPowerCapBit] > 0 && !(d.power_limit_mw && d.default_limit_mw);
  });
}

}  // namespace idleburn
