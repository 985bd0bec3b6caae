#include "price/rate_card.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace idleburn {
namespace {

constexpr std::array<std::string_view, 5> kKindNames = {"none", "given", "contract", "owned", "catalogue"};

void AddCandidates(const Rate& from, Rate* to) {
  for (const Rate::Candidate& c : from.candidates) {
    if (std::find(to->candidates.begin(), to->candidates.end(), c) == to->candidates.end()) to->candidates.push_back(c);
  }
  if (from.low) to->low = std::min(to->low.value_or(*from.low), *from.low);
  if (from.high) to->high = std::max(to->high.value_or(*from.high), *from.high);
}

}  // namespace

std::string_view Name(RateKind k) { return kKindNames[static_cast<std::size_t>(k)]; }

void RateCard::Give(DeviceId device, const Rate& rate) {
  if (device >= of_.size()) of_.resize(device + 1, 0);
  const auto known = std::find(rates_.begin(), rates_.end(), rate);
  of_[device] = static_cast<std::size_t>(known - rates_.begin());
  if (known == rates_.end()) rates_.push_back(rate);
}

std::vector<Rate> RateCard::Used(std::span<const DeviceId> devices) const {
  std::vector<bool> used(rates_.size(), false);
  for (const DeviceId device : devices) used[IndexOf(device)] = true;
  std::vector<Rate> rates;
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    if (used[i] || (devices.empty() && i == 0)) rates.push_back(rates_[i]);
  }
  return rates;
}

Rate OneRate(std::span<const Rate> rates) {
  if (rates.size() == 1) return rates.front();
  Rate one;
  one.reason = "no_price";
  bool priced = false;
  for (const Rate& rate : rates) {
    one.stale = one.stale || rate.stale;
    if (rate.per_gpu_hour) {
      if (!priced) one.kind = rate.kind;
      if (one.kind != rate.kind) one.kind = RateKind::kNone;
      one.currency = rate.currency;
      one.source += (one.source.empty() ? "" : "; ") + rate.source;
      priced = true;
    } else {
      AddCandidates(rate, &one);
      if (rate.reason != "no_price") one.reason = rate.reason;
    }
  }
  std::stable_sort(one.candidates.begin(), one.candidates.end(),
                   [](const Rate::Candidate& a, const Rate::Candidate& b) { return a.per_gpu_hour < b.per_gpu_hour; });
  if (priced) one.reason = "several_rates";
  return one;
}

}  // namespace idleburn
