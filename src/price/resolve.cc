#include "price/resolve.h"

#include <algorithm>
#include <optional>

#include "base/billing.h"
#include "price/owned_rate.h"
#include "telemetry/gpu_facts.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

struct Offer {
  const CatalogueRow* row;
  Money per_gpu_hour;
};

Result<std::vector<Offer>> OffersOf(const std::vector<const CatalogueRow*>& rows) {
  std::vector<Offer> offers;
  for (const CatalogueRow* row : rows) {
    const Result<Money> price = PerGpuHour(*row);
    if (!price) return Fail(KeyOf(*row) + ": " + price.error().message);
    offers.push_back({row, *price});
  }
  // Rows come in order of key, which decides between equal prices.
  std::stable_sort(offers.begin(), offers.end(),
                   [](const Offer& a, const Offer& b) { return a.per_gpu_hour < b.per_gpu_hour; });
  return offers;
}

// A rate from offers that agree on one price. The oldest of them decides how old the price is.
Rate FromOffers(const std::vector<Offer>& offers, Instant now) {
  const auto older = [](const Offer& a, const Offer& b) { return a.row->as_of < b.row->as_of; };
  const CatalogueRow& row = *std::min_element(offers.begin(), offers.end(), older)->row;
  Rate rate;
  rate.kind = RateKind::kCatalogue;
  rate.key = KeyOf(row);
  rate.per_gpu_hour = offers.front().per_gpu_hour;
  rate.as_of = row.as_of;
  rate.stale = IsStale(row.as_of, now);
  rate.source = "catalogue: " + KeyOf(row) + ", " + AsOf(row.as_of);
  return rate;
}

Rate::Candidate CandidateOf(const CatalogueRow& row, Money per_gpu_hour) {
  return {KeyOf(row), per_gpu_hour, row.gpu_micros, row.as_of};
}

// Its range is as old as the oldest of the offers.
Rate Ambiguous(const std::vector<Offer>& offers, Instant now) {
  Rate rate;
  rate.stale = std::any_of(offers.begin(), offers.end(), [&](const Offer& o) { return IsStale(o.row->as_of, now); });
  rate.reason = "ambiguous_price";
  for (const Offer& offer : offers) rate.candidates.push_back(CandidateOf(*offer.row, offer.per_gpu_hour));
  rate.low = offers.front().per_gpu_hour;
  rate.high = offers.back().per_gpu_hour;
  return rate;
}

Rate NoPrice() {
  Rate rate;
  rate.reason = "no_price";
  return rate;
}

// "provider:instance[:market]@region" with its market; nothing if it has not that shape.
std::optional<std::string> FullKey(std::string_view key) {
  const std::size_t at = key.rfind('@');
  const std::size_t first = key.find(':');
  if (at == std::string_view::npos || first == std::string_view::npos || first > at) return std::nullopt;
  if (key.substr(0, at).rfind(':') != first) return std::string(key);
  return std::string(key.substr(0, at)) + ":" + std::string(Name(Market::kOnDemand)) + std::string(key.substr(at));
}

Result<Rate> FromKey(const Catalogue& catalogue, std::string_view text, Instant now) {
  const std::optional<std::string> key = FullKey(text);
  const CatalogueRow* row = key ? catalogue.Find(*key) : nullptr;
  if (row == nullptr) {
    const std::string nearest = catalogue.Nearest(key ? *key : std::string(text));
    const std::string shape = key ? "is not in the price catalogue" : "is no key provider:instance[:market]@region";
    return FailUsage("--price: '" + std::string(text) + "' " + shape +
                     (nearest.empty() ? std::string() : "; did you mean " + nearest + "?"));
  }
  const std::vector<Offer> offers = TRY(OffersOf({row}));
  return FromOffers(offers, now);
}

Result<Rate> FromNumber(std::string_view text, std::string_view given) {
  const Result<Money> price = Money::Parse(text);
  if (text.find_first_not_of("-.0123456789") != std::string_view::npos) {
    return FailUsage("--price: '" + std::string(text.substr(0, 60)) +
                     "' is not a decimal number; write it like 2.49, without a currency sign, or a key like "
                     "aws:p5.48xlarge@us-east-1");
  }
  if (!price) {
    return FailUsage("--price: " + price.error().message +
                     "; give USD per GPU-hour, like 2.49, or a key like aws:p5.48xlarge@us-east-1");
  }
  if (*price < Money())
    return FailUsage("--price: '" + std::string(text) + "' is negative; give USD per GPU-hour, like 2.49");
  Rate rate;
  rate.kind = RateKind::kGiven;
  rate.per_gpu_hour = *price;
  rate.source = "--price " + std::string(given);
  return rate;
}

// "V100", of which there are V100-16GB-SXM, V100-32GB-PCIe and others: which of them is not said.
bool IsSeveralProducts(std::string_view gpu_name) {
  const std::string family = NormalGpuName(gpu_name) + " ";
  const auto belongs = [&](const GpuFacts& facts) { return StartsWithIgnoreCase(NormalGpuName(facts.gpu), family); };
  return !FactsFor(gpu_name) && std::any_of(AllGpuFacts().begin(), AllGpuFacts().end(), belongs);
}

// Rows that name their GPU so, cheapest per GPU-hour first.
std::vector<const CatalogueRow*> RowsNaming(const Catalogue& catalogue, std::string_view gpu_name) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  const std::string wanted = NormalGpuName(facts ? facts->gpu : gpu_name);
  std::vector<const CatalogueRow*> rows = catalogue.Rows();
  const auto other = [&](const CatalogueRow* row) { return NormalGpuName(row->gpu) != wanted; };
  rows.erase(std::remove_if(rows.begin(), rows.end(), other), rows.end());
  std::stable_sort(rows.begin(), rows.end(), [](const CatalogueRow* a, const CatalogueRow* b) {
    return static_cast<Int128>(a->per_hour.nano()) * b->gpu_micros <
           static_cast<Int128>(b->per_hour.nano()) * a->gpu_micros;
  });
  return rows;
}

// The other offers of a catalogue price's GPU, so that cheaper ones can be named. Where the row does not say which
// product it sells, only its own instance has the same.
void AddOtherOffers(const Catalogue& catalogue, Rate& rate) {
  const CatalogueRow* row = rate.kind == RateKind::kCatalogue ? catalogue.Find(rate.key) : nullptr;
  if (row == nullptr) return;
  const bool any = !IsSeveralProducts(row->gpu);
  for (const CatalogueRow* other : RowsNaming(catalogue, row->gpu)) {
    if (!any && (other->provider != row->provider || other->instance != row->instance)) continue;
    if (const Result<Money> per_gpu = PerGpuHour(*other)) rate.candidates.push_back(CandidateOf(*other, *per_gpu));
  }
}

}  // namespace

Result<Rate> RateOfPrice(const Catalogue& catalogue, const StatedPrice& price, Instant now) {
  const bool is_key = price.price.find_first_of(":@") != std::string::npos;
  Result<Rate> rate = is_key ? FromKey(catalogue, price.price, now) : FromNumber(price.price, price.text);
  if (rate) AddOtherOffers(catalogue, *rate);
  return rate;
}

Result<Rate> RateOfOwned(std::string_view text) {
  const OwnedRate owned = TRY(ParseOwned(text));
  Rate rate;
  rate.kind = RateKind::kOwned;
  rate.per_gpu_hour = owned.per_available;
  rate.source = "--owned: " + FormatExact(owned.per_available) + " per available GPU-hour";
  if (owned.per_used) rate.source += ", " + FormatExact(*owned.per_used) + " per used GPU-hour";
  for (std::size_t i = 0; i < owned.not_given.size(); ++i) {
    rate.source += (i == 0 ? "; not given: " : ", ") + std::string(owned.not_given[i]);
  }
  return rate;
}

namespace {

// Not where both are known products, and others: in one run there may be GPUs of several machines.
bool CanHave(const CatalogueRow& row, const std::vector<std::string>& gpu_names) {
  return gpu_names.empty() || std::any_of(gpu_names.begin(), gpu_names.end(),
                                          [&](const std::string& name) { return !IsOtherProduct(row, name); });
}

std::vector<const CatalogueRow*> RowsOfInstance(const Catalogue& catalogue, const PriceRequest& request) {
  std::vector<const CatalogueRow*> rows = catalogue.Rows();
  const auto other = [&](const CatalogueRow* row) {
    return !EqualsIgnoreCase(row->provider + ":" + row->instance, request.instance) ||
           !CanHave(*row, request.gpu_names);
  };
  rows.erase(std::remove_if(rows.begin(), rows.end(), other), rows.end());
  return rows;
}

std::vector<const CatalogueRow*> RowsInPlace(std::vector<const CatalogueRow*> rows, const PriceRequest& request) {
  const auto other = [&](const CatalogueRow* row) {
    return (!request.region.empty() && !EqualsIgnoreCase(row->region, request.region)) ||
           (!request.market.empty() && Name(row->market) != request.market);
  };
  rows.erase(std::remove_if(rows.begin(), rows.end(), other), rows.end());
  return rows;
}

Result<Rate> FromCatalogue(const Catalogue& catalogue, const PriceRequest& request) {
  std::vector<const CatalogueRow*> rows = RowsOfInstance(catalogue, request);
  const std::vector<const CatalogueRow*> here = RowsInPlace(rows, request);
  const bool elsewhere = !rows.empty() && here.empty();
  if (!elsewhere) rows = here;
  if (rows.empty()) {
    for (const std::string& name : request.gpu_names) {
      const std::vector<const CatalogueRow*> matching = RowsOfGpu(catalogue, name);
      if (matching.empty()) return NoPrice();
      for (const CatalogueRow* row : matching) {
        if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
      }
    }
  }
  if (rows.empty()) return NoPrice();
  const std::vector<Offer> offers = TRY(OffersOf(rows));
  const bool one_price = !elsewhere && offers.front().per_gpu_hour == offers.back().per_gpu_hour;
  return one_price ? FromOffers(offers, request.now) : Ambiguous(offers, request.now);
}

}  // namespace

bool IsOtherProduct(const CatalogueRow& row, std::string_view gpu_name) {
  const std::optional<GpuFacts> sold = FactsFor(row.gpu);
  const std::optional<GpuFacts> had = FactsFor(gpu_name);
  return sold && had && sold->gpu != had->gpu;
}

std::vector<const CatalogueRow*> RowsOfGpu(const Catalogue& catalogue, std::string_view gpu_name) {
  if (IsSeveralProducts(gpu_name)) return {};
  return RowsNaming(catalogue, gpu_name);
}

Result<Rate> RateOfListed(const Catalogue& catalogue, const PriceRequest& request) {
  Result<Rate> rate = FromCatalogue(catalogue, request);
  if (rate) AddOtherOffers(catalogue, *rate);
  return rate;
}

}  // namespace idleburn
