#include "cli/report_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/find_rate.h"
#include "cli/link_speeds.h"
#include "cli/reading_text.h"
#include "cli/run_figures.h"
#include "cli/say.h"
#include "recommend/advice.h"
#include "report/audit_report.h"
#include "report/display.h"
#include "report/system_view.h"
#include "telemetry/gpu_facts.h"
#include "telemetry/run_facts.h"
#include "text/number.h"
#include "text/table.h"

namespace idleburn {
namespace {

Result<EnergyPrice> EnergyFrom(const Settings& settings) {
  EnergyPrice energy;
  if (settings.Has("energy.tariff")) {
    const Result<Money> tariff = Money::Parse(settings.Text("energy.tariff"));
    if (!tariff || tariff->nano() < 0) return FailUsage("--tariff: give the price of a kWh, for example 0.11");
    energy.per_kwh = *tariff;
    energy.currency = settings.Text("price.currency");
  }
  if (settings.Has("energy.grid"))
    energy.grams_co2e_per_kwh = static_cast<double>(ParseScaled(settings.Text("energy.grid"), 6).value) / 1e6;
  return energy;
}

Result<std::optional<double>> SpotDiscountFrom(const Settings& settings) {
  if (!settings.Has("advice.spot_discount")) return std::optional<double>();
  const std::string& text = settings.Text("advice.spot_discount");
  const double share = static_cast<double>(ParseScaled(text, 6).value) / 1e6;
  if (share <= 0 || share >= 1) {
    return FailUsage("--spot-discount: " + text + " is not between 0 and 1; say 0.65 where spot costs 65 % less");
  }
  return std::optional(share);
}

WorkDone AsWorkDone(const WorkCount& said) {
  WorkDone work;
  const auto put = [&](const char* unit, const std::optional<std::int64_t>& n) {
    if (n && *n > 0) work.units[unit] = *n * WorkDone::kOne;
  };
  put("samples", said[WorkUnit::kSample]);
  put("tokens", said[WorkUnit::kToken]);
  put("steps", said[WorkUnit::kStep]);
  put("epochs", said[WorkUnit::kEpoch]);
  return work;
}

Result<void> Write(const AuditReport& report, const ReportPlan& plan, const Environment& environment) {
  const ReportRequest& request = plan.request;
  const bool aside = request.to_stderr && request.output.empty();
  const bool terminal = request.output.empty() && (aside ? environment.terminal_err : environment.terminal_out);
  const bool color = terminal && !environment.no_color && !request.no_color;
  const auto text = [&]() -> std::string {
    switch (plan.format) {
      case ReportFormat::kText:
        if (terminal && !environment.utf8) return AsciiOnly(AuditText(report, environment.columns - 1, color));
        return AuditText(report, terminal ? environment.columns : 100, color);
      case ReportFormat::kJson:
        return AuditJson(report);
      case ReportFormat::kHtml:
        return AuditHtml(report);
      case ReportFormat::kCsv:
        return AuditCsv(report);
      case ReportFormat::kMarkdown:
        return AuditMarkdown(report);
      case ReportFormat::kParquet:
        break;
    }
    return {};
  };
  if (!aside) return WriteOutput(request.output, text());
  if (!request.quiet) PrintAside(text());
  return {};
}

// Facts about the machine, not about the run.
std::vector<RunFact> SystemOf(const RunSummary& summary) {
  std::vector<RunFact> facts;
  for (const auto& [key, value] : summary.facts()) {
    const bool machine =
        key == "driver" || key == "nvml" || key == "cuda" || key.starts_with("system.") || key.starts_with("gpu.");
    if (machine) facts.push_back({key, value});
  }
  return facts;
}

MachineView MachineOf(const RunInputs& run, const std::vector<LinkSpeed>& links) {
  MachineView machine;
  const HostTimeline& host = run.summary.host();
  machine.host = host.empty() ? nullptr : &host;
  if (const auto command = run.summary.facts().find("command"); command != run.summary.facts().end()) {
    machine.command = command->second;
  }
  for (const LinkSpeed& link : links) machine.link_speed.push_back(link.pcie);
  return machine;
}

// A link of fewer lanes than both of its ends have. (Its generation falls while a board is idle, which means nothing.)
void CountNarrowLinks(const AuditReport& report, DataQuality& quality) {
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const auto lanes = [&](std::string_view fact) {
      const std::optional<std::string> text = GpuFact(report, d.device, fact);
      return text ? ParseInteger(*text) : std::nullopt;
    };
    const std::optional<std::int64_t> now = lanes(".pcie_width");
    const std::optional<std::int64_t> most = lanes(".pcie_most_width");
    if (!now || !most || *now >= *most) continue;
    quality.CountNamed(QualityId::kNarrowLink,
                       fmt::format("{} PCIe x{} of x{}", DeviceLabel(report, d.device), *now, *most));
  }
}

void CountFailedGpus(const RunFacts& facts, DataQuality& quality) {
  for (const auto& [key, why] : facts) {
    if (key.starts_with("gpus.failed.")) quality.CountNamed(QualityId::kGpusFailed, why);
  }
}

}  // namespace

BoardFacts FactsOf(std::string_view gpu_name) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  return facts ? BoardFacts{facts->power_limit_mw, facts->max_sm_khz} : BoardFacts{};
}

Result<ReportPlan> PlanReport(const ReportRequest& request, const Settings& settings) {
  const ReportFormat format = TRY(ChooseFormat(settings, "", request.output, kAuditFormats));
  std::vector<Gate> gates = TRY(ParseGates(request.fail_on));
  const Thresholds thresholds = TRY(ThresholdsFrom(settings));
  WorkDone work = TRY(ParseWork(request.work));
  const EnergyPrice energy = TRY(EnergyFrom(settings));
  const std::optional<double> spot = TRY(SpotDiscountFrom(settings));
  DataQuality later;  // a price that is named can be found before there is a run
  TRY(OpenRates(settings, {}, later));
  return ReportPlan{request, format, std::move(gates), thresholds, std::move(work), energy, spot};
}

std::string LeaveOutHidden(const ReportPlan& plan, RunInputs& run) {
  if (plan.request.all_gpus || run.run.devices.empty()) return {};
  const HiddenGpus hidden = HiddenGpus::From(run.summary.facts(), run.devices);
  if (!hidden.doubt.empty()) run.quality.CountNamed(QualityId::kGpusUnclear, hidden.doubt);
  const std::vector<DeviceId> left_out = run.run.LeaveOut(hidden.devices);
  if (left_out.empty()) return {};
  const std::vector<DeviceResult>& devices = run.run.devices;
  std::string names;
  for (const DeviceId id : left_out) {
    const bool in_part = std::any_of(devices.begin(), devices.end(),
                                     [&](const DeviceResult& d) { return run.devices[d.device].board == id; });
    names += (names.empty() ? "" : ", ") + std::string(in_part ? "the rest of " : "") + ShortName(run.devices[id]);
  }
  run.quality.CountNamed(QualityId::kGpusLeftOut, names + " hidden by " + hidden.because, {},
                         static_cast<std::int64_t>(left_out.size()));
  return devices.empty() ? "the command could see none (" + hidden.because + "); --all-gpus counts those of the machine"
                         : std::string();
}

namespace {

LiveRun LiveRunOf(const RunSummary& summary) {
  LiveRun live;
  live.command = FactIn(summary.facts(), "command");
  live.exit = FactIn(summary.facts(), "exit");
  live.window = summary.window();
  for (const auto& fact : summary.facts()) {
    if (fact.first.starts_with("sampler.")) live.sampler.insert(fact);
  }
  for (const Note& note : summary.notes()) {
    if (note.kind == NoteKind::kAlert || note.kind == NoteKind::kEnforced) live.alerts.push_back(note);
  }
  for (std::size_t scope = 0; scope < kHostScopeCount; ++scope) {
    live.host[scope] = summary.Use(static_cast<HostScope>(scope));
  }
  live.statistics = summary.statistics();
  return live;
}

std::vector<DeviceId> GpusOf(const RunInputs& run) {
  std::vector<DeviceId> gpus;
  for (const DeviceResult& d : run.run.devices) gpus.push_back(d.device);
  return gpus;
}

// A currency that was asked for and is not that of the amounts is told, not dropped.
void RemarkOnCurrency(const Settings& settings, const std::vector<Rate>& used, RateCard& card) {
  const Settings::Value& currency = settings.Get("price.currency");
  if (currency.origin == "default") return;
  for (const Rate& rate : used) {
    if (!rate.per_gpu_hour || rate.currency == currency.text) continue;
    card.Remark(currency.origin + " " + currency.text + " is that of numbers given with --price, --owned and " +
                "--tariff; this price is in " + rate.currency);
    return;
  }
}

// The rates, and by which offers.
struct FoundRates {
  RateCard card;
  Catalogue catalogue;
};

Result<FoundRates> RatesOf(const ReportPlan& plan, RunInputs& run, const Settings& settings, Instant now) {
  RateQuestion question = QuestionOf(run.summary.facts());
  question.now = now;
  question.live = plan.request.live || run.run.devices.empty();
  RateBook book = TRY(OpenRates(settings, question, run.quality));
  const std::vector<DeviceId> gpus = GpusOf(run);
  const bool dated = IsDated(run.run.start);
  RateCard card =
      TRY(RatesOf(book, run.devices, gpus, dated ? std::optional(RunSpan{run.run.start, run.run.end}) : std::nullopt));
  CountStale(card, now, run.quality);
  RemarkOnCurrency(settings, card.Used(gpus), card);
  return FoundRates{std::move(card), std::move(book.catalogue)};
}

WorkDone WorkOf(const ReportPlan& plan, const RunInputs& run) {
  return plan.work.units.empty() ? AsWorkDone(run.summary.Work()) : plan.work;
}

Result<CostReport> CostOf(const ReportPlan& plan, RunInputs& run, const RateCard& rates, const Settings& settings) {
  if (run.run.devices.empty()) {
    CostReport nothing;
    nothing.rate = rates.rates().front();
    nothing.rate.reason = "nothing_measured";
    return nothing;
  }
  const auto month_hours = static_cast<int>(ParseScaled(settings.Text("price.month_hours"), 0).value);
  Result<CostReport> cost =
      PriceRun(run.run, run.devices, run.owners, rates, WorkOf(plan, run), plan.energy, month_hours);
  const std::vector<Rate> used = rates.Used(GpusOf(run));
  if (!cost && used.size() == 1 && used.front().per_gpu_hour) {
    return Fail(used.front().source + ": " + cost.error().message);
  }
  return cost;
}

// All of an audit but its form. It refers to `run`, of which it takes what it can.
Result<AuditReport> MakeReport(const ReportPlan& plan, RunInputs& run, const Settings& settings, Instant now) {
  const FoundRates rates = TRY(RatesOf(plan, run, settings, now));
  CostReport cost = TRY(CostOf(plan, run, rates.card, settings));
  cost.spot_discount = plan.spot_discount;
  AuditReport report;
  report.links = LinksOf(run.devices, run.summary.facts());
  report.peak_fits = PeakFits(run.run, run.devices, rates.card, rates.catalogue);
  report.ids = IdsOf(run.summary.facts());
  if (!run.run.devices.empty() || run.trace) {
    report.advice = Advise({run.run, run.devices, cost, MachineOf(run, report.links), run.trace ? &*run.trace : nullptr,
                            run.traced_only, plan.thresholds},
                           plan.shares);
  }
  report.cost = std::move(cost);
  report.run = std::move(run.run);
  report.trace = std::move(run.trace);
  report.traced_only = run.traced_only;
  report.devices = &run.devices;
  report.quality = &run.quality;
  report.thresholds = plan.thresholds;
  report.live = LiveRunOf(run.summary);
  report.timezone = settings.Has("import.timezone") ? settings.Text("import.timezone") : "UTC";
  report.version = IDLEBURN_VERSION;
  report.explain = plan.request.explain;
  report.system = SystemOf(run.summary);
  CountNarrowLinks(report, run.quality);
  CountFailedGpus(run.summary.facts(), run.quality);
  return report;
}

}  // namespace

Result<int> ReportEnd::Code() const {
  TRY(written);
  return gates_hold ? 0 : kExitGate;
}

ReportEnd ReportRun(const ReportPlan& plan, RunInputs& run, const std::vector<std::string>& inputs,
                    const std::string& why_no_gpu, const Settings& settings, const Environment& environment) {
  const auto judged = [](const std::vector<std::string>& broken) {
    for (const std::string& gate : broken) Say("--fail-on " + gate);
    return broken.empty();
  };
  Result<AuditReport> report = MakeReport(plan, run, settings, environment.now);
  if (!report) {
    return {tl::unexpected<Error>(report.error()), judged(UnjudgedGates(plan.gates, report.error().message)), {}};
  }
  const bool empty = report->run.devices.empty();
  if (empty) report->live.no_gpu = why_no_gpu;
  report->inputs = inputs;
  ReportEnd end;
  end.written = Write(*report, plan, environment);
  end.gates_hold =
      judged(empty ? UnjudgedGates(plan.gates, "no GPU was measured") : BrokenGates(plan.gates, report->cost));
  end.figures = FiguresOf(*report, WorkOf(plan, run), run.summary.Pace());
  return end;
}

Result<RunFigures> FiguresOfRun(const ReportPlan& plan, RunInputs& run, const Settings& settings, Instant now) {
  const AuditReport report = TRY(MakeReport(plan, run, settings, now));
  return FiguresOf(report, WorkOf(plan, run), run.summary.Pace());
}

}  // namespace idleburn
