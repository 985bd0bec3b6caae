#include "report/fleet_charges.h"

#include <fmt/format.h>

#include <algorithm>

#include "os/digest.h"
#include "report/display.h"
#include "report/fleet_figures.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// Amounts that were added with checks before cannot overflow here.
Money PlainSum(const std::vector<Money>& parts) {
  std::int64_t nano = 0;
  for (const Money part : parts) nano += part.nano();
  return Money::Nano(nano);
}

// The cells at the start and at the end of each row of a CSV document. They repeat, so rows of many periods can be put
// into one table.
std::string PeriodCells(const FleetStatements& all) {
  return fmt::format("{},{},{}", FormatUnixTime(all.from), FormatUnixTime(all.to), StatusOf(all));
}
std::string RuleCells(const FleetStatements& all) {
  return fmt::format(",{},{},{}\n", Name(all.basis), Name(all.policy), CsvCell(all.rate_source));
}

constexpr std::string_view kStatementHead =
    "period_start,period_end,status,team,kind,name,user,experiment,gpu_seconds,currency,direct,shared,"
    "unused_commitment,waste_low,waste_high,basis,share,price_source\n";
constexpr std::string_view kSummaryHead =
    "period_start,period_end,status,kind,name,statement_id,file,gpu_seconds,currency,direct,shared,"
    "unused_commitment,total,basis,share,price_source\n";

}  // namespace

std::vector<Money> FitColumn(const std::vector<Money>& exact, Money total, std::int64_t unit) {
  Result<std::vector<Money>> column = RoundColumn(exact, unit);
  if (!column || column->empty()) return exact;
  const std::int64_t off = total.nano() - PlainSum(*column).nano();
  if (off == 0) return *std::move(column);
  // One amount is rounded the other way: the one that lost most, or gained most.
  std::size_t place = 0;
  const auto lost = [&](std::size_t i) { return (exact[i].nano() - (*column)[i].nano()) * (off > 0 ? 1 : -1); };
  for (std::size_t i = 1; i < exact.size(); ++i) place = lost(i) > lost(place) ? i : place;
  (*column)[place] = Money::Nano((*column)[place].nano() + off);
  return *std::move(column);
}

ShownCharges ShownChargesOf(const Chargeback& charge, const std::string& currency) {
  const std::int64_t unit = MinorUnit(currency);
  std::vector<Money> direct;
  std::vector<Money> shared;
  std::vector<Money> commitment;
  for (const ChargeRow& row : charge.rows) {
    direct.push_back(row.direct);
    shared.push_back(row.shared);
    commitment.push_back(row.commitment);
  }
  const std::vector<Money> exact = {PlainSum(direct), PlainSum(shared), PlainSum(commitment), PlainSum(charge.left)};
  const std::vector<Money> sums = RoundColumn(exact, unit).value_or(exact);
  ShownCharges shown;
  shown.left = FitColumn(charge.left, sums[3], unit);
  direct = FitColumn(direct, sums[0], unit);
  shared = FitColumn(shared, sums[1], unit);
  commitment = FitColumn(commitment, sums[2], unit);
  for (std::size_t i = 0; i < charge.rows.size(); ++i) {
    const Money total = PlainSum({direct[i], shared[i], commitment[i]});
    shown.rows.push_back(
        {direct[i], shared[i], commitment[i], total, FitColumn(charge.rows[i].of_lines, shared[i], unit)});
  }
  shown.sum = {sums[0], sums[1], sums[2], PlainSum({sums[0], sums[1], sums[2]}), {}};
  shown.total = PlainSum({shown.sum.total, sums[3]});
  return shown;
}

std::string StatusOf(const FleetStatements& statements) {
  return statements.provisional.empty() ? "closed" : "provisional";
}

std::string PayerText(const std::string& team) {
  if (team == kFleetUnknown) return "no known owner";
  return team == kFleetOther ? "other teams" : team;
}

std::string StatementFileOf(const FleetStatements& statements, const FleetStatement& statement) {
  if (statements.file_ending.empty() || statement.charge.bucket) return {};
  return StatementFileName(statement.charge.name) + statements.file_ending;
}

std::string StatementCsv(const FleetStatements& statements, const FleetStatement& statement) {
  std::string csv(kStatementHead);
  const ChargeRow& charge = statement.charge;
  const std::string head = PeriodCells(statements) + "," + CsvCell(charge.name);
  const std::string tail = RuleCells(statements);
  const auto waste = [](const FleetCost& cost) {
    return ExactOrEmpty(cost.waste) + "," + ExactOrEmpty(cost.waste_high);
  };
  csv += fmt::format("{},total,,,,{},{},{},{},{},{}{}", head, ExactSeconds(statement.time.TotalMs()),
                     statements.currency, FormatExact(charge.direct), FormatExact(charge.shared),
                     FormatExact(charge.commitment), waste(statement.cost), tail);
  for (std::size_t line = 0; line < statements.lines.size(); ++line) {
    csv += fmt::format("{},shared,{},,,,{},,{},,,{}", head, CsvCell(statements.lines[line].name), statements.currency,
                       FormatExact(charge.of_lines[line]), tail);
  }
  const auto parts = [&](std::string_view kind, const std::vector<StatementPart>& rows, bool shared) {
    for (const StatementPart& part : rows) {
      csv += fmt::format("{},{},{},{},{},{},{},{},{},,{}{}", head, kind, CsvCell(part.name), CsvCell(part.user),
                         CsvCell(part.experiment), ExactSeconds(part.time.TotalMs()), statements.currency,
                         FormatExact(part.direct), shared ? FormatExact(part.shared) : "", waste(part.cost), tail);
    }
  };
  parts("job", statement.jobs, false);
  parts("user", statement.users, false);
  parts("experiment", statement.experiments, statements.policy == SharePolicy::kExperiments);
  return csv;
}

std::string StatementId(const FleetStatements& statements, const FleetStatement& statement) {
  return Sha256Hex(StatementCsv(statements, statement));
}

std::string SummaryCsv(const FleetStatements& statements) {
  std::string csv(kSummaryHead);
  const std::string head = PeriodCells(statements);
  const std::string tail = RuleCells(statements);
  for (const FleetStatement& team : statements.teams) {
    const ChargeRow& charge = team.charge;
    csv +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{}{}", head, charge.bucket ? "bucket" : "team", CsvCell(charge.name),
                    charge.bucket ? "" : StatementId(statements, team), StatementFileOf(statements, team),
                    ExactSeconds(team.time.TotalMs()), statements.currency, FormatExact(charge.direct),
                    FormatExact(charge.shared), FormatExact(charge.commitment), FormatExact(charge.total), tail);
  }
  for (std::size_t line = 0; line < statements.lines.size(); ++line) {
    csv += fmt::format("{},not_charged,{},,,,{},,,,{}{}", head, CsvCell(statements.lines[line].name),
                       statements.currency, FormatExact(statements.charge.left[line]), tail);
  }
  return csv +
         fmt::format("{},total,,,,,{},,,,{}{}", head, statements.currency, FormatExact(statements.charge.total), tail);
}

}  // namespace idleburn
