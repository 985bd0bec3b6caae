#pragma once

#include <vector>

#include "base/fraction.h"
#include "tco/plan.h"

namespace idleburn {

// Buying a server against renting GPUs by the hour. All of it is exact arithmetic on a year (docs/tco.md): a purchase
// is spread over the years that the server lives, and what it saves is compared with a price that may fall from year to
// year.

// A server that could be bought, and what an hour of one of its GPUs costs elsewhere. Amounts are in the currency of
// the file.
struct OwnOffer {
  Fraction capex;
  // What the server is worth at the end of its life, an amount.
  Fraction residual;
  // How many years it lives, above 0.
  Fraction life_years;
  Fraction kilowatts;
  Fraction pue = Fraction::Of(1, 1);
  // The price of a kWh.
  Fraction tariff;
  // An amount.
  Fraction support_a_year;
  // The price of a kW of facility power, a month.
  Fraction demand_charge;
  Fraction space_a_year;
  Fraction staff_a_year;
  // The rate of interest, a year.
  Fraction capital_rate;
  Fraction gpus = Fraction::Of(1, 1);
  // Shares of GPU-hours that are delivered to jobs; this is not utilization.gpu.
  std::vector<Fraction> utilisations = {Fraction::Of(1, 1)};
  // Prices of a GPU-hour, today.
  std::vector<Fraction> cloud;
  // The share by which these prices fall every year.
  Fraction cloud_falls_a_year;
  // The utilisation that the pay-back is worked out at.
  Fraction payback_at = Fraction::Of(1, 1);
  // Hours of a month, on both sides of the pay-back.
  int month_hours = 730;
  // Figures that are 0 because nobody said them.
  std::vector<std::string> not_given;
  std::vector<std::string> warnings;
};

// What owning costs a year, each part exactly.
struct OwnYear {
  Fraction depreciation;
  Fraction energy;
  // For the most power that is drawn, however little of it is used.
  Fraction demand;
  Fraction support;
  Fraction space;
  Fraction staff;
  Fraction capital;
  Fraction total;
  // What is paid while it runs: without depreciation and capital.
  Fraction operation_a_month;
};

// Works out a year. Capital is charged on the mean of purchase and residual value.
OwnYear YearOf(const OwnOffer& offer);

// What a GPU-hour that a job really gets costs at that utilisation, which is above 0.
Fraction PerDeliveredHour(const OwnOffer& offer, const Fraction& utilisation);
// The mean of a price of the cloud over the years that the server lives.
Fraction MeanPrice(const OwnOffer& offer, const Fraction& cloud);
// The utilisation from which on owning is cheaper than that price, if the price stays. Above 1 the cloud always wins.
Fraction BreakEvenUse(const OwnOffer& offer, const Fraction& cloud);
// Months until the purchase has paid for itself against that price as it falls. Absent if it never does.
std::optional<Fraction> PaybackMonths(const OwnOffer& offer, const Fraction& cloud);

}  // namespace idleburn
