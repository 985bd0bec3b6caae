#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bill/bill_reader.h"
#include "bill/bill_store.h"
#include "import/duckdb_query.h"

namespace idleburn {

// Appends what a file has to the tables of a store, in batches. A thread of its own appends a batch of charges while
// the next one is read.
class StoreWriter final : public BillSink {
 public:
  // The connection is inside a transaction and outlives the writer.
  static Result<std::unique_ptr<StoreWriter>> Begin(DuckDbConnection& database, std::int64_t import_id);

  Result<void> OnItem(std::int64_t id, const BillItem& item) override;
  Result<void> OnRow(const BillRow& row) override;
  Result<void> OnFinding(std::int64_t line, const BillRow* row, const RowFinding& finding) override;
  // Writes what is held. Call it after the last row.
  Result<void> Finish();

  // Broken rules, in the order of BillRule.
  [[nodiscard]] std::vector<RuleCount> Rules() const;

 private:
  // Rows that wait for one table.
  struct Batch {
    std::unique_ptr<DuckDbAppender> appender;
    std::vector<AppendColumn> columns;
    std::deque<std::string> texts;  // what the cells point at
    std::size_t rows = 0;
    std::size_t next = 0;  // column of the next cell

    void Integer(std::int64_t value) { Number(value, false); }
    void Number(std::int64_t value, bool null);
    void Text(const std::string& text);
  };
  explicit StoreWriter(std::int64_t import_id) : import_id_(import_id) {}
  static Result<void> EndRow(Batch& batch, std::size_t most);
  static Result<void> Flush(Batch& batch);
  // Hands the charges at hand to the thread. Fails if the batch before failed.
  Result<void> HandOver();
  Result<void> Wait();

  std::int64_t import_id_;
  Batch items_;
  Batch charges_;
  std::vector<AppendColumn> handed_;  // what the thread appends
  std::future<Result<void>> appending_;
  Batch findings_;
  std::array<RuleCount, kBillRuleCount> rules_{};
};

// The columns of the table `item` beside id, in order: FOCUS columns that are neither numbers nor the charge period.
std::vector<FocusColumn> ItemTextColumns();

// The statements that create the tables and views of a store.
std::vector<std::string> StoreTables();

}  // namespace idleburn
