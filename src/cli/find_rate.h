#pragma once

#include <string>
#include <vector>

#include "cli/settings.h"
#include "price/rate.h"
#include "telemetry/data_quality.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// Whose price is looked for.
struct RateQuestion {
  std::string instance;                // of the machine measured live, where it tells: "aws:p5.48xlarge"
  std::string region;                  // likewise
  std::string market;                  // likewise
  std::vector<std::string> gpu_names;  // as their driver prints them
  Instant now;
};

// The price of a GPU-hour by the user's settings and price list, else by the catalogue. That it is old is counted in
// `quality`. Fails on settings that are wrong, never because there is no price.
Result<Rate> FindRate(const Settings& settings, const RateQuestion& question, DataQuality& quality);

// What of this machine decides the price, as facts of a run; nothing where it does not tell. The network is asked only
// if `ask_cloud`, for a second at most; that nothing came of it is then said on standard error.
std::vector<RunFact> MachineFacts(bool ask_cloud);
// What such facts say.
RateQuestion QuestionOf(const RunFacts& facts);

}  // namespace idleburn
