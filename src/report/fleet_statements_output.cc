#include "report/fleet_statements_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/charge_tables.h"
#include "report/display.h"
#include "report/fleet_charges.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::size_t kStatementRows = 25;  // of jobs, users and experiments; the rest is one row

std::string HoursFigure(const FleetTime& time) { return ThreeDigits(GpuHoursOf(time.TotalMs())); }

std::string PeriodText(const FleetStatements& all) {
  return FormatUnixTime(all.from) + " to " + FormatUnixTime(all.to);
}

std::string ChargeBasisText(const FleetStatements& all) {
  return all.basis == ChargeBasis::kBusy
             ? "basis busy: a team pays for its GPUs while they were busy; time without data counts as busy"
             : "basis allocated: a team pays for the GPUs that it held, busy or idle";
}

// Why the period is not closed, as sentences.
std::vector<std::string> ProvisionalLines(const FleetStatements& all) {
  std::vector<std::string> lines;
  for (const FleetDoubt& doubt : all.provisional) lines.push_back("provisional: " + doubt.sentence);
  return lines;
}

std::string TeamNames(const std::vector<std::string>& teams) {
  constexpr std::size_t kNamed = 5;
  const std::vector<std::string> named(teams.begin(),
                                       teams.begin() + static_cast<std::ptrdiff_t>(std::min(teams.size(), kNamed)));
  return ListText(named) + (teams.size() > kNamed ? fmt::format(" and {} more", teams.size() - kNamed) : "");
}

// Teams that take no shared cost, with the GPU-hours that they held: "vision (12.5 GPU-hours)".
std::vector<std::string> NamesWithHours(const FleetStatements& all) {
  std::vector<std::string> names;
  for (const std::string& name : all.charge.unweighted) {
    const auto team = std::find_if(all.teams.begin(), all.teams.end(),
                                   [&](const FleetStatement& each) { return each.charge.name == name; });
    const double hours = team == all.teams.end() ? 0 : GpuHoursOf(team->time.TotalMs());
    names.push_back(fmt::format("{} ({})", name, GpuHoursForPeople(hours)));
  }
  return names;
}

// What a reader should check before anybody is charged.
std::vector<std::string> CheckLines(const FleetStatements& all) {
  std::vector<std::string> lines = ProvisionalLines(all);
  if (!all.charge.unweighted.empty()) {
    const char* lack = all.policy == SharePolicy::kExperiments ? "an experiment label" : "a weight";
    lines.push_back(fmt::format("without {}, so without shared cost: {}", lack, TeamNames(NamesWithHours(all))));
  }
  if (!all.charge.unmatched.empty()) {
    lines.push_back("weights without a team in this period, not used: " + TeamNames(all.charge.unmatched));
  }
  if (!all.new_to_period.empty()) {
    lines.push_back("owners of a commitment that held no GPU in this period: " + TeamNames(all.new_to_period));
  }
  return lines;
}

std::string StatementsVerdict(const FleetStatements& all, const ShownCharges& shown) {
  Money teams;
  Money unknown;
  std::size_t payers = 0;
  for (std::size_t i = 0; i < shown.rows.size(); ++i) {
    Money& sum = all.charge.rows[i].bucket ? unknown : teams;
    sum = Money::Nano(sum.nano() + shown.rows[i].total.nano());
    if (!all.charge.rows[i].bucket) ++payers;
  }
  const Money rest = Money::Nano(shown.total.nano() - teams.nano());
  return fmt::format("{} {} {} of {}.{}{}", payers, payers == 1 ? "team pays" : "teams pay",
                     Amount(teams, all.currency), Amount(shown.total, all.currency),
                     rest == Money() ? "" : fmt::format(" {} has no payer.", Amount(rest, all.currency)),
                     all.provisional.empty() ? "" : " Provisional: figures may change.");
}

// The GPU-hours of each row of the table.
std::vector<std::string> HoursOfTeams(const FleetStatements& all) {
  std::vector<std::string> hours;
  for (const FleetStatement& team : all.teams) hours.push_back(HoursFigure(team.time));
  return hours;
}

// Jobs, users or experiments of a statement. Their printed amounts sum to the printed direct cost.
ReportTable PartTable(const TeamStatement& statement, const std::string& title, const std::string& column,
                      const std::vector<StatementPart>& parts, Money direct) {
  const std::string& currency = statement.all.currency;
  const bool jobs = column == "job";
  const bool shared = column == "experiment" && statement.all.policy == SharePolicy::kExperiments;
  ReportTable table;
  table.title = title;
  table.columns = {{column, kLeft}, {"GPU-hours", kRight}, {"direct", kRight}, {"waste at least", kRight}};
  if (jobs) table.columns.insert(table.columns.begin() + 1, {{"user", kLeft}, {"experiment", kLeft, false, true}});
  if (shared) table.columns.push_back({"shared", kRight});
  std::vector<StatementPart> rows(parts.begin(),
                                  parts.begin() + static_cast<std::ptrdiff_t>(std::min(parts.size(), kStatementRows)));
  if (parts.size() > rows.size()) {
    StatementPart rest;
    rest.name = fmt::format("{} more, in --format csv", parts.size() - rows.size());
    for (std::size_t i = rows.size(); i < parts.size(); ++i) {
      rest.time.Add(parts[i].time);
      rest.direct = Money::Nano(rest.direct.nano() + parts[i].direct.nano());
      rest.shared = Money::Nano(rest.shared.nano() + parts[i].shared.nano());
    }
    rows.push_back(std::move(rest));
  }
  std::vector<Money> exact;
  std::vector<Money> shares;
  for (const StatementPart& part : rows) {
    exact.push_back(part.direct);
    shares.push_back(part.shared);
  }
  const std::int64_t unit = MinorUnit(currency);
  const std::vector<Money> shown = FitColumn(exact, direct, unit);
  shares = RoundColumn(shares, unit).value_or(shares);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StatementPart& part = rows[i];
    TableRow cells = {part.name == kFleetUnknown ? "unknown" : part.name, HoursFigure(part.time),
                      Amount(shown[i], currency), part.cost.waste ? Amount(*part.cost.waste, currency) : ""};
    if (jobs) cells.insert(cells.begin() + 1, {part.user, part.experiment});
    if (shared) cells.push_back(Amount(shares[i], currency));
    table.rows.push_back(std::move(cells));
  }
  if (table.rows.empty()) return table;
  TableRow total = {"total", HoursFigure(statement.team.time), Amount(direct, currency)};
  if (jobs) total.insert(total.begin() + 1, {"", ""});
  table.rows.push_back(std::move(total));
  return table;
}

}  // namespace

ReportPage StatementsPage(const FleetStatements& statements) {
  const ShownCharges shown = ShownChargesOf(statements.charge, statements.currency);
  ReportPage page;
  page.heading = "Chargeback of a GPU fleet";
  page.title = fmt::format("{}, {}", PeriodText(statements), StatusOf(statements));
  page.verdict = StatementsVerdict(statements, shown);
  page.why = {ChargeBasisText(statements), PolicyText(statements.policy), "price: " + statements.rate_source};
  page.next = CheckLines(statements);
  const ChargeTables tables = {statements.charge, statements.lines, statements.currency, statements.policy};
  page.tables.push_back(tables.WhoPays("team", HoursOfTeams(statements), shown));
  page.tables.push_back(tables.Shared());
  return page;
}

ReportPage TeamStatementPage(const TeamStatement& statement) {
  const FleetStatements& all = statement.all;
  const FleetStatement& team = statement.team;
  const ShownCharges charges = ShownChargesOf(all.charge, all.currency);
  const ShownCharge& shown = charges.rows[static_cast<std::size_t>(&team - all.teams.data())];
  ReportPage page;
  page.heading = "GPU statement of " + team.charge.name;
  page.title = fmt::format("{}, {}", PeriodText(all), StatusOf(all));
  page.verdict = fmt::format("Team {} pays {}.{}", team.charge.name, Amount(shown.total, all.currency),
                             all.provisional.empty() ? "" : " Provisional: figures may change.");
  page.why.push_back(fmt::format("direct: {} for {}", Amount(shown.direct, all.currency),
                                 GpuHoursForPeople(GpuHoursOf(team.time.TotalMs()))));
  page.why.push_back("shared: " + Amount(shown.shared, all.currency));
  if (team.charge.commitment != Money()) {
    page.why.push_back("unused commitment of this team: " + Amount(shown.commitment, all.currency));
  }
  if (team.cost.waste) {
    page.why.push_back(
        fmt::format("at least {} of the cost of its GPUs was waste", Amount(*team.cost.waste, all.currency)));
  }
  page.next = ProvisionalLines(all);
  page.points.push_back({"rules",
                         "Rules",
                         {"Price: " + all.rate_source + ".", "Charge " + ChargeBasisText(all) + ".",
                          "Policy: " + PolicyText(all.policy) + ".", "Statement id: " + StatementId(all, team) + "."}});
  page.tables.push_back(PartTable(statement, "By job", "job", team.jobs, shown.direct));
  page.tables.push_back(PartTable(statement, "By user", "user", team.users, shown.direct));
  page.tables.push_back(PartTable(statement, "By experiment", "experiment", team.experiments, shown.direct));
  const ChargeTables tables = {all.charge, all.lines, all.currency, all.policy};
  page.tables.push_back(tables.SharedOf(team.charge, shown, "team"));
  return page;
}

std::string StatementsCsv(const FleetStatements& statements) { return SummaryCsv(statements); }

std::string TeamStatementCsv(const TeamStatement& statement) { return StatementCsv(statement.all, statement.team); }

}  // namespace idleburn
