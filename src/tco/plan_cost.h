#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fraction.h"
#include "base/money.h"
#include "base/progress_watch.h"
#include "base/result.h"

namespace idleburn {
// A total cost of ownership before anything is computed. A plan is a list of lines, each a formula over figures, so
// that one plan can be costed exactly, at the ends of its ranges, and by drawing. Figures are kept apart from lines: a
// figure that several lines share must move in all of them at once. Numbers are exact fractions, because sums of money
// must add up to the last digit.

// What a total cost of ownership is made of (docs/tco.md). Each appears in every output, given or not.
enum class CostCategory : std::uint8_t {
  kCompute,
  kData,
  kLabour,
  kInfrastructure,
  kInference,
  kOperations,
  kDepreciation,
  kRisk,
};

// Their names in files and documents, in their order.
inline constexpr std::size_t kCostCategoryCount = 8;
inline constexpr std::array<std::string_view, kCostCategoryCount> kCostCategoryNames = {
    "compute", "data", "labour", "infrastructure", "inference", "operations", "depreciation", "risk"};
// The category's name.
constexpr std::string_view Name(CostCategory c) { return kCostCategoryNames[static_cast<std::size_t>(c)]; }

// A number of a plan: known, or only between bounds. A known one has three equal numbers.
struct PlanFigure {
  // "compute.fine-tuning.price".
  std::string name;
  Fraction low;
  Fraction likely;
  Fraction high;
  [[nodiscard]] bool ranged() const { return Compare(low, high) < 0; }
};

// One figure of a product, by its place in TcoPlan::figures.
struct PlanFactor {
  std::size_t figure = 0;
  bool divides = false;
  // With it the product becomes a count of whole things.
  bool rounds_up = false;
};

// One product of a line's formula.
struct PlanTerm {
  bool minus = false;
  // No summand: the line comes to no less than this term.
  bool at_least = false;
  std::vector<PlanFactor> factors;
};

// One line of a plan: what it is, how its amount is made, and what is known about its price and its energy.
struct PlanLine {
  CostCategory category = CostCategory::kCompute;
  std::string name;
  std::vector<PlanTerm> terms;
  // Whether the terms are a share of all compute.
  bool of_compute = false;
  // Whether the line goes on after launch.
  bool recurring = false;
  // The figure of a risk's probability, which is also among its factors.
  std::optional<std::size_t> probability;
  // The figure of the price, where the amount is quantity x price.
  std::optional<std::size_t> price;
  // Figures by their key in the file, watts and pue too.
  std::map<std::string, std::size_t, std::less<>> figures;
  // First and last month of the plan in which it is paid, from 1. Absent: all of them.
  std::optional<std::pair<std::int64_t, std::int64_t>> paid_in;
  // Kilograms of CO2 by the energy of its GPU-hours, and by making the hardware.
  std::optional<Fraction> grid_kg_per_kwh;
  std::optional<Fraction> embodied_kg_per_gpu_hour;
  // What levers leave of GPU time, by what they leave of the amount: a lower price saves no energy.
  Fraction hours_per_amount = Fraction::Of(1, 1);
  // Where its price comes from: "on_demand, gcp us-central1, as of 2026-07-01".
  std::string basis;

  [[nodiscard]] std::string Key() const { return std::string(Name(category)) + "." + name; }
};

// What changed a line against the plan that it came from.
struct PlanLever {
  std::string name;
  std::string line;
  // What changed: "x 0.3", "35.0 % less GPU time".
  std::string how;
  // "measured", "calibrated" or "assumed".
  std::string evidence;
  // What to do for it: "train adapters only". Empty if not given.
  std::string todo;
  // What `how` says, if the lever replaces the line by an amount.
  std::optional<Money> to = {};
};

// What one lever saves of the whole total if it is the only one. Savings of several levers are never added up.
struct LeverSaving {
  std::string name;
  Money saves;
  // Its edits, one a line of the plan.
  std::vector<PlanLever> edits;
};

// A scenario: everything that is given, and nothing that is computed. A variant is a whole plan of its own.
struct TcoPlan {
  std::string name;
  std::string currency = "USD";
  // The horizon in months.
  std::optional<Fraction> months;
  // Its first month: "2026-07".
  std::optional<std::string> start;
  int month_hours = kUsualMonthHours;
  Fraction contingency = Fraction::Of(15, 100);
  // An amount that replaces the rate.
  std::optional<Money> forced_contingency;
  std::optional<Money> budget;
  std::vector<PlanFigure> figures;
  std::vector<PlanLine> lines;
  // What one run takes: "samples", "tokens", "gpu_hours", "utilisation" and how much of each.
  std::map<std::string, Fraction> units;
  std::vector<PlanLever> levers;
  // What each lever saves by itself, the largest first.
  std::vector<LeverSaving> alone;
  std::vector<std::string> warnings;
};

// What a plan comes to: exactly, as an estimate with a spread, and per unit of what it buys. Exact sums and estimates
// read the same lines through one set of templates, so that they cannot drift apart. Contingency is on the exact total
// only; drawing already shows the uncertainty that it stands for.

// What a plan costs, exactly. Lines sum to their categories, and categories to the subtotal. Both arrays are in the
// order of CostCategory.
struct PlanCost {
  std::vector<Money> lines;
  std::array<Money, kCostCategoryCount> categories{};
  std::array<bool, kCostCategoryCount> given{};
  Money subtotal;
  // rate x (subtotal - risk): a risk that is priced is not priced again.
  Money contingency;
  // The rate that was given, or that a forced amount implies.
  Fraction contingency_rate;
  Money total;
  // What recurs, a month; 0 without a horizon.
  Money monthly_after_launch;
};

// Every figure at its likely number. Fails where an amount cannot be kept.
Result<PlanCost> CostOfPlan(const TcoPlan& plan);

// A three-point estimate (PERT). Lines are taken as independent, so means add up, and variances too.
struct PertEstimate {
  double mean = 0;
  double deviation = 0;
};
// The estimate of a line from its figures' bounds. It is lowest where what multiplies is low and what divides is high.
PertEstimate PertOf(const TcoPlan& plan, std::size_t line);
// The estimate of all lines but risks, before contingency.
PertEstimate PertOf(const TcoPlan& plan);

// How the total changes when one figure goes from its low to its high number.
struct TornadoBar {
  std::string figure;
  Money low;
  Money high;
};

// A bar for each figure with a range that changes the total, the longest first.
Result<std::vector<TornadoBar>> TornadoOf(const TcoPlan& plan);

// Totals drawn many times. Figures are triangular, a shared figure is drawn once, and a risk happens or does not.
// Totals are before contingency, because both stand for the same uncertainty and are never added.
struct PlanDraws {
  int count = 0;
  std::uint64_t seed = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  // The chance of it; absent without a budget.
  std::optional<double> over_budget;
};

// Fewer draws leave the 10th and 90th percentile unsteady.
inline constexpr int kFewestDraws = 10'000;
// Draws `count` totals; equal seeds give equal results. Absent where nothing is uncertain. `watch` hears of each draw.
std::optional<PlanDraws> DrawPlan(const TcoPlan& plan, int count, std::uint64_t seed, const ProgressWatch& watch = {});

// The share of the total that the second plan saves: 1 - optimised / naive. Absent where the naive one costs nothing.
std::optional<double> SavedShare(const PlanCost& naive, const PlanCost& optimised);

// What one of something costs, or a lot of it where one costs next to nothing.
struct UnitCost {
  // "sample", "effective GPU-hour", "1,000 requests".
  std::string unit;
  // Whose money it is: "total", "compute", "inference.serving".
  std::string of;
  // Absent where nothing was done, so that there is no price of one.
  std::optional<Money> amount;
};
// Unit costs of what [units] names, and of the lines that serve requests or tokens.
std::vector<UnitCost> UnitCostsOf(const TcoPlan& plan, const PlanCost& cost);

// The money for GPU-hours in which no work was done. Absent without gpu_hours and utilisation.
std::optional<Money> NotBusyCost(const TcoPlan& plan, const PlanCost& cost);

// How many requests or tokens cost as much to serve as all compute did. Up to there training is the larger part, beyond
// it serving.
struct ServingCrossing {
  std::string line;
  std::string unit;  // "requests"
  Fraction count;
};

// A crossing for each line that serves, where both sides cost something.
std::vector<ServingCrossing> CrossingsOf(const TcoPlan& plan, const PlanCost& cost);

// What a line that is billed by the hour, round the clock, comes to over longer times.
struct HourlyProjection {
  std::string line;
  Money hour;
  // By the plan's month_hours, and twelve times that.
  Money month;
  Money twelve_months;
  // By 8,760 hours.
  Money year;
};

// A projection for each line with an hourly figure.
std::vector<HourlyProjection> ProjectionsOf(const TcoPlan& plan);

// The replicas that the peak of a line needs, with its headroom and its floor.
struct ReplicaCount {
  std::string line;
  Fraction replicas;
  // The share of the replicas that the peak takes.
  Fraction use;
  // What the fewest that always run cost.
  std::optional<Money> floor_a_month;
};

// A count for each line that states a peak.
std::vector<ReplicaCount> ReplicasOf(const TcoPlan& plan);

// Kilograms of CO2 that the GPU-hours of a line emit, with their share of making the hardware. Absent where no grid is
// given.
std::optional<Fraction> CarbonOf(const TcoPlan& plan, const PlanLine& line);

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
  // Figures that are 0 because they were not given.
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
