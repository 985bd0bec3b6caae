#include "watch/watch.h"

#include <fmt/format.h>

#include <array>

#include "text/figures.h"

namespace idleburn {
namespace {

// A share of a limit and what it asks for.
struct Level {
  int percent;
  WatchAct act;
};
// The levels of docs/watch.md. Reaching a level counts, because a cap must hold exactly.
constexpr auto kLevels =
    std::to_array<Level>({{80, WatchAct::kWarn}, {95, WatchAct::kCheckpoint}, {100, WatchAct::kStop}});

// The number of levels that `used` of `limit` has reached. Example: 96 of 100 has reached two.
std::size_t LevelsReached(std::int64_t used, std::int64_t limit) {
  const auto reached = [&](const Level& level) {
    return static_cast<Int128>(used) * 100 >= static_cast<Int128>(limit) * level.percent;
  };
  return static_cast<std::size_t>(std::count_if(kLevels.begin(), kLevels.end(), reached));
}

// Shares in millionths of a percent: a limit may be any, and a mean is not more exact.
std::string ShareText(std::int64_t micro_percent) {
  return StatedPercent(static_cast<double>(micro_percent) / static_cast<double>(100 * kPercent));
}

// The text for GPUs that met a rule. `share` is their mean.
std::string LoadText(LoadAlert alert, const LoadRule& rule, std::int64_t share, bool spins) {
  const std::string span = DurationForPeople(rule.time);
  switch (alert) {
    case LoadAlert::kLowUtilization:
      return fmt::format("mean utilization {} over the last {} (limit {})", ShareText(share), span,
                         ShareText(rule.share));
    case LoadAlert::kMemory:
      return fmt::format("{} of the memory in use (limit {})", ShareText(share), ShareText(rule.share));
    case LoadAlert::kPcieStall:
      return fmt::format("low compute for {} while PCIe moved data at {} or more of its bandwidth", span,
                         ShareText(rule.share));
    case LoadAlert::kAllReduceStall:
      break;
  }
  if (spins) {
    return fmt::format(
        "kernels have been resident without work for {} (spin-wait), as in an all-reduce that waits for "
        "a peer",
        span);
  }
  return fmt::format("low compute for {} while NVLink moved data at {} or more of its bandwidth", span,
                     ShareText(rule.share));
}

// The alert of a newly reached level. Absent if the level is not new, or if nobody acts on it.
std::optional<WatchAlert> Reach(std::size_t reached, std::size_t& level, bool asks_checkpoint, const std::string& what,
                                const std::string& used, const std::string& left) {
  if (reached <= level) return std::nullopt;
  level = reached;
  const Level& now = kLevels[reached - 1];
  if (now.act == WatchAct::kCheckpoint && !asks_checkpoint) return std::nullopt;
  const std::string rest = now.act == WatchAct::kStop ? "" : left;
  return WatchAlert{now.act, fmt::format("{} % of {}: {}{}", now.percent, what, used, rest)};
}

// What `held` costs on a GPU; absent without a price.
std::optional<Money> HeldCost(const WatchedGpu& gpu, Nanos held) {
  if (!gpu.per_hour) return std::nullopt;
  const Result<Money> cost = Price(*gpu.per_hour, held.count());
  return cost ? std::optional(*cost) : std::nullopt;
}

// The sum; absent if either is absent.
std::optional<Money> SumIfKnown(const std::optional<Money>& a, const std::optional<Money>& b) {
  if (!a || !b) return std::nullopt;
  const Result<Money> sum = Add(*a, *b);
  return sum ? std::optional(*sum) : std::nullopt;
}

}  // namespace

void Watch::OnSamples(std::span<const Sample> samples) {
  const bool load = limits_.watches_load();
  for (const Sample& sample : samples) {
    if (limits_.idle_held) stretches_.try_emplace(sample.device, thresholds_).first->second.Feed(sample);
    if (load) loads_.try_emplace(sample.device, limits_.load, thresholds_).first->second.Feed(sample);
  }
}

std::vector<WatchAlert> Watch::Look(const std::vector<WatchedGpu>& gpus, const Spend& spend) {
  std::vector<WatchAlert> alerts;
  if (limits_.idle_held) LookAtIdle(gpus, alerts);
  if (limits_.watches_load()) LookAtLoad(gpus, alerts);
  LookAtSpend(spend, alerts);
  return alerts;
}

// GPUs that meet a rule at the same look share one alert, so that eight GPUs do not raise eight.
void Watch::LookAtLoad(const std::vector<WatchedGpu>& gpus, std::vector<WatchAlert>& alerts) {
  for (const LoadAlertInfo& info : kLoadAlerts) {
    std::vector<std::string> who;
    std::int64_t sum = 0;
    bool spins = false;
    for (const WatchedGpu& gpu : gpus) {
      const auto found = loads_.find(gpu.device);
      if (found == loads_.end()) continue;
      found->second.SetLinks(gpu.pcie, gpu.nvlink);
      const std::optional<GpuLoad::Met> met = found->second.Take(info.id);
      if (!met) continue;
      who.push_back(gpu.name);
      sum += met->share;
      spins = spins || met->spins;
    }
    if (who.empty()) continue;
    const auto count = static_cast<std::int64_t>(who.size());
    alerts.push_back(
        {WatchAct::kWarn, fmt::format("{}: {}", fmt::join(who, ", "),
                                      LoadText(info.id, *limits_.load[Index(info.id)], sum / count, spins))});
  }
}

// Warns about each GPU that is held idle, or stops the run if no GPU works.
void Watch::LookAtIdle(const std::vector<WatchedGpu>& gpus, std::vector<WatchAlert>& alerts) {
  const Nanos limit = *limits_.idle_held;
  std::vector<WatchAlert> fresh;
  std::size_t idle = 0;
  Nanos longest(0);
  std::optional<Money> all_cost = Money();
  std::size_t held = 0;
  for (const WatchedGpu& gpu : gpus) {
    const auto found = stretches_.find(gpu.device);
    if (found == stretches_.end()) continue;
    const HeldStretch& stretch = found->second;
    if (stretch.idle() > limit) ++idle;
    if (stretch.held() <= limit) continue;
    ++held;
    longest = std::max(longest, stretch.held());
    const std::optional<Money> cost = HeldCost(gpu, stretch.held());
    all_cost = SumIfKnown(all_cost, cost);
    const auto [told, first] = told_.try_emplace(gpu.device, *stretch.held_since());
    if (!first && told->second == *stretch.held_since()) continue;
    told->second = *stretch.held_since();
    fresh.push_back(
        {WatchAct::kWarn, fmt::format("{} has been idle for {} while a process holds its memory (limit {}){}", gpu.name,
                                      DurationForPeople(stretch.held()), DurationForPeople(limit), CostText(cost))});
  }
  const bool all = held > 0 && idle == gpus.size();
  if (all && !told_of_all_) {
    // One alert about all GPUs replaces the separate ones.
    const std::string who = gpus.size() == 1      ? gpus.front().name + " has"
                            : held == gpus.size() ? fmt::format("all {} GPUs have", gpus.size())
                                                  : fmt::format("all {} GPUs have (no process holds {} of them)",
                                                                gpus.size(), gpus.size() - held);
    fresh.assign(1, {WatchAct::kStop, fmt::format("{} been idle for {} while a process holds {} memory (limit {}){}",
                                                  who, DurationForPeople(longest), gpus.size() == 1 ? "its" : "their",
                                                  DurationForPeople(limit), CostText(all_cost))});
  }
  told_of_all_ = all;
  alerts.insert(alerts.end(), fresh.begin(), fresh.end());
}

// ", $12.40 so far"; empty without a price.
std::string Watch::CostText(const std::optional<Money>& cost) const {
  if (!cost) return {};
  return ", " + Amount(*cost, limits_.currency) + " so far";
}

// Compares money and GPU-hours with their limits.
void Watch::LookAtSpend(const Spend& spend, std::vector<WatchAlert>& alerts) {
  const auto hours = [](Nanos span) { return static_cast<double>(span.count()) / static_cast<double>(kNanosPerHour); };
  const auto add = [&](std::optional<WatchAlert> alert) {
    if (alert) alerts.push_back(*std::move(alert));
  };
  if (limits_.budget && spend.cost) {
    std::string left;
    if (spend.per_hour && *spend.per_hour > Money()) {
      left = "; at this rate the rest lasts " +
             SecondsForPeople(3600 * static_cast<double>(limits_.budget->nano() - spend.cost->nano()) /
                              static_cast<double>(spend.per_hour->nano()));
    }
    add(Reach(LevelsReached(spend.cost->nano(), limits_.budget->nano()), money_level_, limits_.asks_checkpoint,
              "the budget is spent",
              UnitPrice(*spend.cost, limits_.currency) + " of " + UnitPrice(*limits_.budget, limits_.currency), left));
  }
  if (limits_.gpu_time) {
    const auto left = static_cast<double>((*limits_.gpu_time - spend.gpu_time).count());
    const Nanos rest(static_cast<std::int64_t>(spend.gpus > 0 ? left / spend.gpus : left));
    add(Reach(LevelsReached(spend.gpu_time.count(), limits_.gpu_time->count()), time_level_, limits_.asks_checkpoint,
              "the GPU-hours are used",
              ThreeDigits(hours(spend.gpu_time)) + " of " + ThreeDigits(hours(*limits_.gpu_time)),
              "; the rest lasts " + DurationForPeople(rest)));
  }
}

void Stopping::Ask(WatchAct act) {
  checkpoint_ = checkpoint_ || (rules_.checkpoint && act != WatchAct::kWarn);
  stop_ = stop_ || act == WatchAct::kStop;
}

std::optional<StopDeed> Stopping::Next(Nanos now) {
  if (checkpoint_ && !checkpoint_done_) {
    checkpoint_done_ = true;
    checkpoint_at_ = now;
    return StopDeed::kCheckpoint;
  }
  if (stop_ && !terminated_at_ && (!checkpoint_at_ || now - *checkpoint_at_ >= rules_.grace)) {
    terminated_at_ = now;
    return StopDeed::kTerminate;
  }
  if (terminated_at_ && !last_done_ && now - *terminated_at_ >= rules_.grace) {
    last_done_ = true;
    return rules_.kill ? StopDeed::kKill : StopDeed::kSayItRuns;
  }
  return std::nullopt;
}

}  // namespace idleburn
