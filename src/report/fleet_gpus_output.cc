#include "report/fleet_gpus_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "report/fleet_figures.h"
#include "text/figures.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::size_t kListedGpus = 25;  // JSON and CSV have all
constexpr std::size_t kNamedGpus = 3;
constexpr const char* kLiveNote =
    "From live counters, read at scrapes: exact to a scrape interval at each end of an unbroken piece. No bill reads "
    "them.";

// "41.2 to 51.2 %".
std::string UseBoundsText(std::int64_t low, std::int64_t high, std::int64_t observed) {
  if (observed == 0) return "unknown";
  const auto whole = static_cast<double>(observed);
  return PercentInterval(static_cast<double>(low) / whole, static_cast<double>(high) / whole);
}

std::string AtMostText(const std::optional<Money>& saving, const std::string& currency) {
  return saving ? Amount(*saving, currency) : "no price";
}

ReportTable DecileTable(const FleetGpuUse& all) {
  ReportTable table;
  table.title = "How busy the GPUs were";
  table.columns = {{"utilization", kLeft}, {"GPU-hours", kRight}, {"share", kRight}};
  const GpuUse& use = all.whole;
  const std::int64_t observed = use.ObservedMs();
  for (std::size_t d = 0; d < kUtilizationDeciles; ++d) {
    table.rows.push_back({fmt::format("{} to {} %", d * 10, (d + 1) * 10), ThreeDigits(GpuHoursOf(use.decile_ms[d])),
                          FleetShareText(use.decile_ms[d], observed)});
  }
  table.notes.push_back(fmt::format("Mean utilization: {} of {} with data. A decile bounds it, so it is an interval.",
                                    UseBoundsText(use.BusyLowMs(), use.BusyHighMs(), observed),
                                    GpuHoursForPeople(GpuHoursOf(observed))));
  table.notes.push_back(fmt::format("Effective time, utilization x time: {} to {} GPU-hours.",
                                    ThreeDigits(GpuHoursOf(use.BusyLowMs())),
                                    ThreeDigits(GpuHoursOf(use.BusyHighMs()))));
  if (use.UnobservedMs() > 0) {
    table.notes.push_back(
        fmt::format("No data: {}. They stand in no row.", GpuHoursForPeople(GpuHoursOf(use.UnobservedMs()))));
  }
  if (all.without_counter > 0)
    table.notes.push_back(fmt::format("GPUs without these counters: {}.", all.without_counter));
  if (all.lost_states > 0) {
    table.notes.push_back(
        fmt::format("Agents that lost their counts: {}. What they lost is no data.", all.lost_states));
  }
  table.notes.emplace_back(kLiveNote);
  return table;
}

ReportTable LostTimeTable(const GpuUse& use) {
  ReportTable table;
  table.title = "Idle, waiting and slowed time";
  table.columns = {{"time", kLeft}, {"GPU-hours", kRight}, {"share", kRight}};
  const std::int64_t observed = use.ObservedMs();
  const auto add = [&](const std::string& what, std::int64_t ms) {
    table.rows.push_back({what, ThreeDigits(GpuHoursOf(ms)), FleetShareText(ms, observed)});
  };
  add("idle, a process held memory", use.idle_ms[0]);
  add("idle, no process held memory", use.idle_ms[1]);
  add("idle, processes unknown", use.idle_ms[2]);
  add("spin-wait: looked busy and waited", use.spin_ms);
  for (std::size_t i = 0; i < kEventReasonCount; ++i) {
    if (IsSlowdown(i)) add("slowed down: " + std::string(kEventReasonTable[i].name), use.throttled_ms[i]);
  }
  for (std::size_t i = 0; i < kEventReasonCount; ++i) {
    if (IsPowerCap(i)) add("at the power cap: " + std::string(kEventReasonTable[i].name), use.throttled_ms[i]);
  }
  table.notes.emplace_back("Several reasons hold at once, so their hours do not add up.");
  table.notes.emplace_back("A full GPU runs at its power cap. That is a loss only if somebody lowered the cap.");
  return table;
}

std::string EnergyNames(const FleetEnergy& energy) {
  std::string names;
  std::size_t shown = 0;
  for (const GpuEnergyRow& row : energy.gpus) {
    if (row.source != EnergySource::kNone || shown == kNamedGpus) continue;
    names += (shown++ == 0 ? "" : ", ") + row.gpu.uuid + " on " + row.gpu.node;
  }
  const std::int64_t all = energy.count[static_cast<std::size_t>(EnergySource::kNone)];
  const std::int64_t more = all - static_cast<std::int64_t>(shown);
  return names + (more > 0 ? fmt::format(" and {} more", more) : "");
}

ReportTable EnergyTable(const FleetEnergy& energy) {
  ReportTable table;
  table.title = "Energy";
  table.columns = {{"source", kLeft}, {"GPUs", kRight}, {"kWh", kRight}};
  std::array<std::int64_t, 3> sums{};
  for (const GpuEnergyRow& row : energy.gpus) sums[static_cast<std::size_t>(row.source)] += row.millijoules;
  const auto add = [&](const char* what, EnergySource source) {
    const auto place = static_cast<std::size_t>(source);
    if (energy.count[place] == 0) return;
    const bool known = source != EnergySource::kNone;
    table.rows.push_back(
        {what, std::to_string(energy.count[place]), known ? ThreeDigits(KwhOf(sums[place])) : "unknown"});
  };
  add("the driver's energy counter", EnergySource::kDriverCounter);
  add("power x time, no counter", EnergySource::kPower);
  add("neither", EnergySource::kNone);
  if (energy.millijoules == 0) {
    table.notes.emplace_back("No GPU told energy or power, so energy is unknown.");
    return table;
  }
  std::string line =
      fmt::format("At the GPUs {} kWh; at the site {} kWh, with PUE {}", ThreeDigits(energy.Kwh()),
                  ThreeDigits(energy.SiteKwh()), ThreeDigits(static_cast<double>(energy.pue_millionths) / 1e6));
  if (energy.pue_millionths == 1'000'000) line += " (--pue sets it)";
  table.notes.push_back(line + ".");
  if (const auto co2e = energy.Co2eKg()) {
    table.notes.push_back(
        fmt::format("{} kg CO2e at {} g per kWh.", ThreeDigits(*co2e), ThreeDigits(*energy.grams_co2e_per_kwh)));
  } else {
    table.notes.emplace_back("CO2e is unknown: give the grid's emissions with --grid.");
  }
  if (energy.cost)
    table.notes.push_back(fmt::format("This energy costs {}, beside the bill.", Amount(*energy.cost, energy.currency)));
  if (energy.count[static_cast<std::size_t>(EnergySource::kNone)] > 0) {
    table.notes.push_back("Without energy, so the sum lacks them: " + EnergyNames(energy) + ".");
  }
  if (energy.apart > 0) {
    table.notes.push_back(
        fmt::format("GPUs with counter and power more than a fifth apart: {}. One of both misses time.", energy.apart));
  }
  table.notes.emplace_back("Hosts, links and cooling are in no counter. PUE covers what the site adds.");
  return table;
}

// Who alone held the GPUs. A bucket has no name of its own for people.
std::string SizeHolder(const SizeCandidate& each) {
  if (!each.job.empty() && !each.job.starts_with('_')) return "job " + each.job;
  if (each.team.empty()) return "several";
  return each.team == kFleetUnknown ? "unknown" : each.team;
}

ReportTable SizeTable(const FleetRightSizing& sizing, const std::string& currency) {
  ReportTable table;
  table.title = "GPUs that might fit something smaller";
  table.columns = {{"GPUs", kRight},
                   {"model", kLeft, true},
                   {"would fit", kLeft},
                   {"peak memory", kRight},
                   {"utilization", kRight, false, true},
                   {"only holder", kLeft, true},
                   {"saving at most", kRight}};
  for (std::size_t i = 0; i < std::min(sizing.candidates.size(), kListedGpus); ++i) {
    const SizeCandidate& each = sizing.candidates[i];
    table.rows.push_back({std::to_string(each.gpus.size()), each.model,
                          each.kind == "mig_slice" ? "MIG slice " + each.target : each.target,
                          BinaryBytes(static_cast<double>(each.peak_bytes)),
                          UseBoundsText(each.busy_low_ms, each.busy_high_ms, each.observed_ms), SizeHolder(each),
                          AtMostText(each.saving_at_most, currency)});
  }
  if (sizing.candidates.size() > kListedGpus)
    table.notes.push_back(fmt::format("{} more are in --format json.", sizing.candidates.size() - kListedGpus));
  if (sizing.candidates.empty()) {
    table.notes.push_back(fmt::format("None of the {} GPUs that could be judged.", sizing.judged));
  } else {
    table.notes.emplace_back("Ask the owner first: only memory and utilization were compared. A row is no advice yet.");
    table.notes.emplace_back(
        "It is wrong if work needs memory bandwidth, or if memory peaked between two scrapes. A slice saves only if "
        "other work fills the rest.");
    table.notes.emplace_back(
        "The only holder is the one job or team that held GPUs of these nodes. Others are several.");
    table.notes.emplace_back("A GPU may stand in two rows, and idle time counts as waste too. Do not add them up.");
  }
  if (sizing.without_memory > 0) {
    table.notes.push_back(
        fmt::format("Not judged, because memory or model is unknown: {} GPUs.", sizing.without_memory));
  }
  if (sizing.little_data > 0) {
    table.notes.push_back(fmt::format(
        "Not judged: too little data for {} GPUs. At least 95 % of the time must be observed.", sizing.little_data));
  }
  if (sizing.instances > 0) table.notes.push_back(fmt::format("Not judged: {} MIG instances.", sizing.instances));
  if (sizing.unused > 0) table.notes.push_back(fmt::format("Not judged: {} GPUs that were never used.", sizing.unused));
  return table;
}

ReportTable PackingTable(const FleetPacking& packing, const std::string& currency) {
  ReportTable table;
  table.title = "Nodes that a perfect packing would free";
  table.columns = {{"model", kLeft, true},       {"nodes", kRight},
                   {"GPUs each", kRight},        {"held, mean", kRight},
                   {"p95", kRight, false, true}, {"nodes needed at least", kRight, true},
                   {"freed at most", kRight},    {"saving at most", kRight}};
  bool unknown = false;
  for (const PackedClass& each : packing.classes) {
    table.rows.push_back({each.model.empty() ? "unknown" : each.model, std::to_string(each.nodes),
                          std::to_string(each.gpus_per_node), ThreeDigits(each.gpus_mean), ThreeDigits(each.gpus_p95),
                          std::to_string(each.needed_whole), std::to_string(each.FreedAtMost()),
                          AtMostText(each.saving_at_most, currency)});
    unknown = unknown || each.unknown_ms > 0;
  }
  if (table.rows.empty()) return table;
  table.notes.emplace_back(
      "A bound from closed hours, not a plan. The busiest hour decides. Within an hour more GPUs may be held at once.");
  table.notes.emplace_back(
      "A job that fills over half of a node for most of an hour keeps a node. Other jobs count as if they could be "
      "split.");
  if (unknown) table.notes.emplace_back("Time without a known owner counts as free. So the true number is lower.");
  return table;
}

// The GPUs with the least effective time first.
ReportTable LeastUsedTable(const FleetGpuUse& all) {
  ReportTable table;
  table.title = "GPUs, least used first";
  table.columns = {
      {"GPU", kLeft},         {"node", kLeft},       {"GPU-hours with data", kRight, true}, {"utilization", kRight},
      {"idle, held", kRight}, {"spin-wait", kRight}, {"no data", kRight, false, true}};
  std::vector<const GpuUseRow*> order;
  for (const GpuUseRow& row : all.gpus) order.push_back(&row);
  const auto key = [](const GpuUseRow* row) {
    return static_cast<double>(row->use.BusyLowMs()) /
           static_cast<double>(std::max<std::int64_t>(row->use.ObservedMs(), 1));
  };
  std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < std::min(order.size(), kListedGpus); ++i) {
    const GpuUse& use = order[i]->use;
    table.rows.push_back({order[i]->gpu.uuid, order[i]->gpu.node, ThreeDigits(GpuHoursOf(use.ObservedMs())),
                          UseBoundsText(use.BusyLowMs(), use.BusyHighMs(), use.ObservedMs()),
                          ThreeDigits(GpuHoursOf(use.idle_ms[0])), ThreeDigits(GpuHoursOf(use.spin_ms)),
                          ThreeDigits(GpuHoursOf(use.UnobservedMs()))});
  }
  if (order.size() > kListedGpus)
    table.notes.push_back(fmt::format("{} more are in --format csv", order.size() - kListedGpus));
  return table;
}

std::string GpusVerdict(const FleetReport& report) {
  if (!report.gpu_use) return "The engine has no live counters of GPUs for this window.";
  const GpuUse& use = report.gpu_use->whole;
  if (use.ObservedMs() == 0) return "There is no data on how busy the GPUs were.";
  return fmt::format("{} GPUs were {} busy on average, in {} with data.", report.gpu_use->gpus.size(),
                     UseBoundsText(use.BusyLowMs(), use.BusyHighMs(), use.ObservedMs()),
                     GpuHoursForPeople(GpuHoursOf(use.ObservedMs())));
}

std::vector<std::string> GpusWhy(const FleetReport& report) {
  std::vector<std::string> lines;
  if (report.gpu_use) {
    const GpuUse& use = report.gpu_use->whole;
    const auto line = [&](const char* what, std::int64_t ms) {
      if (ms > 0)
        lines.push_back(fmt::format("{}: {}, {} of the time with data", what, GpuHoursForPeople(GpuHoursOf(ms)),
                                    FleetShareText(ms, use.ObservedMs())));
    };
    line("idle while a process held memory", use.idle_ms[0]);
    line("looked busy and waited (spin-wait)", use.spin_ms);
    line("no data", use.UnobservedMs());
  }
  if (report.energy && report.energy->millijoules > 0) {
    lines.push_back(fmt::format("the GPUs drew {} kWh", ThreeDigits(report.energy->Kwh())));
  }
  return lines;
}

}  // namespace

std::string_view Name(EnergySource source) {
  switch (source) {
    case EnergySource::kDriverCounter:
      return "driver_counter";
    case EnergySource::kPower:
      return "power";
    case EnergySource::kNone:
      break;
  }
  return "none";
}

void AddGpuTables(const FleetReport& report, ReportPage* page) {
  if (report.gpu_use) {
    page->tables.push_back(DecileTable(*report.gpu_use));
    page->tables.push_back(LostTimeTable(report.gpu_use->whole));
  }
  if (report.energy) page->tables.push_back(EnergyTable(*report.energy));
  if (report.right_sizing) page->tables.push_back(SizeTable(*report.right_sizing, report.currency));
  if (report.packing) page->tables.push_back(PackingTable(*report.packing, report.currency));
}

ReportPage FleetGpusPage(const FleetReport& report) {
  ReportPage page;
  page.heading = "GPUs of a fleet";
  page.title = FleetTitle(report);
  page.verdict = GpusVerdict(report);
  page.why = GpusWhy(report);
  if (report.gpu_use) page.tables.push_back(LeastUsedTable(*report.gpu_use));
  AddGpuTables(report, &page);
  return page;
}

std::string FleetGpusCsv(const FleetReport& report) {
  std::string csv = "node,uuid,model,counted_gpu_seconds,unobserved_gpu_seconds";
  for (std::size_t d = 0; d < kUtilizationDeciles; ++d) csv += fmt::format(",decile_{}_gpu_seconds", d);
  for (const std::string_view kind : kIdleMemoryKindNames) csv += fmt::format(",idle_{}_gpu_seconds", kind);
  csv += ",spin_wait_gpu_seconds";
  for (std::size_t i = 0; i < kEventReasonCount; ++i) {
    if (IsSlowdown(i) || IsPowerCap(i)) csv += fmt::format(",{}_gpu_seconds", kEventReasonTable[i].name);
  }
  csv += ",energy_source,energy_joules\n";
  if (!report.gpu_use) return csv;
  std::map<GpuOnNode, std::string> models;
  for (const FleetGpu& gpu : report.gpus) models[{gpu.node, gpu.uuid}] = gpu.model;
  std::map<GpuOnNode, const GpuEnergyRow*> energy;
  if (report.energy) {
    for (const GpuEnergyRow& row : report.energy->gpus) energy[row.gpu] = &row;
  }
  for (const GpuUseRow& row : report.gpu_use->gpus) {
    const GpuUse& use = row.use;
    csv += CsvCell(row.gpu.node) + "," + CsvCell(row.gpu.uuid) + "," + CsvCell(models[row.gpu]);
    csv += "," + ExactSeconds(use.counted_ms) + "," + ExactSeconds(use.UnobservedMs());
    for (const std::int64_t ms : use.decile_ms) csv += "," + ExactSeconds(ms);
    for (const std::int64_t ms : use.idle_ms) csv += "," + ExactSeconds(ms);
    csv += "," + ExactSeconds(use.spin_ms);
    for (std::size_t i = 0; i < kEventReasonCount; ++i) {
      if (IsSlowdown(i) || IsPowerCap(i)) csv += "," + ExactSeconds(use.throttled_ms[i]);
    }
    const auto drawn = energy.find(row.gpu);
    const bool known = drawn != energy.end() && drawn->second->source != EnergySource::kNone;
    csv += fmt::format(",{},{}\n", drawn == energy.end() ? "none" : Name(drawn->second->source),
                       known ? ExactSeconds(drawn->second->millijoules) : "");
  }
  return csv;
}

}  // namespace idleburn
