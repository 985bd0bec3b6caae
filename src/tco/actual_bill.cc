#include "tco/actual_bill.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "history/runs.h"
#include "tco/figures.h"
#include "text/command_line.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/time_zone.h"

namespace idleburn {

// Reading bills. A row that is not understood is an error and never left out quietly, because a missing row looks like
// a saving. What an export may legitimately contain and we cannot use is counted in the bill instead.

BillingTags ReadBillingTags(std::string_view cell) {
  BillingTags tags;
  constexpr std::size_t kMostBytes = 1 << 16;  // a cell nested deeper than the parser's stack is no flat object either
  if (cell.size() > kMostBytes) return tags;
  const nlohmann::json object = nlohmann::json::parse(cell.begin(), cell.end(), nullptr, false);
  if (!object.is_object()) return tags;
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) tags[key] = value.get<std::string>();
    if (value.is_number() || value.is_boolean()) tags[key] = value.dump();
  }
  return tags;
}

namespace {

// A service category of FOCUS and the category of a plan that it is.
struct ServiceName {
  std::string_view service;  // FOCUS ServiceCategory
  CostCategory category;
};

// Categories that are not listed stay unallocated.
constexpr auto kServices = std::to_array<ServiceName>({{"Compute", CostCategory::kCompute},
                                                       {"AI and Machine Learning", CostCategory::kCompute},
                                                       {"Storage", CostCategory::kData},
                                                       {"Databases", CostCategory::kData},
                                                       {"Networking", CostCategory::kInfrastructure},
                                                       {"Developer Tools", CostCategory::kInfrastructure},
                                                       {"Management and Governance", CostCategory::kOperations},
                                                       {"Security", CostCategory::kOperations}});

// Where in the plan an amount belongs.
struct PlanPlace {
  std::optional<CostCategory> category;
  std::optional<std::size_t> line;
};

// Finds a category, a line by its key, or a line by its name where only one line has that name.
Result<PlanPlace> PlaceOf(std::string_view text, const TcoPlan& plan, const std::string& where) {
  if (text.empty() || text == "unallocated") return PlanPlace{};
  std::vector<std::string> known;
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    if (kCostCategoryNames[c] == text) return PlanPlace{static_cast<CostCategory>(c), {}};
    known.emplace_back(kCostCategoryNames[c]);
  }
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    const PlanLine& line = plan.lines[i];
    if (line.Key() == text) return PlanPlace{line.category, i};
    if (line.name == text) named.push_back(i);
    known.push_back(line.Key());
    known.push_back(line.name);
  }
  // A name alone is enough where it is the only one.
  if (named.size() == 1) return PlanPlace{plan.lines[named.front()].category, named.front()};
  const std::string shown = "'" + std::string(text.substr(0, 40)) + "'";
  if (named.size() > 1) {
    return FailUsage(where + ": " + shown + " is " + plan.lines[named[0]].Key() + " and " + plan.lines[named[1]].Key() +
                     "; write one of them");
  }
  return FailUsage(where + ": " + shown + " is neither a category nor a line of the plan; " +
                   SuggestionFor(text, known));
}

// Absent for a service that is not listed.
std::optional<CostCategory> CategoryOfService(std::string_view service) {
  const auto found =
      std::find_if(kServices.begin(), kServices.end(), [&](const ServiceName& s) { return s.service == service; });
  return found == kServices.end() ? std::nullopt : std::optional(found->category);
}

// The month of a month or of a stamp: "2026-07".
Result<std::string> MonthOf(std::string_view text, const std::string& where) {
  const std::string_view month = text.substr(0, 7);
  const std::int64_t number = month.size() == 7 ? ParseInteger(month.substr(5)).value_or(0) : 0;
  const bool ends = text.size() <= 7 || text[7] == '-';  // or its day follows
  if (!ends || number < 1 || number > 12 || month[4] != '-' || !ParseInteger(month.substr(0, 4))) {
    return FailUsage(where + ": '" + std::string(text.substr(0, 20)) + "' is not a month such as 2026-07");
  }
  return std::string(month);
}

// The day of a stamp; absent where the cell has no more than a month.
Result<std::optional<std::int64_t>> DayIn(const CsvTable& table, std::string_view column) {
  const std::string_view stamp = table.Cell(column);
  const std::optional<std::int64_t> day = DayOf(stamp);
  if (day || stamp.size() <= 7) return day;
  return FailUsage(table.Where() + ": " + std::string(column) + ": '" + std::string(stamp.substr(0, 20)) +
                   "' is not a day such as 2026-07-31");
}

// How many days a charge is for. The end of its period is not in it.
Result<std::int64_t> DaysOf(const CsvTable& table, std::int64_t first) {
  const std::optional<std::int64_t> day = TRY(DayIn(table, "ChargePeriodEnd"));
  if (!day) return 1;
  const std::string_view end = table.Cell("ChargePeriodEnd");
  // A period that ends at midnight ends with the day before.
  const bool midnight = end.size() < 16 || end.substr(11, 5) == "00:00";
  return std::max<std::int64_t>(1, *day - first + (midnight ? 0 : 1));
}

// Whether so many days from `first` on pass the end of the month "2026-07".
bool EndsAfter(const std::string& month, std::int64_t first, std::int64_t days) {
  const std::int64_t year = *ParseInteger(month.substr(0, 4));
  const int number = static_cast<int>(*ParseInteger(month.substr(5)));
  return first + days > DaysFromCivil(year, number, 1) + DaysInMonth(year, number);
}

// The amount of the row. A credit is negative.
Result<Money> AmountOf(const CsvTable& table, const std::string& column, bool focus, ActualBill& bill) {
  bool rounded = false;  // exports have unit prices times quantities with more digits than money
  const std::string_view cell = table.Cell(column);
  const Result<Money> amount = focus ? Money::ParseRounding(PlainDecimal(cell), &rounded) : Money::Parse(cell);
  // Counted, so that a report can say why its cents differ from the export's.
  bill.rounded += rounded ? 1 : 0;
  bill.not_focus += focus && cell.find('+') != std::string_view::npos ? 1 : 0;
  if (!amount) return FailUsage(table.Where() + ": " + column + ": " + amount.error().message);
  if (std::abs(Units(*amount)) > kMostUnits) {
    return FailUsage(table.Where() + ": " + column + " is beyond 4 billion; check its unit");
  }
  return amount;  // a credit is negative
}

// The quantity of the row; absent where the cell is empty.
Result<std::optional<Fraction>> QuantityOf(const CsvTable& table, std::string_view column) {
  std::string_view text = table.Cell(column);
  if (text.empty()) return std::optional<Fraction>();
  const bool negative = text.front() == '-';  // a correction takes back what was counted before
  if (negative) text.remove_prefix(1);
  Result<Fraction> number = ParseDecimal(PlainDecimal(text));
  if (!number) return FailUsage(table.Where() + ": " + std::string(column) + ": " + number.error().message);
  if (negative) number->top = -number->top;
  return std::optional(*number);
}

// Refuses a row in another currency: there is no rate of exchange that could be right for it.
Result<void> RequireCurrency(const CsvTable& table, std::string_view column, const TcoPlan& plan) {
  const std::string_view currency = table.Cell(column);
  if (currency.empty() || currency == plan.currency) return {};
  return FailUsage(table.Where() + ": is billed in " + std::string(currency.substr(0, 10)) + ", but " + plan.name +
                   " is in " + plan.currency + "; idleburn cannot add currencies");
}

// Whether the charge pays for nothing that was used: credits, taxes, purchases, and what was not used of a commitment.
bool UsesNothing(const CsvTable& table) {
  const std::string_view category = table.Cell("ChargeCategory");
  return (!category.empty() && category != "Usage") || table.Cell("CommitmentDiscountStatus") == "Unused";
}

// Reads the columns of a billing export that matter here.
Result<void> ReadFocus(const CsvTable& table, const TcoPlan& plan, ActualRow& row, ActualBill& bill) {
  TRY(RequireCurrency(table, "BillingCurrency", plan));
  // Services of no category stay unallocated; they are never guessed.
  row.category = CategoryOfService(table.Cell("ServiceCategory"));
  row.day = TRY(DayIn(table, "ChargePeriodStart"));
  if (row.day) {
    row.days = TRY(DaysOf(table, *row.day));
  }
  if (row.day && row.amount != Money() && EndsAfter(row.month, *row.day, row.days)) ++bill.beyond_month;
  // A credit or a tax is money without GPU-hours.
  if (UsesNothing(table)) {
    row.quantity = Fraction();
  } else if (table.Cell("ConsumedUnit") == "GPU-Hours") {
    row.quantity = TRY(QuantityOf(table, "ConsumedQuantity"));
  }
  return {};
}

// The columns of a table made for this.
Result<void> ReadPlain(const CsvTable& table, const TcoPlan& plan, ActualRow& row) {
  TRY(RequireCurrency(table, "currency", plan));
  const PlanPlace place = TRY(PlaceOf(table.Cell(table.Has("line") ? "line" : "category"), plan, table.Where()));
  row.category = place.category;
  row.line = place.line;
  row.day = TRY(DayIn(table, "month"));
  row.quantity = TRY(QuantityOf(table, "quantity"));
  const std::string_view status = table.Cell("status");
  if (!status.empty() && status != "open" && status != "closed") {
    return FailUsage(table.Where() + ": status '" + std::string(status.substr(0, 20)) + "' is not one of open, closed");
  }
  if (!status.empty()) row.open = status == "open";
  return {};
}

// Refuses a tag that no row can have: that is a mistake, and not an empty bill.
Result<void> RequireTags(const CsvTable& table, bool focus, const BillingTags& tags) {
  for (const auto& [key, value] : tags) {
    if (table.Has(focus ? "Tags" : key)) continue;
    return FailUsage(table.name() + ": has no column '" + (focus ? std::string("Tags") : key.substr(0, 40)) +
                     "' to select rows of " + key.substr(0, 40) + "=" + value.substr(0, 40));
  }
  return {};
}

// Whether the row has all of the tags.
bool HasTags(const CsvTable& table, bool focus, const BillingTags& tags) {
  if (tags.empty()) return true;
  const BillingTags said = focus ? ReadBillingTags(table.Cell("Tags")) : BillingTags();
  return std::all_of(tags.begin(), tags.end(), [&](const auto& tag) {
    const auto found = said.find(tag.first);
    return focus ? found != said.end() && found->second == tag.second : table.Cell(tag.first) == tag.second;
  });
}

}  // namespace

// Stamps of exports differ behind the day, so only the day is read.
std::optional<std::int64_t> DayOf(std::string_view stamp) {
  if (stamp.size() < 10 || stamp[7] != '-') return std::nullopt;
  const std::optional<std::int64_t> year = ParseInteger(stamp.substr(0, 4));
  const std::optional<std::int64_t> month = ParseInteger(stamp.substr(5, 2));
  const std::optional<std::int64_t> day = ParseInteger(stamp.substr(8, 2));
  if (!year || !month || !day || *month < 1 || *month > 12) return std::nullopt;
  const int number = static_cast<int>(*month);
  if (*day < 1 || *day > DaysInMonth(*year, number)) return std::nullopt;
  return DaysFromCivil(*year, number, static_cast<int>(*day));
}

Result<ActualBill> ReadActuals(ByteSource& in, const TcoPlan& plan, const BillingTags& tags) {
  CsvTable table(in);
  TRY(table.ReadHeader());
  // A column that only the standard has tells the two kinds apart.
  const bool focus = table.Has("ChargePeriodStart");
  ActualBill bill;
  // EffectiveCost spreads commitments over their use, which is what a month really cost.
  bill.column = !focus ? "amount" : table.Has("EffectiveCost") ? "EffectiveCost" : "BilledCost";
  const std::string place = focus ? "ServiceCategory" : table.Has("line") ? "line" : "category";
  const std::string_view month = focus ? "ChargePeriodStart" : "month";
  TRY(table.Require(std::vector<std::string_view>{month, bill.column, place}));
  TRY(RequireTags(table, focus, tags));
  const std::array<std::string_view, 6> read = {month, bill.column, place, "quantity", "currency", "status"};
  for (const std::string& column : table.columns()) {
    // An export has dozens of columns by its standard; of a table made for this, each is meant.
    const bool used = std::find(read.begin(), read.end(), column) != read.end() || tags.count(column) > 0;
    if (!focus && !used) bill.unread.push_back(column);
  }
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) return bill;
    if (!HasTags(table, focus, tags)) {
      ++bill.untagged;
      continue;
    }
    ActualRow row;
    const std::string of = TRY(MonthOf(table.Cell(month), table.Where()));
    const Money amount = TRY(AmountOf(table, bill.column, focus, bill));
    row.month = of;
    row.amount = amount;
    TRY(focus ? ReadFocus(table, plan, row, bill) : ReadPlain(table, plan, row));
    bill.rows.push_back(std::move(row));
  }
}

ActualBill BillOfRuns(std::span<const HistoryRun> runs, const std::string& currency, std::vector<std::string>& told) {
  ActualBill bill;
  bill.column = "history";
  int audits = 0;
  int unpriced = 0;
  int foreign = 0;
  int parts = 0;
  // A run inside another one is paid with it.
  const std::vector<std::string> within = CountedWithin(runs, runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const HistoryRun& run = runs[i];
    if (run.kind == "audit") {
      ++audits;
      continue;
    }
    if (!within[i].empty()) {
      ++parts;
      continue;
    }
    if (!run.figures.cost_nano) {
      ++unpriced;
      continue;
    }
    if (run.figures.currency != currency) {
      ++foreign;
      continue;
    }
    const CivilTime started = ToCivil(run.started);
    ActualRow row;
    row.month = FormatRfc3339(run.started).substr(0, 7);
    row.day = DaysFromCivil(started.year, started.month, started.day);
    row.category = CostCategory::kCompute;
    row.amount = Money::Nano(*run.figures.cost_nano);
    // The quantity is what the price was paid for, so that price x quantity is the amount.
    if (const auto rate = run.figures.rate_nano; rate && *rate > 0) {
      row.quantity = Fraction::Of(row.amount) / Fraction::Of(Money::Nano(*rate));
    }
    if (run.state == RunState::kRunning) row.open = true;
    bill.rows.push_back(std::move(row));
  }
  const auto tell = [&](int count, const std::string& why) {
    if (count > 0) told.push_back(fmt::format("actuals: {} of the history are left out: {}", count, why));
  };
  tell(audits, "audits, which may measure the same runs again");
  tell(parts, "runs inside another run, which counts their GPUs");
  tell(unpriced, "runs without a cost");
  tell(foreign, "runs that were not paid in " + currency);
  return bill;
}

}  // namespace idleburn
