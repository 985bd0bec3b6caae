#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/money.h"
#include "bill/focus_export.h"
#include "fleet/closed_hours.h"
#include "price/rate_book.h"

namespace idleburn {

// The phases of an exported row, as their columns name them.
enum class ExportPhase : std::uint8_t {
  kIdleHeld,
  kIdleEmpty,
  kIdleUnknown,
  kUnderutilized,
  kProductive,
  kComputeBound,
  kUnobserved
};
inline constexpr std::size_t kExportPhaseCount = 7;
using ExportMs = std::array<std::int64_t, kExportPhaseCount>;

// What one owner did with one GPU, or with the GPUs of a machine, between two moments.
struct ExportedUse {
  std::string uuid;   // empty: several GPUs
  std::string model;  // empty: not told
  std::int64_t gpus = 1;
  JobKey owner;
  std::string_view attribution;  // "job", "team", "unallocated", "unknown", "several_jobs"
  ExportMs ms{};
  std::int64_t waste_low_ms = 0;  // bounds of 1 - utilization of observed time
  std::int64_t waste_high_ms = 0;
};

// Uses of one machine in one span at one price. They share its GPU-hours.
struct ExportedSpan {
  std::string node;
  std::int64_t from = 0;
  std::int64_t to = 0;
  const Rate* rate = nullptr;
  std::vector<ExportedUse> uses;
};

// Writes the rows of a span. Spans without a price, and over the end of a month, are counted and left out.
class FocusRows {
 public:
  FocusRows(const FocusExportOptions& options, const WriteText& write);
  Result<void> Take(const ExportedSpan& span);
  // Passes the rest on. Fails if time was read and none of it has a price.
  Result<FocusExportFacts> Finish();
  FocusExportFacts& facts() { return facts_; }

 private:
  void PutRow(const ExportedSpan& span, const ExportedUse& use, std::int64_t quantity,
              const std::array<std::int64_t, kExportPhaseCount>& phases);

  const FocusExportOptions& options_;
  const WriteText& write_;
  FocusExportFacts facts_;
  std::string text_;
};

// The smallest step of a quantity in billionths of a GPU-hour: with the usual prices a product has at most nine
// decimals, and a step is never longer than 3.6 ms.
std::int64_t QuantityStep(Money price);
// price x quantity with all its decimals: 2.49 and 0.3333333 are "0.829999917".
std::string ProductText(Money price, std::int64_t quantity);

}  // namespace idleburn
