#pragma once

#include <string>
#include <vector>

#include "cli/settings.h"
#include "price/rate.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// Whose price is looked for.
struct RateQuestion {
  std::string instance;                // of the machine measured live, where it tells: "aws:p5.48xlarge"
  std::vector<std::string> gpu_names;  // as their driver prints them
  Instant now;
};

// The price of a GPU-hour by the user's settings and price list, else by the catalogue. That it is old is counted in
// `quality`. Fails on settings that are wrong, never because there is no price.
Result<Rate> FindRate(const Settings& settings, const RateQuestion& question, DataQuality& quality);

// "aws:p5.48xlarge" where this machine tells it, else empty.
std::string InstanceOfThisMachine();

}  // namespace idleburn
