#include "report/fleet_figures.h"

#include <fmt/format.h>

#include "text/figures.h"
#include "text/time_zone.h"

namespace idleburn {

std::string FleetShareText(std::int64_t part, std::optional<std::int64_t> whole) {
  if (!whole || *whole == 0) return "";
  return PercentText(static_cast<double>(part) / static_cast<double>(*whole));
}

std::string FleetTitle(const FleetReport& report) {
  return fmt::format("{} GPUs, {} to {}", report.gpus.size(), FormatUnixTime(report.from), FormatUnixTime(report.to));
}

std::string FleetOwnerText(const std::string& name) {
  if (name == kFleetUnallocated) return "not allocated";
  if (name == kFleetUnknown) return "unknown";
  if (name == kFleetOther) return "other";
  return name;
}

std::string ExactSeconds(std::int64_t ms) { return fmt::format("{}.{:03}", ms / 1000, ms % 1000); }

std::string ExactOrEmpty(const std::optional<Money>& money) { return money ? FormatExact(*money) : std::string(); }

}  // namespace idleburn
