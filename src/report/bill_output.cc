#include "report/bill_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/fleet_figures.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/time_zone.h"

// A reconciled bill, for people and for programs. People see amounts in the minor unit; documents have them exactly.
namespace idleburn {
namespace {

constexpr std::size_t kBillRows = 25;  // mismatches of a page; JSON and CSV have all

constexpr std::array<std::string_view, kUsePartCount> kPartWords = {"used: GPUs at 10 % or more",
                                                                    "idle, memory held",
                                                                    "idle",
                                                                    "unallocated, or an unused part of a commitment",
                                                                    "no telemetry",
                                                                    "unexplained",
                                                                    "not GPUs: storage, network, credits, tax"};

std::string BillText(Money money, const BillReport& report) { return Amount(money, report.currency); }

std::string BillShare(Money part, Money whole) {
  if (whole.nano() == 0) return "";
  return PercentText(static_cast<double>(part.nano()) / static_cast<double>(whole.nano()));
}

std::string HourText(const std::optional<Instant>& hour) { return hour ? FormatRfc3339(*hour) : std::string(); }

std::string BillVerdict(const BillReport& report) {
  std::string verdict =
      fmt::format("{} {}: {} of it for GPUs. ", report.total_given ? "The invoice is" : "The rows sum to",
                  BillText(report.total, report), BillText(report.gpu, report));
  if (report.total_given) {
    verdict += report.reconciled
                   ? fmt::format("It is reconciled, with a residual of {}. ", BillText(report.residual, report))
                   : fmt::format("It is not reconciled: {} have no explanation. ", BillText(report.residual, report));
  }
  verdict += report.mismatches.empty()
                 ? "No row deviates."
                 : fmt::format("{} {}.", report.mismatches.size() + static_cast<std::size_t>(report.left_out),
                               report.mismatches.size() == 1 ? "mismatch" : "mismatches");
  return verdict;
}

std::vector<std::string> BillWhy(const BillReport& report) {
  std::vector<std::string> lines;
  const std::vector<Money> parts = RoundedParts(report);
  for (std::size_t p = 0; p < kUsePartCount; ++p) {
    if (parts[p].nano() == 0) continue;
    lines.push_back(
        fmt::format("{}: {} ({})", kPartWords[p], BillText(parts[p], report), BillShare(parts[p], report.total)));
  }
  if (parts[kUsePartCount].nano() != 0) {
    lines.push_back(fmt::format("paid for other periods, or before: {}", BillText(parts[kUsePartCount], report)));
  }
  return lines;
}

// Mismatches of a kind together: a screen has no room for each.
ReportTable KindTable(const BillReport& report) {
  struct Kind {
    std::int64_t count = 0;
    Money amount;
    bool known = false;
    const BillMismatch* first = nullptr;
  };
  std::map<BillRule, Kind> kinds;
  for (const BillMismatch& mismatch : report.mismatches) {
    Kind& kind = kinds[mismatch.kind];
    if (kind.count++ == 0) kind.first = &mismatch;
    if (!mismatch.amount) continue;
    if (const Result<Money> sum = Add(kind.amount, *mismatch.amount)) kind.amount = *sum;
    kind.known = true;
  }
  ReportTable table;
  table.title = "Mismatches by kind";
  table.columns = {
      {"kind", kLeft}, {"times", kRight}, {"amount", kRight}, {"first line", kRight}, {"resource", kLeft, true, true}};
  for (const auto& [rule, kind] : kinds) {
    table.rows.push_back({std::string(Facts(rule).name), std::to_string(kind.count),
                          kind.known ? BillText(kind.amount, report) : "unknown",
                          kind.first->line > 0 ? std::to_string(kind.first->line) : "", kind.first->resource});
  }
  return table;
}

ReportTable MismatchTable(const BillReport& report) {
  ReportTable table;
  table.title = "Mismatches";
  table.columns = {{"line", kRight}, {"kind", kLeft},    {"resource", kLeft, true},
                   {"hour", kLeft},  {"amount", kRight}, {"why", kLeft, true, true}};
  for (std::size_t i = 0; i < std::min(report.mismatches.size(), kBillRows); ++i) {
    const BillMismatch& mismatch = report.mismatches[i];
    std::string why(Facts(mismatch.kind).sentence);
    if (mismatch.again > 0) why = fmt::format("line {} repeats it", mismatch.again);
    table.rows.push_back({mismatch.line > 0 ? std::to_string(mismatch.line) : "",
                          std::string(Facts(mismatch.kind).name), mismatch.resource, HourText(mismatch.hour),
                          mismatch.amount ? BillText(*mismatch.amount, report) : "unknown", std::move(why)});
  }
  if (report.mismatches.size() > kBillRows) {
    table.notes.push_back(fmt::format("{} more are in --format csv", report.mismatches.size() - kBillRows));
  }
  return table;
}

ReportTable LineTable(const BillReport& report) {
  ReportTable table;
  table.title = "Charges";
  table.columns = {{"category", kLeft}, {"service", kLeft}, {"GPU", kLeft},
                   {"rows", kRight},    {"billed", kRight}, {"effective", kRight}};
  for (const BillLine& line : report.lines) {
    table.rows.push_back({line.category, line.service, line.gpu ? "yes" : "", std::to_string(line.rows),
                          BillText(line.billed, report), BillText(line.effective, report)});
  }
  return table;
}

ReportTable BillOwnerTable(const BillReport& report) {
  ReportTable table;
  table.title = "GPU cost by owner";
  table.columns = {{"owner", kLeft}, {"cost", kRight}, {"share", kRight}};
  for (const BillOwner& owner : report.owners) {
    table.rows.push_back({owner.name, BillText(owner.cost, report), BillShare(owner.cost, report.gpu)});
  }
  return table;
}

ReportTable CommitmentTable(const BillReport& report) {
  ReportTable table;
  table.title = "Commitments";
  table.columns = {
      {"commitment", kLeft}, {"name", kLeft, true}, {"billed", kRight}, {"used", kRight}, {"unused", kRight}};
  for (const BillCommitment& c : report.commitments) {
    table.rows.push_back(
        {c.id, c.name, BillText(c.billed, report), BillText(c.used, report), BillText(c.unused, report)});
  }
  return table;
}

std::vector<std::string> AboutBill(const BillReport& report) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} rows; their BilledCost sums to {}", report.rows, FormatExact(report.rows_total)));
  if (report.seen_from) {
    lines.push_back(
        fmt::format("telemetry covers {} to {}", FormatRfc3339(*report.seen_from), FormatRfc3339(*report.seen_to)));
  } else {
    lines.push_back("no telemetry was given; use --ledger or --telemetry to learn what GPUs did");
  }
  for (const OtherCurrency& other : report.others) {
    lines.push_back(fmt::format("not in the sums: {} in {} rows", Amount(other.billed, other.currency), other.rows));
  }
  for (const BillDoubt& doubt : report.doubts) lines.push_back(doubt.sentence);
  for (std::string& line : lines) line += line.ends_with('.') ? "" : ".";
  return lines;
}

std::string HitText(const RuleHit& hit) {
  return fmt::format("{}{}", hit.line, hit.column ? " " + std::string(Facts(*hit.column).name) : "");
}

}  // namespace

std::vector<Money> RoundedParts(const BillReport& report) {
  std::vector<Money> parts(report.use.begin(), report.use.end());
  parts.push_back(report.amortization);
  return RoundColumn(parts, MinorUnit(report.currency)).value_or(parts);
}

ReportPage BillPage(const BillReport& report) {
  ReportPage page;
  page.heading = "GPU bill";
  page.title = fmt::format("{} rows, {}", report.rows, report.currency);
  page.verdict = BillVerdict(report);
  page.why = BillWhy(report);
  page.points.push_back({"data", "About the data", AboutBill(report)});
  page.tables.push_back(KindTable(report));
  page.tables.push_back(MismatchTable(report));
  page.tables.push_back(LineTable(report));
  page.tables.push_back(BillOwnerTable(report));
  page.tables.push_back(CommitmentTable(report));
  return page;
}

std::string BillCsv(const BillReport& report) {
  std::string csv = "kind,file,line,again,resource,hour,currency,billed,observed_gpu_hours,amount,effect\n";
  const auto number = [](std::int64_t line) { return line > 0 ? std::to_string(line) : std::string(); };
  for (const BillMismatch& m : report.mismatches) {
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", Facts(m.kind).name, CsvCell(m.file), number(m.line),
                       number(m.again), CsvCell(m.resource), HourText(m.hour), CsvCell(report.currency),
                       ExactOrEmpty(m.billed), m.observed ? fmt::format("{:.9g}", *m.observed) : "",
                       ExactOrEmpty(m.amount), FormatExact(m.effect));
  }
  return csv;
}

ReportPage ValidationPage(const BillValidation& validation) {
  ReportPage page;
  page.heading = "FOCUS file";
  page.title = validation.file.name;
  std::int64_t times = 0;
  for (const BrokenRule& broken : validation.broken) times += broken.times;
  page.verdict =
      validation.broken.empty()
          ? fmt::format("{} rows keep every rule that idleburn checks.", validation.file.rows)
          : fmt::format("{} rows break {} rules, {} times.", validation.file.rows, validation.broken.size(), times);
  ReportTable table;
  table.title = "Broken rules";
  table.columns = {{"rule", kLeft}, {"times", kRight}, {"first lines", kLeft}};
  ReportTable meaning;
  meaning.title = "What the rules say";
  meaning.columns = {{"rule", kLeft}, {"what is wrong", kLeft, true}};
  for (const BrokenRule& broken : validation.broken) {
    const auto shown = static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, broken.first.size()));
    const std::vector<RuleHit> few(broken.first.begin(), broken.first.begin() + shown);
    const std::string name(Facts(broken.rule).name);
    table.rows.push_back({name, std::to_string(broken.times), ListText(few, ", ", HitText)});
    meaning.rows.push_back({name, std::string(Facts(broken.rule).sentence)});
  }
  page.tables.push_back(std::move(table));
  page.tables.push_back(std::move(meaning));
  if (!validation.absent.empty()) {
    page.points.push_back(
        {"data",
         "About the data",
         {"recommended columns are absent: " +
          ListText(validation.absent, ", ", [](FocusColumn c) { return std::string(Facts(c).name); }) + "."}});
  }
  return page;
}

std::string ValidationCsv(const BillValidation& validation) {
  std::string csv = "rule,times,line,column,resource\n";
  for (const BrokenRule& broken : validation.broken) {
    for (const RuleHit& hit : broken.first) {
      csv += fmt::format("{},{},{},{},{}\n", Facts(broken.rule).name, broken.times, hit.line,
                         hit.column ? Facts(*hit.column).name : "", CsvCell(hit.resource));
    }
  }
  return csv;
}

std::string SqlTable(const SqlAnswer& answer, const Paper& paper) {
  std::vector<TableColumn> columns;
  for (const std::string& column : answer.columns) columns.push_back({Printable(column), kLeft, true});
  return LayOutTable(columns, answer.rows, paper.columns, 0);
}

std::string SqlCsv(const SqlAnswer& answer) {
  const auto line = [](const std::vector<std::string>& cells) { return ListText(cells, ",", CsvCell) + "\n"; };
  std::string csv = line(answer.columns);
  for (const auto& row : answer.rows) csv += line(row);
  return csv;
}

std::vector<std::string> ImportLines(const BillImport& import) {
  const BillFileFacts& file = import.file;
  if (import.known) return {file.name + ": was imported before; nothing changed"};
  std::vector<std::string> lines = {fmt::format("{}: {} rows of {}", file.name, file.rows, file.format)};
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0) lines.push_back(fmt::format("  {} {}", count, what));
  };
  add(import.repeated, "rows were imported before; they count once");
  add(import.replaced, "earlier rows of the same account and billing period were replaced");
  add(file.rounded, "numbers had more than nine decimals; they were rounded half to even");
  add(file.no_amount, "rows have no BilledCost that can be read; they count as 0");
  add(file.no_zone, "times name no zone; they were read as UTC");
  if (file.truncated) lines.emplace_back("  the file ends early; it was read up to there");
  for (const RuleCount& rule : import.rules) {
    lines.push_back(fmt::format("  {} {}: {}; first in line {}", rule.rows, Facts(rule.rule).name,
                                Facts(rule.rule).sentence, rule.first_line));
  }
  return lines;
}

}  // namespace idleburn
