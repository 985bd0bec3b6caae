#include "fleet/fleet_answer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "text/figures.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// The time of a row by the group of prices that it falls in.
using RatedTime = std::map<std::size_t, FleetTime>;

FleetTime WholeOf(const RatedTime& rated) {
  FleetTime whole;
  for (const auto& [rate, time] : rated) whole.Add(time);
  return whole;
}

// Every row of one kind, and the time that no row has.
struct RatedRows {
  std::vector<RatedTime> rows;
  RatedTime rest;
};

class FleetSum {
 public:
  FleetSum(FleetLedger& ledger, const AnswerInputs& inputs) : ledger_(ledger), inputs_(inputs) {}

  Result<FleetReport> Run() {
    report_.from = inputs_.from;
    report_.to = inputs_.to;
    TRY(ledger_.ForEachDay(CellKind::kGpu, inputs_.from, inputs_.to, [this](const LedgerCell& c) { TakeGpu(c); }));
    TRY(ListDeficits());
    gpu_sums_.ForEach([this](const CellName& name, const FleetTime& time) { gpus_[{name.node, name.uuid}].Add(time); });
    TRY(FindRates());
    NameTeams(TRY(SumOf(CellKind::kTeam)));
    NameJobs(TRY(SumOf(CellKind::kJob)));
    TRY(FillGpus());
    TRY(FillOwners());
    FillState();
    Doubts();
    TRY(DoubtJobs());
    return std::move(report_);
  }

 private:
  using GpuId = std::pair<std::string, std::string>;  // node, UUID
  struct OwnerId {
    std::string name, team, user, experiment, cluster;
    friend auto operator<=>(const OwnerId&, const OwnerId&) = default;
  };
  using Owners = std::map<OwnerId, RatedTime>;

  // Whether a cell lies in the window. The part inside of one that does not is unobserved.
  [[nodiscard]] bool Inside(const LedgerCell& cell) const { return cell.from >= inputs_.from && cell.to <= inputs_.to; }

  void TakeGpu(const LedgerCell& cell) {
    FleetTime time = cell.time;
    if (!Inside(cell)) {
      time = {};
      time.phases[kFleetUnobserved] = cell.MsInside(inputs_.from, inputs_.to);
      ++crossing_;
      ownerless_[cell.name->node].Add(time);
    }
    if (time.reset_ms > 0) {
      lost_days_.insert(LedgerDay(cell.from));
      FleetTime lost;
      lost.phases[kFleetUnobserved] = time.reset_ms;
      lost.reset_ms = time.reset_ms;
      ownerless_[cell.name->node].Add(lost);
    }
    const std::int64_t begin = std::max(cell.from, inputs_.from);
    if (begin >= day_ + kDaySeconds || begin < day_) {
      day_ = LedgerDay(begin);
      idle_of_day_ = &idle_days_[day_];
    }
    *idle_of_day_ += time.phases[0];
    gpu_sums_.Add(cell, time);
  }

  // Deficits by hour. A sum of a day does not tell them.
  Result<void> ListDeficits() {
    for (const std::int64_t day : lost_days_) {
      TRY(ledger_.ForEach(
          CellKind::kGpu, std::max(day, inputs_.from), std::min(day + kDaySeconds, inputs_.to),
          [&](const LedgerCell& cell) {
            const bool begins = cell.from >= day && cell.from < day + kDaySeconds;
            if (!begins || !Inside(cell) || cell.time.reset_ms == 0) return;
            report_.deficits.push_back({cell.name->uuid, cell.name->node, cell.from, cell.time.reset_ms, "reset"});
          }));
    }
    return {};
  }

  // One rate for each GPU, and one group of prices for each node, since owners are counted by node.
  Result<void> FindRates() {
    DeviceTable devices;
    std::vector<GpuId> order;
    for (const auto& [id, time] : gpus_) {
      DeviceKey key;
      key.uuid = id.second;
      key.host = id.first;
      if (const auto facts = inputs_.gpus.find(id.second); facts != inputs_.gpus.end()) key.name = facts->second.model;
      const DeviceId device = devices.Enter(key);
      if (device == order.size()) order.push_back(id);
    }
    const RateBook book = inputs_.prices.For({});
    const std::vector<DeviceId> all = AllOf(devices);
    const RunSpan span{Instant::FromNanos(inputs_.from * kNanosPerSecond),
                       Instant::FromNanos(inputs_.to * kNanosPerSecond)};
    const RateCard card = TRY(RatesOf(book, devices, all, span));
    for (DeviceId device = 0; device < order.size(); ++device) {
      const Rate rate = OwnRate(order[device].second).value_or(card.Of(device));
      const auto known = std::find(rates_.begin(), rates_.end(), rate);
      const auto place = static_cast<std::size_t>(known - rates_.begin());
      if (known == rates_.end()) rates_.push_back(rate);
      gpu_rate_[order[device]] = place;
      const auto [node, fresh] = node_group_.try_emplace(order[device].first, place);
      if (!fresh && node->second != place) mixed_nodes_.emplace(order[device].first, std::nullopt);
    }
    std::size_t group = rates_.size();
    for (const auto& [node, cost] : mixed_nodes_) node_group_[node] = group++;
    return {};
  }

  // The price that the agent itself shows, where the user gave none.
  [[nodiscard]] std::optional<Rate> OwnRate(const std::string& uuid) const {
    const auto facts = inputs_.gpus.find(uuid);
    if (inputs_.price_given || facts == inputs_.gpus.end() || !facts->second.per_gpu_hour) return std::nullopt;
    Rate rate;
    rate.kind = RateKind::kGiven;
    rate.per_gpu_hour = facts->second.per_gpu_hour;
    rate.currency = facts->second.currency;
    rate.source = "the agents' price (" + facts->second.price_source + ")";
    return rate;
  }

  // How the time of a node is priced: an index of rates_, then of mixed_nodes_.
  [[nodiscard]] std::size_t GroupOf(const std::string& node) const {
    const auto found = node_group_.find(node);
    return found == node_group_.end() ? 0 : found->second;
  }

  // The sums of a kind over all spans inside the window.
  Result<CellSums> SumOf(CellKind kind) {
    CellSums sums;
    TRY(ledger_.ForEachDay(kind, inputs_.from, inputs_.to, [&](const LedgerCell& cell) {
      if (Inside(cell)) sums.Add(cell, cell.time);
    }));
    return sums;
  }

  void NameTeams(const CellSums& sums) {
    sums.ForEach([this](const CellName& name, const FleetTime& time) {
      // A team that was here before keeps its counter, and counts nothing.
      if (time.TotalMs() > 0) teams_[{name.owner.team, {}, {}, {}, {}}][GroupOf(name.node)].Add(time);
    });
  }

  void NameJobs(const CellSums& sums) {
    const auto named = [](const std::string& name) { return name.empty() ? std::string(kFleetUnknown) : name; };
    sums.ForEach([&](const CellName& name, const FleetTime& time) {
      const JobKey& job = name.owner;
      const std::size_t group = GroupOf(name.node);
      const OwnerId id = {job.job, job.team, job.user, job.experiment, job.cluster};
      jobs_[id][group].Add(time);
      job_nodes_[id].insert(name.node);
      users_[{named(job.user), {}, {}, {}, {}}][group].Add(time);
      experiments_[{named(job.experiment), {}, {}, {}, {}}][group].Add(time);
    });
  }

  // What the priced GPUs of a node with several prices cost; absent if none has a price.
  [[nodiscard]] const std::optional<Money>& MixedCost(std::size_t group) const {
    return std::next(mixed_nodes_.begin(), static_cast<std::ptrdiff_t>(group - rates_.size()))->second;
  }

  [[nodiscard]] bool IsPriced(std::size_t group) const {
    return group < rates_.size() ? rates_[group].per_gpu_hour.has_value() : MixedCost(group).has_value();
  }

  // What time of a group costs. A node whose GPUs have several prices costs what its GPUs cost.
  [[nodiscard]] Result<Money> CostOfGroup(std::size_t group, std::int64_t ms) const {
    // Nanoseconds of a large fleet's month do not fit 64 bits.
    if (group < rates_.size()) return Scale(*rates_[group].per_gpu_hour, Int128{ms}, Int128{kMsPerGpuHour});
    return *MixedCost(group);
  }

  // The cost of each row, absent if none of its time has a price. It is for each group of prices its part of what all
  // time of that group costs.
  Result<std::vector<FleetCost>> Costs(const RatedRows& all) {
    std::vector<FleetCost> costs(all.rows.size());
    if (!priced_) return costs;
    std::vector<std::int64_t> nanos(all.rows.size(), 0);
    for (std::size_t group = 0; group < rates_.size() + mixed_nodes_.size(); ++group) {
      std::vector<std::int64_t> weights;
      std::int64_t sum = 0;
      const auto weigh = [&](const RatedTime& row) {
        const auto time = row.find(group);
        weights.push_back(time == row.end() ? 0 : time->second.TotalMs());
        sum += weights.back();
      };
      for (const RatedTime& row : all.rows) weigh(row);
      weigh(all.rest);
      if (sum == 0 || !IsPriced(group)) continue;
      const Money whole = TRY(CostOfGroup(group, sum));
      const std::vector<Money> parts = TRY(Split(whole, weights));
      for (std::size_t i = 0; i < nanos.size(); ++i) nanos[i] += parts[i].nano();
    }
    for (std::size_t i = 0; i < nanos.size(); ++i) {
      FleetTime priced;
      bool any = all.rows[i].empty();  // no time costs nothing
      for (const auto& [group, time] : all.rows[i]) {
        if (!IsPriced(group)) continue;
        priced.Add(time);
        any = true;
      }
      if (any) costs[i] = TRY(PricedCost(priced, Money::Nano(nanos[i])));
    }
    return costs;
  }

  // The first rate with a price; null if none has one, or if prices have several currencies, which are never added up.
  [[nodiscard]] const Rate* FirstPriced() const {
    const Rate* first = nullptr;
    for (const Rate& rate : rates_) {
      if (!rate.per_gpu_hour) continue;
      if (first == nullptr) first = &rate;
      if (rate.currency != first->currency) return nullptr;
    }
    return first;
  }

  Result<void> FillGpus() {
    const Rate* const first = FirstPriced();
    priced_ = first != nullptr;
    RatedRows rows;
    for (const auto& [id, time] : gpus_) {
      rows.rows.push_back({{gpu_rate_[id], time}});
      report_.whole.Add(time);
    }
    const std::vector<FleetCost> costs = TRY(Costs(rows));
    std::size_t i = 0;
    std::int64_t total = 0;
    FleetTime priced;
    for (const auto& [id, time] : gpus_) {
      const auto facts = inputs_.gpus.find(id.second);
      report_.gpus.push_back(
          {id.second, id.first, facts == inputs_.gpus.end() ? "" : facts->second.model, time, costs[i]});
      if (costs[i].total) {
        total += costs[i].total->nano();
        const auto mixed = mixed_nodes_.find(id.first);
        if (mixed != mixed_nodes_.end()) {
          mixed->second = Money::Nano(mixed->second.value_or(Money()).nano() + costs[i].total->nano());
        }
        priced.Add(time);
      } else {
        report_.unpriced_ms += time.TotalMs();
      }
      ++i;
    }
    if (!priced_) return {};
    const auto prices = std::count_if(rates_.begin(), rates_.end(), [](const Rate& rate) { return rate.per_gpu_hour; });
    report_.currency = first->currency;
    report_.rate_source = prices == 1 ? first->source : std::to_string(prices) + " prices";
    report_.cost = TRY(PricedCost(priced, Money::Nano(total)));
    return {};
  }

  // The rows of one kind with their costs, dearest first. `rest`: time that has none of these owners.
  Result<std::vector<FleetOwner>> Rows(const Owners& owners, const RatedTime& rest) {
    RatedRows rated;
    rated.rest = rest;
    for (const auto& [id, time] : owners) rated.rows.push_back(time);
    const std::vector<FleetCost> costs = TRY(Costs(rated));
    std::vector<FleetOwner> rows;
    for (const auto& [id, time] : owners) {
      rows.push_back({id.name, WholeOf(time), costs[rows.size()], {}, id.team, id.user, id.experiment, id.cluster});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const FleetOwner& a, const FleetOwner& b) { return a.time.TotalMs() > b.time.TotalMs(); });
    return rows;
  }

  Result<void> FillOwners() {
    for (const auto& [node, time] : ownerless_) teams_[{kFleetUnknown, {}, {}, {}, {}}][GroupOf(node)].Add(time);
    report_.teams = TRY(Rows(teams_, {}));
    // Time of no job: what is unallocated, or lost.
    RatedTime rest;
    if (const auto found = teams_.find({kFleetUnallocated, {}, {}, {}, {}}); found != teams_.end())
      rest = found->second;
    report_.unallocated = WholeOf(rest);
    for (const auto& [node, time] : ownerless_) rest[GroupOf(node)].Add(time);
    report_.users = TRY(Rows(users_, rest));
    report_.jobs = TRY(Rows(jobs_, rest));
    report_.experiments = TRY(Rows(experiments_, rest));
    for (const FleetOwner& team : report_.teams) {
      if (team.name == kFleetUnallocated) report_.unallocated_cost = team.cost.total;
    }
    for (FleetOwner& job : report_.jobs) {
      const std::set<std::string>& on = job_nodes_[{job.name, job.team, job.user, job.experiment, job.cluster}];
      job.nodes.assign(on.begin(), on.end());
    }
    return {};
  }

  void FillState() {
    for (const auto& [day, ms] : idle_days_) report_.kpi.idle_ms_per_day.emplace_back(day, ms);
  }

  void Doubt(std::string id, std::int64_t count, std::string severity, std::string sentence) {
    if (count > 0) report_.doubts.push_back({std::move(id), count, std::move(severity), std::move(sentence)});
  }

  void Doubts() {
    std::int64_t lost = 0;
    for (const FleetDeficit& deficit : report_.deficits) lost += deficit.ms;
    Doubt("agent_state_lost", static_cast<std::int64_t>(report_.deficits.size()), "warn",
          "agents lost their counts, or GPUs were removed: " + std::to_string(lost / 1000) +
              " GPU-seconds are unobserved; deficits[] lists each GPU and hour");
    const std::int64_t wall = (inputs_.to - inputs_.from) * 1000;
    const auto partly =
        std::count_if(gpus_.begin(), gpus_.end(), [&](const auto& g) { return g.second.TotalMs() < wall; });
    Doubt("partly_counted", partly, "info",
          std::to_string(partly) + " of " + std::to_string(gpus_.size()) +
              " GPUs were counted for a part of the window only");
    Doubt("span_crosses_window", crossing_, "warn",
          "some hours were read only together with hours outside of the window; they are unobserved here");
    Doubt("mixed_node_prices", static_cast<std::int64_t>(mixed_nodes_.size()), "warn",
          "some nodes have GPUs of several prices; their owners pay the node's mean price");
    if (priced_ && report_.unpriced_ms > 0) {
      const auto hours = static_cast<std::int64_t>(std::ceil(GpuHoursOf(report_.unpriced_ms)));
      Doubt("unpriced_gpu_hours", hours, "warn",
            "costs exclude " + GpuHoursForPeople(GpuHoursOf(report_.unpriced_ms)) +
                " of GPUs without a price; give --price H100=2.50 for each model");
    }
    if (!priced_ && !gpus_.empty()) {
      Doubt("no_price", 1, "warn", "the price of a GPU-hour is unknown; give --price 2.50 or --price H100=2.50");
    }
  }

  // Jobs that sum to more than their team: two agents count one job, or a team's counter began again.
  Result<void> DoubtJobs() {
    std::map<std::string, std::int64_t> over;  // milliseconds by team
    TRY(ledger_.ForEachDay(CellKind::kJobsOver, inputs_.from, inputs_.to, [&](const LedgerCell& cell) {
      if (Inside(cell)) over[cell.name->owner.team] += cell.time.TotalMs();
    }));
    for (const auto& [team, ms] : over) {
      Doubt("jobs_exceed_team", 1, "warn",
            "the jobs of team " + Printable(team) + " have " + std::to_string(ms / 1000) +
                " GPU-seconds more than the team itself; do two agents count one job?");
    }
    return {};
  }

  FleetLedger& ledger_;
  const AnswerInputs& inputs_;
  FleetReport report_;
  std::set<std::int64_t> lost_days_;  // that have deficits
  CellSums gpu_sums_;
  std::int64_t day_ = std::numeric_limits<std::int64_t>::min() / 2;
  std::int64_t* idle_of_day_ = nullptr;  // in idle_days_
  std::map<GpuId, FleetTime> gpus_;
  std::map<std::string, FleetTime> ownerless_;  // by node
  std::map<std::int64_t, std::int64_t> idle_days_;
  std::vector<Rate> rates_;
  std::map<GpuId, std::size_t> gpu_rate_;
  std::map<std::string, std::size_t> node_group_;
  std::map<std::string, std::optional<Money>> mixed_nodes_;  // cost of nodes whose GPUs have several prices
  Owners teams_, users_, jobs_, experiments_;
  std::map<OwnerId, std::set<std::string>> job_nodes_;
  std::int64_t crossing_ = 0;
  bool priced_ = false;
};

}  // namespace

Result<FleetReport> AnswerFrom(FleetLedger& ledger, const AnswerInputs& inputs) {
  return FleetSum(ledger, inputs).Run();
}

FleetFunnel FunnelOf(const FleetReport& report) {
  const PhaseMs& all = report.whole.phases;
  const PhaseMs& free = report.unallocated.phases;
  FleetFunnel funnel;
  funnel.total_ms = report.whole.TotalMs();
  funnel.allocated_ms = funnel.total_ms - report.unallocated.TotalMs();
  funnel.active_ms = funnel.allocated_ms - (all[0] - free[0]) - (all[kFleetUnobserved] - free[kFleetUnobserved]);
  const std::int64_t busy = all[2] - free[2] + all[3] - free[3];
  const std::int64_t spin = report.gpu_use ? report.gpu_use->whole.spin_ms : 0;
  funnel.effective_ms = std::max<std::int64_t>(0, busy - spin);
  return funnel;
}

}  // namespace idleburn
