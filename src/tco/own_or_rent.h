#pragma once

#include <vector>

#include "base/fraction.h"
#include "tco/plan.h"

namespace idleburn {

// A server that could be bought, and what an hour of one of its GPUs costs elsewhere.
struct OwnOffer {
  Fraction capex;
  Fraction residual;    // an amount
  Fraction life_years;  // above 0
  Fraction kilowatts;
  Fraction pue = Fraction::Of(1, 1);
  Fraction tariff;          // per kWh
  Fraction support_a_year;  // an amount
  Fraction demand_charge;   // per kW of facility and month
  Fraction space_a_year;
  Fraction staff_a_year;
  Fraction capital_rate;  // a year
  Fraction gpus = Fraction::Of(1, 1);
  std::vector<Fraction> utilisations = {Fraction::Of(1, 1)};  // GPU-hours delivered to jobs, not utilization.gpu
  std::vector<Fraction> cloud;                                // prices of a GPU-hour, today
  Fraction cloud_falls_a_year;                                // by this share
  Fraction payback_at = Fraction::Of(1, 1);                   // utilisation
  int month_hours = 730;                                      // on both sides of the pay-back
  std::vector<std::string> not_given;                         // figures that are 0 because nobody said them
  std::vector<std::string> warnings;
};

// Everything a year, exactly.
struct OwnYear {
  Fraction depreciation;
  Fraction energy;
  Fraction demand;  // for the power drawn at most, whatever is used of it
  Fraction support;
  Fraction space;
  Fraction staff;
  Fraction capital;
  Fraction total;
  Fraction operation_a_month;  // what is paid while it runs: without depreciation and capital
};
OwnYear YearOf(const OwnOffer& offer);

// What a delivered GPU-hour costs at that utilisation (above 0).
Fraction PerDeliveredHour(const OwnOffer& offer, const Fraction& utilisation);
// The mean of that price over the years that the server lives.
Fraction MeanPrice(const OwnOffer& offer, const Fraction& cloud);
// The utilisation from which owning is cheaper than that price, if it stays; above 1 the cloud always wins.
Fraction BreakEvenUse(const OwnOffer& offer, const Fraction& cloud);
// Months until the purchase has paid for itself against that price as it falls; absent: never.
std::optional<Fraction> PaybackMonths(const OwnOffer& offer, const Fraction& cloud);

}  // namespace idleburn
