#include "price/resolve.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/fraction.h"
#include "base/money.h"
#include "telemetry/gpu_facts.h"
#include "text/command_line.h"
#include "text/number.h"
#include "text/strings.h"

// Turns one source into a rate: the figures of --owned, a stated number or key, or the rows of the catalogue.
//
// The catalogue settles a price only if all its matching rows agree. The rejected alternatives are the cheapest row and
// the on-demand row: both are wrong for many users, and the report would show them as a fact. Instead the candidates
// and their range are returned, and any key settles the price.
//
// Amounts of --owned are exact fractions until the end. Rounding each summand would make the printed formula miss the
// printed rate.

namespace idleburn {

namespace {

// Ends error messages about missing figures.
constexpr std::string_view kExample = "write it like capex=250000,life=4,gpus=8";

// The figures of --owned, in the order of kFields.
enum Field : std::uint8_t {
  kCapex,
  kResidual,
  kLife,
  kGpus,
  kKilowatts,
  kPue,
  kTariff,
  kHosting,
  kStaff,
  kUtilisation,
};

// A figure of --owned.
struct FieldInfo {
  std::string_view name;
  bool required;
};
constexpr std::array<FieldInfo, 10> kFields = {{
    {"capex", true},
    {"residual", false},
    {"life", true},
    {"gpus", true},
    {"kw", false},
    {"pue", false},
    {"tariff", false},
    {"hosting", false},
    {"staff", false},
    {"utilisation", false},
}};
// The figures as given: decimals in billionths. Money is used because its parser is exact.
using Figures = std::array<std::optional<Money>, kFields.size()>;

// Splits the text and parses each figure. Numbers with "k", a unit or a currency sign are errors: guessing "250k"
// wrong would change every figure of the report.
Result<Figures> ParseFigures(std::string_view text) {
  Figures figures;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = Trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = item.find('=');
    const std::string_view spelled = Trim(item.substr(0, equals));
    const std::string_view name = spelled == "utilization" ? kFields[kUtilisation].name : spelled;
    const auto field = std::find_if(kFields.begin(), kFields.end(), [&](const FieldInfo& f) { return f.name == name; });
    if (equals == std::string_view::npos || field == kFields.end()) {
      return FailUsage("--owned: '" + std::string(item) +
                       "' is not one of capex, residual, life, gpus, kw, pue, tariff, hosting, staff, utilisation; " +
                       std::string(kExample));
    }
    std::optional<Money>& figure = figures[static_cast<std::size_t>(field - kFields.begin())];
    if (figure) return FailUsage("--owned: " + std::string(name) + " is given twice; give it once");
    const std::string_view given = Trim(item.substr(equals + 1));
    if (given.find_first_not_of("-.0123456789") != std::string_view::npos) {
      return FailUsage("--owned: '" + std::string(item) +
                       "' is not a decimal number; write it in full, without k, a unit or "
                       "a currency sign, like capex=250000");
    }
    const Result<Money> value = Money::Parse(given);
    if (!value) return FailUsage("--owned: " + std::string(name) + ": " + value.error().message);
    if (*value < Money()) return FailUsage("--owned: " + std::string(name) + " is negative; give a positive number");
    figure = *value;
  }
  return figures;
}

// Rejects figures that have no meaning, such as a PUE below 1.
Result<void> CheckFigures(const Figures& figures) {
  constexpr Money kOne = Money::Nano(1'000'000'000);
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (kFields[i].required && !figures[i]) {
      return FailUsage("--owned: " + std::string(kFields[i].name) + " is missing; " + std::string(kExample));
    }
  }
  if (*figures[kLife] == Money()) return FailUsage("--owned: life is 0; give the years of use, like life=4");
  if (*figures[kGpus] == Money() || figures[kGpus]->nano() % kOne.nano() != 0) {
    return FailUsage("--owned: gpus must be a whole number above 0, like gpus=8");
  }
  if (figures[kResidual] && *figures[kResidual] > *figures[kCapex]) {
    return FailUsage("--owned: residual is above capex; give the value of the hardware at the end of its life");
  }
  if (figures[kPue] && *figures[kPue] < kOne) {
    return FailUsage("--owned: pue is below 1; give power of the site / power of the machines, like pue=1.3");
  }
  if (figures[kUtilisation] && (*figures[kUtilisation] == Money() || *figures[kUtilisation] > kOne)) {
    return FailUsage("--owned: utilisation must be above 0 and at most 1, like utilisation=0.6");
  }
  return {};
}

// A figure as an exact number. A missing factor counts as 1 and a missing summand as 0.
Fraction Value(const Figures& figures, Field field, std::int64_t absent = 0) {
  return figures[field] ? Fraction::Of(figures[field]->nano(), 1'000'000'000) : Fraction::Of(absent, 1);
}

// The one rounding of an owned rate. It fails if the rate is more than Money can hold.
Result<Money> Round(const Fraction& rate) {
  if (const std::optional<Money> rounded = rate.AsMoney()) return *rounded;
  return FailUsage("--owned: these figures give no usable rate; check them");
}

}  // namespace

Result<OwnedRate> ParseOwned(std::string_view text) {
  const Figures parsed = TRY(ParseFigures(text));
  const Figures& figures = parsed;
  TRY(CheckFigures(figures));

  // The formula of docs/contracts.md, "Hardware of your own". Depreciation is a straight line over the life. Power,
  // hosting and staff are costs per hour of the whole machine.
  const Fraction lost_value =
      Fraction::Of(figures[kCapex]->nano() - figures[kResidual].value_or(Money()).nano(), 1'000'000'000);
  const Fraction depreciation = lost_value / (Value(figures, kLife) * Fraction::Of(kHoursPerYear, 1));
  const Fraction power = Value(figures, kKilowatts) * Value(figures, kPue, 1) * Value(figures, kTariff);
  const Fraction operation = power + Value(figures, kHosting) + Value(figures, kStaff);
  const Fraction rate = (depreciation + operation) / Value(figures, kGpus);

  OwnedRate owned;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (!figures[i] && i != kUtilisation) owned.not_given.push_back(kFields[i].name);
  }
  owned.per_available = TRY(Round(rate));
  if (figures[kUtilisation]) {
    owned.per_used = TRY(Round(rate / Value(figures, kUtilisation)));
  }
  return owned;
}

namespace {

// A row with its price per GPU-hour.
struct Offer {
  const CatalogueRow* row;
  Money per_gpu_hour;
};

// Prices rows per GPU-hour, cheapest first. Fails on a price that Money cannot hold per GPU.
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

// The rate of offers that agree on a price. It is as old as the oldest of them, because the newest date would hide that
// some rows were not checked since.
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

// A range, as old as its oldest offer.
Rate Ambiguous(const std::vector<Offer>& offers, Instant now) {
  Rate rate;
  rate.stale = std::any_of(offers.begin(), offers.end(), [&](const Offer& o) { return IsStale(o.row->as_of, now); });
  rate.reason = "ambiguous_price";
  for (const Offer& offer : offers) rate.candidates.push_back(CandidateOf(*offer.row, offer.per_gpu_hour));
  rate.low = offers.front().per_gpu_hour;
  rate.high = offers.back().per_gpu_hour;
  return rate;
}

// GPU-hours are then reported without dollars.
Rate NoPrice() {
  Rate rate;
  rate.reason = "no_price";
  return rate;
}

// "provider:instance[:market]@region" with its market, on_demand by default. Absent if the text has another shape.
std::optional<std::string> FullKey(std::string_view key) {
  const std::size_t at = key.rfind('@');
  const std::size_t first = key.find(':');
  if (at == std::string_view::npos || first == std::string_view::npos || first > at) return std::nullopt;
  if (key.substr(0, at).rfind(':') != first) return std::string(key);
  return std::string(key.substr(0, at)) + ":" + std::string(Name(Market::kOnDemand)) + std::string(key.substr(at));
}

// The rate of a catalogue key. An unknown key is an error that names the nearest one. Nothing is put in its place: the
// user meant one certain offer.
Result<Rate> FromKey(const Catalogue& catalogue, std::string_view text, Instant now) {
  const std::optional<std::string> key = FullKey(text);
  const CatalogueRow* row = key ? catalogue.Find(*key) : nullptr;
  if (row == nullptr) {
    const std::string nearest = catalogue.Nearest(key ? *key : std::string(text));
    const std::string shape =
        key ? "is not in the price catalogue" : "is not a key like provider:instance[:market]@region";
    return FailUsage("--price: '" + std::string(text) + "' " + shape +
                     (nearest.empty() ? std::string() : "; did you mean " + nearest + "?"));
  }
  const std::vector<Offer> offers = TRY(OffersOf({row}));
  return FromOffers(offers, now);
}

}  // namespace

std::string MeantGpu(std::string_view text, const Catalogue& catalogue) {
  // By spelling without blanks, dashes and case, as MeantBy counts those as mistakes.
  std::vector<std::string> plain;
  std::vector<std::string> gpus;
  for (const CatalogueRow* row : catalogue.Rows()) {
    // The family too: people write "H100", not "H100-80GB-SXM".
    const std::size_t memory = row->gpu.find("GB");
    const std::string family = memory == std::string::npos ? "" : row->gpu.substr(0, row->gpu.rfind('-', memory));
    for (const std::string& name : {row->gpu, family}) {
      if (name.empty() || std::find(gpus.begin(), gpus.end(), name) != gpus.end()) continue;
      gpus.push_back(name);
      plain.push_back(Squash(name));
    }
  }
  std::string typed = Squash(NormalGpuName(text));
  if (typed.starts_with("geforce")) typed.erase(0, std::string_view("geforce").size());
  const auto meant = std::find(plain.begin(), plain.end(), MeantBy(typed, plain));
  return meant == plain.end() ? std::string() : gpus[static_cast<std::size_t>(meant - plain.begin())];
}

namespace {

// A text that is no price. A mistyped GPU gets the name that was meant.
Error NotAPrice(std::string_view text, const Catalogue& catalogue) {
  const std::string meant = MeantGpu(text, catalogue);
  return {"--price: '" + std::string(text.substr(0, 60)) +
              "' is not a decimal number; write it like 2.49, without a currency sign, or a key like "
              "aws:p5.48xlarge@us-east-1" +
              (meant.empty() ? "" : "; did you mean the GPU " + meant + "?"),
          Error::Kind::kUsage};
}

// A plain decimal number, not negative. The currency is set by the caller.
Result<Rate> FromNumber(const Catalogue& catalogue, std::string_view text, std::string_view given) {
  const Result<Money> price = Money::Parse(text);
  if (text.find_first_not_of("-.0123456789") != std::string_view::npos) {
    return tl::unexpected<Error>(NotAPrice(text, catalogue));
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

// Whether a name stands for several products: "V100" may be V100-16GB-SXM, V100-32GB-PCIe and others. Such a name has
// no price of its own. The test: no product has exactly this name, and some product's name continues it with a space.
bool IsSeveralProducts(std::string_view gpu_name) {
  const std::string family = NormalGpuName(gpu_name) + " ";
  const auto belongs = [&](const GpuFacts& facts) { return StartsWithIgnoreCase(NormalGpuName(facts.gpu), family); };
  return !FactsFor(gpu_name) && std::any_of(AllGpuFacts().begin(), AllGpuFacts().end(), belongs);
}

// Rows that sell the GPU of this name, cheapest per GPU-hour first. Both names are brought into normal form, because
// drivers and price lists spell a model differently.
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

// Adds the other offers of the GPU that a catalogue price sells, so that cheaper ones can be recommended. If the row
// does not say which product it sells, only rows of its own instance surely sell the same.
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

namespace {

// The rate of a GPU's name: the price of its offers if they agree, else their range. The name may be that of a family:
// "H100" is H100-80GB-SXM and H100-94GB-NVL. Absent if there is no such GPU; an error if no offer of it is known.
Result<std::optional<Rate>> FromGpuName(const Catalogue& catalogue, std::string_view text, Instant now) {
  const std::optional<GpuFacts> facts = FactsFor(text);
  const std::string wanted = NormalGpuName(facts ? facts->gpu : text);
  std::vector<const CatalogueRow*> rows = catalogue.Rows();
  std::erase_if(rows, [&](const CatalogueRow* row) {
    const std::string sold = NormalGpuName(row->gpu);
    return wanted.empty() || (sold != wanted && !sold.starts_with(wanted + " "));
  });
  if (rows.empty() && (facts || IsSeveralProducts(text))) {
    return FailUsage("--price: the catalogue has no price of the GPU " + std::string(text.substr(0, 60)) +
                     "; give USD per GPU-hour, like 2.49, or a list of prices with --prices");
  }
  if (rows.empty()) return std::optional<Rate>();
  const std::vector<Offer> offers = TRY(OffersOf(rows));
  const bool one_price = offers.front().per_gpu_hour == offers.back().per_gpu_hour;
  return std::optional(one_price ? FromOffers(offers, now) : Ambiguous(offers, now));
}

// The rate of a price as it is written: a key, a GPU's name or a number.
Result<Rate> FromText(const Catalogue& catalogue, const StatedPrice& price, Instant now) {
  const std::string& text = price.price;
  if (text.find_first_of(":@") != std::string::npos) return FromKey(catalogue, text, now);
  if (!text.empty() && IsLetter(text.front())) {
    std::optional<Rate> rate = TRY(FromGpuName(catalogue, text, now));
    if (rate) return *std::move(rate);
  }
  return FromNumber(catalogue, text, price.text);
}

}  // namespace

Result<Rate> RateOfPrice(const Catalogue& catalogue, const StatedPrice& price, Instant now) {
  Result<Rate> rate = FromText(catalogue, price, now);
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

// Whether an instance can have one of these GPUs. One run may have GPUs of several machines, so one of them is enough.
// The check guards against a machine type that was read on another host than the GPUs.
bool CanHave(const CatalogueRow& row, const std::vector<std::string>& gpu_names) {
  return gpu_names.empty() || std::any_of(gpu_names.begin(), gpu_names.end(),
                                          [&](const std::string& name) { return !IsOtherProduct(row, name); });
}

// Rows of the request's instance, in all regions and markets.
std::vector<const CatalogueRow*> RowsOfInstance(const Catalogue& catalogue, const PriceRequest& request) {
  std::vector<const CatalogueRow*> rows = catalogue.Rows();
  const auto other = [&](const CatalogueRow* row) {
    return !EqualsIgnoreCase(row->provider + ":" + row->instance, request.instance) ||
           !CanHave(*row, request.gpu_names);
  };
  rows.erase(std::remove_if(rows.begin(), rows.end(), other), rows.end());
  return rows;
}

// Rows of the machine's region and market, as far as those are known.
std::vector<const CatalogueRow*> RowsInPlace(std::vector<const CatalogueRow*> rows, const PriceRequest& request) {
  const auto other = [&](const CatalogueRow* row) {
    return (!request.region.empty() && !EqualsIgnoreCase(row->region, request.region)) ||
           (!request.market.empty() && Name(row->market) != request.market);
  };
  rows.erase(std::remove_if(rows.begin(), rows.end(), other), rows.end());
  return rows;
}

// Looks up the instance first, since it is known exactly, and then the models of the GPUs.
Result<Rate> FromCatalogue(const Catalogue& catalogue, const PriceRequest& request) {
  std::vector<const CatalogueRow*> rows = RowsOfInstance(catalogue, request);
  const std::vector<const CatalogueRow*> here = RowsInPlace(rows, request);
  // The instance is listed, but not in this region and market. Its rows are then only candidates.
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
  // Equality is exact, to the billionth: offers that differ at all are a choice that only the user can make.
  const bool one_price = !elsewhere && offers.front().per_gpu_hour == offers.back().per_gpu_hour;
  return one_price ? FromOffers(offers, request.now) : Ambiguous(offers, request.now);
}

}  // namespace

bool IsOtherProduct(const CatalogueRow& row, std::string_view gpu_name) {
  const std::optional<GpuFacts> had = FactsFor(gpu_name);
  if (!had) return false;
  if (const std::optional<GpuFacts> sold = FactsFor(row.gpu)) return sold->gpu != had->gpu;
  // A row may name a family only, "V100": some V100, and surely no H100.
  return IsSeveralProducts(row.gpu) && !NormalGpuName(had->gpu).starts_with(NormalGpuName(row.gpu) + " ");
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
