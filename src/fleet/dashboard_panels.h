// The panels of all dashboards as one table. To add a panel, add a row: layout, units and JSON follow from it.
//
// Rules for expressions, which tests/fleet_dashboards_test.cc runs on real engines:
//   - They name only metrics of the agent (docs/agent.md).
//   - GPU counters carry no owner, and owner counters carry no uuid. No row joins the two by uuid.
//   - Two scrape jobs read the closed counters, and two engines may scrape one agent. So "max by" drops the copy before
//     anything is summed or counted. dashboards.cc adds it to rates of live counters, and the rows have it elsewhere.
//   - A price joins rates of the same GPU. A team or job pays the mean price of each node that it uses.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace idleburn {

enum class DashboardId : std::uint8_t { kCluster, kTeam, kJob, kCost, kAgent };

enum class PanelKind : std::uint8_t {
  kSection,     // a heading; it has no query
  kStat,        // one number for each series, at the end of the time range
  kBarGauge,    // a bar for each series, at the end of the time range
  kTable,       // a row for each series, at the end of the time range
  kTimeSeries,  // lines over the time range
  kStacked,     // areas over the time range that add up
  kMore,        // another query of the panel above
};

// What a value is. dashboards.cc knows how Grafana names it.
enum class PanelUnit : std::uint8_t {
  kCount,
  kShare,  // 0 to 1
  kGpus,
  kGpuHours,
  kMoney,  // in the currency of the label; marks an estimate
  kSeconds,
  kBytes,
  kBytesPerSecond,
  kWatts,
  kJoules,
  kCelsius,
};

struct PanelRow {
  DashboardId dashboard;
  PanelKind kind;
  std::string_view title;  // empty for kMore
  std::string_view expression;
  PanelUnit unit = PanelUnit::kCount;
  std::string_view legend = {};  // Grafana's legend format; the name of the value's column in a table
  int width = 0;                 // of 24 columns; 0 for kMore and kSection
  std::string_view about = {};   // the description of the panel; empty: the title says it all
};

// Rows of one dashboard follow each other, in reading order.
std::span<const PanelRow> PanelRows();

}  // namespace idleburn
