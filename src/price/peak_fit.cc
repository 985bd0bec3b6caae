#include "price/peak_fit.h"

#include <algorithm>

#include "base/int128.h"
#include "price/resolve.h"
#include "telemetry/gpu_facts.h"

// Finds a cheaper GPU whose memory would have held the run. It compares memory and price only: nothing measured says
// how fast another model would be, so the result is a question to the user and not a saving. Only on-demand rows of
// whole GPUs count, since spot and fractions change more than the model.

namespace idleburn {
namespace {

// Whether the data sheet's memory holds the peak and the headroom.
bool Holds(const GpuFacts& facts, std::int64_t peak_bytes) {
  constexpr std::int64_t kGigabyte = 1'000'000'000;
  return facts.memory_gb && static_cast<Int128>(*facts.memory_gb) * kGigabyte * 100 >=
                                static_cast<Int128>(peak_bytes) * (100 + kMemoryHeadroomPercent);
}

// The cheapest whole GPU of that model, on demand. Rows come cheapest first.
std::optional<CheaperGpu> CheapestOffer(const Catalogue& catalogue, const GpuFacts& facts) {
  constexpr std::int64_t kWholeGpu = 1'000'000;
  for (const CatalogueRow* row : RowsOfGpu(catalogue, facts.gpu)) {
    if (row->market != Market::kOnDemand || row->gpu_micros < kWholeGpu) continue;
    const Result<Money> price = PerGpuHour(*row);
    if (price) return CheaperGpu{facts.gpu, *facts.memory_gb, *price, KeyOf(*row), row->as_of};
  }
  return std::nullopt;
}

}  // namespace

std::vector<CheaperGpu> CheaperFits(const std::string& gpu_name, std::int64_t peak_bytes, Money below,
                                    const Catalogue& catalogue) {
  const std::optional<GpuFacts> own = FactsFor(gpu_name);
  std::vector<CheaperGpu> fits;
  for (const GpuFacts& facts : AllGpuFacts()) {
    const bool other = (!own || facts.gpu != own->gpu) && CanReplace(gpu_name, facts);
    if (!other || !Holds(facts, peak_bytes)) continue;
    const std::optional<CheaperGpu> offer = CheapestOffer(catalogue, facts);
    if (offer && offer->per_gpu_hour < below) fits.push_back(*offer);
  }
  std::stable_sort(fits.begin(), fits.end(),
                   [](const CheaperGpu& a, const CheaperGpu& b) { return a.per_gpu_hour < b.per_gpu_hour; });
  return fits;
}

std::vector<PeakFit> PeakFits(const RunResult& run, const DeviceTable& devices, const RateCard& rates,
                              const Catalogue& catalogue) {
  struct Group {
    PeakFit fit;
    std::optional<Money> cost;  // the least
  };
  std::vector<Group> groups;
  for (const DeviceResult& d : run.devices) {
    const Device& device = devices[d.device];
    const std::optional<std::int64_t> peak = d.totals.Peak(Signal::kMemoryUsed);
    if (!peak || device.mig || device.has_instances || device.name.empty()) continue;
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.fit.gpu_name == device.name; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{{device.name, 0, {}, 0, {}}, {}});
    group->fit.peak_bytes = std::max(group->fit.peak_bytes, *peak);
    const Rate& rate = rates.Of(d.device);
    const std::optional<Money> cost = rate.per_gpu_hour ? rate.per_gpu_hour : rate.low;
    if (cost && rate.currency != "USD") group->fit.reason = "other_currency";
    if (cost) group->cost = std::min(group->cost.value_or(*cost), *cost);
  }
  std::vector<PeakFit> fits;
  for (Group& group : groups) {
    if (!group.cost) group.fit.reason = "no_price";
    if (group.fit.reason.empty()) {
      const std::vector<CheaperGpu> all = CheaperFits(group.fit.gpu_name, group.fit.peak_bytes, *group.cost, catalogue);
      if (all.empty()) {
        group.fit.reason = "none_fits";
      } else {
        group.fit.cheapest = all.front();
        group.fit.others = all.size() - 1;
      }
    }
    fits.push_back(std::move(group.fit));
  }
  return fits;
}

}  // namespace idleburn
