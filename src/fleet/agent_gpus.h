#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "fleet/engine.h"
#include "fleet/fleet_report.h"

// The model and the price of each GPU, as gauges of agents tell them.
namespace idleburn {

struct AgentGpu {
  std::string model;                  // empty: not told
  std::optional<Money> per_gpu_hour;  // absent: not told, or in a currency that is none
  std::string currency;
  std::string price_source;
};

// By UUID. An engine without these gauges is no error.
struct AgentGpus {
  std::map<std::string, AgentGpu> gpus;
  std::vector<FleetDoubt> doubts;  // questions that the engine refused, prices that were left out
};

// One gauge as the engine answers: the last value of each series, and when it was last scraped (Unix seconds). Times
// are matched by labels; a series without a time is the oldest.
struct LastTold {
  std::vector<EngineSeries> values;
  std::vector<EngineSeries> times;
};

// Whether some GPU has several series that tell different things, so their times must decide.
bool NeedsTimes(const std::vector<EngineSeries>& values);

// Of several series of a GPU the newest counts. Values of `prices` are thousandths of a millionth of the currency, so
// nano-units. A price counts only if its currency is a code of three capitals.
AgentGpus AgentGpusOf(const LastTold& models, const LastTold& prices);

// What gauges told last up to `to`, over the window from `from` and over a week at least. What the engine refuses
// becomes a doubt.
AgentGpus ReadAgentGpus(Engine& engine, std::int64_t from, std::int64_t to);

}  // namespace idleburn
