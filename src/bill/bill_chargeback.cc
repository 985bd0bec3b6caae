#include "bill/bill_chargeback.h"

#include <algorithm>
#include <utility>

#include "bill/bill_rows.h"
#include "fleet/fleet_report.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// The shared line of charges that name no owner, by class. Usage has none: it is the bucket of unknown owners.
constexpr std::array<std::string_view, 8> kLineOfClass = {"",
                                                          "unused commitments",
                                                          "corrections of earlier periods",
                                                          "purchases",
                                                          "tax",
                                                          "credits",
                                                          "adjustments",
                                                          "other charges"};
constexpr const char* kUnallocatedLine = "unallocated GPUs";

class BillCharging {
 public:
  BillCharging(const BillReport& report, const BillChargeRequest& request) : report_(report), request_(request) {}

  Result<BillChargeback> Run() {
    FillHead();
    for (const OwnedCost& cost : report_.owned) TRY(Take(cost));
    TRY(FillOwners());
    TRY(FillLines());
    FillExperiments();
    out_.lines = input_.shared;
    out_.charge = TRY(ChargeOwners(input_));
    FillStatements();
    return std::move(out_);
  }

 private:
  // Sums of one name, in billionths. They leave 64 bits only together.
  struct NameSums {
    std::array<Int128, kUsePartCount> use{};
    std::int64_t gpu_ms = 0;
  };
  using Named = std::map<std::string, NameSums>;
  struct OwnerSums {
    NameSums whole;
    Named resources, jobs, experiments;
  };

  void FillHead() {
    out_.ids = report_.ids;
    out_.currency = report_.currency;
    out_.by = request_.by;
    out_.policy = request_.policy;
    out_.total_given = report_.total_given;
    out_.reconciled = report_.reconciled;
    out_.residual = report_.residual;
    out_.doubts = report_.doubts;
  }

  Result<void> Take(const OwnedCost& cost) {
    const std::string& owner = NameOf(cost.owner, request_.by);
    const std::size_t unallocated = static_cast<std::size_t>(UsePart::kUnallocated);
    if (cost.what == CostClass::kUnused && !owner.empty()) {
      commitments_[owner] += cost.use[unallocated].nano();
      return {};
    }
    if (owner.empty() && cost.what != CostClass::kUsage) {
      Int128& line = lines_[std::string(kLineOfClass[static_cast<std::size_t>(cost.what)])];
      for (const Money part : cost.use) line += part.nano();
      return {};
    }
    lines_[kUnallocatedLine] += cost.use[unallocated].nano();
    OwnerSums& sums = owners_[owner.empty() ? std::string(kFleetUnknown) : owner];
    const auto named = [](const std::string& name) { return name.empty() ? std::string(kFleetUnknown) : name; };
    for (NameSums* sum : {&sums.whole, &sums.resources[named(cost.resource)], &sums.jobs[named(cost.owner.job)],
                          &sums.experiments[named(cost.owner.experiment)]}) {
      for (std::size_t p = 0; p < kUsePartCount; ++p) sum->use[p] += p == unallocated ? 0 : cost.use[p].nano();
      sum->gpu_ms += cost.gpu_ms;
    }
    return {};
  }

  static Result<BillStatementPart> PartOf(const std::string& name, const NameSums& sums) {
    BillStatementPart part;
    part.name = name;
    part.gpu_ms = sums.gpu_ms;
    Int128 direct = 0;
    for (std::size_t p = 0; p < kUsePartCount; ++p) {
      part.use[p] = TRY(ToMoney(sums.use[p]));
      direct += sums.use[p];
    }
    part.direct = TRY(ToMoney(direct));
    return part;
  }
  static Result<void> FillParts(const Named& sums, std::vector<BillStatementPart>* parts) {
    for (const auto& [name, sum] : sums) parts->push_back(TRY(PartOf(name, sum)));
    std::stable_sort(parts->begin(), parts->end(),
                     [](const BillStatementPart& a, const BillStatementPart& b) { return a.direct > b.direct; });
    return {};
  }

  // The owners, the dearest first, and the bucket behind them.
  Result<void> FillOwners() {
    for (const auto& [name, sums] : owners_) {
      BillStatement& statement = out_.owners.emplace_back();
      statement.whole = TRY(PartOf(name, sums.whole));
      TRY(FillParts(sums.resources, &statement.resources));
      TRY(FillParts(sums.jobs, &statement.jobs));
      TRY(FillParts(sums.experiments, &statement.experiments));
    }
    std::stable_sort(out_.owners.begin(), out_.owners.end(), [](const BillStatement& a, const BillStatement& b) {
      return std::pair(a.whole.name == kFleetUnknown, b.whole.direct) <
             std::pair(b.whole.name == kFleetUnknown, a.whole.direct);
    });
    for (const BillStatement& statement : out_.owners) {
      const BillStatementPart& whole = statement.whole;
      if (whole.direct < Money() && request_.policy == SharePolicy::kProportional) {
        return Fail("bill chargeback: --share proportional: the direct cost of " + Printable(whole.name) +
                    " is below 0; use --share uniform, custom or none");
      }
      input_.owners.push_back({whole.name, whole.name == kFleetUnknown, whole.direct});
    }
    return {};
  }

  Result<void> FillLines() {
    for (const auto& [name, nano] : lines_) {
      if (nano != 0) input_.shared.push_back({name, TRY(ToMoney(nano)), true});
    }
    // No owner caused these, so none pays for them under any policy.
    const auto own = [&](const char* name, Money amount) {
      if (amount != Money()) input_.shared.push_back({name, amount, false});
    };
    own("paid for other periods, or before", report_.amortization);
    own("unexplained", report_.use[static_cast<std::size_t>(UsePart::kUnexplained)]);
    for (const auto& [owner, nano] : commitments_) input_.commitments.push_back({owner, TRY(ToMoney(nano))});
    input_.policy = request_.policy;
    input_.weights = request_.weights;
    return {};
  }

  void FillExperiments() {
    if (request_.policy != SharePolicy::kExperiments) return;
    for (const auto& [owner, sums] : owners_) {
      for (const auto& [experiment, sum] : sums.experiments) {
        if (owner != kFleetUnknown && experiment != kFleetUnknown) {
          input_.experiments.push_back({owner, experiment, sum.gpu_ms});
        }
      }
    }
  }

  // Owners of commitments alone have a statement too.
  void FillStatements() {
    out_.owners.resize(out_.charge.rows.size());
    for (std::size_t i = 0; i < out_.owners.size(); ++i) {
      out_.owners[i].charge = out_.charge.rows[i];
      out_.owners[i].whole.name = out_.charge.rows[i].name;
    }
  }

  const BillReport& report_;
  const BillChargeRequest& request_;
  BillChargeback out_;
  ChargeInput input_;
  std::map<std::string, OwnerSums> owners_;
  std::map<std::string, Int128> lines_;
  std::map<std::string, Int128> commitments_;  // unused, by owner
};

}  // namespace

Result<BillChargeback> ChargeBill(const BillReport& report, const BillChargeRequest& request) {
  return BillCharging(report, request).Run();
}

Result<BillChargeback> ChargeStore(BillStore& store, ReconcileQuestion question, const BillChargeRequest& request) {
  question.by = request.by;
  const BillReport report = TRY(Reconcile(store, question));
  BillChargeback charged = TRY(ChargeBill(report, request));
  charged.month = question.month;
  if (request.by == OwnerBy::kTag || request.by == OwnerBy::kTeam) {
    charged.untagged = TRY(FindUntagged(store.database(), question.owner_tag));
  }
  return charged;
}

}  // namespace idleburn
