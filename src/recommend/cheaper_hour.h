// Levers that lower the price of an hour instead of the number of hours.

#pragma once

#include <string>
#include <string_view>

#include "diagnose/scene.h"

namespace idleburn {

// What the price catalogue offers for a lever of the rate: "spot", "reserved" or "right_size_region". With several
// prices in a run each is compared with its own offers, and the cuts are weighted by what is paid at each.
struct CheaperHour {
  // The share of the bill that disappears if every offer is taken; 0 without an offer.
  double cut = 0;
  // Every price of the run was compared, and none is lower.
  bool refuted = false;
  std::string how;  // empty: the lever's own text applies
  // The offers with their dates, or why there is none.
  std::string basis;
};

// Compares the prices of the run with the catalogue. Spot and reserved offers are for the same instance type
// and region. An offer from elsewhere has the same GPU in the same market, in an instance that holds the GPUs
// of a node and no more than the run uses.
CheaperHour FindCheaperHour(std::string_view lever, const Scene& scene);

}  // namespace idleburn
