#pragma once

#include <string>
#include <string_view>

#include "diagnose/scene.h"

namespace idleburn {

// What the catalogue says of a lever of the rate: "spot", "reserved" or "right_size_region".
struct CheaperHour {
  double cut = 0;        // the share of the bill that falls if every offer is taken; 0: there is none
  bool refuted = false;  // every price of the run was compared, and nothing is lower
  std::string how;    // empty: as the lever says
  std::string basis;  // the offers with their dates, or why there is none
};

// Spot and reserved offers are those of the very instance and region that is paid for; an offer from elsewhere is of
// the same GPU in the same market, in an instance that holds the GPUs of a node and no more than the run has.
CheaperHour FindCheaperHour(std::string_view lever, const Scene& scene);

}  // namespace idleburn
