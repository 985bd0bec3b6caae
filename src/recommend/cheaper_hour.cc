#include "recommend/cheaper_hour.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "price/catalogue.h"
#include "text/number.h"

namespace idleburn {
namespace {

// How offers are compared for one lever of the rate. A cut is always a bound; `comes_off` names what reduces it.
struct OfferKind {
  std::string_view lever;
  std::string_view market;     // of its offers, for the same instance and region; empty: that of the present price
  std::string_view comes_off;  // what the price does not include
};
constexpr std::array<OfferKind, 3> kKinds = {{
    {"spot", "spot", "subtract restarts and lost work"},
    {"reserved", "reserved", "subtract paid hours that you do not use"},
    {"right_size_region", "", ""},
}};

// The parts of a price key such as "aws:p5.48xlarge:spot@us-east-1".
struct OfferKey {
  explicit OfferKey(std::string_view key) {
    const std::size_t at = std::min(key.rfind('@'), key.size());
    const std::size_t colon = std::min(key.rfind(':', at), at);
    instance = key.substr(0, colon);
    market = key.substr(std::min(colon + 1, at), at - std::min(colon + 1, at));
    region = key.substr(std::min(at + 1, key.size()));
  }
  std::string_view instance;  // "aws:p5.48xlarge"
  std::string_view market;
  std::string_view region;
};

// The number of GPUs that an instance may have, in millionths: a shared GPU is less than one.
struct HostSize {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

// The sizes that can replace what is paid for at one rate. A node of the run has at most the GPUs of the instance
// that is paid for, whatever its log calls a host. The upper limit is all GPUs at that rate.
HostSize SizeFor(const Scene& scene, std::size_t rate) {
  constexpr std::int64_t kGpu = 1'000'000;
  std::map<std::string_view, std::set<DeviceId>> nodes;
  for (const CostReport::DeviceCost& d : scene.cost.devices) {
    const DeviceId board = scene.devices[d.device].board.value_or(d.device);
    if (d.rate == rate) nodes[scene.devices[board].host].insert(board);
  }
  HostSize size;
  for (const auto& [host, boards] : nodes) {
    size.least = std::max(size.least, static_cast<std::int64_t>(boards.size()) * kGpu);
    size.most += static_cast<std::int64_t>(boards.size()) * kGpu;
  }
  const Rate& paid = scene.cost.rates[rate].rate;
  for (const Rate::Candidate& c : paid.candidates) {
    if (c.key != paid.key) continue;
    size.least = std::min(size.least, c.gpu_micros);
    size.most = std::max(size.most, c.gpu_micros);
  }
  return size;
}

// Whether an offer can replace what is paid for.
bool Fits(const OfferKind& kind, std::string_view paid_key, const Rate::Candidate& offer, const HostSize& size) {
  const OfferKey paid(paid_key);
  const OfferKey key(offer.key);
  if (kind.market.empty()) {
    return key.market == paid.market && offer.gpu_micros >= size.least && offer.gpu_micros <= size.most;
  }
  return key.market == kind.market && EqualsIgnoreCase(key.instance, paid.instance) &&
         EqualsIgnoreCase(key.region, paid.region);
}

// The cheapest offer that fits; null without one. Candidates are sorted by price.
const Rate::Candidate* Cheapest(const OfferKind& kind, const Rate& rate, const HostSize& size) {
  const auto offer = std::find_if(rate.candidates.begin(), rate.candidates.end(),
                                  [&](const Rate::Candidate& c) { return Fits(kind, rate.key, c, size); });
  return offer == rate.candidates.end() ? nullptr : &*offer;
}

// How much lower the offer's price is, as a share of the paid price; at most 0 without a lower offer.
double PriceCut(const Rate& rate, const Rate::Candidate* offer) {
  if (offer == nullptr || !rate.per_gpu_hour || offer->per_gpu_hour >= *rate.per_gpu_hour) return 0;
  return 1 - static_cast<double>(offer->per_gpu_hour.nano()) / static_cast<double>(rate.per_gpu_hour->nano());
}

// The share of the bill that is paid at one rate.
double ShareOfBill(const CostReport::RateUse& use, const CostReport& cost) {
  const std::optional<Money>& total = cost.whole.total;
  if (!use.cost || !total || *total <= Money()) return 0;
  return static_cast<double>(use.cost->nano()) / static_cast<double>(total->nano());
}

// A market in words.
std::string Said(std::string_view market) { return market == "on_demand" ? "on-demand" : std::string(market); }

// An offer with its price and date.
std::string PricedOffer(const Rate::Candidate& offer) {
  return offer.key + " at " + FormatExact(offer.per_gpu_hour) + " a GPU-hour, " + AsOf(offer.as_of);
}

// Why there is no offer. `cheapest` is the best one that fits; null without one.
std::string WhyNone(const OfferKind& kind, const Rate& rate, const Rate::Candidate* cheapest, const HostSize& size) {
  if (!rate.per_gpu_hour) return "price unknown: give --price with a catalogue key to compare offers";
  if (rate.key.empty()) return "no offer to compare with: " + rate.source + " is not a catalogue row";
  if (rate.candidates.empty()) return "no offer is compared: " + rate.key + " is the price of another GPU";
  const OfferKey paid(rate.key);
  if (kind.market.empty()) {
    const std::int64_t gpus = size.least / 1'000'000;
    return "the catalogue has no lower " + Said(paid.market) + " price of this GPU" +
           (gpus > 1 ? ", " + std::to_string(gpus) + " or more in a host" : "");
  }
  if (cheapest != nullptr) return "the catalogue has no lower price: " + PricedOffer(*cheapest);
  return "the catalogue has no " + std::string(kind.market) + " price of " + std::string(paid.instance) + " in " +
         std::string(paid.region);
}

// Whether all offers of this kind are known, so that "none is lower" is proved. The catalogue lists all offers
// in other regions. It may lack spot and reserved prices that do exist.
bool IsCompared(const OfferKind& kind, const Rate& rate, const Rate::Candidate* cheapest) {
  return rate.per_gpu_hour && !rate.key.empty() && !rate.candidates.empty() &&
         (kind.market.empty() || cheapest != nullptr);
}

// Where to rent an offer.
std::string HowToRent(const Rate::Candidate& offer) {
  const OfferKey key(offer.key);
  return "rent " + std::string(key.instance) + (key.market == "on_demand" ? "" : " as " + std::string(key.market)) +
         " in " + std::string(key.region) + " at " + FormatExact(offer.per_gpu_hour) + " a GPU-hour";
}

// The extra time from interruptions at which a price that is lower by `cut` saves nothing: r / (1 - r).
// Example: half the price bears twice the time.
std::string BreakEven(double cut) {
  return ". They also make the run longer: it pays off while they add less than " +
         std::to_string(std::lround(100 * cut / (1 - cut))) + " % to its time";
}

// Appends words after a separator, unless the text contains them already.
void Append(std::string_view separator, const std::string& words, std::string& text) {
  if (text.find(words) == std::string::npos) text += (text.empty() ? "" : std::string(separator)) + words;
}

// Whether the user's discount can apply to the price: it is on demand or names no market.
bool MayBeSpot(const Rate& rate) {
  const std::string_view market = OfferKey(rate.key).market;
  return rate.kind != RateKind::kOwned && rate.kind != RateKind::kContract && market != "spot" && market != "reserved";
}

// The share of the bill; without a total, the share of the rented time.
double ShareOfBillOrTime(const CostReport::RateUse& use, const CostReport& cost) {
  if (cost.whole.total) return ShareOfBill(use, cost);
  return cost.whole.window_ns == 0 ? 0 : static_cast<double>(use.window_ns) / static_cast<double>(cost.whole.window_ns);
}

// A discount stated by the user takes precedence over the catalogue, because spot prices change hourly and by
// account.
CheaperHour StatedSpot(const CostReport& cost) {
  CheaperHour found;
  const double discount = *cost.spot_discount;
  for (const CostReport::RateUse& use : cost.rates) {
    if (MayBeSpot(use.rate)) found.cut += discount * ShareOfBillOrTime(use, cost);
  }
  if (found.cut <= 0) {
    found.basis = "--spot-discount applies to on-demand prices, and these are committed or spot prices";
    found.refuted = true;
    return found;
  }
  found.basis = fmt::format("bounded by --spot-discount {:g}, your figure; subtract restarts and lost work{}", discount,
                            BreakEven(discount));
  return found;
}

}  // namespace

// Goes over the rates of the run. Owned hardware has no hourly price and is left out.
CheaperHour FindCheaperHour(std::string_view lever, const Scene& scene) {
  const auto* kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const OfferKind& k) { return k.lever == lever; });
  CHECK(kind != kKinds.end());
  if (lever == "spot" && scene.cost.spot_discount) return StatedSpot(scene.cost);
  CheaperHour found;
  double least_cut = 1;
  bool all_compared = true;
  std::string offers;
  std::string why_none;
  for (std::size_t i = 0; i < scene.cost.rates.size(); ++i) {
    const CostReport::RateUse& use = scene.cost.rates[i];
    if (use.rate.kind == RateKind::kOwned) continue;
    const HostSize size = SizeFor(scene, i);
    const Rate::Candidate* cheapest = Cheapest(*kind, use.rate, size);
    const double cut = PriceCut(use.rate, cheapest);
    all_compared = all_compared && IsCompared(*kind, use.rate, cheapest);
    if (cut <= 0) {
      Append("; ", WhyNone(*kind, use.rate, cheapest, size), why_none);
      continue;
    }
    found.cut += cut * ShareOfBill(use, scene.cost);
    least_cut = std::min(least_cut, cut);
    Append(", ", PricedOffer(*cheapest), offers);
    if (kind->market.empty()) Append(", ", HowToRent(*cheapest), found.how);
  }
  if (offers.empty()) {
    found.basis = why_none.empty() ? WhyNone(*kind, scene.cost.rate, nullptr, {}) : why_none;
    found.refuted = all_compared && !why_none.empty();
    return found;
  }
  if (!found.how.empty()) found.how += "; add the cost of data transfer";
  found.basis = "bounded by the catalogue: " + offers;
  if (!kind->comes_off.empty()) found.basis += "; " + std::string(kind->comes_off);
  if (lever == "spot") found.basis += BreakEven(least_cut);
  return found;
}

}  // namespace idleburn
