#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/byte_source.h"
#include "base/progress_watch.h"
#include "base/result.h"
#include "bill/bill_formats.h"
#include "bill/bill_row.h"
#include "bill/bill_table.h"
#include "bill/row_rules.h"
#include "os/digest.h"

// A billing file as charges with their findings. Any deviation is counted and never stops the reading; only a file that
// is no bill, cannot be read or changes while it is read is an error.
namespace idleburn {

// What was read of a file.
struct BillFileFacts {
  std::string name;    // as the user gave it
  std::string sha256;  // of the file as it is stored
  std::string format;  // "focus", "aws_cur", ...
  std::int64_t rows = 0;
  std::int64_t malformed = 0;              // rows that were left out
  std::int64_t rounded = 0;                // numbers with more than nine decimals
  std::int64_t no_amount = 0;              // rows without a BilledCost that can be read
  std::int64_t no_zone = 0;                // times without a zone, read as UTC
  bool truncated = false;                  // compressed data that ends early
  std::bitset<kFocusColumnCount> present;  // FOCUS columns of the file
  std::vector<std::string> extra;          // other columns
};

// Takes what a file has. Views are valid during the call.
class BillSink {
 public:
  BillSink() = default;
  BillSink(const BillSink&) = delete;
  BillSink& operator=(const BillSink&) = delete;
  virtual ~BillSink() = default;
  // Before the first row of the item. Items may repeat.
  virtual Result<void> OnItem(std::int64_t id, const BillItem& item) = 0;
  virtual Result<void> OnRow(const BillRow& row) = 0;
  // Each finding of a row, after the row; and rows that cannot be read (row: null).
  virtual Result<void> OnFinding(std::int64_t line, const BillRow* row, const RowFinding& finding) = 0;
};

struct BillReadOptions {
  std::string columns = {};  // --columns
  std::int64_t first_item = 1;
  ProgressWatch progress = {};  // bytes of the file
};

// Reads a text that is open already. The digest of its file stays empty.
Result<BillFileFacts> ReadBillText(ByteSource& in, const BillReadOptions& options, BillSink& sink);

// Reads a file: CSV, plain or compressed, or Parquet. "-" is standard input.
Result<BillFileFacts> ReadBill(const std::string& path, const BillReadOptions& options, BillSink& sink);

}  // namespace idleburn
