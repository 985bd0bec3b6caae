#include "fleet/chargeback.h"

#include <algorithm>
#include <array>

#include "text/csv.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// In the order of SharePolicy.
constexpr std::array<std::string_view, 5> kPolicyNames = {"none", "uniform", "proportional", "custom", "experiments"};

Result<void> AddMoneyTo(Money* sum, Money more) {
  *sum = TRY(Add(*sum, more));
  return {};
}

// The weights of a policy, by owner. Of kExperiments by use of an experiment.
std::vector<std::int64_t> WeightsOf(const ChargeInput& input) {
  std::vector<std::int64_t> weights;
  if (input.policy == SharePolicy::kExperiments) {
    for (const ExperimentUse& use : input.experiments) weights.push_back(use.gpu_ms);
    return weights;
  }
  for (const ChargeOwner& owner : input.owners) {
    std::int64_t weight = 0;
    if (!owner.bucket && input.policy == SharePolicy::kUniform) weight = 1;
    if (!owner.bucket && input.policy == SharePolicy::kProportional) weight = owner.direct.nano();
    if (!owner.bucket && input.policy == SharePolicy::kCustom) {
      const auto given = input.weights.find(owner.name);
      weight = given == input.weights.end() ? 0 : given->second;
    }
    weights.push_back(weight);
  }
  return weights;
}

// Why a line cannot be split.
std::string NoPayerText(SharePolicy policy) {
  switch (policy) {
    case SharePolicy::kProportional:
      return "no team has a direct cost";
    case SharePolicy::kCustom:
      return "no team of this period has a weight";
    case SharePolicy::kExperiments:
      return "no experiment ran in this period";
    default:
      return "no team ran in this period";
  }
}

class ChargeSum {
 public:
  explicit ChargeSum(const ChargeInput& input) : input_(input) {}

  Result<Chargeback> Run() {
    for (const ChargeOwner& owner : input_.owners) Row(owner.name, owner.bucket).direct = owner.direct;
    charge_.experiments.resize(input_.policy == SharePolicy::kExperiments ? input_.experiments.size() : 0);
    for (std::size_t line = 0; line < input_.shared.size(); ++line) TRY(Spread(line));
    for (const UnusedCommitment& unused : input_.commitments) {
      TRY(AddMoneyTo(&Row(unused.owner, false).commitment, unused.amount));
    }
    for (ChargeRow& row : charge_.rows) {
      for (const Money part : row.of_lines) TRY(AddMoneyTo(&row.shared, part));
      for (const Money part : {row.direct, row.shared, row.commitment}) TRY(AddMoneyTo(&row.total, part));
      TRY(AddMoneyTo(&charge_.total, row.total));
    }
    for (const Money left : charge_.left) TRY(AddMoneyTo(&charge_.total, left));
    NameWeights();
    return std::move(charge_);
  }

 private:
  ChargeRow& Row(const std::string& name, bool bucket) {
    const auto known = places_.find(name);
    if (known != places_.end()) return charge_.rows[known->second];
    places_[name] = charge_.rows.size();
    ChargeRow& row = charge_.rows.emplace_back();
    row.name = name;
    row.bucket = bucket;
    row.of_lines.resize(input_.shared.size());
    return row;
  }

  Result<void> Spread(std::size_t line) {
    const SharedCost& shared = input_.shared[line];
    const bool stays = input_.policy == SharePolicy::kNone || !shared.spread || shared.amount == Money();
    charge_.left.push_back(stays ? shared.amount : Money());
    if (stays) return {};
    const std::vector<std::int64_t> weights = WeightsOf(input_);
    if (std::all_of(weights.begin(), weights.end(), [](std::int64_t weight) { return weight == 0; })) {
      return Fail("--share " + std::string(Name(input_.policy)) + ": " + NoPayerText(input_.policy) +
                  ", so shared cost cannot be split; use --share none");
    }
    const std::vector<Money> parts = TRY(Split(shared.amount, weights));
    const bool by_use = input_.policy == SharePolicy::kExperiments;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string& owner = by_use ? input_.experiments[i].owner : input_.owners[i].name;
      TRY(AddMoneyTo(&Row(owner, false).of_lines[line], parts[i]));
      if (by_use) TRY(AddMoneyTo(&charge_.experiments[i], parts[i]));
    }
    return {};
  }

  // Owners that take no share, since nothing of them is weighed.
  void NameWeights() {
    if (input_.policy == SharePolicy::kExperiments) {
      for (const ChargeOwner& owner : input_.owners) {
        const bool ran =
            std::any_of(input_.experiments.begin(), input_.experiments.end(),
                        [&](const ExperimentUse& use) { return use.owner == owner.name && use.gpu_ms > 0; });
        if (!owner.bucket && !ran) charge_.unweighted.push_back(owner.name);
      }
    }
    if (input_.policy != SharePolicy::kCustom) return;
    std::map<std::string, std::int64_t> unused = input_.weights;
    for (const ChargeOwner& owner : input_.owners) {
      if (owner.bucket) continue;
      if (unused.erase(owner.name) == 0) charge_.unweighted.push_back(owner.name);
    }
    for (const auto& [name, weight] : unused) charge_.unmatched.push_back(name);
  }

  const ChargeInput& input_;
  Chargeback charge_;
  std::map<std::string, std::size_t> places_;  // in charge_.rows
};

}  // namespace

std::string_view Name(SharePolicy policy) { return kPolicyNames[static_cast<std::size_t>(policy)]; }

Result<SharePolicy> ParseSharePolicy(std::string_view text) {
  const auto found = std::find(kPolicyNames.begin(), kPolicyNames.end(), text);
  if (found == kPolicyNames.end()) {
    return FailUsage("--share " + Printable(text) + " is unknown; there are " + ListText(kPolicyNames));
  }
  return static_cast<SharePolicy>(found - kPolicyNames.begin());
}

Result<Chargeback> ChargeOwners(const ChargeInput& input) { return ChargeSum(input).Run(); }

Result<std::map<std::string, std::int64_t>> ReadTeamNumbers(ByteSource& in, std::string_view column) {
  const std::array<std::string_view, 2> columns = {"team", column};
  CsvTable table(in);
  TRY(table.ReadHeader());
  TRY(table.Require(columns));
  std::map<std::string, std::int64_t> numbers;
  while (TRY(table.Next())) {
    const std::string team(table.Cell("team"));
    if (team.empty()) return table.Bad("team", "is empty; name the team");
    const Result<Money> number = Money::Parse(table.Cell(column));
    if (!number || *number <= Money()) return table.Bad(column, "is not a number above 0, such as 12 or 0.5");
    if (!numbers.emplace(team, number->nano()).second) return table.Bad("team", "comes twice; keep one row");
  }
  if (numbers.empty()) {
    return Fail(table.name() + ": has no row; write one line team," + std::string(column) + " for each team");
  }
  return numbers;
}

Result<std::map<std::string, std::int64_t>> ReadShareWeights(ByteSource& in) { return ReadTeamNumbers(in, "weight"); }

}  // namespace idleburn
