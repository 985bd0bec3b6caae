#include "report/bill_charges_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "fleet/fleet_report.h"
#include "fleet/fleet_statements.h"
#include "os/digest.h"
#include "report/charge_tables.h"
#include "report/fleet_figures.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::size_t kBillPartRows = 25;  // of resources, jobs and experiments; the rest is one row
constexpr std::size_t kUntaggedRows = 10;

std::string OwnerWord(const BillChargeback& all) {
  return all.by == OwnerBy::kTag ? "owner" : std::string(kOwnerByNames[static_cast<std::size_t>(all.by)]);
}

std::string BillPeriod(const BillChargeback& all) { return all.month.empty() ? "all rows" : all.month; }

std::string BillHours(std::int64_t ms) { return ms == 0 ? std::string() : ThreeDigits(GpuHoursOf(ms)); }

std::string RuleText(const UntaggedCost& cost) {
  if (cost.rule.owner.empty()) return "unknown: " + cost.why;
  return fmt::format("{} = {}: {} ({} other rows)", cost.rule.column, cost.rule.value, cost.rule.owner, cost.alike);
}

std::string ChargebackVerdict(const BillChargeback& all, const ShownCharges& shown) {
  Money paid;
  Money unknown;
  std::size_t payers = 0;
  for (std::size_t i = 0; i < shown.rows.size(); ++i) {
    Money& sum = all.charge.rows[i].bucket ? unknown : paid;
    sum = Money::Nano(sum.nano() + shown.rows[i].total.nano());
    if (!all.charge.rows[i].bucket) ++payers;
  }
  const Money rest = Money::Nano(shown.total.nano() - paid.nano());
  if (payers == 0) {
    return fmt::format("No {} is named, so {} has no payer.", OwnerWord(all), Amount(shown.total, all.currency));
  }
  std::string verdict =
      fmt::format("{} {}{} {} {} of {}.", payers, OwnerWord(all), payers == 1 ? "" : "s", payers == 1 ? "pays" : "pay",
                  Amount(paid, all.currency), Amount(shown.total, all.currency));
  if (rest != Money()) verdict += fmt::format(" {} has no payer.", Amount(rest, all.currency));
  if (unknown != Money()) verdict += fmt::format(" {} of it has no known owner.", Amount(unknown, all.currency));
  if (all.total_given && !all.reconciled) {
    verdict +=
        fmt::format(" The invoice is not reconciled: {} have no explanation.", Amount(all.residual, all.currency));
  }
  return verdict;
}

std::string CloseText(const BillChargeback& all) {
  const std::string head = fmt::format("closed at {} with {} (SHA-256 {})", FormatRfc3339(all.closed->at),
                                       Amount(all.closed->total, all.currency), all.closed->sha256.substr(0, 12));
  return all.corrections.empty() ? head + "; nothing has changed since"
                                 : head + "; what changed since is listed as corrections";
}

ReportTable UntaggedTable(const BillChargeback& all) {
  ReportTable table;
  table.title = "Without a tag, and the rule that would tag it";
  table.columns = {{"resource", kLeft, true}, {"rows", kRight}, {"cost", kRight}, {"rule", kLeft, true}};
  for (std::size_t i = 0; i < std::min(all.untagged.size(), kUntaggedRows); ++i) {
    const UntaggedCost& cost = all.untagged[i];
    table.rows.push_back({cost.resource, std::to_string(cost.rows), Amount(cost.cost, all.currency), RuleText(cost)});
  }
  if (all.untagged.size() > kUntaggedRows) {
    table.notes.push_back(fmt::format("{} more are in --format json", all.untagged.size() - kUntaggedRows));
  }
  return table;
}

ReportTable CorrectionTable(const BillChargeback& all) {
  ReportTable table;
  table.title = "Corrections since the close";
  table.columns = {{"of", kLeft}, {"closed", kRight}, {"now", kRight}, {"correction", kRight}};
  for (const BillCorrection& c : all.corrections) {
    table.rows.push_back({PayerText(c.name), Amount(c.closed, all.currency), Amount(c.now, all.currency),
                          Amount(Money::Nano(c.now.nano() - c.closed.nano()), all.currency)});
  }
  return table;
}

// Parts of a statement. Their printed amounts sum to the printed direct cost.
ReportTable PartsOf(const BillChargeback& all, const std::string& what, const std::vector<BillStatementPart>& parts,
                    Money direct) {
  ReportTable table;
  table.title = "By " + what;
  table.columns = {{what, kLeft, true}, {"GPU-hours", kRight}, {"direct", kRight},
                   {"used", kRight},    {"idle", kRight},      {"no telemetry", kRight}};
  std::vector<BillStatementPart> rows(
      parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(std::min(parts.size(), kBillPartRows)));
  if (parts.size() > rows.size()) {
    BillStatementPart rest;
    rest.name = fmt::format("{} more, in --format csv", parts.size() - rows.size());
    for (std::size_t i = rows.size(); i < parts.size(); ++i) {
      rest.gpu_ms += parts[i].gpu_ms;
      rest.direct = Money::Nano(rest.direct.nano() + parts[i].direct.nano());
      for (std::size_t p = 0; p < kUsePartCount; ++p) {
        rest.use[p] = Money::Nano(rest.use[p].nano() + parts[i].use[p].nano());
      }
    }
    rows.push_back(std::move(rest));
  }
  std::vector<Money> exact;
  for (const BillStatementPart& part : rows) exact.push_back(part.direct);
  const std::vector<Money> shown = FitColumn(exact, direct, MinorUnit(all.currency));
  const auto use = [&](const BillStatementPart& part, UsePart first, UsePart second) {
    const auto nano = [&](UsePart p) { return part.use[static_cast<std::size_t>(p)].nano(); };
    return Amount(Money::Nano(nano(first) + (first == second ? 0 : nano(second))), all.currency);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table.rows.push_back({rows[i].name == kFleetUnknown ? "unknown" : rows[i].name, BillHours(rows[i].gpu_ms),
                          Amount(shown[i], all.currency), use(rows[i], UsePart::kUsed, UsePart::kUsed),
                          use(rows[i], UsePart::kIdle, UsePart::kIdleHeld),
                          use(rows[i], UsePart::kUnobserved, UsePart::kUnobserved)});
  }
  if (!table.rows.empty()) table.rows.push_back({"total", "", Amount(direct, all.currency)});
  return table;
}

std::vector<std::string> AboutChargeback(const BillChargeback& all) {
  std::vector<std::string> lines;
  for (const BillDoubt& doubt : all.doubts) lines.push_back(doubt.sentence + ".");
  return lines;
}

std::string RuleCellsOf(const BillChargeback& all) {
  return fmt::format(",{},{}\n", kOwnerByNames[static_cast<std::size_t>(all.by)], Name(all.policy));
}

std::string UseCells(const BillStatementPart& part) {
  return ListText(part.use, ",", [](Money money) { return FormatExact(money); });
}

}  // namespace

ReportPage ChargebackPage(const BillChargeback& all) {
  const ShownCharges shown = ShownChargesOf(all.charge, all.currency);
  const ChargeTables tables = {all.charge, all.lines, all.currency, all.policy};
  std::vector<std::string> hours;
  for (const BillStatement& owner : all.owners) hours.push_back(BillHours(owner.whole.gpu_ms));
  ReportPage page;
  page.heading = "Chargeback of a bill";
  page.title = fmt::format("{}, {}", BillPeriod(all), all.currency);
  page.verdict = ChargebackVerdict(all, shown);
  page.why.push_back(PolicyText(all.policy));
  if (all.closed) page.why.push_back(CloseText(all));
  if (!all.untagged.empty() && !all.untagged.front().rule.owner.empty()) {
    page.next.push_back("tag " + all.untagged.front().resource + ", or give --tag-rules with the rule " +
                        RuleText(all.untagged.front()));
  }
  page.points.push_back({"data", "About the data", AboutChargeback(all)});
  page.tables.push_back(tables.WhoPays(OwnerWord(all), hours, shown));
  page.tables.push_back(CorrectionTable(all));
  page.tables.push_back(UntaggedTable(all));
  page.tables.push_back(tables.Shared());
  return page;
}

ReportPage BillStatementPage(const OwnerStatement& statement) {
  const BillChargeback& all = statement.all;
  const BillStatement& owner = statement.owner;
  const ShownCharges charges = ShownChargesOf(all.charge, all.currency);
  const ShownCharge& shown = charges.rows[static_cast<std::size_t>(&owner - all.owners.data())];
  ReportPage page;
  page.heading = "GPU statement of " + owner.charge.name;
  page.title = fmt::format("{}, {}", BillPeriod(all), all.currency);
  page.verdict = fmt::format("{} pays {}.", owner.charge.name, Amount(shown.total, all.currency));
  page.why.push_back("direct: " + Amount(shown.direct, all.currency));
  page.why.push_back("shared: " + Amount(shown.shared, all.currency));
  if (owner.charge.commitment != Money()) {
    page.why.push_back("unused commitment of this " + OwnerWord(all) + ": " + Amount(shown.commitment, all.currency));
  }
  for (const BillCorrection& c : all.corrections) {
    if (c.line || c.name != owner.charge.name) continue;
    page.why.push_back(fmt::format("closed with {}; corrections since: {}", Amount(c.closed, all.currency),
                                   Amount(Money::Nano(c.now.nano() - c.closed.nano()), all.currency)));
  }
  page.points.push_back(
      {"rules",
       "Rules",
       {"Policy: " + PolicyText(all.policy) + ".", "Statement id: " + BillStatementId(all, owner) + "."}});
  page.tables.push_back(PartsOf(all, "resource", owner.resources, shown.direct));
  page.tables.push_back(PartsOf(all, "job", owner.jobs, shown.direct));
  page.tables.push_back(PartsOf(all, "experiment", owner.experiments, shown.direct));
  const ChargeTables tables = {all.charge, all.lines, all.currency, all.policy};
  page.tables.push_back(tables.SharedOf(owner.charge, shown, OwnerWord(all)));
  return page;
}

std::string ChargebackCsv(const BillChargeback& all) {
  std::string csv =
      "month,kind,name,statement_id,file,gpu_seconds,currency,direct,shared,unused_commitment,total,by,share\n";
  const std::string tail = RuleCellsOf(all);
  for (const BillStatement& owner : all.owners) {
    const ChargeRow& charge = owner.charge;
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{}{}", all.month, charge.bucket ? "bucket" : "owner",
                       CsvCell(charge.name), charge.bucket ? "" : BillStatementId(all, owner),
                       BillStatementFile(all, owner), ExactSeconds(owner.whole.gpu_ms), all.currency,
                       FormatExact(charge.direct), FormatExact(charge.shared), FormatExact(charge.commitment),
                       FormatExact(charge.total), tail);
  }
  for (std::size_t line = 0; line < all.lines.size(); ++line) {
    csv += fmt::format("{},not_charged,{},,,,{},,,,{}{}", all.month, CsvCell(all.lines[line].name), all.currency,
                       FormatExact(all.charge.left[line]), tail);
  }
  csv += fmt::format("{},total,,,,,{},,,,{}{}", all.month, all.currency, FormatExact(all.charge.total), tail);
  // Of the total, so that a sum over owners and lines stays right.
  for (const BillCorrection& c : all.corrections) {
    csv += fmt::format("{},correction,{},,,,{},,,,{}{}", all.month, CsvCell(c.name), all.currency,
                       FormatExact(Money::Nano(c.now.nano() - c.closed.nano())), tail);
  }
  return csv;
}

std::string BillStatementCsv(const OwnerStatement& statement) {
  const BillChargeback& all = statement.all;
  const BillStatement& owner = statement.owner;
  std::string csv = "month,owner,kind,name,gpu_seconds,currency,direct,shared,unused_commitment," +
                    ListText(kUsePartNames, ",") + ",by,share\n";
  const std::string head = all.month + "," + CsvCell(owner.charge.name);
  const std::string tail = RuleCellsOf(all);
  csv += fmt::format("{},total,,{},{},{},{},{},{}{}", head, ExactSeconds(owner.whole.gpu_ms), all.currency,
                     FormatExact(owner.charge.direct), FormatExact(owner.charge.shared),
                     FormatExact(owner.charge.commitment), UseCells(owner.whole), tail);
  for (std::size_t line = 0; line < all.lines.size(); ++line) {
    csv += fmt::format("{},shared,{},,{},,{},{}{}", head, CsvCell(all.lines[line].name), all.currency,
                       FormatExact(owner.charge.of_lines[line]), std::string(kUsePartCount, ','), tail);
  }
  const auto parts = [&](std::string_view kind, const std::vector<BillStatementPart>& rows) {
    for (const BillStatementPart& part : rows) {
      csv += fmt::format("{},{},{},{},{},{},,,{}{}", head, kind, CsvCell(part.name), ExactSeconds(part.gpu_ms),
                         all.currency, FormatExact(part.direct), UseCells(part), tail);
    }
  };
  parts("resource", owner.resources);
  parts("job", owner.jobs);
  parts("experiment", owner.experiments);
  return csv;
}

std::string BillStatementId(const BillChargeback& all, const BillStatement& owner) {
  return Sha256Hex(BillStatementCsv({all, owner}));
}

std::string BillStatementFile(const BillChargeback& all, const BillStatement& owner) {
  if (all.file_ending.empty() || owner.charge.bucket) return {};
  return StatementFileName(owner.charge.name, OwnerWord(all)) + all.file_ending;
}

std::string CloseWords(const BillCloseOutcome& outcome) {
  const BillSnapshot& snapshot = outcome.snapshot;
  Money total;
  for (const ClosedRow& row : snapshot.rows) total = row.kind == "total" ? row.total : total;
  return fmt::format("{} {} with {}.\n{}\nSHA-256 {}\n",
                     outcome.known ? "Nothing changed: it was closed at" : "Closed at", FormatRfc3339(snapshot.at),
                     Amount(total, snapshot.currency), Printable(snapshot.path), snapshot.sha256);
}

std::vector<std::pair<std::string, std::string>> ChargebackFiles(BillChargeback all, ReportFormat format, Paper paper) {
  paper.full = true;
  all.file_ending = FileEndingOf(format);
  std::vector<std::pair<std::string, std::string>> files;
  for (const BillStatement& owner : all.owners) {
    const std::string file = BillStatementFile(all, owner);
    if (!file.empty()) files.emplace_back(file, Written(kBillStatementWriters, format, {all, owner}, paper));
  }
  files.emplace_back("summary" + all.file_ending, Written(kChargebackWriters, format, all, paper));
  return files;
}

}  // namespace idleburn
