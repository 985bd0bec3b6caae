#pragma once

#include <string>
#include <vector>

#include "report/tco_output.h"

namespace idleburn {

// "24,782.50": to the minor unit, grouped.
std::string TcoAmount(Money m, const std::string& currency);
// The same of a drawn amount, in whole units; "unknown" where it is beyond money.
std::string TcoAbout(double amount, const std::string& currency);
// "24,782.50 USD".
std::string TcoPaid(Money m, const std::string& currency);
// A fraction with so many decimals, grouped; "unknown" where it is too large to keep.
std::string TcoDecimal(const Fraction& f, int digits);
// "54.5 %" of a whole that is above 0.
std::string TcoShare(Money part, Money whole);
// "6 months".
std::string TcoMonthsText(const std::optional<Fraction>& months);

std::string TcoVerdict(const TcoAnswer& answer);
std::vector<std::string> TcoWhy(const TcoAnswer& answer);
std::vector<std::string> TcoNext(const TcoAnswer& answer);

// Lists.
std::vector<std::string> TcoUnitLines(const TcoScenario& scenario);
std::vector<std::string> TcoActualLines(const ActualReport& report, const std::string& currency);
std::vector<std::string> TcoBasisLines(const TcoAnswer& answer);

// Tables, as printed: to the minor unit, and so that every column adds up.
ReportTable TcoCostTable(const TcoAnswer& answer);
ReportTable TcoLeverTable(const TcoScenario& scenario, const TcoScenario& first);
ReportTable TcoSureTable(const TcoAnswer& answer);
ReportTable TcoTornadoTable(const TcoScenario& scenario);
ReportTable TcoOwnTable(const OwnOffer& offer, const std::string& currency);
ReportTable TcoVarianceTable(const ActualReport& report, const std::string& currency);
ReportTable TcoMonthTable(const ActualReport& report, const std::string& currency);
// Of one that is not the first, only what is made in another way than there.
ReportTable TcoMadeTable(const TcoScenario& scenario, const TcoScenario& first);

}  // namespace idleburn
