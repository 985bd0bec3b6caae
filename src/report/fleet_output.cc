#include "report/fleet_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/fleet_allocation.h"
#include "report/fleet_charts.h"
#include "report/fleet_figures.h"
#include "report/fleet_gpus_json.h"
#include "report/fleet_json.h"
#include "report/fleet_trends_output.h"
#include "report/fleet_wasters_output.h"
#include "report/json_values.h"
#include "text/figures.h"
#include "text/json.h"
#include "text/strings.h"
#include "text/time_zone.h"

// A fleet's answer, for people and for programs. Sentences print rounded figures, documents the exact ones.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kPageRows = 25;  // of users, jobs and experiments; JSON and CSV have all
constexpr std::size_t kDeficitRows = 10;

std::string MoneyOr(const std::optional<Money>& money, const FleetReport& report) {
  return money ? Amount(*money, report.currency) : "";
}

// "at least $6.20 (38.0 %) was waste".
std::string WasteText(const FleetReport& report) {
  const WasteBounds waste = WasteOf(report.whole);
  const std::int64_t low = waste.low_ms;
  // Of money where some time has no price, since the amount says nothing of that time.
  const std::string share = report.cost.waste && report.unpriced_ms > 0
                                ? FleetShareText(report.cost.waste->nano(), report.cost.total->nano())
                                : FleetShareText(low, report.whole.TotalMs());
  const bool exact = report.cost.waste && report.cost.waste == report.cost.waste_high;
  const std::string amount =
      report.cost.waste ? Amount(*report.cost.waste, report.currency) : GpuHoursForPeople(GpuHoursOf(low));
  return fmt::format("{}{} ({}) was waste", exact ? "" : "at least ", amount, share);
}

std::string FleetVerdict(const FleetReport& report) {
  const std::string hours = GpuHoursForPeople(GpuHoursOf(report.whole.TotalMs()));
  if (report.whole.TotalMs() == 0) return "No GPU-hour of this window is closed yet.";
  if (report.whole.ObservedMs() == 0) return fmt::format("There is no data on what {} did.", hours);
  if (!report.cost.total) return fmt::format("Of {}, {}.", hours, WasteText(report));
  const std::string priced = GpuHoursForPeople(GpuHoursOf(report.whole.TotalMs() - report.unpriced_ms));
  const std::string excluded = report.unpriced_ms == 0 ? ""
                                                       : fmt::format(", excluding {} without a price",
                                                                     GpuHoursForPeople(GpuHoursOf(report.unpriced_ms)));
  return fmt::format("{} GPUs cost {} for {}{}; {}.", report.gpus.size(), Amount(*report.cost.total, report.currency),
                     priced, excluded, WasteText(report));
}

std::vector<std::string> FleetWhy(const FleetReport& report) {
  std::vector<std::string> lines;
  const FleetTime& whole = report.whole;
  const auto line = [&](std::string_view what, std::int64_t ms, const std::optional<Money>& cost) {
    if (ms == 0) return;
    lines.push_back(fmt::format("{}: {}{}, {} of the time", what, cost ? Amount(*cost, report.currency) + ", " : "",
                                GpuHoursForPeople(GpuHoursOf(ms)), FleetShareText(ms, whole.TotalMs())));
  };
  line("no job held the GPUs", report.unallocated.TotalMs(), report.unallocated_cost);
  line("GPUs were idle (below 10 % busy), allocated or not", whole.phases[0], {});
  line("GPUs were underutilized (10 to 70 % busy)", whole.phases[1], {});
  line("there is no data", whole.phases[kFleetUnobserved], {});
  if (report.allocation) {
    for (std::string& told : AllocationWhy(*report.allocation)) lines.push_back(std::move(told));
  }
  return lines;
}

ReportTable OwnerTableOf(const FleetReport& report, const std::string& title, const std::string& column,
                         const std::vector<FleetOwner>& owners, std::size_t most) {
  ReportTable table;
  table.title = title;
  table.columns = {{column, kLeft},
                   {"GPU-hours", kRight},
                   {"idle", kRight},
                   {"underutilized", kRight, false, true},
                   {"no data", kRight, false, true}};
  const bool jobs = column == "job";
  if (jobs) table.columns.insert(table.columns.begin() + 1, {{"team", kLeft}, {"user", kLeft, false, true}});
  const bool priced = report.cost.total.has_value();
  if (priced) table.columns.push_back({"cost", kRight});
  if (priced) table.columns.push_back({"waste at least", kRight});
  for (std::size_t i = 0; i < std::min(owners.size(), most); ++i) {
    const FleetOwner& owner = owners[i];
    const std::int64_t total = owner.time.TotalMs();
    TableRow row = {FleetOwnerText(owner.name), ThreeDigits(GpuHoursOf(total)),
                    FleetShareText(owner.time.phases[0], total), FleetShareText(owner.time.phases[1], total),
                    FleetShareText(owner.time.phases[kFleetUnobserved], total)};
    if (jobs) row.insert(row.begin() + 1, {FleetOwnerText(owner.team), owner.user});
    if (priced) row.push_back(MoneyOr(owner.cost.total, report));
    if (priced) row.push_back(MoneyOr(owner.cost.waste, report));
    table.rows.push_back(std::move(row));
  }
  if (owners.size() > most) table.notes.push_back(fmt::format("{} more are in --format csv", owners.size() - most));
  return table;
}

ReportTable DeficitTable(const FleetReport& report) {
  ReportTable table;
  table.title = "Time that agents lost";
  table.columns = {{"GPU", kLeft}, {"node", kLeft}, {"hour from", kLeft}, {"lost", kRight}};
  for (std::size_t i = 0; i < std::min(report.deficits.size(), kDeficitRows); ++i) {
    const FleetDeficit& deficit = report.deficits[i];
    table.rows.push_back({deficit.uuid, deficit.node, FormatUnixTime(deficit.hour),
                          SecondsForPeople(static_cast<double>(deficit.ms) / 1000)});
  }
  if (report.deficits.size() > kDeficitRows) {
    table.notes.push_back(fmt::format("{} more are in --format json", report.deficits.size() - kDeficitRows));
  }
  return table;
}

std::vector<std::string> DataLines(const FleetReport& report) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}{} at {}", report.engine.kind,
                              report.engine.version.empty() ? "" : " " + report.engine.version, report.engine.url));
  if (report.closed_through) {
    lines.push_back(
        fmt::format("hours are closed up to {}{}", FormatUnixTime(*report.closed_through),
                    report.open_hours > 0 ? fmt::format("; {} of the window are open", report.open_hours) : ""));
  }
  if (!report.rate_source.empty()) lines.push_back("price: " + report.rate_source);
  if (report.kpi.queue_wait) {
    lines.push_back(fmt::format("{} jobs waited {} in the queue (median), {} at the 95th percentile",
                                report.kpi.queue_wait->jobs,
                                SecondsForPeople(static_cast<double>(report.kpi.queue_wait->p50_s)),
                                SecondsForPeople(static_cast<double>(report.kpi.queue_wait->p95_s))));
  }
  for (const auto& [state, ms] : report.kpi.ended_ms) {
    if (state != "completed" && state != "running" && ms > 0) {
      lines.push_back(fmt::format("jobs that ended as {} took {}", state, GpuHoursForPeople(GpuHoursOf(ms))));
    }
  }
  for (const FleetError& error : report.errors) lines.push_back(error.sentence);
  for (const FleetDoubt& doubt : report.doubts) lines.push_back(doubt.sentence);
  return lines;
}

Json OwnersJson(const std::vector<FleetOwner>& owners, const FleetReport& report, bool jobs) {
  Json rows = Json::array();
  for (const FleetOwner& owner : owners) {
    Json row = {{"name", Printable(owner.name)}};
    row["gpu_hours"] = GpuHoursJson<Json>(owner.time);
    PutMoney(row, "cost", owner.cost.total, report.currency);
    PutWaste(row, owner.cost, report.currency);
    row["mean_utilization_percent"] = owner.mean_utilization ? Json(*owner.mean_utilization * 100) : Json(nullptr);
    if (jobs) {
      row["cluster"] = Printable(owner.cluster);
      row["team"] = Printable(owner.team);
      row["user"] = Printable(owner.user);
      row["experiment"] = Printable(owner.experiment);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json KpiJson(const FleetKpi& kpi) {
  Json json;
  const auto ratio = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  json["utilization_1h"] = ratio(kpi.utilization_1h);
  json["utilization_24h"] = ratio(kpi.utilization_24h);
  json["idle_gpu_hours_per_day"] = Json::array();
  for (const auto& [day, ms] : kpi.idle_ms_per_day) {
    json["idle_gpu_hours_per_day"].push_back({{"day", FormatUnixDay(day)}, {"gpu_hours", GpuHoursOf(ms)}});
  }
  json["gpu_hours_by_end"] = Json::object();
  for (const auto& [state, ms] : kpi.ended_ms) json["gpu_hours_by_end"][Printable(state)] = GpuHoursOf(ms);
  json["queue_wait_s"] = nullptr;
  if (!kpi.queue_wait) return json;
  Json bins = Json::array();
  for (const auto& [up_to, jobs] : kpi.queue_wait->histogram) {
    bins.push_back({{"up_to_s", up_to < 0 ? Json(nullptr) : Json(up_to)}, {"jobs", jobs}});
  }
  json["queue_wait_s"] = {{"jobs", kpi.queue_wait->jobs},
                          {"p50", kpi.queue_wait->p50_s},
                          {"p95", kpi.queue_wait->p95_s},
                          {"histogram", bins}};
  return json;
}

Json PerGpuJson(const FleetReport& report) {
  Json rows = Json::array();
  for (const FleetGpu& gpu : report.gpus) {
    Json row = {{"uuid", Printable(gpu.uuid)}, {"node", Printable(gpu.node)}, {"model", TextOrNull<Json>(gpu.model)}};
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
      row["seconds"][std::string(kFleetPhaseNames[p])] = static_cast<double>(gpu.time.phases[p]) / 1000;
    }
    row["seconds"]["unobserved_reset"] = static_cast<double>(gpu.time.reset_ms) / 1000;
    PutMoney(row, "cost", gpu.cost.total, report.currency);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json WastersJson(const FleetReport& report) {
  Json rows = Json::array();
  for (const FleetWaster& waster : report.wasters) {
    Json row = {{"job", Printable(waster.job)}, {"team", Printable(waster.team)}, {"user", Printable(waster.user)}};
    PutMoney(row, "waste", waster.waste, report.currency);
    row["waste_gpu_hours"] = GpuHoursOf(waster.waste_ms);
    row["cause"] = waster.cause;
    row["why"] = waster.why;
    row["fix"] = waster.fix;
    row["causes"] = Json::array();
    for (const WasterCause& part : waster.causes) {
      Json each = {{"cause", part.cause}, {"waste_gpu_hours", GpuHoursOf(part.waste_ms)}, {"share", part.share}};
      PutMoney(each, "waste", part.waste, report.currency);
      each["fix"] = part.fix;
      row["causes"].push_back(std::move(each));
    }
    row["evidence"] = Json::array();
    for (const WasterEvidence& seen : waster.evidence) {
      row["evidence"].push_back({{"signal", seen.signal}, {"gpu_hours", GpuHoursOf(seen.ms)}, {"share", seen.share}});
    }
    row["try_first"] = Json::array();
    for (const WasterTry& lever : waster.try_first) {
      row["try_first"].push_back({{"lever", lever.lever}, {"how", lever.how}, {"confirm", lever.confirm}});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string FleetCsvHead() {
  std::string head = "kind,name,cluster,team,user,experiment";
  for (const std::string_view phase : kFleetPhaseNames) head += fmt::format(",{}_gpu_seconds", phase);
  return head + ",currency,cost,waste_low,waste_high\n";
}

std::string OwnersCsv(std::string_view kind, const std::vector<FleetOwner>& owners, const FleetReport& report) {
  std::string csv;
  for (const FleetOwner& owner : owners) {
    csv += kind;
    for (const std::string& cell : {owner.name, owner.cluster, owner.team, owner.user, owner.experiment}) {
      csv += "," + CsvCell(cell);
    }
    for (const std::int64_t ms : owner.time.phases) csv += "," + ExactSeconds(ms);
    csv += fmt::format(",{},{},{},{}\n", report.currency, ExactOrEmpty(owner.cost.total),
                       ExactOrEmpty(owner.cost.waste), ExactOrEmpty(owner.cost.waste_high));
  }
  return csv;
}

}  // namespace

ReportPage FleetPage(const FleetReport& report) {
  ReportPage page;
  page.heading = "GPU fleet";
  page.title = FleetTitle(report);
  page.verdict = FleetVerdict(report);
  page.why = FleetWhy(report);
  if (!report.wasters.empty()) {
    const FleetWaster& worst = report.wasters.front();
    page.next.push_back(
        fmt::format("job {}{} wastes most, at least {}: {}", worst.job, worst.user.empty() ? "" : " of " + worst.user,
                    worst.waste ? Amount(*worst.waste, report.currency) : GpuHoursForPeople(GpuHoursOf(worst.waste_ms)),
                    worst.why));
    page.next.push_back(worst.fix);
  }
  std::vector<std::string> about = DataLines(report);
  for (std::string& line : about) line += line.ends_with('.') ? "" : ".";
  page.points.push_back({"data", "About the data", std::move(about)});
  // One screen shows the first table, which is of the first kind of owners that was asked for.
  std::vector<ReportTable> owners = {
      OwnerTableOf(report, "By team", "team", report.teams, kPageRows),
      OwnerTableOf(report, "By user", "user", report.users, kPageRows),
      OwnerTableOf(report, "By job", "job", report.jobs, kPageRows),
      OwnerTableOf(report, "By experiment", "experiment", report.experiments, kPageRows)};
  owners.front().chart = FleetPhaseChart(report.teams);
  std::erase_if(owners, [](const ReportTable& table) { return table.rows.empty(); });
  const auto others = owners.empty() ? owners.begin() : owners.begin() + 1;
  page.tables.assign(owners.begin(), others);
  page.tables.push_back(FleetFunnelTable(report));
  page.tables.push_back(FleetWastersTable(report));
  page.tables.push_back(AllocationTable(report.allocation));
  page.tables.push_back(FleetWeeksTable(report));
  page.tables.insert(page.tables.end(), others, owners.end());
  page.tables.push_back(FleetDayTable(report));
  page.tables.push_back(FleetQueueTable(report));
  page.tables.push_back(DeficitTable(report));
  AddGpuTables(report, &page);
  for (ReportTable& table : FleetPanelTables(report)) page.tables.push_back(std::move(table));
  return page;
}

std::string FleetJson(const FleetReport& report) {
  Json json = BeginDocument<Json>("idleburn.fleet/1", report.ids);
  json["engine"] = EngineJson<Json>(report.engine);
  json["window"] = {{"start", FormatUnixTime(report.from)}, {"end", FormatUnixTime(report.to)}};
  json["closed_through"] = report.closed_through ? Json(FormatUnixTime(*report.closed_through)) : Json(nullptr);
  json["open_hours"] = report.open_hours;
  json["gpus"] = report.gpus.size();
  json["gpu_hours"] = PhaseHoursJson<Json>(report.whole);
  json["gpu_hours"]["unallocated"] = GpuHoursOf(report.unallocated.TotalMs());
  json["gpu_hours"]["total"] = GpuHoursOf(report.whole.TotalMs());
  json["gpu_hours"]["unobserved_reset"] = GpuHoursOf(report.whole.reset_ms);
  json["cost"]["currency"] = report.currency;
  PutMoney(json["cost"], "total", report.cost.total, report.currency);
  PutWaste(json["cost"], report.cost, report.currency);
  PutMoney(json["cost"], "unallocated", report.unallocated_cost, report.currency);
  json["cost"]["rate_source"] = TextOrNull<Json>(report.rate_source);
  json["by"] = {{"team", OwnersJson(report.teams, report, false)},
                {"user", OwnersJson(report.users, report, false)},
                {"job", OwnersJson(report.jobs, report, true)},
                {"experiment", OwnersJson(report.experiments, report, false)}};
  json["per_gpu"] = PerGpuJson(report);
  json["deficits"] = Json::array();
  for (const FleetDeficit& deficit : report.deficits) {
    json["deficits"].push_back({{"uuid", Printable(deficit.uuid)},
                                {"node", Printable(deficit.node)},
                                {"hour", FormatUnixTime(deficit.hour)},
                                {"seconds", static_cast<double>(deficit.ms) / 1000},
                                {"reason", deficit.reason}});
  }
  json["wasters"] = WastersJson(report);
  json["kpi"] = KpiJson(report.kpi);
  const FleetFunnel funnel = FunnelOf(report);
  json["kpi"]["funnel_gpu_hours"] = nullptr;
  if (report.exact) {
    json["kpi"]["funnel_gpu_hours"] = {
        {"total", GpuHoursOf(funnel.total_ms)},
        {"allocated", GpuHoursOf(funnel.allocated_ms)},
        {"active", GpuHoursOf(funnel.active_ms)},
        {"effective", report.gpu_use ? Json(GpuHoursOf(funnel.effective_ms)) : Json(nullptr)}};
  }
  json["trends"] = FleetWeeksJson<Json>(report);
  PutGpuFindings(json, report);
  json["allocation"] = AllocationJson<Json>(report.allocation);
  json["exact"] = report.exact;
  json["error"] = Json::array();
  for (const FleetError& error : report.errors) {
    json["error"].push_back({{"counter", error.counter},
                             {"interval_s", error.interval_s},
                             {"samples", error.samples},
                             {"utilization_half_width", error.half_width},
                             {"sentence", error.sentence}});
  }
  json["data_quality"] = DoubtsJson<Json>(report.doubts);
  return JsonDocument(json);
}

ReportPage FleetJobsPage(const FleetReport& report) {
  ReportPage page;
  page.heading = "Jobs of a GPU fleet";
  page.title = FleetTitle(report);
  page.verdict = FleetVerdict(report);
  page.tables.push_back(OwnerTableOf(report, "By job", "job", report.jobs, report.jobs.size()));
  return page;
}

std::string FleetCsv(const FleetReport& report) {
  return FleetCsvHead() + OwnersCsv("team", report.teams, report) + OwnersCsv("user", report.users, report) +
         OwnersCsv("job", report.jobs, report) + OwnersCsv("experiment", report.experiments, report);
}

std::string FleetJobsCsv(const FleetReport& report) { return FleetCsvHead() + OwnersCsv("job", report.jobs, report); }

}  // namespace idleburn
