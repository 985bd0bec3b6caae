#include "trial/series.h"

#include <fmt/format.h>

#include <utility>

#include "measure/data_files.h"

namespace idleburn {
namespace {

class Series {
 public:
  Series(const SeriesSpec& spec, SeriesWorld world) : spec_(spec), world_(std::move(world)) {
    world_.context.stop = [this] { return Interrupted(); };
  }

  Result<SeriesResult> Run() {
    if (!world_.context.data.empty()) {
      const DataFiles files = TRY(ListDataFiles(world_.context.data, kMostDataFiles));
      DropData(files).has_value();  // the first run shows what is read where nothing is cached, if that can be had
    }
    for (const Knob* knob : spec_.knobs) result_.knobs.emplace_back().knob = knob;
    world_.tell("first run, not counted: it shows what the command uses");
    const std::string fault = RunOnce(KnobChange{}, result_.first);
    if (result_.interrupted) return std::move(result_);
    if (!fault.empty()) return Fail(fault);
    world_.tell(fmt::format("first run: {:.4g} {}/s", result_.first.rate->PerSecond(), UnitName()));
    world_.context.first = &result_.first;
    for (KnobResult& knob : result_.knobs) TRY(Turn(knob));
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::string_view UnitName() const {
    return kWorkUnitPlurals[static_cast<std::size_t>(result_.first.unit)];
  }
  bool Interrupted() {
    if (!result_.interrupted) result_.interrupted = world_.interrupted();
    return result_.interrupted.has_value();
  }

  // One run. Why it shows nothing, in words for people; empty if it does.
  std::string RunOnce(const KnobChange& change, Trial& trial) {
    if (Interrupted()) return "interrupted";
    tl::expected<Trial, StartFailure> ran = world_.run(change);
    if (!ran) {
      if (ran.error().exit_code > 128) result_.interrupted = ran.error().exit_code - 128;
      return ran.error().error.message;
    }
    trial = std::move(*ran);
    if (trial.leftovers > 0) {
      world_.tell(fmt::format("{} processes of the command do not end, not even when killed", trial.leftovers));
    }
    result_.interrupted = trial.interrupted;
    const std::string fault = FaultOf(trial, spec_.bounds);
    return fault.empty() ? fault : "the command " + fault;
  }

  Result<void> Turn(KnobResult& result) {
    if (Interrupted()) return {};
    Result<KnobPlan> plan = result.knob->plan(world_.context);
    if (!plan) {
      result.status = KnobStatus::kNotAvailable;
      result.why = plan.error().message;
      return {};
    }
    result.before = plan->before;
    result.after = plan->after;
    result.resource_ratio = plan->resource_ratio;
    TRY(RunUnchanged());
    if (Interrupted()) return {};
    TRY(RunRounds(*plan, result));
    if (!result.why.empty()) {
      result.status = KnobStatus::kFailed;
    } else if (!result.pairs.empty()) {
      result.status = KnobStatus::kRan;
    }
    return {};
  }

  // The noise of this machine and command, before anything is compared with it.
  Result<void> RunUnchanged() {
    if (spec_.rounds < 2 || std::exchange(noise_known_, true)) return {};
    for (int round = 0; round < spec_.rounds; ++round) {
      Trial trial;
      const std::string fault = RunOnce(KnobChange{}, trial);
      if (result_.interrupted) return {};
      if (!fault.empty()) return Fail(fault + "; this was run " + std::to_string(round + 1) + " unchanged");
      if (trial.rate->unit != result_.first.rate->unit) {
        return Fail("the command said its work in another unit than before; print the same unit in every run");
      }
      world_.tell(fmt::format("unchanged, run {} of {}: {:.4g} {}/s", round + 1, spec_.rounds, trial.rate->PerSecond(),
                              UnitName()));
      if (!trial.rate->spoiled) result_.unchanged.push_back(*trial.rate);
    }
    return {};
  }

  Result<void> RunRounds(const KnobPlan& plan, KnobResult& result) {
    std::vector<TrialPair> spoiled;
    for (int round = 0; round < spec_.rounds;) {
      std::optional<TrialPair> pair;
      TRY(RunPair(plan, round, result, &pair));
      if (!pair) break;
      (pair->spoiled() ? spoiled : result.pairs).push_back(*pair);
      const bool again = pair->spoiled() && result.repeated < spec_.rounds;
      if (again) {
        ++result.repeated;
        world_.tell(fmt::format("{}, round {}: this machine stood still for {:.1f} s; once more", result.knob->id,
                                round + 1, InSeconds(pair->baseline.stood_still + pair->variant.stood_still)));
      }
      round += again ? 0 : 1;
    }
    if (!result.pairs.empty()) return {};
    result.pairs = std::move(spoiled);
    for (const TrialPair& pair : result.pairs) {
      result.stood_still += pair.baseline.stood_still + pair.variant.stood_still;
    }
    return {};
  }

  // Fails if the unchanged command does; `result.why` says it of the changed one. No pair then, nor where the user ends
  // it.
  Result<void> RunPair(const KnobPlan& plan, int round, KnobResult& result, std::optional<TrialPair>* pair) {
    constexpr std::array<std::array<TrialSide, 2>, 2> kOrders = {
        {{TrialSide::kBaseline, TrialSide::kVariant}, {TrialSide::kVariant, TrialSide::kBaseline}}};
    std::array<WorkRate, 2> rates;
    for (const TrialSide side : kOrders[static_cast<std::size_t>(round % 2)]) {
      const Result<KnobChange> change = plan.apply(side);
      if (Interrupted()) return {};
      if (!change) {
        result.why = change.error().message;
        return {};
      }
      const std::string fault = RunSide(plan, *change, side, rates[static_cast<std::size_t>(side)]);
      if (result_.interrupted) return {};
      if (fault.empty()) {
        world_.tell(fmt::format("{}, round {} of {}, {}: {:.4g} {}/s", result.knob->id, round + 1, spec_.rounds,
                                side == TrialSide::kVariant ? plan.after : plan.before,
                                rates[static_cast<std::size_t>(side)].PerSecond(), UnitName()));
        continue;
      }
      if (side == TrialSide::kBaseline)
        return Fail(fault + "; this was " + std::string(result.knob->id) + ", unchanged");
      result.why = fault;
      return {};
    }
    *pair = TrialPair{rates[0], rates[1]};
    return {};
  }

  std::string RunSide(const KnobPlan& plan, const KnobChange& change, TrialSide side, WorkRate& rate) {
    Trial trial;
    std::string fault = RunOnce(change, trial);
    if (fault.empty() && trial.rate->unit != result_.first.rate->unit) {
      fault = "the command said its work in another unit than before";
    }
    if (fault.empty()) {
      fault = plan.objection(side, trial);
      if (!fault.empty()) fault = "the command " + fault;
    }
    if (!fault.empty()) return fault;
    rate = *trial.rate;
    return {};
  }

  const SeriesSpec& spec_;
  SeriesWorld world_;
  SeriesResult result_;
  bool noise_known_ = false;
};

}  // namespace

Result<SeriesResult> RunSeries(const SeriesSpec& spec, SeriesWorld world) {
  return Series(spec, std::move(world)).Run();
}

}  // namespace idleburn
