#include "bill/focus_rows.h"

#include <algorithm>

#include "base/int128.h"
#include "bill/focus_columns.h"
#include "fleet/fleet_report.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

using C = FocusColumn;

using Cells = std::array<std::string, kFocusColumnCount>;

// The first nine groups of columns. A telemetry has no commitments and one currency.
constexpr std::size_t kExportedFocus = Index(FocusColumn::kCommitmentDiscountId);
constexpr std::size_t kTextBlock = std::size_t{1} << 16;

// Columns of our own, after all of FOCUS. Phases come first, in the order of ExportPhase.
struct OwnColumn {
  std::string_view name;
  std::string_view sql_type;
};
constexpr std::string_view kCostType = "DECIMAL(38, 18)";
constexpr auto kOwnColumns = std::to_array<OwnColumn>({
    {"x_GpuIdleHeldCost", kCostType},
    {"x_GpuIdleEmptyCost", kCostType},
    {"x_GpuIdleUnknownCost", kCostType},
    {"x_GpuUnderutilizedCost", kCostType},
    {"x_GpuProductiveCost", kCostType},
    {"x_GpuComputeBoundCost", kCostType},
    {"x_GpuUnobservedCost", kCostType},
    {"x_GpuWasteLowCost", kCostType},
    {"x_GpuWasteHighCost", kCostType},
    {"x_ObservedFraction", "DOUBLE"},
    {"x_JobId", "VARCHAR"},
    {"x_GpuUuid", "VARCHAR"},
    {"x_GpuModel", "VARCHAR"},
    {"x_GpuOwnership", "VARCHAR"},
    {"x_Attribution", "VARCHAR"},
    {"x_PriceSource", "VARCHAR"},
});

std::string_view SqlTypeOf(FocusKind kind) {
  if (kind == FocusKind::kTime) return "TIMESTAMP";
  return IsNumber(kind) ? kCostType : "VARCHAR";
}

// Names come from anyone.
std::string JsonQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string TagsOf(const JobKey& owner) {
  std::string tags;
  const auto put = [&](const char* key, const std::string& value) {
    if (value.empty() || value.starts_with('_')) return;
    tags += (tags.empty() ? "{" : ", ") + JsonQuoted(key) + ": " + JsonQuoted(value);
  };
  put("team", owner.team);
  put("job", owner.job);
  put("user", owner.user);
  put("experiment", owner.experiment);
  put("cluster", owner.cluster);
  return tags.empty() ? tags : tags + "}";
}

// The UTC month of a moment: its first day and that of the next.
struct BillingMonth {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
BillingMonth MonthAt(std::int64_t second) {
  const CivilTime day = ToCivil(Instant::FromNanos(second * kNanosPerSecond));
  const std::int64_t begin = DaysFromCivil(day.year, day.month, 1) * kDaySeconds;
  return {begin, begin + DaysInMonth(day.year, day.month) * kDaySeconds};
}

std::int64_t SumOfMs(const ExportMs& ms) {
  std::int64_t sum = 0;
  for (const std::int64_t part : ms) sum += part;
  return sum;
}

}  // namespace

std::vector<FocusExportColumn> FocusExportColumns() {
  std::vector<FocusExportColumn> columns;
  for (std::size_t i = 0; i < kExportedFocus; ++i) {
    columns.push_back({std::string(kFocusColumns[i].name), SqlTypeOf(kFocusColumns[i].kind)});
  }
  for (const OwnColumn& column : kOwnColumns) columns.push_back({std::string(column.name), column.sql_type});
  return columns;
}

std::int64_t QuantityStep(Money price) {
  constexpr std::int64_t kLongest = 1000;
  // A price with d decimals leaves 9 - d to the quantity.
  std::int64_t step = 1'000'000'000;
  for (std::int64_t nano = price.nano(); step > 1 && nano % 10 == 0; nano /= 10) step /= 10;
  return std::min(step, kLongest);
}

std::string ProductText(Money price, std::int64_t quantity) {
  Int128 product = static_cast<Int128>(price.nano()) * quantity;
  std::string digits;
  for (int i = 0; i < 18 || product != 0; ++i) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(product % 10)));
    product /= 10;
  }
  if (digits.size() == 18) digits.insert(digits.begin(), '0');
  std::string fraction = digits.substr(digits.size() - 18);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  digits.resize(digits.size() - 18);
  return fraction.empty() ? digits : digits + "." + fraction;
}

FocusRows::FocusRows(const FocusExportOptions& options, const WriteText& write) : options_(options), write_(write) {
  text_ = ListText(FocusExportColumns(), ",", &FocusExportColumn::name) + "\n";
}

Result<void> FocusRows::Take(const ExportedSpan& span) {
  std::vector<std::int64_t> weights;
  std::int64_t whole = 0;
  for (const ExportedUse& use : span.uses) {
    weights.insert(weights.end(), use.ms.begin(), use.ms.end());
    whole += SumOfMs(use.ms);
  }
  if (whole == 0) return {};
  if (!span.rate->per_gpu_hour) {
    facts_.unpriced_ms += whole;
    return {};
  }
  if (MonthAt(span.from).end < span.to) {
    facts_.over_month_ms += whole;
    return {};
  }
  facts_.gpu_ms += whole;
  const std::int64_t step = QuantityStep(*span.rate->per_gpu_hour);
  const Money hours = TRY(Scale(Money::Nano(1'000'000'000), whole, kMsPerGpuHour));
  const std::vector<Money> quantities = TRY(Split(hours, weights, step));
  for (std::size_t i = 0; i < span.uses.size(); ++i) {
    std::array<std::int64_t, kExportPhaseCount> phases{};
    std::int64_t quantity = 0;
    for (std::size_t p = 0; p < kExportPhaseCount; ++p) {
      phases[p] = quantities[i * kExportPhaseCount + p].nano();
      quantity += phases[p];
    }
    if (quantity > 0) PutRow(span, span.uses[i], quantity, phases);
  }
  if (text_.size() < kTextBlock) return {};
  TRY(write_(text_));
  text_.clear();
  return {};
}

Result<FocusExportFacts> FocusRows::Finish() {
  if (facts_.gpu_ms == 0 && facts_.unpriced_ms > 0) {
    return Fail("bill export: the price of a GPU-hour is unknown; give --price 2.50, or --owned for your own hardware");
  }
  if (facts_.gpu_ms == 0) return Fail("bill export: there is no GPU time in this window");
  TRY(write_(text_));
  return facts_;
}

void FocusRows::PutRow(const ExportedSpan& span, const ExportedUse& use, std::int64_t quantity,
                       const std::array<std::int64_t, kExportPhaseCount>& phases) {
  const Rate& rate = *span.rate;
  const Money price = *rate.per_gpu_hour;
  const std::string cost = ProductText(price, quantity);
  const std::string hours = FormatExact(Money::Nano(quantity), 0);
  const std::string unit = FormatExact(price, 0);
  const std::string model = use.model.empty() ? std::string("GPU") : use.model;
  const std::string provider = options_.provider.empty() ? "on-premises" : options_.provider;
  const BillingMonth month = MonthAt(span.from);
  Cells cells;
  const auto put = [&](C column, std::string text) { cells[Index(column)] = std::move(text); };
  for (const C column : {C::kBilledCost, C::kEffectiveCost, C::kListCost, C::kContractedCost}) put(column, cost);
  for (const C column : {C::kListUnitPrice, C::kContractedUnitPrice}) put(column, unit);
  for (const C column : {C::kPricingQuantity, C::kConsumedQuantity}) put(column, hours);
  for (const C column : {C::kPricingUnit, C::kConsumedUnit}) put(column, "GPU-Hours");
  put(C::kBillingPeriodStart, FormatUnixTime(month.begin));
  put(C::kBillingPeriodEnd, FormatUnixTime(month.end));
  put(C::kChargePeriodStart, FormatUnixTime(span.from));
  put(C::kChargePeriodEnd, FormatUnixTime(span.to));
  put(C::kChargeCategory, "Usage");
  put(C::kChargeDescription, "GPU time from telemetry");
  put(C::kChargeFrequency, "Usage-Based");
  put(C::kPricingCategory, "Standard");
  put(C::kBillingAccountId, options_.account.empty() ? provider : options_.account);
  put(C::kBillingAccountName, options_.account.empty() ? provider : options_.account);
  put(C::kBillingAccountType, "Cluster");
  put(C::kBillingCurrency, rate.currency);
  for (const C column : {C::kInvoiceIssuerName, C::kProviderName, C::kPublisherName}) put(column, provider);
  put(C::kServiceCategory, "Compute");
  put(C::kServiceName, "GPU time");
  put(C::kServiceSubcategory, "Other (Compute)");
  put(C::kResourceId, span.node.empty() ? use.uuid : span.node);
  put(C::kResourceName, span.node.empty() ? use.uuid : span.node);
  put(C::kResourceType, "GPU machine");
  put(C::kTags, TagsOf(use.owner));
  put(C::kSkuId, model);
  put(C::kSkuPriceId, model + "@" + unit);
  put(C::kSkuMeter, "GPU-Hours");
  put(C::kSkuPriceDetails, "{\"GpuCount\": " + std::to_string(use.gpus) +
                               (use.model.empty() ? "" : ", \"x_GpuModel\": " + JsonQuoted(use.model)) + "}");
  for (std::size_t i = 0; i < kExportedFocus; ++i) {
    const bool number = IsNumber(kFocusColumns[i].kind);
    text_ += (i == 0 ? "" : ",") + (number ? cells[i] : CsvCell(cells[i]));
  }
  for (const std::int64_t phase : phases) text_ += "," + ProductText(price, phase);
  const auto waste = [&](std::int64_t ms) { return FormatExact(Scale(price, ms, kMsPerGpuHour).value_or(Money()), 0); };
  const std::int64_t all = SumOfMs(use.ms);
  const std::int64_t unobserved = use.ms[static_cast<std::size_t>(ExportPhase::kUnobserved)];
  const Money observed =
      Estimate(Money::Nano(1'000'000'000), static_cast<double>(all - unobserved) / static_cast<double>(all))
          .value_or(Money());
  text_ += "," + waste(use.waste_low_ms) + "," + waste(use.waste_high_ms) + "," + FormatExact(observed, 0);
  const bool named = !use.owner.job.starts_with('_');
  for (const std::string& text :
       {named ? use.owner.job : std::string(), use.uuid, use.model,
        std::string(options_.provider.empty() ? "owned" : "rented"), std::string(use.attribution), rate.source}) {
    text_ += "," + CsvCell(text);
  }
  text_ += "\n";
  ++facts_.rows;
  if (use.attribution == "several_jobs") ++facts_.several_jobs;
}

}  // namespace idleburn
