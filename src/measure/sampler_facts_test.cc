#include "measure/sampler_facts.h"

#include <gtest/gtest.h>

#include "telemetry/run_facts.h"

namespace idleburn {
namespace {

RunFacts FactsOfRun(const SamplerStatistics& statistics) {
  RunFacts facts;
  for (const RunFact& fact : SamplerFacts(statistics)) facts[fact.key] = fact.value;
  return facts;
}

TEST(SamplerFacts, TellTicksTheirLatenessAndEveryFunctionsCalls) {
  SamplerStatistics statistics;
  statistics.ticks = 600;
  statistics.missed = 3;
  for (int i = 0; i < 200; ++i) statistics.late.Add(Nanos(i == 0 ? 9000 : 10));
  statistics.work.Add(Nanos(15));
  statistics.calls = {{"nvmlDeviceGetPowerUsage", 7, Nanos(1), Nanos(2), Nanos(3), Nanos(9)}};
  const RunFacts whole = {{"sampler.ticks", "600"},
                          {"sampler.missed", "3"},
                          {"sampler.late_p99", "10"},
                          {"sampler.late_max", "9000"},
                          {"sampler.work_p99", "15"},
                          {"sampler.work_max", "15"},
                          {"sampler.calls.nvmlDeviceGetPowerUsage", "7 1 2 3"}};
  EXPECT_EQ(FactsOfRun(statistics), whole);
  statistics.abandoned = true;
  EXPECT_EQ(FactsOfRun(statistics)["sampler.abandoned"], "yes");
}

}  // namespace
}  // namespace idleburn
