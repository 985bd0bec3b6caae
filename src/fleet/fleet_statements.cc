#include "fleet/fleet_statements.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "os/digest.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Doubts of the pull that can change a figure later.
constexpr std::array<std::string_view, 3> kUnsettled = {"nodes_behind", "engine_refused", "counters_wrong"};

std::string NamedOrUnknown(const std::string& name) { return name.empty() ? std::string(kFleetUnknown) : name; }

bool IsBucket(const std::string& name) {
  return name == kFleetUnknown || name == kFleetUnallocated || name == kFleetOther;
}

Result<Money> SumOfMoney(const std::vector<Money>& parts) {
  Money sum;
  for (const Money part : parts) sum = TRY(Add(sum, part));
  return sum;
}

Result<Money> Difference(Money a, Money b) { return Add(a, Money::Nano(-b.nano())); }

// What an owner pays for its GPUs; absent if the basis is not known of it.
std::optional<Money> DirectOf(const FleetCost& cost, ChargeBasis basis) {
  if (!cost.total) return Money();  // none of its GPUs has a price; a doubt of the report tells their hours
  if (basis == ChargeBasis::kAllocated) return cost.total;
  if (!cost.waste || cost.waste != cost.waste_high) return std::nullopt;
  return Money::Nano(cost.total->nano() - cost.waste->nano());
}

Result<void> AddPart(const StatementPart& part, StatementPart* sum) {
  sum->time.Add(part.time);
  sum->direct = TRY(Add(sum->direct, part.direct));
  for (const auto member : {&FleetCost::total, &FleetCost::waste, &FleetCost::waste_high}) {
    if (part.cost.*member) sum->cost.*member = TRY(Add((sum->cost.*member).value_or(Money()), *(part.cost.*member)));
  }
  return {};
}

class StatementWriting {
 public:
  StatementWriting(const FleetReport& report, const ChargeRequest& request) : report_(report), request_(request) {}

  Result<FleetStatements> Run() {
    if (report_.whole.TotalMs() == 0) return Fail("fleet statements: no GPU-hour of this window is closed yet");
    if (!report_.cost.total) {
      return Fail("fleet statements: the price of a GPU-hour is unknown; give --price 2.50 or --price H100=2.50");
    }
    FillHead();
    TRY(FillOwners());
    TRY(FillLines());
    FillExperiments();
    out_.lines = input_.shared;
    out_.charge = TRY(ChargeOwners(input_));
    TRY(FillTeams());
    return std::move(out_);
  }

 private:
  void FillHead() {
    out_.ids = report_.ids;
    out_.from = report_.from;
    out_.to = report_.to;
    out_.currency = report_.currency;
    out_.rate_source = report_.rate_source;
    out_.basis = request_.basis;
    out_.policy = request_.policy;
    out_.gpu_cost = *report_.cost.total;
    out_.unallocated = report_.unallocated;
    out_.doubts = report_.doubts;
    if (report_.open_hours > 0) {
      out_.provisional.push_back({"open_hours", report_.open_hours, "warn",
                                  std::to_string(report_.open_hours) + " hours of the period are not closed yet"});
    }
    if (!report_.exact) {
      out_.provisional.push_back(
          {"estimated", 1, "warn", "every figure is an estimate from gauges; only agents count exactly"});
    }
    for (const FleetDoubt& doubt : report_.doubts) {
      const bool unsettled = std::find(kUnsettled.begin(), kUnsettled.end(), doubt.id) != kUnsettled.end();
      if (unsettled) out_.provisional.push_back(doubt);
    }
  }

  // The owners of the report, without unallocated time. A report without teams has one owner: unknown.
  Result<void> FillOwners() {
    for (const FleetOwner& team : report_.teams) {
      if (team.name != kFleetUnallocated) owners_.push_back(team);
    }
    if (report_.teams.empty()) {
      FleetOwner unknown;
      unknown.name = kFleetUnknown;
      for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
        unknown.time.phases[p] = report_.whole.phases[p] - report_.unallocated.phases[p];
      }
      unknown.cost.total = TRY(Difference(*report_.cost.total, report_.unallocated_cost.value_or(Money())));
      owners_.push_back(std::move(unknown));
    }
    for (const FleetOwner& owner : owners_) {
      const bool bucket = IsBucket(owner.name);
      const std::optional<Money> direct = DirectOf(owner.cost, bucket ? ChargeBasis::kAllocated : request_.basis);
      if (!direct) {
        return Fail("fleet statements: --basis busy: the waste of team " + Printable(owner.name) +
                    " is known by bounds only, since agents count bands; use --basis allocated");
      }
      input_.owners.push_back({owner.name, bucket, *direct});
    }
    return {};
  }

  // The shared lines: what is left of the GPUs' cost, then the user's own.
  Result<void> FillLines() {
    std::vector<Money> held;
    std::vector<Money> paid;
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      held.push_back(owners_[i].cost.total.value_or(Money()));
      paid.push_back(input_.owners[i].direct);
    }
    const Money all_held = TRY(SumOfMoney(held));
    const Money unallocated = report_.unallocated_cost.value_or(Money());
    const Money all_paid = TRY(SumOfMoney(paid));
    const Money not_busy = TRY(Difference(all_held, all_paid));
    const Money rest = TRY(Difference(*report_.cost.total, unallocated));
    const Money prices = TRY(Difference(rest, all_held));
    const auto line = [&](const char* name, Money amount, bool spread) {
      if (amount != Money()) input_.shared.push_back({name, amount, spread});
    };
    line("unallocated GPUs", unallocated, true);
    line("held GPUs while they were not busy", not_busy, true);
    line("difference between teams and GPUs", prices, false);
    input_.shared.insert(input_.shared.end(), request_.shared.begin(), request_.shared.end());
    input_.commitments = request_.commitments;
    input_.policy = request_.policy;
    input_.weights = request_.weights;
    return {};
  }

  void FillExperiments() {
    std::map<std::pair<std::string, std::string>, std::int64_t> uses;
    for (const FleetOwner& job : report_.jobs) {
      const std::string team = NamedOrUnknown(job.team);
      jobs_of_[team].push_back(&job);
      if (IsBucket(team) || IsBucket(NamedOrUnknown(job.experiment))) continue;
      uses[{team, job.experiment}] += job.time.TotalMs();
    }
    if (request_.policy != SharePolicy::kExperiments) return;
    for (const auto& [use, ms] : uses) input_.experiments.push_back({use.first, use.second, ms});
  }

  Result<void> FillTeams() {
    for (std::size_t i = 0; i < out_.charge.rows.size(); ++i) {
      FleetStatement statement;
      statement.charge = out_.charge.rows[i];
      if (i < owners_.size()) {
        statement.time = owners_[i].time;
        statement.cost = owners_[i].cost;
        TRY(FillJobs(&statement));
        TRY(Group(&StatementPart::user, statement.jobs, &statement.users));
        TRY(Group(&StatementPart::experiment, statement.jobs, &statement.experiments));
        ShareExperiments(&statement);
      } else {
        out_.new_to_period.push_back(statement.charge.name);
      }
      out_.teams.push_back(std::move(statement));
    }
    return {};
  }

  // Splits the direct cost of a team over its jobs. Jobs have costs of their own, but those are rounded against all
  // jobs of the fleet, and a statement must add up by itself.
  Result<void> FillJobs(FleetStatement* statement) {
    StatementPart rest;
    rest.name = kFleetUnknown;
    rest.time = statement->time;
    std::vector<std::int64_t> weights;
    Money weighed;
    for (const FleetOwner* job : jobs_of_[statement->charge.name]) {
      StatementPart part{job->name, job->user, job->experiment, job->time, {}, {}, job->cost};
      for (std::size_t p = 0; p < kFleetPhaseCount; ++p) rest.time.phases[p] -= job->time.phases[p];
      const Money weight = DirectOf(job->cost, request_.basis).value_or(job->cost.total.value_or(Money()));
      weights.push_back(std::max<std::int64_t>(weight.nano(), 0));
      weighed = TRY(Add(weighed, weight));
      statement->jobs.push_back(std::move(part));
    }
    // Time of the team that no job has.
    const bool jobless = rest.time.TotalMs() > 0 || statement->jobs.empty();
    const Money left = TRY(Difference(statement->charge.direct, weighed));
    weights.push_back(jobless ? std::max<std::int64_t>(left.nano(), 0) : 0);
    for (std::int64_t& ms : rest.time.phases) ms = std::max<std::int64_t>(ms, 0);
    if (jobless) statement->jobs.push_back(rest);
    weights.resize(statement->jobs.size());
    if (std::all_of(weights.begin(), weights.end(), [](std::int64_t weight) { return weight == 0; })) {
      weights.assign(weights.size(), 1);  // nothing to split, or no job has a cost
    }
    const std::vector<Money> parts = TRY(Split(statement->charge.direct, weights));
    for (std::size_t i = 0; i < parts.size(); ++i) statement->jobs[i].direct = parts[i];
    return {};
  }

  // Sums jobs by one of their labels, costliest first.
  static Result<void> Group(std::string StatementPart::*label, const std::vector<StatementPart>& jobs,
                            std::vector<StatementPart>* groups) {
    std::map<std::string, StatementPart> sums;
    for (const StatementPart& job : jobs) {
      StatementPart& sum = sums[NamedOrUnknown(job.*label)];
      TRY(AddPart(job, &sum));
    }
    for (auto& [name, sum] : sums) {
      sum.name = name;
      groups->push_back(std::move(sum));
    }
    std::stable_sort(groups->begin(), groups->end(),
                     [](const StatementPart& a, const StatementPart& b) { return a.direct > b.direct; });
    return {};
  }

  void ShareExperiments(FleetStatement* statement) const {
    for (std::size_t i = 0; i < input_.experiments.size(); ++i) {
      if (input_.experiments[i].owner != statement->charge.name) continue;
      for (StatementPart& experiment : statement->experiments) {
        if (experiment.name == input_.experiments[i].experiment) experiment.shared = out_.charge.experiments[i];
      }
    }
  }

  const FleetReport& report_;
  const ChargeRequest& request_;
  FleetStatements out_;
  ChargeInput input_;
  std::vector<FleetOwner> owners_;
  std::map<std::string, std::vector<const FleetOwner*>> jobs_of_;  // by team
};

}  // namespace

std::string_view Name(ChargeBasis basis) { return basis == ChargeBasis::kBusy ? "busy" : "allocated"; }

Result<FleetStatements> StatementsOf(const FleetReport& report, const ChargeRequest& request) {
  return StatementWriting(report, request).Run();
}

std::string StatementFileName(const std::string& team, const std::string& kind) {
  constexpr std::size_t kMostPlain = 64;
  constexpr std::size_t kHashDigits = 32;
  const bool plain =
      !team.empty() && team.size() <= kMostPlain && team.front() != '.' &&
      std::all_of(team.begin(), team.end(), [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '-'; });
  return plain ? kind + "-" + team : "hashed-" + Sha256Hex(team).substr(0, kHashDigits);
}

}  // namespace idleburn
