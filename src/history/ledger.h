#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "os/sqlite.h"

namespace idleburn {

// What a row was judged by.
struct LedgerInput {
  std::string side;  // "baseline" of a claim, "before" and "after" of a comparison
  std::string name;
  std::string sha256;
};

// One entry of the ledger of savings, written once: a claim, how a comparison judged it, or that an earlier entry does
// not count. What is not known is absent.
struct LedgerRow {
  std::int64_t row = 0;  // its number, given when it is written
  Instant written;
  std::string tool;                           // "idleburn 0.1.0"
  std::string kind;                           // "claimed", "compared", "correction"
  std::string claim;                          // SHA-256 of the claim
  std::string boundary;                       // which jobs
  std::string unit;                           // of work
  std::string measure;                        // what was changed: the id of a lever, or words
  std::string verdict;                        // "VERIFIED", ...
  std::optional<std::int64_t> retrospective;  // 1: the claim was not dated before the change
  std::optional<double> predicted;            // the saving claimed, as a fraction
  std::optional<double> bound;                // the most that the audit before the change said could be saved
  std::optional<double> fraction, low, high;  // the saving found, with its interval
  std::optional<double> avoided_gpu_seconds;
  std::string currency;
  std::optional<std::int64_t> cashable_nano;  // money that stops being billed
  std::optional<double> freed_gpu_hours;      // capacity that is paid for and free: never money
  std::optional<std::int64_t> corrects;       // the row that does not count
  std::string note;
  std::vector<LedgerInput> inputs;
};

// Writes an entry behind the others. A claim that is in the ledger already is left as it is. All or nothing.
Result<void> AppendToLedger(SqliteDatabase& history, const LedgerRow& row);
// All entries in the order in which they were written.
Result<std::vector<LedgerRow>> ReadLedger(const SqliteDatabase& history);

}  // namespace idleburn
