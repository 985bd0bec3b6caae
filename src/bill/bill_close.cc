#include "bill/bill_close.h"

#include <map>
#include <utility>

#include "bill/bill_month.h"
#include "bill/bill_rows.h"
#include "os/digest.h"
#include "os/folder.h"
#include "os/output_file.h"
#include "text/csv.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostSnapshot = std::size_t{64} << 20;  // bytes of a close
constexpr std::string_view kHashKind = "sha256,";

std::string CloseLine(std::string_view kind, std::string_view name, const std::vector<Money>& amounts = {}) {
  std::string line = std::string(kind) + "," + CsvCell(name);
  for (std::size_t i = 0; i < 4; ++i) {
    line += ',';
    if (i < amounts.size()) line += FormatExact(amounts[i]);
  }
  return line + "\n";
}

// What was closed: the files with rows of the month, and a digest of all its rows.
Result<std::vector<std::string>> DataLines(DuckDbConnection& database) {
  std::vector<std::string> lines;
  const auto digest = TRY(TextRows(
      database,
      "SELECT count(*), bit_xor(hash), sum(hash::HUGEINT) FROM charge JOIN picked ON charge.item = picked.id"));
  lines.push_back(CloseLine("rows", digest[0][0]));
  lines.push_back(CloseLine("digest", "xor " + digest[0][1] + ", sum " + digest[0][2]));
  for (const auto& row :
       TRY(TextRows(database,
                    "SELECT file, sha256 FROM import WHERE id IN (SELECT charge.import FROM charge JOIN picked ON "
                    "charge.item = picked.id) ORDER BY id"))) {
    lines.push_back(CloseLine("import", row[1] + " " + row[0]));
  }
  return lines;
}

// The close of a month in the store. Absent: it was not closed.
Result<std::optional<BillSnapshot>> FindSnapshot(BillStore& store, const std::string& month) {
  const std::string path = store.ClosedFolder() + "/" + month + ".csv";
  const std::optional<std::string> text = TRY(ReadFileIfThere(path, kMostSnapshot));
  const auto kept = TRY(TextRows(store.database(), "SELECT sha256 FROM closed WHERE month = " + SqlText(month)));
  if (!text && kept.empty()) return std::nullopt;
  if (!text) return Fail(path + ": is missing, but " + month + " was closed; restore the file");
  BillSnapshot snapshot = TRY(ParseSnapshot(*text, path));
  if (!kept.empty() && kept.front().front() != snapshot.sha256) {
    return Fail(path + ": was changed after the close; its SHA-256 was " + kept.front().front() + "; restore the file");
  }
  return snapshot;
}

std::map<std::pair<std::string, std::string>, Money> TotalsOf(const BillSnapshot& snapshot) {
  std::map<std::pair<std::string, std::string>, Money> totals;
  for (const ClosedRow& row : snapshot.rows) totals[{row.kind, row.name}] = row.total;
  return totals;
}

Money TotalOf(const BillSnapshot& snapshot) {
  for (const ClosedRow& row : snapshot.rows) {
    if (row.kind == "total") return row.total;
  }
  return {};
}

}  // namespace

std::string SnapshotText(const BillChargeback& charged, const std::vector<std::string>& data, Instant at) {
  std::string text = "kind,name,direct,shared,unused_commitment,total\n";
  text += CloseLine("month", charged.month) + CloseLine("closed_at", FormatRfc3339(at)) +
          CloseLine("currency", charged.currency) +
          CloseLine("by", kOwnerByNames[static_cast<std::size_t>(charged.by)]) +
          CloseLine("share", Name(charged.policy));
  for (const std::string& line : data) text += line;
  for (const ChargeRow& row : charged.charge.rows) {
    text += CloseLine(row.bucket ? "bucket" : "owner", row.name, {row.direct, row.shared, row.commitment, row.total});
  }
  for (std::size_t i = 0; i < charged.lines.size(); ++i) {
    text += CloseLine("not_charged", charged.lines[i].name, {Money(), Money(), Money(), charged.charge.left[i]});
  }
  text += CloseLine("total", "", {Money(), Money(), Money(), charged.charge.total});
  return text + std::string(kHashKind) + Sha256Hex(text) + "\n";
}

Result<BillSnapshot> ParseSnapshot(const std::string& text, const std::string& path) {
  BillSnapshot snapshot;
  snapshot.path = path;
  snapshot.text = text;
  const std::size_t last = text.rfind('\n', text.empty() ? 0 : text.size() - 2);
  const std::string body = last == std::string::npos ? std::string() : text.substr(0, last + 1);
  snapshot.sha256 = Sha256Hex(body);
  if (text.substr(body.size()) != std::string(kHashKind) + snapshot.sha256 + "\n") {
    return Fail(path + ": was changed after the close: its SHA-256 is " + snapshot.sha256 +
                ", and its last line names another; restore the file");
  }
  StringSource in(body, path);
  CsvTable table(in);
  TRY(table.ReadHeader());
  while (TRY(table.Next())) {
    const std::string kind(table.Cell("kind"));
    const std::string name(table.Cell("name"));
    if (kind == "closed_at") snapshot.at = TRY(ParseRfc3339(name));
    if (kind == "currency") snapshot.currency = name;
    if (kind == "by") snapshot.by = name;
    if (kind == "share") snapshot.share = name;
    if (!table.Cell("total").empty()) snapshot.rows.push_back({kind, name, TRY(Money::Parse(table.Cell("total")))});
  }
  return snapshot;
}

Result<BillCloseOutcome> CloseMonth(BillStore& store, const ReconcileQuestion& question,
                                    const BillChargeRequest& request, Instant now) {
  const MonthSpan month = TRY(ParseMonth(question.month, now));
  const Instant end = Instant::FromNanos(month.end * kNanosPerSecond);
  if (now < end) return Fail("bill close: " + month.name + " ends at " + FormatRfc3339(end) + "; close it then");
  const BillChargeback charged = TRY(ChargeStore(store, question, request));
  const std::vector<std::string> data = TRY(DataLines(store.database()));
  BillCloseOutcome outcome;
  if (std::optional<BillSnapshot> before = TRY(FindSnapshot(store, question.month))) {
    if (SnapshotText(charged, data, before->at) != before->text) {
      return Fail("bill close: " + question.month + " was closed at " + FormatRfc3339(before->at) + " with " +
                  Amount(TotalOf(*before), before->currency) + ", and its data or flags are others now (" +
                  Amount(charged.charge.total, charged.currency) +
                  "); a close never changes; idleburn bill chargeback --month " + question.month +
                  " lists the corrections");
    }
    outcome.snapshot = *std::move(before);
    outcome.known = true;
  } else {
    const std::string path = store.ClosedFolder() + "/" + question.month + ".csv";
    TRY(MakePrivateFolder(store.ClosedFolder()));
    const Instant at = Instant::FromNanos(FloorSecond(now.nanos()) * kNanosPerSecond);
    outcome.snapshot = TRY(ParseSnapshot(SnapshotText(charged, data, at), path));
    TRY(WriteFileOnce(path, outcome.snapshot.text));
  }
  // A process that died between the two left a file alone.
  TRY(store.database().Execute("DELETE FROM closed WHERE month = " + SqlText(question.month)));
  TRY(store.database().Execute("INSERT INTO closed VALUES (" + SqlText(question.month) + ", " +
                               SqlText(outcome.snapshot.sha256) + ")"));
  return outcome;
}

Result<void> AddClose(BillStore& store, BillChargeback* charged) {
  if (charged->month.empty()) return {};
  const std::optional<BillSnapshot> closed = TRY(FindSnapshot(store, charged->month));
  if (!closed) return {};
  const std::vector<std::string> data = TRY(DataLines(store.database()));
  const BillSnapshot now = TRY(ParseSnapshot(SnapshotText(*charged, data, closed->at), closed->path));
  if (now.by != closed->by || now.share != closed->share || now.currency != closed->currency) {
    return FailUsage("bill chargeback: " + charged->month + " was closed with --by " + closed->by + " --share " +
                     closed->share + " in " + closed->currency + "; give the same");
  }
  charged->closed = BillClose{closed->sha256, closed->at, TotalOf(*closed)};
  auto before = TotalsOf(*closed);
  auto after = TotalsOf(now);
  for (const auto& [key, money] : before) after.emplace(key, Money());
  for (const auto& [key, money] : after) {
    const Money then = before[key];
    if (key.first != "total" && then != money) {
      charged->corrections.push_back({key.second, key.first == "not_charged", then, money});
    }
  }
  if (charged->corrections.empty() && now.text != closed->text) {
    charged->doubts.push_back(
        {"rows_changed_since_close", 1, "warn", "rows of the month changed since its close, but no amount did"});
  }
  return {};
}

}  // namespace idleburn
