#include "bill/store_writer.h"

#include <algorithm>
#include <utility>

namespace idleburn {
namespace {

using Kind = AppendColumn::Kind;

constexpr std::size_t kChargeBatch = 16 * 1024;
constexpr std::size_t kSmallBatch = 2048;
constexpr std::int64_t kNanosPerMicro = 1000;

std::vector<AppendColumn> ColumnsOf(const std::vector<Kind>& kinds) {
  std::vector<AppendColumn> columns;
  for (const Kind kind : kinds) columns.push_back({kind});
  return columns;
}

}  // namespace

std::vector<FocusColumn> ItemTextColumns() {
  std::vector<FocusColumn> columns;
  for (const FocusColumnFacts& column : kFocusColumns) {
    const bool period = column.id == FocusColumn::kChargePeriodStart || column.id == FocusColumn::kChargePeriodEnd;
    if (!IsNumber(column.kind) && !period) columns.push_back(column.id);
  }
  return columns;
}

std::vector<std::string> StoreTables() {
  std::string items;
  std::string of_item;
  for (const FocusColumn column : ItemTextColumns()) {
    items += ", " + std::string(Facts(column).name) + " VARCHAR";
    of_item += ", item." + std::string(Facts(column).name);
  }
  std::string numbers;
  std::string of_charge;
  for (const FocusColumn column : kFocusNumbers) {
    numbers += ", " + std::string(Facts(column).name) + " BIGINT";
    // 29 digits hold any 64-bit count of billionths, so the product is exact.
    const std::string name(Facts(column).name);
    of_charge += ", charge." + name + "::DECIMAL(19, 0) * 0.000000001::DECIMAL(10, 9) AS " + name;
  }
  return {
      "CREATE TABLE IF NOT EXISTS import(id BIGINT, file VARCHAR, sha256 VARCHAR, format VARCHAR, imported_at "
      "TIMESTAMP, "
      "bytes BIGINT, \"rows\" BIGINT, malformed BIGINT, rounded BIGINT, no_amount BIGINT, no_zone BIGINT, has_tags "
      "BOOLEAN)",
      "CREATE TABLE IF NOT EXISTS item(id BIGINT, import BIGINT, gpus BIGINT, gpu_model VARCHAR, by_hour BIGINT" +
          items + ")",
      "CREATE TABLE IF NOT EXISTS charge(import BIGINT, line BIGINT, item BIGINT, hash BIGINT, period_start TIMESTAMP, "
      "period_end TIMESTAMP" +
          numbers + ")",
      "CREATE TABLE IF NOT EXISTS finding(import BIGINT, line BIGINT, rule VARCHAR, focus_column VARCHAR, item BIGINT, "
      "amount BIGINT, billed_over BIGINT, effective_over BIGINT)",
      "CREATE TABLE IF NOT EXISTS rule_count(import BIGINT, rule VARCHAR, \"rows\" BIGINT, first_line BIGINT)",
      "CREATE TABLE IF NOT EXISTS closed(month VARCHAR, sha256 VARCHAR)",
      "CREATE OR REPLACE VIEW charges AS SELECT charge.import, charge.line, charge.period_start AS ChargePeriodStart, "
      "charge.period_end AS ChargePeriodEnd" +
          of_charge + of_item + ", item.gpus, item.gpu_model FROM charge JOIN item ON charge.item = item.id",
      "CREATE OR REPLACE VIEW imports AS SELECT * FROM import",
      "CREATE OR REPLACE VIEW findings AS SELECT import, line, rule, focus_column, item, amount::DECIMAL(19, 0) * "
      "0.000000001::DECIMAL(10, 9) AS amount FROM finding",
  };
}

void StoreWriter::Batch::Number(std::int64_t value, bool null) {
  AppendColumn& column = columns[next++];
  column.numbers.push_back(value);
  column.nulls.push_back(null ? 1 : 0);
}

void StoreWriter::Batch::Text(const std::string& text) {
  AppendColumn& column = columns[next++];
  if (!text.empty()) texts.push_back(text);
  column.texts.push_back(text.empty() ? std::string_view() : std::string_view(texts.back()));
  column.nulls.push_back(text.empty() ? 1 : 0);
}

Result<std::unique_ptr<StoreWriter>> StoreWriter::Begin(DuckDbConnection& database, std::int64_t import_id) {
  std::unique_ptr<StoreWriter> writer(new StoreWriter(import_id));
  std::vector<Kind> items = {Kind::kInteger, Kind::kInteger, Kind::kInteger, Kind::kText, Kind::kInteger};
  items.resize(items.size() + ItemTextColumns().size(), Kind::kText);
  std::vector<Kind> charges(4, Kind::kInteger);
  charges.resize(6, Kind::kTime);
  charges.resize(6 + kFocusNumberCount, Kind::kInteger);
  const std::vector<Kind> findings = {Kind::kInteger, Kind::kInteger, Kind::kText,    Kind::kText,
                                      Kind::kInteger, Kind::kInteger, Kind::kInteger, Kind::kInteger};
  writer->items_.columns = ColumnsOf(items);
  writer->charges_.columns = ColumnsOf(charges);
  writer->findings_.columns = ColumnsOf(findings);
  writer->items_.appender = TRY(database.AppendTo("item"));
  writer->charges_.appender = TRY(database.AppendTo("charge"));
  writer->findings_.appender = TRY(database.AppendTo("finding"));
  return writer;
}

Result<void> StoreWriter::OnItem(std::int64_t id, const BillItem& item) {
  items_.Integer(id);
  items_.Integer(import_id_);
  items_.Number(item.gpus.value_or(0), !item.gpus);
  items_.Text(item.gpu_model);
  items_.Integer(item.by_hour ? 1 : 0);
  for (const FocusColumn column : ItemTextColumns()) items_.Text(item.Of(column));
  return EndRow(items_, kSmallBatch);
}

Result<void> StoreWriter::OnRow(const BillRow& row) {
  charges_.Integer(import_id_);
  charges_.Integer(row.line);
  charges_.Integer(row.item);
  charges_.Integer(static_cast<std::int64_t>(row.hash));
  charges_.Number(row.start.nanos() / kNanosPerMicro, !row.period_known);
  charges_.Number(row.end.nanos() / kNanosPerMicro, !row.period_known);
  for (std::size_t i = 0; i < kFocusNumberCount; ++i) charges_.Number(row.numbers[i], (row.known >> i & 1) == 0);
  charges_.next = 0;
  return ++charges_.rows == kChargeBatch ? HandOver() : Result<void>();
}

Result<void> StoreWriter::OnFinding(std::int64_t line, const BillRow* row, const RowFinding& finding) {
  RuleCount& count = rules_[static_cast<std::size_t>(finding.rule)];
  if (count.rows++ == 0) count.first_line = line;
  if (count.rows > kMostFindings) return {};
  findings_.Integer(import_id_);
  findings_.Integer(line);
  findings_.Text(std::string(Facts(finding.rule).name));
  findings_.Text(finding.column ? std::string(Facts(*finding.column).name) : std::string());
  findings_.Number(row != nullptr ? row->item : 0, row == nullptr);
  findings_.Integer(finding.amount);
  findings_.Integer(finding.billed_over);
  findings_.Integer(finding.effective_over);
  return EndRow(findings_, kSmallBatch);
}

Result<void> StoreWriter::EndRow(Batch& batch, std::size_t most) {
  batch.next = 0;
  return ++batch.rows == most ? Flush(batch) : Result<void>();
}

Result<void> StoreWriter::Flush(Batch& batch) {
  if (batch.rows == 0) return {};
  TRY(batch.appender->Append(batch.columns, batch.rows));
  for (AppendColumn& column : batch.columns) {
    column.numbers.clear();
    column.texts.clear();
    column.nulls.clear();
  }
  batch.texts.clear();
  batch.rows = 0;
  return {};
}

Result<void> StoreWriter::Wait() { return appending_.valid() ? appending_.get() : Result<void>(); }

Result<void> StoreWriter::HandOver() {
  TRY(Wait());
  std::swap(handed_, charges_.columns);
  if (charges_.columns.empty()) charges_.columns = handed_;
  for (AppendColumn& column : charges_.columns) {
    column.numbers.clear();
    column.nulls.clear();
  }
  const std::size_t rows = charges_.rows;
  charges_.rows = 0;
  appending_ = std::async(std::launch::async, [this, rows] { return charges_.appender->Append(handed_, rows); });
  return {};
}

Result<void> StoreWriter::Finish() {
  TRY(Wait());
  for (Batch* batch : {&items_, &charges_, &findings_}) {
    TRY(Flush(*batch));
    TRY(batch->appender->Close());
  }
  return {};
}

std::vector<RuleCount> StoreWriter::Rules() const {
  std::vector<RuleCount> counts;
  for (std::size_t i = 0; i < kBillRuleCount; ++i) {
    if (rules_[i].rows == 0) continue;
    counts.push_back(rules_[i]);
    counts.back().rule = static_cast<BillRule>(i);
  }
  return counts;
}

}  // namespace idleburn
