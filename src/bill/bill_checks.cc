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

// Inserts rows, each the text "(1, 'a')", many in one statement.
Result<void> InsertRows(DuckDbConnection& database, const std::string& table, const std::vector<std::string>& rows) {
  std::string values;
  for (const std::string& row : rows) {
    values += (values.empty() ? "" : ", ") + row;
    if (values.size() < 100'000 && &row != &rows.back()) continue;
    TRY(database.Execute("INSERT INTO " + table + " VALUES " + values));
    values.clear();
  }
  return {};
}

// A mismatch of a row, from the columns that queries begin with: file, line, name and id of the resource, and the start
// in microseconds, which may be empty.
RowCheck CheckOf(BillRule kind, std::span<const std::string> row) {
  RowCheck check;
  check.mismatch.kind = kind;
  check.mismatch.file = row[0];
  check.mismatch.line = Integer(row[1]);
  check.mismatch.resource = row[2];
  check.resource_id = row[3];
  if (!row[4].empty()) check.mismatch.hour = AtMicros(Integer(row[4]));
  return check;
}

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
    RowCheck check = CheckOf(*rule, std::span(row).subspan(1));
    check.start = row[5].empty() ? kNoNumber : Integer(row[5]);
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
    RowCheck check = CheckOf(BillRule::kForeignCurrency, row);
    check.start = row[4].empty() ? kNoNumber : Integer(row[4]);
    check.mismatch.billed = check.mismatch.amount = Money::Nano(Integer(row[5]));
    check.import = Integer(row[6]);
    check.in_sums = false;
    checks->push_back(std::move(check));
  }
  return {};
}

// The same row twice in one file. Only usage of a resource: two equal credits may both be right.
Result<void> AddDuplicates(DuckDbConnection& database, std::vector<RowCheck>* checks) {
  // By hash first, which takes little memory; few rows are left to compare.
  for (const auto& row : TRY(TextRows(
           database,
           "WITH again AS (SELECT import, hash FROM charge GROUP BY ALL HAVING count(*) > 1), copy AS (SELECT "
           "charge.*, "
           "min(line) OVER (PARTITION BY import, hash, period_start) AS first_line FROM charge JOIN again USING "
           "(import, hash)) SELECT import.file, first_line, copy.line, coalesce(ResourceName, ResourceId), ResourceId, "
           "epoch_us(copy.period_start), BilledCost, EffectiveCost, copy.import FROM copy JOIN picked ON copy.item = "
           "picked.id JOIN import ON import.id = copy.import WHERE mine AND copy.line > first_line AND "
           "ChargeCategory = 'Usage' AND ResourceId IS NOT NULL ORDER BY copy.import, copy.line"))) {
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

// Usage by the hour, and per resource how many rows and hours there are. `plain`: what has a row each hour. Spot
// machines come and go. `displaced`: the row lies before its billing period.
constexpr const char* kHourly =
    "(SELECT charge.import, line, hash, ResourceId, SkuId, coalesce(ResourceName, ResourceId) AS name, period_start AS "
    "t, period_end AS e, PricingQuantity AS quantity, BilledCost, coalesce(PricingCategory, '') <> 'Dynamic' AND "
    "period_end - period_start <= INTERVAL 1 HOUR AS plain, period_start < coalesce(try_cast(BillingPeriodStart AS "
    "TIMESTAMP), period_start) AS displaced FROM charge JOIN picked ON charge.item = picked.id WHERE (mine OR "
    "\"foreign\") AND by_hour = 1)";

Result<void> CountHours(DuckDbConnection& database) {
  return database.Execute(
      std::string("CREATE OR REPLACE TEMP TABLE running AS SELECT ResourceId, any_value(name) AS name, count(*) AS n, "
                  "count(DISTINCT t) AS starts, bool_or(e - t <> INTERVAL 1 HOUR OR date_trunc('hour', t) <> t) AS "
                  "odd, count(*) "
                  "FILTER (plain AND displaced) AS displaced, count(DISTINCT t) FILTER (plain AND NOT displaced) AS "
                  "hours, min(t) "
                  "FILTER (plain AND NOT displaced) AS first, max(t) FILTER (plain AND NOT displaced) AS last FROM ") +
      kHourly + " GROUP BY ResourceId");
}

// Rows of one resource and SKU whose charge periods overlap, if they bill more hours than there are: two rows of half
// an hour each share an hour rightly. Which of them is wrong is unknown, so they have no effect. A copy is told
// already.
Result<void> AddOverlaps(DuckDbConnection& database, std::vector<RowCheck>* checks) {
  std::map<std::string, std::int64_t> copies;
  for (const RowCheck& check : *checks) {
    if (check.mismatch.kind == BillRule::kDuplicateRow) ++copies[check.resource_id];
  }
  std::vector<std::string> copied;
  for (const auto& [id, count] : copies) copied.push_back("(" + SqlText(id) + ", " + std::to_string(count) + ")");
  TRY(database.Execute("CREATE OR REPLACE TEMP TABLE copied(id VARCHAR, copies BIGINT)"));
  TRY(InsertRows(database, "copied", copied));
  // Whole hours that begin once each cannot overlap.
  TRY(database.Execute(
      "CREATE OR REPLACE TEMP TABLE suspect AS SELECT ResourceId AS id FROM running LEFT JOIN copied ON copied.id = "
      "ResourceId WHERE odd OR n - starts > coalesce(copies, 0)"));
  for (const auto& row : TRY(TextRows(
           database,
           std::string("WITH once AS (SELECT import, min(line) AS line, ResourceId, any_value(name) AS name, "
                       "any_value(SkuId) AS sku, t, any_value(e) AS e, any_value(BilledCost) AS billed, "
                       "least(any_value(epoch_us(e) - epoch_us(t)), any_value(quantity) * 3.6) AS used FROM ") +
               kHourly +
               " JOIN suspect ON ResourceId = suspect.id WHERE e > t GROUP BY import, hash, ResourceId, t), "
               "told AS (SELECT *, max(e) OVER (PARTITION BY ResourceId, sku ORDER BY t, import, line ROWS BETWEEN "
               "UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM once), island AS (SELECT *, sum(CASE WHEN t < "
               "before THEN 0 ELSE 1 END) OVER (PARTITION BY ResourceId, sku ORDER BY t, import, line) AS island FROM "
               "told), summed AS (SELECT *, sum(used) OVER same AS used_all, max(epoch_us(e)) OVER same - "
               "min(epoch_us(t)) OVER same AS length FROM island WINDOW same AS (PARTITION BY ResourceId, sku, "
               "island)) "
               "SELECT import.file, summed.line, name, ResourceId, epoch_us(t), billed, summed.import, (billed * "
               "((least(epoch_us(e), epoch_us(before)) - epoch_us(t)) / (epoch_us(e) - epoch_us(t))))::BIGINT FROM "
               "summed JOIN import ON import.id = summed.import WHERE t < before AND used_all > length + 1 ORDER BY "
               "summed.import, summed.line"))) {
    RowCheck check = CheckOf(BillRule::kOverlappingPeriod, row);
    check.mismatch.billed = Money::Nano(Integer(row[5]));
    check.mismatch.amount = Money::Nano(Integer(row[7]));
    check.import = Integer(row[6]);
    checks->push_back(std::move(check));
  }
  return {};
}

// Hours without a row of a resource that otherwise has one each hour. Whatever is billed in fewer than 99 of 100 hours
// may have gaps that say nothing. A row that lies outside its billing period explains one gap of its resource.
Result<void> AddMissingHours(DuckDbConnection& database, const ReconcileQuestion& question,
                             std::vector<RowCheck>* checks) {
  TRY(database.Execute(
      "CREATE OR REPLACE TEMP TABLE steady AS SELECT * FROM (SELECT *, date_diff('hour', first, last) + 1 AS span FROM "
      "running) WHERE span > hours AND 100 * (span - hours) <= span"));
  const std::string gaps =
      std::string(
          "SELECT ResourceId, name, epoch_us(t), epoch_us(lead(t) OVER (PARTITION BY ResourceId ORDER BY t)), "
          "displaced FROM (SELECT DISTINCT steady.ResourceId, steady.name, t, steady.displaced FROM ") +
      kHourly + " h JOIN steady ON h.ResourceId = steady.ResourceId WHERE h.plain AND NOT h.displaced)";
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
  std::vector<std::string> rows;
  for (const auto& [row, over] : spare) {
    rows.push_back("(" + std::to_string(row.first) + ", " + std::to_string(row.second) + ", " +
                   std::to_string(over.first) + ", " + std::to_string(over.second) + ")");
  }
  return InsertRows(database, "spare", rows);
}

}  // namespace

Result<void> CheckRows(BillStore& store, const ReconcileQuestion& question, BillReport* report) {
  DuckDbConnection& database = store.database();
  std::vector<RowCheck> checks = TRY(RowFindings(database));
  TRY(AddForeign(database, &checks));
  TRY(AddDuplicates(database, &checks));
  TRY(CountHours(database));
  TRY(AddOverlaps(database, &checks));
  TRY(AddMissingHours(database, question, &checks));
  TRY(UseNeighbours(database, &checks));
  TRY(FillSpare(database, checks));
  TRY(AddCommitments(database, &checks, report));
  for (RowCheck& check : checks) report->mismatches.push_back(std::move(check.mismatch));
  return {};
}

}  // namespace idleburn
