#pragma once

#include <string>
#include <vector>

#include "fleet/chargeback.h"
#include "report/fleet_charges.h"
#include "report/report_page.h"

// What the chargebacks of a fleet and of a bill print alike.
namespace idleburn {

// How shared cost is split, as a sentence.
std::string PolicyText(SharePolicy policy);

// The tables of one chargeback, which must outlive them.
struct ChargeTables {
  const Chargeback& charge;
  const std::vector<SharedCost>& lines;
  const std::string& currency;
  SharePolicy policy;

  // What each owner pays, what nobody pays, and the total. `who` is what an owner is ("team"), `hours` the GPU-hours of
  // each row.
  [[nodiscard]] ReportTable WhoPays(const std::string& who, const std::vector<std::string>& hours,
                                    const ShownCharges& shown) const;
  // The shared lines of the period. What each owner pays of them is on its statement.
  [[nodiscard]] ReportTable Shared() const;
  // What one owner pays of each shared line; nothing if it takes no share.
  [[nodiscard]] ReportTable SharedOf(const ChargeRow& row, const ShownCharge& shown, const std::string& who) const;
};

}  // namespace idleburn
