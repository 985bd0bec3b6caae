#include "bill/bill_validate.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/int128.h"
#include "bill/row_rules.h"

namespace idleburn {
namespace {

// Collects findings, and what the rules about several rows need.
class ValidatingSink final : public BillSink {
 public:
  Result<void> OnItem(std::int64_t /*id*/, const BillItem& /*item*/) override { return {}; }

  Result<void> OnRow(const BillRow& row) override {
    const BillItem& item = *row.what;
    hashes_.emplace_back(row.hash, row.line);
    CurrencyUse& use = currencies_[item.Of(FocusColumn::kInvoiceId)][item.Of(FocusColumn::kBillingCurrency)];
    ++use.rows;
    if (use.hits.size() < kShownHits) use.hits.push_back({row.line, FocusColumn::kBillingCurrency, item.Resource()});
    const std::string& commitment = item.Of(FocusColumn::kCommitmentDiscountId);
    if (!commitment.empty()) AddCommitment(commitment, row);
    last_end_ = item.category == ChargeCategory::kUsage ? std::max(last_end_, row.end) : last_end_;
    return {};
  }
  Result<void> OnFinding(std::int64_t line, const BillRow* row, const RowFinding& finding) override {
    if (Facts(finding.rule).use != RuleUse::kMismatch) {
      Count(finding.rule, {line, finding.column, row != nullptr ? row->what->Resource() : std::string()});
    }
    return {};
  }

  // The rules about several rows. Then the broken rules.
  std::vector<BrokenRule> Finish() {
    JudgeCopies();
    JudgeCurrencies();
    JudgeCommitments();
    std::vector<BrokenRule> broken;
    for (std::size_t i = 0; i < kBillRuleCount; ++i) {
      if (broken_[i].times == 0) continue;
      broken.push_back(std::move(broken_[i]));
      broken.back().rule = static_cast<BillRule>(i);
    }
    return broken;
  }

 private:
  struct CurrencyUse {
    std::int64_t rows = 0;
    std::vector<RuleHit> hits;
  };
  struct CommitmentSums {
    Int128 billed = 0;
    Int128 effective = 0;
    std::int64_t line = 0;  // of the purchase
    Instant end;            // of the purchase
  };

  void Count(BillRule rule, RuleHit hit) {
    BrokenRule& broken = broken_[static_cast<std::size_t>(rule)];
    ++broken.times;
    if (broken.first.size() < kShownHits) broken.first.push_back(std::move(hit));
  }
  void AddCommitment(const std::string& id, const BillRow& row) {
    CommitmentSums& sums = commitments_[id];
    if (row.what->category == ChargeCategory::kPurchase) {
      sums.billed += row.Number(FocusColumn::kBilledCost);
      sums.line = row.line;
      sums.end = std::max(sums.end, row.end);
    } else if (row.what->used || row.what->unused) {
      sums.effective += row.Number(FocusColumn::kEffectiveCost);
    }
  }
  void JudgeCopies() {
    std::sort(hashes_.begin(), hashes_.end());
    std::vector<std::int64_t> copies;
    for (std::size_t i = 1; i < hashes_.size(); ++i) {
      if (hashes_[i].first == hashes_[i - 1].first) copies.push_back(hashes_[i].second);
    }
    std::sort(copies.begin(), copies.end());
    for (const std::int64_t line : copies) Count(BillRule::kDuplicateRow, {line, std::nullopt, ""});
  }
  // The currency of an invoice is that of most of its rows.
  void JudgeCurrencies() {
    for (auto& [invoice, uses] : currencies_) {
      const auto main = std::max_element(uses.begin(), uses.end(),
                                         [](const auto& a, const auto& b) { return a.second.rows < b.second.rows; });
      for (auto& [currency, use] : uses) {
        if (currency == main->first) continue;
        BrokenRule& broken = broken_[static_cast<std::size_t>(BillRule::kForeignCurrency)];
        broken.times += use.rows;
        for (RuleHit& hit : use.hits) {
          if (broken.first.size() < kShownHits) broken.first.push_back(std::move(hit));
        }
      }
    }
  }
  // Only a term that has ended must have used up its money.
  void JudgeCommitments() {
    for (const auto& [id, sums] : commitments_) {
      if (sums.line == 0 || sums.end > last_end_ || sums.billed == sums.effective) continue;
      Count(BillRule::kCommitmentSum, {sums.line, FocusColumn::kEffectiveCost, id});
    }
  }

  std::array<BrokenRule, kBillRuleCount> broken_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> hashes_;
  std::map<std::string, std::map<std::string, CurrencyUse>> currencies_;  // by invoice
  std::map<std::string, CommitmentSums> commitments_;
  Instant last_end_;
};

}  // namespace

Result<BillValidation> ValidateBill(const std::string& path, const BillReadOptions& options) {
  ValidatingSink sink;
  BillValidation validation;
  validation.file = TRY(ReadBill(path, options, sink));
  if (validation.file.format != "focus") {
    return Fail(path + ": is a billing export of another format (" + validation.file.format +
                "); only FOCUS files can be validated");
  }
  validation.broken = sink.Finish();
  for (const FocusColumnFacts& column : kFocusColumns) {
    if (column.level == FocusLevel::kRecommended && !validation.file.present[Index(column.id)]) {
      validation.absent.push_back(column.id);
    }
  }
  return validation;
}

}  // namespace idleburn
