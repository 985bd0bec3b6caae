#include "tco/own_or_rent.h"

#include "base/billing.h"

namespace idleburn {

// The arithmetic of owning, in exact fractions. Fractions grow with every year of a falling price; where they grow too
// large, there is no answer instead of a rounded one.

namespace {

const Fraction kHoursAYear = Fraction::Of(kHoursPerYear, 1);
const Fraction kMonthsAYear = Fraction::Of(12, 1);
const Fraction kOnce = Fraction::Of(1, 1);
// No server lives longer; the loops end there.
constexpr int kMostYears = 100;

}  // namespace

OwnYear YearOf(const OwnOffer& offer) {
  OwnYear year;
  year.depreciation = (offer.capex - offer.residual) / offer.life_years;
  year.energy = offer.kilowatts * offer.pue * offer.tariff * kHoursAYear;
  year.demand = offer.kilowatts * offer.pue * offer.demand_charge * kMonthsAYear;
  year.support = offer.support_a_year;
  year.space = offer.space_a_year;
  year.staff = offer.staff_a_year;
  // Interest on the mean of what is tied up at the start and at the end.
  year.capital = offer.capital_rate * (offer.capex + offer.residual) / Fraction::Of(2, 1);
  const Fraction operation = year.energy + year.demand + year.support + year.space + year.staff;
  year.total = year.depreciation + operation + year.capital;
  // A month of so many hours, not a twelfth of a year: prices of the cloud are by the hour.
  year.operation_a_month = operation * Fraction::Of(offer.month_hours, 1) / kHoursAYear;
  return year;
}

Fraction PerDeliveredHour(const OwnOffer& offer, const Fraction& utilisation) {
  return YearOf(offer).total / (offer.gpus * kHoursAYear * utilisation);
}

Fraction BreakEvenUse(const OwnOffer& offer, const Fraction& cloud) {
  return YearOf(offer).total / (offer.gpus * kHoursAYear * cloud);
}

Fraction MeanPrice(const OwnOffer& offer, const Fraction& cloud) {
  Fraction sum;
  Fraction price = cloud;
  Fraction left = offer.life_years;
  for (int year = 0; year < kMostYears && left.top > 0; ++year) {
    // The last year may be a part of one.
    const Fraction part = Compare(left, kOnce) < 0 ? left : kOnce;  // of the year
    sum = sum + price * part;
    left = left - part;
    price = price * (kOnce - offer.cloud_falls_a_year);
  }
  return sum / (offer.life_years - left);
}

std::optional<Fraction> PaybackMonths(const OwnOffer& offer, const Fraction& cloud) {
  const Fraction operation = YearOf(offer).operation_a_month;
  Fraction price = cloud;
  Fraction left = offer.capex;
  for (int year = 0; year < kMostYears; ++year) {
    // Only hours that are used would have to be rented.
    const Fraction rented = offer.gpus * Fraction::Of(offer.month_hours, 1) * offer.payback_at * price;
    const Fraction saved = rented - operation;
    // A year that saves nothing ends it: the price only falls.
    if (saved.too_large || left.too_large || saved.top <= 0) return std::nullopt;
    // The purchase is paid off within this year.
    if (Compare(saved * kMonthsAYear, left) >= 0) return Fraction::Of(year, 1) * kMonthsAYear + left / saved;
    left = left - saved * kMonthsAYear;
    price = price * (kOnce - offer.cloud_falls_a_year);
  }
  return std::nullopt;
}

}  // namespace idleburn
