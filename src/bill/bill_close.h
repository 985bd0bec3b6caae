#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bill/bill_chargeback.h"

// `idleburn bill close`: the chargeback of a month as a file that never changes. Later rows show as corrections beside
// it. The rules are on docs/bill-chargeback.md.
//
// The file is a CSV. Its last line is the SHA-256 of all lines before; the store keeps that hash too. So an edit shows,
// even if the last line was edited with it.
namespace idleburn {

// One amount of a close: of an owner, a bucket, a line that nobody pays, or the total.
struct ClosedRow {
  std::string kind;
  std::string name;
  Money total;
};

struct BillSnapshot {
  std::string path;
  std::string text;
  std::string sha256;  // of the text without its last line
  Instant at;
  std::string currency;
  std::string by;
  std::string share;
  std::vector<ClosedRow> rows;
};

// The text of a close. `data` is a line for each fact about the rows that were closed.
std::string SnapshotText(const BillChargeback& charged, const std::vector<std::string>& data, Instant at);
// Reads it back. Fails if a byte of it was changed.
Result<BillSnapshot> ParseSnapshot(const std::string& text, const std::string& path);

struct BillCloseOutcome {
  BillSnapshot snapshot;
  bool known = false;  // the month was closed before, with the same data
};
// Closes question.month, which is given. Fails if it has not ended at `now`, is no month, or was closed with other
// data.
Result<BillCloseOutcome> CloseMonth(BillStore& store, const ReconcileQuestion& question,
                                    const BillChargeRequest& request, Instant now);

// Lays a chargeback beside the close of its month, if there is one: fills `closed` and `corrections`. Fails if the
// close was edited or lost, or if it had another --by or --share.
Result<void> AddClose(BillStore& store, BillChargeback* charged);

}  // namespace idleburn
