#include "diagnose/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace idleburn {
namespace {

constexpr std::size_t kNamed = 4;  // GPUs named in a sentence

}  // namespace

double Scene::Share(std::int64_t gpu_ns) const {
  return cost.whole.observed_ns == 0 ? 0 : static_cast<double>(gpu_ns) / static_cast<double>(cost.whole.observed_ns);
}

std::int64_t Scene::Weighted(std::int64_t ns, DeviceId id) const {
  const double weight = id < cost.weights.size() ? cost.weights[id] : 0;
  return static_cast<std::int64_t>(std::llround(static_cast<double>(ns) * weight));
}

std::string Scene::Counter(const DeviceResult& d, Signal s) const {
  const std::string& name = devices[d.device].counter[Index(s)];
  return name.empty() ? std::string(Info(s).name) : name;
}

std::string Scene::BusyCounter() const {
  for (const DeviceResult& d : run.devices) {
    if (d.counter) return Counter(d, *d.counter);
  }
  return "a busy counter";
}

std::string Scene::NameOf(DeviceId id) const {
  const Device& d = devices[id];
  std::string name = "GPU " + (d.index          ? std::to_string(*d.index)
                               : d.uuid.empty() ? std::to_string(id)
                                                : d.uuid.substr(0, 12));
  return d.mig ? name + " instance " + d.mig->id : name;
}

std::string InPercent(std::int64_t micro_percent) {
  return fmt::format("{:g}", static_cast<double>(micro_percent) / static_cast<double>(kPercent));
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
}

std::int64_t BusyPhasesNs(const DeviceTotals& totals) {
  return std::accumulate(totals.phase_ns.begin() + 1, totals.phase_ns.end(), std::int64_t{0});
}

}  // namespace idleburn
