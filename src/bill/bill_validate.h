#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/run_ids.h"
#include "bill/bill_reader.h"

// `idleburn bill validate`: every rule of FOCUS and of exact money that a file breaks, without a store.
namespace idleburn {

// One place where a rule is broken.
struct RuleHit {
  std::int64_t line = 0;
  std::optional<FocusColumn> column;
  std::string resource;
};

// A broken rule.
struct BrokenRule {
  BillRule rule = BillRule::kMalformedRow;
  std::int64_t times = 0;
  std::vector<RuleHit> first;  // the first kShownHits
};
inline constexpr std::size_t kShownHits = 20;

struct BillValidation {
  RunIds ids = {};
  BillFileFacts file;
  std::vector<BrokenRule> broken;   // in the order of BillRule
  std::vector<FocusColumn> absent;  // recommended columns that the file lacks
};

// Reads a file and judges it. Only a FOCUS file can be judged; another export is an error.
Result<BillValidation> ValidateBill(const std::string& path, const BillReadOptions& options);

}  // namespace idleburn
