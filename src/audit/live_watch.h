#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "audit/run_inputs.h"
#include "audit/watch_flags.h"
#include "classify/run_classifier.h"

namespace idleburn {

// Watches a live run from within its stream: once a second of the samples' time it counts what the run has used, as its
// audit will, and asks the Watch. Alerts wait for the thread that acts on them.
class LiveWatch {
 public:
  // `plan` and `thresholds` outlive it.
  LiveWatch(const WatchPlan& plan, const Thresholds& thresholds, bool all_gpus)
      : watch_(plan.limits, thresholds), rates_(plan.rates), all_gpus_(all_gpus) {}

  // In the stream. `inputs` are of the run, whose classifier has these samples already.
  std::vector<WatchAlert> OnSamples(std::span<const Sample> samples, const RunInputs& inputs);
  // The alerts since the last call, from any thread.
  std::vector<WatchAlert> Take();

 private:
  [[nodiscard]] Spend SpendSoFar(const std::vector<DeviceId>& hidden, const RunInputs& inputs) const;
  // The rates of the devices known by now; found anew when there are more.
  void FindRates(const RunInputs& inputs);

  Watch watch_;
  const RateBook& rates_;
  RateCard card_;
  std::size_t carded_ = 0;  // devices that it is of
  bool all_gpus_;
  std::int64_t second_ = 0;  // of the last look, since the epoch
  bool told_of_none_ = false;
  bool told_of_unpriced_ = false;
  std::mutex mutex_;  // of what follows
  std::vector<WatchAlert> alerts_;
};

}  // namespace idleburn
