#include "tco/own_or_rent.h"

namespace idleburn {
namespace {

const Fraction kHoursAYear = Fraction::Of(8760, 1);

}  // namespace

OwnYear YearOf(const OwnOffer& offer) {
  OwnYear year;
  year.depreciation = (offer.capex - offer.residual) / offer.life_years;
  year.energy = offer.kilowatts * offer.pue * offer.tariff * kHoursAYear;
  year.support = offer.support_a_year;
  year.space = offer.space_a_year;
  year.staff = offer.staff_a_year;
  year.capital = offer.capital_rate * (offer.capex + offer.residual) / Fraction::Of(2, 1);
  const Fraction operation = year.energy + year.support + year.space + year.staff;
  year.total = year.depreciation + operation + year.capital;
  year.operation_a_month = operation * Fraction::Of(offer.month_hours, 1) / kHoursAYear;
  return year;
}

Fraction PerDeliveredHour(const OwnOffer& offer, const Fraction& utilisation) {
  return YearOf(offer).total / (offer.gpus * kHoursAYear * utilisation);
}

Fraction BreakEvenUse(const OwnOffer& offer, const Fraction& cloud) {
  return YearOf(offer).total / (offer.gpus * kHoursAYear * cloud);
}

std::optional<Fraction> PaybackMonths(const OwnOffer& offer, const Fraction& cloud) {
  const Fraction rented = offer.gpus * Fraction::Of(offer.month_hours, 1) * offer.payback_at * cloud;
  const Fraction saved = rented - YearOf(offer).operation_a_month;
  if (saved.too_large || saved.top <= 0) return std::nullopt;
  return offer.capex / saved;
}

}  // namespace idleburn
