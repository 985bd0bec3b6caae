#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/run_ids.h"
#include "base/time.h"
#include "bill/bill_rules.h"

// The answer of `idleburn bill reconcile`, computed once and printed by report/bill_output.h.
namespace idleburn {

// Where the money of an invoice went. Parts sum to the total of the invoice.
enum class UsePart : std::uint8_t { kUsed, kIdleHeld, kIdle, kUnallocated, kUnobserved, kUnexplained, kNotGpu };
inline constexpr std::size_t kUsePartCount = 7;
inline constexpr std::array<std::string_view, kUsePartCount> kUsePartNames = {
    "used", "idle_held", "idle", "unallocated", "unobserved", "unexplained", "not_gpu"};

// One deviation, of one row or one hour of one resource.
struct BillMismatch {
  BillRule kind = BillRule::kDuplicateRow;
  std::string file = {};
  std::int64_t line = 0;   // 0: there is no row
  std::int64_t again = 0;  // of a duplicate: the line of the copy
  std::string resource = {};
  std::optional<Instant> hour = std::nullopt;     // start of the charge period
  std::optional<Money> billed = std::nullopt;     // BilledCost of the row
  std::optional<double> observed = std::nullopt;  // GPU-hours that telemetry saw; absent: there is none
  std::optional<Money> amount = std::nullopt;     // what the deviation is about; absent: unknown
  // How much more the rows bill than they should. Negative: too little.
  Money effect = {};
};

// A line of the bill: charges of one category.
struct BillLine {
  std::string category;  // ChargeCategory, with "/Correction"
  std::string service;   // ServiceCategory
  bool gpu = false;
  std::int64_t rows = 0;
  Money billed;  // as printed
  Money effective;
};

// A commitment: what was paid, used and not used in the rows at hand.
struct BillCommitment {
  std::string id;
  std::string name;
  Money billed;
  Money used;
  Money unused;
  bool ended = false;  // its period has ended, so the difference is final
};

struct BillOwner {
  std::string name;  // "_unknown", "_unallocated" are buckets
  Money cost;
};

// Who money is for, by tags or by the ledger of a fleet. Empty: not told.
struct CostOwner {
  std::string team = {};
  std::string job = {};
  std::string experiment = {};
};

// What the owner of a bill is.
enum class OwnerBy : std::uint8_t { kTag, kTeam, kJob, kExperiment };
inline constexpr std::array<std::string_view, 4> kOwnerByNames = {"tag", "team", "job", "experiment"};

// What a charge is, as far as its payer depends on it.
enum class CostClass : std::uint8_t { kUsage, kUnused, kCorrection, kPurchase, kTax, kCredit, kAdjustment, kOther };

// EffectiveCost of one owner and one resource, by use.
struct OwnedCost {
  CostOwner owner;
  std::string resource;
  CostClass what = CostClass::kUsage;
  bool gpu = false;
  std::array<Money, kUsePartCount> use{};
  std::int64_t gpu_ms = 0;  // billed GPU time, GPU-milliseconds
};

// A currency beside that of the invoice.
struct OtherCurrency {
  std::string currency;
  std::int64_t rows = 0;
  Money billed;
};

// What a reader must know about the data.
struct BillDoubt {
  std::string id;
  std::int64_t count = 0;
  std::string severity;  // "info", "warn", "error"
  std::string sentence;
};

struct BillReport {
  RunIds ids = {};
  std::string currency;
  Money total;               // of the invoice, in its minor unit
  bool total_given = false;  // by --invoice; otherwise the sum of the rows, rounded once
  Money rows_total;          // sum of BilledCost as the rows have it
  std::int64_t rows = 0;
  Money gpu;  // of GPU resources
  std::array<Money, kUsePartCount> use{};
  Money amortization;  // BilledCost minus EffectiveCost: paid in this period for others, or before
  Money residual;      // what no mismatch explains, in the minor unit
  bool reconciled = false;
  std::vector<BillLine> lines;
  std::vector<BillMismatch> mismatches;  // in order of file and line, then those without a row
  std::int64_t left_out = 0;             // mismatches beyond kMostMismatches
  std::vector<BillCommitment> commitments;
  std::vector<BillOwner> owners;  // of `gpu`, the largest first; they sum to it
  std::vector<OwnedCost> owned;   // with `amortization` and what is unexplained they sum to `total`
  std::vector<OtherCurrency> others;
  std::vector<std::string> telemetry;  // what it is, one line each
  std::optional<Instant> seen_from;    // the time that telemetry covers
  std::optional<Instant> seen_to;
  std::vector<BillDoubt> doubts;
};

inline constexpr std::size_t kMostMismatches = 100'000;

}  // namespace idleburn
