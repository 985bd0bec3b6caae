#pragma once

#include <string>

#include "report/fleet_charges.h"

// Amounts of a chargeback in JSON. `Json` is a template parameter, as in report/json_values.h.
namespace idleburn {

// KEY is the amount as printed, so a column of K adds up; KEY_exact is exact.
template <typename Json>
void PutShown(Json& json, const std::string& key, Money shown, Money exact, const std::string& currency) {
  const int digits = MinorUnitDigits(currency);
  json[key] = FormatMoney(shown, digits);
  json[key + "_exact"] = FormatExact(exact, digits);
}

template <typename Json>
void PutCharge(Json& json, const ShownCharge& shown, const ChargeRow& exact, const std::string& currency) {
  PutShown(json, "direct", shown.direct, exact.direct, currency);
  PutShown(json, "shared", shown.shared, exact.shared, currency);
  PutShown(json, "unused_commitment", shown.commitment, exact.commitment, currency);
  PutShown(json, "total", shown.total, exact.total, currency);
}

}  // namespace idleburn
