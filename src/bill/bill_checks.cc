#include <algorithm>
#include <map>
#include <set>

#include "bill/bill_rows.h"
#include "bill/bill_value.h"
#include "bill/row_rules.h"
#include "fleet/fleet_report.h"
#include "text/number.h"
#include "text/strings.h"

// Deviations that the bill shows by itself: those of one row, which the import found, and those that need its
// neighbours: copies, hours without a row, commitments.
namespace idleburn {
namespace {

constexpr std::int64_t kMicrosPerHour = 3600LL * 1'000'000;

Instant AtMicros(std::int64_t micros) { return Instant::FromNanos(micros * 1000); }

std::optional<BillRule> RuleNamed(const std::string& name) {
  for (const BillRuleFacts& rule : kBillRules) {
    if (rule.name == name) return rule.id;
  }
  return std::nullopt;
}

// A deviation and the row that it is of.
struct RowCheck {
  BillMismatch mismatch;
  std::int64_t import = 0;
  std::string resource_id;
  std::int64_t start = kNoNumber;  // microseconds
  std::int64_t effective_over = 0;
  bool in_sums = true;  // the row counts in the sums
};

std::int64_t Integer(const std::string& text) { return ParseInteger(text).value_or(0); }

// Findings of the import that are mismatches.
Result<std::vector<RowCheck>> RowFindings(DuckDbConnection& database) {
  std::vector<RowCheck> checks;
  const auto rows = TRY(TextRows(
      database,
      "SELECT finding.rule, import.file, finding.line, coalesce(ResourceName, ResourceId, ''), coalesce(ResourceId, "
      "''), epoch_us(charge.period_start), charge.BilledCost, finding.amount, finding.billed_over, "
      "finding.effective_over, mine, finding.import FROM finding JOIN charge ON charge.import = finding.import AND "
      "charge.line = finding.line JOIN picked ON charge.item = picked.id JOIN import ON import.id = finding.import "
      "WHERE mine OR \"foreign\" ORDER BY finding.import, finding.line"));
  std::set<std::tuple<std::string, std::string, std::string>> told;
  for (const auto& row : rows) {
    const std::optional<BillRule> rule = RuleNamed(row[0]);
    if (!rule || Facts(*rule).use == RuleUse::kForm) continue;
    // A row is one mismatch of a kind, however many of its cells break the rule. Its import tells it from a row of a
    // newer file with the same path.
    if (!told.emplace(row[0], row[11], row[2]).second) continue;
    // Products within half a cent are roundings of the provider.
    const bool product = *rule == BillRule::kListProduct || *rule == BillRule::kContractedProduct;
    const std::int64_t amount = Integer(row[7]);
    if (product && std::abs(amount) <= kHalfCent) continue;
    RowCheck check;
    check.mismatch.kind = *rule;
    check.mismatch.file = row[1];
    check.mismatch.line = Integer(row[2]);
    check.mismatch.resource = row[3];
    check.resource_id = row[4];
    check.start = row[5].empty() ? kNoNumber : Integer(row[5]);
    if (!row[5].empty()) check.mismatch.hour = AtMicros(check.start);
    check.mismatch.billed = Money::Nano(Integer(row[6]));
    check.mismatch.amount = Money::Nano(amount);
    check.mismatch.effect = Money::Nano(Integer(row[8]));
    check.effective_over = Integer(row[9]);
    check.in_sums = row[10] == "true";
    check.import = Integer(row[11]);
    checks.push_back(std::move(check));
  }
  return checks;
}

// Rows in another currency than the rest of their invoice.
Result<void> AddForeign(DuckDbConnection& database, std::vector<RowCheck>* checks) {
  for (const auto& row :
       TRY(TextRows(database,
                    "SELECT import.file, line, coalesce(ResourceName, ResourceId, ''), coalesce(ResourceId, ''), "
                    "epoch_us(period_start), BilledCost, charge.import FROM charge JOIN picked ON charge.item = "
                    "picked.id JOIN import ON import.id = charge.import WHERE \"foreign\""))) {
    RowCheck check;
    check.mismatch.kind = BillRule::kForeignCurrency;
    check.mismatch.file = row[0];
    check.mismatch.line = Integer(row[1]);
    check.mismatch.resource = row[2];
    check.resource_id = row[3];
    check.start = row[4].empty() ? kNoNumber : Integer(row[4]);
    if (!row[4].empty()) check.mismatch.hour = AtMicros(check.start);
    check.mismatch.billed = check.mismatch.amount = Money::Nano(Integer(row[5]));
    check.import = Integer(row[6]);
    check.in_sums = false;
    checks->push_back(std::move(check));
  }
  return {};
}

// The same row twice in one file. Only usage of a resource: two equal credits may both be right.
Result<void> AddDuplicates(DuckDbConnection& database, std::vector<RowCheck>* checks) {
  for (const auto& row : TRY(TextRows(
           database,
           "WITH twice AS (SELECT import, hash, period_start, min(line) AS line FROM charge GROUP BY ALL HAVING "
           "count(*) > 1) SELECT import.file, twice.line, charge.line, coalesce(ResourceName, ResourceId), ResourceId, "
           "epoch_us(charge.period_start), BilledCost, EffectiveCost, charge.import FROM twice JOIN charge ON "
           "charge.import = "
           "twice.import AND charge.hash = twice.hash AND charge.period_start = twice.period_start JOIN picked ON "
           "charge.item = "
           "picked.id JOIN import ON import.id = charge.import WHERE mine AND charge.line > twice.line AND "
           "ChargeCategory = 'Usage' AND ResourceId IS NOT NULL ORDER BY charge.import, charge.line"))) {
    RowCheck check;
    check.mismatch.kind = BillRule::kDuplicateRow;
    check.mismatch.file = row[0];
    check.mismatch.line = Integer(row[1]);
    check.mismatch.again = Integer(row[2]);
    check.mismatch.resource = row[3];
    check.resource_id = row[4];
    if (!row[5].empty()) check.mismatch.hour = AtMicros(Integer(row[5]));
    check.mismatch.billed = check.mismatch.amount = check.mismatch.effect = Money::Nano(Integer(row[6]));
    check.effective_over = Integer(row[7]);
    check.import = Integer(row[8]);
    checks->push_back(std::move(check));
  }
  return {};
}

// Hours without a row of a resource that otherwise has one each hour. Spot machines come and go, and so does whatever
// is billed in fewer than 99 of 100 hours: there a gap says nothing. A row that lies outside its billing period
// explains one gap of its resource.
Result<void> AddMissingHours(DuckDbConnection& database, const ReconcileQuestion& question,
                             std::vector<RowCheck>* checks) {
  const std::string hourly =
      "SELECT ResourceId, coalesce(ResourceName, ResourceId) AS name, period_start AS t, period_start < "
      "coalesce(try_cast(BillingPeriodStart AS TIMESTAMP), period_start) AS displaced FROM charge JOIN picked ON "
      "charge.item = picked.id WHERE (mine OR \"foreign\") AND by_hour = 1 AND coalesce(PricingCategory, '') <> "
      "'Dynamic' AND period_end - period_start <= INTERVAL 1 HOUR";
  TRY(database.Execute(
      "CREATE OR REPLACE TEMP TABLE steady AS SELECT ResourceId, any_value(name) AS name, count(*) FILTER (displaced) "
      "AS displaced, count(DISTINCT t) FILTER (NOT displaced) AS hours, min(t) FILTER (NOT displaced) AS first, max(t) "
      "FILTER (NOT displaced) AS last, date_diff('hour', first, last) + 1 AS span FROM (" +
      hourly + ") GROUP BY ResourceId HAVING span > hours AND 100 * (span - hours) <= span"));
  const std::string gaps =
      "SELECT h.ResourceId, steady.name, epoch_us(t), epoch_us(lead(t) OVER (PARTITION BY h.ResourceId ORDER BY t)), "
      "steady.displaced FROM (SELECT DISTINCT ResourceId, t FROM (" +
      hourly + ") WHERE NOT displaced) h JOIN steady ON h.ResourceId = steady.ResourceId";
  std::map<std::string, std::int64_t> explained;
  for (const auto& row : TRY(TextRows(database, "SELECT * FROM (" + gaps + ") ORDER BY 1, 3"))) {
    if (row[3].empty()) continue;
    for (std::int64_t hour = Integer(row[2]) + kMicrosPerHour; hour < Integer(row[3]); hour += kMicrosPerHour) {
      if (explained[row[0]]++ < Integer(row[4])) continue;
      RowCheck check;
      check.mismatch.kind = BillRule::kMissingHour;
      check.mismatch.resource = row[1];
      check.mismatch.hour = AtMicros(hour);
      check.resource_id = row[0];
      check.start = hour;
      check.in_sums = false;
      if (question.telemetry != nullptr && !question.telemetry->empty()) {
        const int node = question.telemetry->NodeOf(row[0], row[1]);
        const auto seen = question.telemetry->Seen(node, hour / 1'000'000, hour / 1'000'000 + 3600);
        const bool covered =
            question.telemetry->from() <= hour / 1'000'000 && hour / 1'000'000 < question.telemetry->to();
        if (node >= 0 && !seen && covered) continue;  // the machine did not run
        if (seen) {
          std::int64_t ms = 0;
          for (const std::int64_t part : *seen) ms += part;
          check.mismatch.observed = GpuHoursOf(ms);
        }
      }
      checks->push_back(std::move(check));
    }
  }
  return {};
}

// What the resource costs in the hours before and after, if both cost the same. Only then the right amount of an hour
// is known.
struct NeighbourPrice {
  std::int64_t billed = 0;
  std::int64_t effective = 0;
};
Result<std::map<std::size_t, NeighbourPrice>> NeighbourPrices(DuckDbConnection& database,
                                                              const std::vector<RowCheck>& checks) {
  std::string values;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const BillRule kind = checks[i].mismatch.kind;
    const bool asks =
        kind == BillRule::kMissingHour || kind == BillRule::kAboveList || kind == BillRule::kForeignCurrency;
    if (!asks || checks[i].start == kNoNumber || checks[i].resource_id.empty()) continue;
    values += (values.empty() ? "(" : ", (") + std::to_string(i) + ", " + SqlText(checks[i].resource_id) + ", " +
              std::to_string(checks[i].start) + ")";
  }
  std::map<std::size_t, NeighbourPrice> prices;
  if (values.empty()) return prices;
  TRY(database.Execute("CREATE OR REPLACE TEMP TABLE ask(i BIGINT, resource VARCHAR, t BIGINT)"));
  TRY(database.Execute("INSERT INTO ask VALUES " + values));
  for (const auto& row : TRY(TextRows(
           database,
           "SELECT i, min(BilledCost), min(EffectiveCost) FROM charge JOIN picked ON charge.item = picked.id JOIN ask "
           "ON "
           "ask.resource = ResourceId AND (epoch_us(period_start) = ask.t - 3600000000 OR epoch_us(period_start) = "
           "ask.t + 3600000000) WHERE mine AND by_hour = 1 GROUP BY i HAVING count(*) = 2 AND count(DISTINCT "
           "period_start) = 2 AND min(BilledCost) = max(BilledCost) AND min(EffectiveCost) = max(EffectiveCost)"))) {
    prices[static_cast<std::size_t>(Integer(row[0]))] = {Integer(row[1]), Integer(row[2])};
  }
  return prices;
}

Result<void> UseNeighbours(DuckDbConnection& database, std::vector<RowCheck>* checks) {
  for (const auto& [i, price] : TRY(NeighbourPrices(database, *checks))) {
    RowCheck& check = (*checks)[i];
    BillMismatch& mismatch = check.mismatch;
    if (mismatch.kind == BillRule::kAboveList) {
      const std::int64_t over = mismatch.billed->nano() - price.billed;
      mismatch.amount = mismatch.effect = Money::Nano(over);
      check.effective_over = over;
    } else {
      mismatch.amount = mismatch.kind == BillRule::kMissingHour ? Money::Nano(price.billed) : mismatch.amount;
      mismatch.effect = Money::Nano(-price.billed);
    }
  }
  return {};
}

// Commitments whose purchase is among the rows.
Result<void> AddCommitments(DuckDbConnection& database, std::vector<RowCheck>* checks, BillReport* report) {
  for (const auto& row : TRY(TextRows(
           database,
           "WITH last AS (SELECT max(period_end) AS t FROM charge JOIN picked ON charge.item = picked.id WHERE "
           "ChargeCategory = 'Usage'), rows AS (SELECT CommitmentDiscountId AS id, CommitmentDiscountName AS name, "
           "ChargeCategory AS category, CommitmentDiscountStatus AS status, period_end, BilledCost, EffectiveCost - "
           "coalesce(spare.effective, 0) AS effective FROM charge JOIN picked ON charge.item = picked.id LEFT JOIN "
           "spare ON spare.import = charge.import AND spare.line = charge.line WHERE mine AND CommitmentDiscountId IS "
           "NOT NULL) SELECT id, any_value(name), sum(BilledCost) FILTER (category = 'Purchase'), sum(effective) "
           "FILTER "
           "(status = 'Used'), sum(effective) FILTER (status = 'Unused'), max(period_end) FILTER (category = "
           "'Purchase') <= (SELECT t FROM last) FROM rows GROUP BY id ORDER BY id"))) {
    BillCommitment commitment;
    commitment.id = row[0];
    commitment.name = row[1];
    commitment.billed = TRY(SumOfNanos(row[2]));
    commitment.used = TRY(SumOfNanos(row[3]));
    commitment.unused = TRY(SumOfNanos(row[4]));
    commitment.ended = row[5] == "true";
    const std::int64_t rest = commitment.billed.nano() - commitment.used.nano() - commitment.unused.nano();
    if (commitment.ended && rest > kHalfCent) {
      RowCheck check;
      check.mismatch.kind = BillRule::kCommitmentUnused;
      check.mismatch.resource = commitment.id;
      check.mismatch.amount = Money::Nano(rest);
      check.in_sums = false;
      checks->push_back(std::move(check));
    }
    report->commitments.push_back(std::move(commitment));
  }
  return {};
}

// Rows that bill too much, as a table: the money beyond what they should bill is unexplained.
Result<void> FillSpare(DuckDbConnection& database, const std::vector<RowCheck>& checks) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>> spare;
  for (const RowCheck& check : checks) {
    if (!check.in_sums || (check.mismatch.effect.nano() == 0 && check.effective_over == 0)) continue;
    const std::int64_t line = check.mismatch.again != 0 ? check.mismatch.again : check.mismatch.line;
    auto& sum = spare[{check.import, line}];
    sum.first += check.mismatch.effect.nano();
    sum.second += check.effective_over;
  }
  std::string values;
  const auto flush = [&]() -> Result<void> {
    if (!values.empty()) TRY(database.Execute("INSERT INTO spare VALUES " + values));
    values.clear();
    return {};
  };
  for (const auto& [row, over] : spare) {
    values += (values.empty() ? "(" : ", (") + std::to_string(row.first) + ", " + std::to_string(row.second) + ", " +
              std::to_string(over.first) + ", " + std::to_string(over.second) + ")";
    if (values.size() > 100'000) TRY(flush());
  }
  return flush();
}

}  // namespace

Result<void> CheckRows(BillStore& store, const ReconcileQuestion& question, const Picked& /*picked*/,
                       BillReport* report) {
  DuckDbConnection& database = store.database();
  std::vector<RowCheck> checks = TRY(RowFindings(database));
  TRY(AddForeign(database, &checks));
  TRY(AddDuplicates(database, &checks));
  TRY(AddMissingHours(database, question, &checks));
  TRY(UseNeighbours(database, &checks));
  TRY(FillSpare(database, checks));
  TRY(AddCommitments(database, &checks, report));
  for (RowCheck& check : checks) report->mismatches.push_back(std::move(check.mismatch));
  return {};
}

}  // namespace idleburn
