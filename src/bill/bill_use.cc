#include <algorithm>
#include <map>
#include <set>

#include "base/int128.h"
#include "bill/bill_rows.h"
#include "bill/row_rules.h"
#include "fleet/fleet_report.h"
#include "text/number.h"
#include "text/strings.h"

// What the money of each row was for. EffectiveCost is split, because it belongs to the hour in which something ran;
// what BilledCost has beyond it is amortization. Telemetry decides the parts of a GPU's hour; its hours are never
// scaled to fit a bill.
namespace idleburn {
namespace {

constexpr std::int64_t kMicros = 1'000'000;
constexpr std::int64_t kSecondsPerHour = 3600;
constexpr std::size_t Part(UsePart part) { return static_cast<std::size_t>(part); }

// Sums in billionths. They leave 64 bits only together.
using PartSums = std::array<Int128, kUsePartCount>;
struct UseSums {
  PartSums use{};
  Int128 gpu = 0;
  Int128 amortization = 0;
};
struct OwnedSums {
  OwnedCost cost;  // without its use
  PartSums use{};
};

// A part of a row: of an owner that telemetry names, or -1: of the owner of the row.
struct RowPart {
  int owner = -1;
  std::array<std::int64_t, kUsePartCount> use{};
  std::int64_t gpu_ms = 0;
};

// A row of a GPU resource, as the query below returns it.
struct GpuRow {
  std::int64_t import = 0;
  std::int64_t line = 0;
  std::int64_t item = 0;
  std::int64_t start = 0;  // microseconds, or kNoNumber
  std::int64_t end = 0;
  std::int64_t billed = 0;  // without what is spare
  std::int64_t effective = 0;
  bool counts = false;       // in the sums; another is in a foreign currency
  std::int64_t printed = 0;  // BilledCost as printed

  std::int64_t micros = 0;  // length of the charge period

  static constexpr const char* kOverRows =
      " FROM charge JOIN picked ON charge.item = picked.id LEFT JOIN spare ON spare.import = charge.import AND "
      "spare.line = charge.line WHERE gpu AND (mine OR \"foreign\")";
  // Each row by itself, for telemetry.
  static std::string Each() {
    return std::string(
               "SELECT charge.import, charge.line, charge.item, epoch_us(period_start), epoch_us(period_end), "
               "coalesce(BilledCost, 0) - coalesce(spare.billed, 0), coalesce(EffectiveCost, 0) - "
               "coalesce(spare.effective, 0), mine, coalesce(BilledCost, 0), epoch_us(period_end) - "
               "epoch_us(period_start)") +
           kOverRows;
  }
  // The sums of each item. Without telemetry its rows all have the same use.
  static std::string Sums() {
    return std::string(
               "SELECT 0, 0, charge.item, NULL, NULL, sum(coalesce(BilledCost, 0) - coalesce(spare.billed, 0)), "
               "sum(coalesce(EffectiveCost, 0) - coalesce(spare.effective, 0)), mine, 0, sum(epoch_us(period_end) - "
               "epoch_us(period_start))") +
           kOverRows + " GROUP BY charge.item, mine";
  }
  explicit GpuRow(const std::vector<std::int64_t>& n)
      : import(n[0]),
        line(n[1]),
        item(n[2]),
        start(n[3]),
        end(n[4]),
        billed(n[5]),
        effective(n[6]),
        counts(n[7] == 1),
        printed(n[8]),
        micros(std::max<std::int64_t>(n[9], 0)) {}
};

class UseSplit {
 public:
  UseSplit(const ReconcileQuestion& question, const Picked& picked, std::map<std::int64_t, std::string> files,
           BillReport* report)
      : telemetry_(question.telemetry != nullptr && !question.telemetry->empty() ? question.telemetry : nullptr),
        picked_(picked),
        by_(question.by),
        files_(std::move(files)),
        report_(report) {
    if (telemetry_ == nullptr) return;
    hours_ = static_cast<std::size_t>((telemetry_->to() - telemetry_->from()) / kSecondsPerHour + 1);
    billed_.resize(static_cast<std::size_t>(telemetry_->size()));
  }

  Result<void> Take(const GpuRow& row) {
    const auto found = picked_.gpu_items.find(row.item);
    if (found == picked_.gpu_items.end()) return {};
    const PickedItem& item = found->second;
    const bool usage = item.what == CostClass::kUsage;
    if (usage) MarkBilled(item.node, row);
    if (!row.counts) return {};
    sums_.gpu += row.effective;
    sums_.amortization += static_cast<Int128>(row.billed) - row.effective;
    parts_.assign(1, {});
    RowPart& own = parts_.front();
    own.gpu_ms = usage ? item.gpus * (row.micros / 1000) : 0;
    if (item.what == CostClass::kUnused) {
      own.use[Part(UsePart::kUnallocated)] = row.effective;
    } else if (!usage || telemetry_ == nullptr || row.start == kNoNumber) {
      own.use[Part(UsePart::kUnobserved)] = row.effective;
    } else {
      TRY(SplitHour(row, item));
    }
    for (const RowPart& part : parts_) {
      OwnedSums& sums = SumsOf(item, part.owner);
      sums.cost.gpu_ms += part.gpu_ms;
      for (std::size_t p = 0; p < kUsePartCount; ++p) {
        sums_.use[p] += part.use[p];
        sums.use[p] += part.use[p];
      }
    }
    return {};
  }

  // Machines and hours that telemetry saw and no row bills.
  void AddNotBilled() {
    if (telemetry_ == nullptr) return;
    std::map<std::string, std::int64_t> displaced;
    std::set<std::pair<std::string, std::int64_t>> told;
    for (const BillMismatch& mismatch : report_->mismatches) {
      if (mismatch.kind == BillRule::kOutsideBillingPeriod) ++displaced[Lower(mismatch.resource)];
      if (mismatch.kind == BillRule::kMissingHour && mismatch.hour) {
        told.emplace(Lower(mismatch.resource), FloorSecond(mismatch.hour->nanos()));
      }
    }
    for (int node = 0; node < telemetry_->size(); ++node) {
      const std::vector<bool>& hours = billed_[static_cast<std::size_t>(node)];
      const std::string& name = names_.contains(node) ? names_[node] : telemetry_->NameOf(node);
      std::int64_t whole = 0;
      for (const SeenSpan& span : telemetry_->SpansOf(node)) {
        std::int64_t ms = 0;
        for (std::size_t p = 0; p < Part(UsePart::kUnobserved); ++p) ms += std::max<std::int64_t>(0, span.ms[p]);
        if (ms == 0) continue;
        whole += ms;
        if (hours.empty() || IsBilled(hours, span) || told.contains({Lower(name), span.from})) continue;
        if (displaced[Lower(name)]-- > 0) continue;
        AddSeen(name, span.from, ms);
      }
      if (hours.empty() && whole > 0) AddSeen(name, std::nullopt, whole);
    }
  }

  Result<void> Fill() {
    for (std::size_t p = 0; p < kUsePartCount; ++p) report_->use[p] = TRY(ToMoney(sums_.use[p]));
    report_->gpu = TRY(ToMoney(sums_.gpu));
    report_->amortization = TRY(ToMoney(sums_.amortization));
    std::map<std::string, Int128> owners;
    for (OwnedSums& sums : owned_) {
      Int128 all = 0;
      for (std::size_t p = 0; p < kUsePartCount; ++p) {
        sums.cost.use[p] = TRY(ToMoney(sums.use[p]));
        all += sums.use[p];
      }
      if (sums.cost.gpu) {
        const Int128 unallocated = sums.cost.what == CostClass::kUnused ? 0 : sums.use[Part(UsePart::kUnallocated)];
        const std::string& name = NameOf(sums.cost.owner, by_);
        owners[name.empty() ? kFleetUnknown : name] += all - unallocated;
        if (unallocated != 0) owners[kFleetUnallocated] += unallocated;
      }
      report_->owned.push_back(std::move(sums.cost));
    }
    for (const auto& [name, cost] : owners) report_->owners.push_back({name, TRY(ToMoney(cost))});
    std::stable_sort(report_->owners.begin(), report_->owners.end(),
                     [](const BillOwner& a, const BillOwner& b) { return a.cost > b.cost; });
    return {};
  }

  // A charge that is no GPU's.
  void AddOther(OwnedCost cost, Int128 billed, Int128 effective) {
    sums_.use[Part(UsePart::kNotGpu)] += effective;
    sums_.amortization += billed - effective;
    OwnedSums& sums = owned_.emplace_back();
    sums.cost = std::move(cost);
    sums.use[Part(UsePart::kNotGpu)] = effective;
  }

 private:
  // The sums of an item's charges for an owner, or of the item's own if it is -1.
  OwnedSums& SumsOf(const PickedItem& item, int owner) {
    const auto [place, fresh] = places_.emplace(std::pair(item.id, owner), owned_.size());
    if (!fresh) return owned_[place->second];
    OwnedSums& sums = owned_.emplace_back();
    sums.cost.owner = item.owner;
    if (owner >= 0) sums.cost.owner = telemetry_->OwnerAt(owner);
    sums.cost.resource = item.resource;
    sums.cost.what = item.what;
    sums.cost.gpu = true;
    return sums;
  }

  // Splits the cost of an hour by what telemetry saw. Where it names owners, each has its own part.
  Result<void> SplitHour(const GpuRow& row, const PickedItem& item) {
    RowPart& own = parts_.front();
    const std::int64_t from = row.start / kMicros;
    const std::int64_t to = std::max(row.end / kMicros, from);
    std::optional<SeenMs> seen = telemetry_->Seen(item.node, from, to);
    if (!seen) {
      own.use[Part(UsePart::kUnobserved)] = row.effective;
      // Only where telemetry was there to see it.
      if (to > from && telemetry_->from() <= from && to <= telemetry_->to()) AddUnseen(row, item);
      return {};
    }
    std::int64_t whole = 0;
    for (std::int64_t& ms : *seen) {
      ms = std::max<std::int64_t>(0, ms);
      whole += ms;
    }
    // GPUs that were billed and not seen have no data.
    const std::int64_t capacity = item.gpus * (to - from) * 1000;
    if (capacity > whole) (*seen)[Part(UsePart::kUnobserved)] += capacity - whole;
    if (std::max(capacity, whole) == 0) {
      own.use[Part(UsePart::kUnobserved)] = row.effective;
      return {};
    }
    weights_.assign(seen->begin(), seen->end());
    if (by_ != OwnerBy::kTag) TakeOwners(item.node, from, to);
    const std::vector<Money> split = TRY(Split(Money::Nano(row.effective), weights_));
    for (std::size_t i = 0; i < split.size(); ++i) parts_[i / kSeenParts].use[i % kSeenParts] = split[i].nano();
    return {};
  }
  // Moves the time of owners out of what the row's own owner has.
  void TakeOwners(int node, std::int64_t from, std::int64_t to) {
    for (const SeenOwner& seen : telemetry_->OwnersIn(node, from, to)) {
      RowPart part;
      part.owner = seen.owner;
      for (std::size_t p = 0; p < kSeenParts; ++p) {
        const std::int64_t ms = std::clamp<std::int64_t>(seen.ms[p], 0, weights_[p]);
        weights_[p] -= ms;
        weights_.push_back(ms);
        part.gpu_ms += ms;
      }
      parts_.front().gpu_ms = std::max<std::int64_t>(0, parts_.front().gpu_ms - part.gpu_ms);
      parts_.push_back(part);
    }
  }

  void Add(BillMismatch mismatch) {
    if (report_->mismatches.size() >= kMostMismatches) {
      ++report_->left_out;
    } else {
      report_->mismatches.push_back(std::move(mismatch));
    }
  }
  void AddUnseen(const GpuRow& row, const PickedItem& item) {
    BillMismatch mismatch;
    mismatch.kind = BillRule::kBilledNotSeen;
    mismatch.file = files_[row.import];
    mismatch.line = row.line;
    mismatch.resource = item.resource;
    mismatch.hour = Instant::FromNanos(row.start * 1000);
    mismatch.billed = Money::Nano(row.printed);
    mismatch.observed = 0;
    mismatch.amount = Money::Nano(row.effective);
    Add(std::move(mismatch));
  }
  void AddSeen(const std::string& name, std::optional<std::int64_t> hour, std::int64_t ms) {
    BillMismatch mismatch;
    mismatch.kind = BillRule::kSeenNotBilled;
    mismatch.resource = name;
    if (hour) mismatch.hour = Instant::FromNanos(*hour * kNanosPerSecond);
    mismatch.billed = Money();
    mismatch.observed = GpuHoursOf(ms);
    Add(std::move(mismatch));
  }

  void MarkBilled(int node, const GpuRow& row) {
    if (telemetry_ == nullptr || node < 0 || row.start == kNoNumber) return;
    names_.emplace(node, picked_.gpu_items.at(row.item).resource);
    std::vector<bool>& hours = billed_[static_cast<std::size_t>(node)];
    hours.resize(hours_);
    // A row whose period is empty still says that its hour was billed.
    const std::int64_t end = std::max(row.end / kMicros, row.start / kMicros + 1);
    for (std::int64_t second = row.start / kMicros; second < end; second += kSecondsPerHour) {
      if (second < telemetry_->from() || second >= telemetry_->to()) continue;
      hours[static_cast<std::size_t>((second - telemetry_->from()) / kSecondsPerHour)] = true;
    }
  }
  [[nodiscard]] bool IsBilled(const std::vector<bool>& hours, const SeenSpan& span) const {
    const auto first = static_cast<std::size_t>((span.from - telemetry_->from()) / kSecondsPerHour);
    const auto last = static_cast<std::size_t>((span.to - 1 - telemetry_->from()) / kSecondsPerHour);
    for (std::size_t hour = first; hour <= last && hour < hours.size(); ++hour) {
      if (hours[hour]) return true;
    }
    return false;
  }

  const BillTelemetry* telemetry_;
  const Picked& picked_;
  OwnerBy by_;
  std::map<std::int64_t, std::string> files_;
  BillReport* report_;
  UseSums sums_;
  std::vector<OwnedSums> owned_;
  std::map<std::pair<std::int64_t, int>, std::size_t> places_;  // in owned_, by item and owner
  std::vector<RowPart> parts_;                                  // of the row at hand
  std::vector<std::int64_t> weights_;                           // kSeenParts of each part
  std::size_t hours_ = 0;
  std::vector<std::vector<bool>> billed_;  // by node: its hours that a row bills; empty: none
  std::map<int, std::string> names_;       // what the bill calls a node
};

// Charges that are no GPU's, by what their payer depends on.
Result<void> AddOthers(DuckDbConnection& database, const ReconcileQuestion& question, UseSplit* split) {
  for (const auto& row : TRY(TextRows(
           database,
           "SELECT Tags, rule_owner, ChargeCategory, ChargeClass, CommitmentDiscountStatus, coalesce(ResourceName, "
           "ResourceId, ServiceName), sum(coalesce(BilledCost, 0) - coalesce(spare.billed, 0))::HUGEINT, "
           "sum(coalesce(EffectiveCost, 0) - coalesce(spare.effective, 0))::HUGEINT FROM charge JOIN picked ON "
           "charge.item = picked.id LEFT JOIN spare ON spare.import = charge.import AND spare.line = "
           "charge.line WHERE mine AND NOT gpu GROUP BY ALL"))) {
    OwnedCost cost;
    cost.owner = OwnerOfTags(row[0], question.owner_tag);
    if (cost.owner.team.empty()) cost.owner.team = row[1];
    cost.resource = row[5];
    cost.what = ClassOf(row[2], row[3], row[4]);
    split->AddOther(std::move(cost), TRY(SumOfNanos(row[6])).nano(), TRY(SumOfNanos(row[7])).nano());
  }
  return {};
}

Result<void> FillLines(DuckDbConnection& database, BillReport* report) {
  for (const auto& row : TRY(TextRows(
           database,
           "SELECT coalesce(ChargeCategory, '') || CASE WHEN ChargeClass = 'Correction' THEN '/Correction' ELSE '' "
           "END, "
           "coalesce(ServiceCategory, ''), gpu, count(*), sum(BilledCost)::HUGEINT, sum(EffectiveCost)::HUGEINT FROM "
           "charge JOIN picked ON charge.item = picked.id WHERE mine GROUP BY ALL ORDER BY 1, 3 DESC, 2"))) {
    report->lines.push_back({row[0], row[1], row[2] == "true", ParseInteger(row[3]).value_or(0),
                             TRY(SumOfNanos(row[4])), TRY(SumOfNanos(row[5]))});
  }
  for (const BillLine& line : report->lines) {
    report->rows += line.rows;
    report->rows_total = TRY(Add(report->rows_total, line.billed));
  }
  return {};
}

// Prices of rows that differ from what was agreed on for the GPU model.
Result<void> ComparePrices(DuckDbConnection& database, const ReconcileQuestion& question,
                           std::map<std::int64_t, std::string>& files, BillReport* report) {
  if (question.gpu_hour.empty()) return {};
  for (const auto& row : TRY(TextRows(
           database,
           "SELECT gpu_model, gpus, ContractedUnitPrice, coalesce(ResourceName, ResourceId), min(charge.import), "
           "min(line), min(epoch_us(period_start)), sum(PricingQuantity)::HUGEINT, sum(BilledCost)::HUGEINT FROM "
           "charge "
           "JOIN picked ON charge.item = picked.id WHERE mine AND gpus > 0 AND by_hour = 1 AND gpu_model IS NOT NULL "
           "AND "
           "PricingCategory = 'Standard' AND ContractedUnitPrice IS NOT NULL GROUP BY gpu_model, gpus, "
           "ContractedUnitPrice, coalesce(ResourceName, ResourceId) ORDER BY 5, 6"))) {
    const auto agreed = question.gpu_hour.find(row[0]);
    if (agreed == question.gpu_hour.end()) continue;
    const auto number = [&](std::size_t i) { return ParseInteger(row[i]).value_or(0); };
    const Int128 over = static_cast<Int128>(number(2)) - static_cast<Int128>(agreed->second.nano()) * number(1);
    const Int128 amount = DivHalfEven(over * number(7), 1'000'000'000);
    if (amount >= -kHalfCent && amount <= kHalfCent) continue;
    BillMismatch mismatch;
    mismatch.kind = BillRule::kPrice;
    mismatch.file = files[number(4)];
    mismatch.line = number(5);
    mismatch.resource = row[3];
    mismatch.hour = Instant::FromNanos(number(6) * 1000);
    mismatch.billed = TRY(SumOfNanos(row[8]));
    mismatch.amount = TRY(ToMoney(amount));
    report->mismatches.push_back(std::move(mismatch));
  }
  return {};
}

}  // namespace

Result<void> SplitByUse(BillStore& store, const ReconcileQuestion& question, const Picked& picked, BillReport* report) {
  DuckDbConnection& database = store.database();
  std::map<std::int64_t, std::string> files;
  for (const auto& row : TRY(TextRows(database, "SELECT id, file FROM import"))) {
    files[ParseInteger(row[0]).value_or(0)] = row[1];
  }
  TRY(FillLines(database, report));
  TRY(ComparePrices(database, question, files, report));
  UseSplit split(question, picked, files, report);
  TRY(AddOthers(database, question, &split));
  const bool each = question.telemetry != nullptr && !question.telemetry->empty();
  TRY(ForEachRow(database, each ? GpuRow::Each() : GpuRow::Sums(),
                 [&](const std::vector<std::int64_t>& numbers) { return split.Take(GpuRow(numbers)); }));
  split.AddNotBilled();
  return split.Fill();
}

}  // namespace idleburn
