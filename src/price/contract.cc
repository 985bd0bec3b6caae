#include "price/contract.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "text/csv.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

// Reads contracts from a table. Rules of a row are checked here, so price/rate_book.h can rely on them: a name that is
// unique, one way to state the price, and a term that ends after it starts. Every error names file and line, because
// the file was typed by hand from a paper contract.

namespace idleburn {
namespace {

// Columns that every file has. The price is in one of two sets of columns, so ReadPricing checks those.
constexpr std::array<std::string_view, 2> kRequired = {"name", "applies_to"};
// A larger number of GPUs is taken for a mistake.
constexpr std::int64_t kMostGpus = 1'000'000;

// The amount of a cell; absent if the cell is empty. An amount may be 0, because capacity can be free of charge
// (credits, a grant).
Result<std::optional<Money>> ReadAmount(const CsvTable& table, std::string_view column) {
  if (table.Cell(column).empty()) return std::optional<Money>();
  const Result<Money> amount = Money::Parse(table.Cell(column));
  if (!amount) return Fail(table.Where() + ": " + std::string(column) + ": " + amount.error().message);
  if (*amount < Money()) return table.Bad(column, "is negative; write the price you pay");
  return std::optional(*amount);
}

// The number of GPUs that a contract covers at a time. Absent, it covers any number.
Result<std::optional<std::int64_t>> ReadGpus(const CsvTable& table) {
  if (table.Cell("gpus").empty()) return std::optional<std::int64_t>();
  const std::optional<std::int64_t> gpus = ParseInteger(table.Cell("gpus"));
  if (!gpus || *gpus <= 0 || *gpus > kMostGpus) return table.Bad("gpus", "is not a number of GPUs; write it like 8");
  return gpus;
}

Result<std::optional<Instant>> ReadTime(const CsvTable& table, std::string_view column) {
  if (table.Cell(column).empty()) return std::optional<Instant>();
  const Result<Instant> time = ParseDayOrTime(table.Cell(column));
  if (!time) return table.Bad(column, "is not a date; write it like 2026-11-01 or 2026-11-01T08:00:00Z");
  return std::optional(*time);
}

// Splits "A100;node03" into the GPUs that a contract is for. An empty name between two ";" is an error: it would mean
// all GPUs.
Result<void> ReadGpuNames(const CsvTable& table, Contract* contract) {
  std::string_view cell = table.Cell("applies_to");
  while (true) {
    const std::size_t end = std::min(cell.find(';'), cell.size());
    if (Trim(cell.substr(0, end)).empty()) return table.Bad("applies_to", "names no GPUs; write A100;H100, or all");
    contract->applies_to.emplace_back(cell.substr(0, end));
    if (end == cell.size()) return {};
    cell.remove_prefix(end + 1);
  }
}

// Exactly one of the two ways to state a price. A commitment needs the number of GPUs that it is divided by: 16.00 an
// hour for 8 GPUs is 2.00 per GPU-hour.
Result<void> ReadPricing(const CsvTable& table, Contract* contract) {
  const std::optional<Money> each = TRY(ReadAmount(table, "per_gpu_hour"));
  const std::optional<Money> committed = TRY(ReadAmount(table, "committed_per_hour"));
  const std::optional<std::int64_t> gpus = TRY(ReadGpus(table));
  if (each.has_value() == committed.has_value() || (committed && !gpus)) {
    return Fail(table.Where() + ": give per_gpu_hour, or committed_per_hour and the gpus it pays for");
  }
  contract->committed = committed;
  contract->gpus = gpus;
  if (each) {
    contract->per_gpu_hour = *each;
    return {};
  }
  contract->per_gpu_hour = TRY(Scale(*committed, 1, *gpus));
  return {};
}

// The term [from, until). It is half open, so the day after one contract is the first day of the next one, and no hour
// has two prices.
Result<void> ReadTerm(const CsvTable& table, Contract* contract) {
  const std::optional<Instant> from = TRY(ReadTime(table, "from"));
  const std::optional<Instant> until = TRY(ReadTime(table, "until"));
  if (from && until && *until <= *from)
    return table.Bad("until", "is not after from; give the first day after the contract");
  contract->from = from;
  contract->until = until;
  return {};
}

Result<Contract> ReadContract(const CsvTable& table) {
  Contract contract;
  contract.name = table.Cell("name");
  if (contract.name.empty() || Printable(contract.name) != contract.name) {
    return table.Bad("name", "is not a name; every contract needs one");
  }
  TRY(ReadGpuNames(table, &contract));
  TRY(ReadPricing(table, &contract));
  if (const std::string_view currency = table.Cell("currency"); !currency.empty()) contract.currency = currency;
  if (!IsCurrencyCode(contract.currency)) {
    return table.Bad("currency", "is not an ISO 4217 code of three capital letters, such as EUR");
  }
  TRY(ReadTerm(table, &contract));
  return contract;
}

// For people: a day if the time is midnight UTC, else the full time.
std::string Day(Instant time) {
  const std::string text = FormatRfc3339(time);
  return text.size() > 10 && text.substr(10) == "T00:00:00Z" ? FormatDay(time) : text;
}

}  // namespace

Result<std::vector<Contract>> ReadContracts(ByteSource& in) {
  CsvTable table(in);
  TRY(table.ReadHeader());
  TRY(table.Require(kRequired));
  std::vector<Contract> contracts;
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) return contracts;
    Contract contract = TRY(ReadContract(table));
    // Reports name contracts, so two contracts need two names.
    const bool again = std::any_of(contracts.begin(), contracts.end(),
                                   [&](const Contract& other) { return other.name == contract.name; });
    if (again) return table.Bad("name", "appears twice; a contract with two prices needs two names");
    contracts.push_back(std::move(contract));
  }
}

std::string Describe(const Contract& c) {
  std::string text = "contract " + c.name + ": " + FormatExact(c.per_gpu_hour) + " per GPU-hour";
  if (c.committed) text += ", " + FormatExact(*c.committed) + " an hour";
  if (c.gpus) text += " for " + std::to_string(*c.gpus) + (*c.gpus == 1 ? " GPU" : " GPUs");
  if (c.from) text += ", from " + Day(*c.from);
  if (c.until) text += (c.from ? " to " : ", to ") + Day(*c.until);
  return text;
}

}  // namespace idleburn
