#include "measure/sampler_facts.h"

#include <string>

#include "telemetry/run_facts.h"

namespace idleburn {

std::vector<RunFact> SamplerFacts(const SamplerStatistics& statistics) {
  std::vector<RunFact> facts;
  const auto tell = [&](const std::string& key, std::int64_t value) {
    facts.push_back({"sampler." + key, std::to_string(value)});
  };
  const auto tell_spread = [&](const std::string& key, const Spread& spread) {
    tell(key + "_p99", spread.Quantile(0.99).count());
    tell(key + "_max", spread.max().count());
  };
  tell("ticks", statistics.ticks);
  tell("missed", statistics.missed);
  tell_spread("late", statistics.late);
  tell_spread("work", statistics.work);
  if (statistics.abandoned) facts.push_back({"sampler.abandoned", "yes"});
  for (const std::string& failure : statistics.failures) facts.push_back({kMeasuringFailedFact, failure});
  for (const CallTimes& calls : statistics.calls) {
    facts.push_back({"sampler.calls." + calls.function,
                     std::to_string(calls.calls) + " " + std::to_string(calls.p50.count()) + " " +
                         std::to_string(calls.p99.count()) + " " + std::to_string(calls.max.count())});
  }
  return facts;
}

}  // namespace idleburn
