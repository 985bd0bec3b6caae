#include "report/fleet_days.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "report/fleet_figures.h"
#include "report/fleet_json.h"
#include "report/json_values.h"
#include "text/figures.h"
#include "text/json.h"
#include "text/strings.h"
#include "text/time_zone.h"

// GPU time by day, for people and for programs. The page has a row for each day; CSV and JSON have each team.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> DayDoubts(const TeamDays& days) {
  std::vector<std::string> lines;
  if (days.over_midnight > 0) {
    lines.push_back(fmt::format("{} spans of a GPU reach over midnight. They count on the day on which they begin.",
                                days.over_midnight));
  }
  if (days.crossing > 0) {
    lines.push_back(
        fmt::format("{} spans of a GPU reach over an end of the window. They are unobserved here.", days.crossing));
  }
  return lines;
}

std::map<std::int64_t, FleetTime> WholeDays(const TeamDays& days) {
  std::map<std::int64_t, FleetTime> whole;
  for (const TeamDay& row : days.rows) whole[row.day].Add(row.time);
  return whole;
}

}  // namespace

ReportPage FleetDaysPage(const TeamDays& days) {
  ReportPage page;
  page.heading = "Days of a GPU fleet";
  page.title = fmt::format("{} to {}", FormatUnixTime(days.from), FormatUnixTime(days.to));
  FleetTime all;
  ReportTable table;
  table.title = "By day, UTC";
  table.columns = {{"day", kLeft}, {"GPU-hours", kRight}};
  for (const std::string_view phase : kFleetPhaseWords) table.columns.push_back({std::string(phase), kRight});
  const std::map<std::int64_t, FleetTime> whole = WholeDays(days);
  for (const auto& [day, time] : whole) {
    TableRow row = {FormatUnixDay(day), ThreeDigits(GpuHoursOf(time.TotalMs()))};
    for (const std::int64_t ms : time.phases) row.push_back(ThreeDigits(GpuHoursOf(ms)));
    table.rows.push_back(std::move(row));
    all.Add(time);
  }
  table.notes.push_back("Each day by team is in --format csv.");
  page.verdict = whole.empty()
                     ? "The ledger has no hour of this window."
                     : fmt::format("The ledger has {} on {} day{}.", GpuHoursForPeople(GpuHoursOf(all.TotalMs())),
                                   whole.size(), whole.size() == 1 ? "" : "s");
  page.points.push_back({"data", "About the data", DayDoubts(days)});
  page.tables.push_back(std::move(table));
  return page;
}

std::string FleetDaysJson(const TeamDays& days) {
  Json json = BeginDocument<Json>("idleburn.fleet_days/1", days.ids);
  json["window"] = {{"start", FormatUnixTime(days.from)}, {"end", FormatUnixTime(days.to)}};
  json["days"] = Json::array();
  for (const TeamDay& row : days.rows) {
    json["days"].push_back(
        {{"day", FormatUnixDay(row.day)}, {"team", Printable(row.team)}, {"gpu_hours", GpuHoursJson<Json>(row.time)}});
  }
  json["data_quality"] = Json::array();
  const std::pair<const char*, std::int64_t> doubts[] = {{"span_over_midnight", days.over_midnight},
                                                         {"span_crosses_window", days.crossing}};
  for (const auto& [id, count] : doubts) {
    if (count > 0) json["data_quality"].push_back({{"id", id}, {"count", count}});
  }
  return JsonDocument(json);
}

std::string FleetDaysCsv(const TeamDays& days) {
  std::string csv = "day,team";
  for (const std::string_view phase : kFleetPhaseNames) csv += fmt::format(",{}_gpu_seconds", phase);
  csv += "\n";
  for (const TeamDay& row : days.rows) {
    csv += FormatUnixDay(row.day) + "," + CsvCell(row.team);
    for (const std::int64_t ms : row.time.phases) csv += "," + ExactSeconds(ms);
    csv += "\n";
  }
  return csv;
}

}  // namespace idleburn
