#include "cli/cmd_audit.h"

#include "cli/common_flags.h"
#include "cli/gate.h"
#include "cli/load_prices.h"
#include "cli/open_input.h"
#include "cli/read_run.h"
#include "price/resolve.h"
#include "price/work.h"
#include "recommend/advice.h"
#include "report/audit_report.h"
#include "telemetry/gpu_facts.h"
#include "text/number.h"

namespace idleburn {
namespace {

enum class Format : std::uint8_t { kText, kJson, kHtml, kCsv, kMarkdown };

struct FormatName {
  std::string_view name;
  std::string_view ending;
  Format format;
};
constexpr auto kFormats = std::to_array<FormatName>({{"text", ".txt", Format::kText},
                                                     {"json", ".json", Format::kJson},
                                                     {"html", ".html", Format::kHtml},
                                                     {"csv", ".csv", Format::kCsv},
                                                     {"markdown", ".md", Format::kMarkdown}});

// By --format, else by the ending of the output file, else text.
Result<Format> ChooseFormat(const std::string& name, const std::string& output) {
  for (const FormatName& f : kFormats) {
    if (f.name == name) return f.format;
    const bool ends = output.size() > f.ending.size() && output.substr(output.size() - f.ending.size()) == f.ending;
    if (name.empty() && ends) return f.format;
  }
  if (name.empty()) return Format::kText;
  return FailUsage("--format: '" + name.substr(0, 20) + "' is none of text, json, html, csv, markdown");
}

BoardFacts FactsOf(std::string_view gpu_name) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  return facts ? BoardFacts{facts->power_limit_mw, facts->max_sm_khz} : BoardFacts{};
}

// The other offers of a catalogue price's GPU, so that cheaper ones can be named.
void AddOtherOffers(const Catalogue& catalogue, Rate& rate) {
  const CatalogueRow* row = catalogue.Find(rate.key);
  if (row == nullptr) return;
  for (const CatalogueRow* other : RowsOfGpu(catalogue, row->gpu)) {
    if (const Result<Money> per_gpu = PerGpuHour(*other)) rate.candidates.push_back({KeyOf(*other), *per_gpu});
  }
}

Result<Rate> FindRate(const Settings& settings, RunInputs& inputs, const Environment& environment) {
  const Result<Catalogue> catalogue = LoadPrices(settings.Text("price.catalogue"), inputs.quality);
  if (!catalogue) return tl::unexpected<Error>(catalogue.error());
  PriceRequest request;
  if (settings.Has("price.rate")) request.price = settings.Text("price.rate");
  if (settings.Has("price.owned")) request.owned = settings.Text("price.owned");
  request.now = environment.now;
  for (const DeviceResult& device : inputs.run.devices) request.gpu_names.push_back(inputs.devices[device.device].name);
  Result<Rate> rate = ResolveRate(*catalogue, request);
  if (rate && settings.Get("price.currency").origin != "default" && rate->kind != RateKind::kCatalogue) {
    rate->currency = settings.Text("price.currency");
  }
  if (rate && rate->kind == RateKind::kCatalogue) AddOtherOffers(*catalogue, *rate);
  if (rate && rate->stale) inputs.quality.Count(QualityId::kPriceStale);
  return rate;
}

Result<EnergyPrice> EnergyFrom(const Settings& settings) {
  EnergyPrice energy;
  if (settings.Has("energy.tariff")) {
    const Result<Money> tariff = Money::Parse(settings.Text("energy.tariff"));
    if (!tariff || tariff->nano() < 0) return FailUsage("--tariff: give the price of a kWh, for example 0.11");
    energy.per_kwh = *tariff;
  }
  if (settings.Has("energy.grid"))
    energy.grams_co2e_per_kwh = static_cast<double>(ParseScaled(settings.Text("energy.grid"), 6).value) / 1e6;
  return energy;
}

Result<void> Write(const AuditReport& report, Format format, const AuditRequest& request,
                   const Environment& environment) {
  const bool terminal = environment.terminal_out && request.output.empty();
  const bool color = terminal && !environment.no_color && !request.no_color;
  switch (format) {
    case Format::kText:
      return WriteOutput(request.output, AuditText(report, terminal ? environment.columns : 100, color));
    case Format::kJson:
      return WriteOutput(request.output, AuditJson(report));
    case Format::kHtml:
      return WriteOutput(request.output, AuditHtml(report));
    case Format::kCsv:
      return WriteOutput(request.output, AuditCsv(report));
    case Format::kMarkdown:
      return WriteOutput(request.output, AuditMarkdown(report));
  }
  return {};
}

}  // namespace

Result<int> Audit(const AuditRequest& request, const Settings& settings, const Environment& environment) {
  const Result<Format> format = ChooseFormat(settings.Text("output.format"), request.output);
  if (!format) return tl::unexpected<Error>(format.error());
  const Result<std::vector<Gate>> gates = ParseGates(request.fail_on);
  if (!gates) return tl::unexpected<Error>(gates.error());
  const Result<Thresholds> thresholds = ThresholdsFrom(settings);
  if (!thresholds) return tl::unexpected<Error>(thresholds.error());
  const Result<ImportOptions> options = ImportOptionsFrom(settings);
  if (!options) return tl::unexpected<Error>(options.error());
  const Result<WorkDone> work = ParseWork(request.work);
  if (!work) return tl::unexpected<Error>(work.error());
  const Result<EnergyPrice> energy = EnergyFrom(settings);
  if (!energy) return tl::unexpected<Error>(energy.error());

  Result<std::unique_ptr<RunInputs>> inputs =
      ReadRun(request.inputs, *options, *thresholds, FactsOf, environment.terminal_err && !request.quiet);
  if (!inputs) return tl::unexpected<Error>(inputs.error());
  RunInputs& run = **inputs;
  const Result<Rate> rate = FindRate(settings, run, environment);
  if (!rate) return tl::unexpected<Error>(rate.error());
  const auto month_hours = static_cast<int>(ParseScaled(settings.Text("price.month_hours"), 0).value);
  Result<CostReport> cost = PriceRun(run.run, run.devices, run.owners, *rate, *work, *energy, month_hours);
  if (!cost) return tl::unexpected<Error>(cost.error());

  AuditReport report;
  report.advice = Advise(run.run, run.devices, *cost);
  report.cost = std::move(*cost);
  report.run = std::move(run.run);
  report.devices = &run.devices;
  report.quality = &run.quality;
  report.thresholds = *thresholds;
  report.inputs = request.inputs;
  report.timezone = settings.Has("import.timezone") ? settings.Text("import.timezone") : "UTC";
  report.version = IDLEBURN_VERSION;
  report.explain = request.explain;
  TRY(Write(report, *format, request, environment));

  const std::vector<std::string> broken = BrokenGates(*gates, report.cost);
  for (const std::string& gate : broken) std::fprintf(stderr, "idleburn: --fail-on %s\n", gate.c_str());
  return broken.empty() ? 0 : kExitGate;
}

Result<int> RunAudit(const std::vector<std::string>& arguments, const Environment& environment) {
  AuditRequest request;
  SettingFlags settings_flags({"price.", "energy.", "import.", "classify.idle_power", "output."});
  std::vector<Flag> flags;
  const auto add = [&](const char* name, const char* value, const char* help) -> Flag& {
    return flags.emplace_back(Flag{name, value, help});
  };
  Flag& inputs =
      add("input", "INPUT...", "files of one run: nvidia-smi logs, Prometheus dumps, ... (- is standard input)");
  inputs.list = &request.inputs;
  inputs.required = true;
  add("--output", "FILE", "write the report to FILE").text = &request.output;
  add("--work", "LIST", "work done: samples=200000,tokens=...,steps=...,epochs=...").text = &request.work;
  add("--fail-on", "GATE", "exit 3 if waste>PERCENT, cost>AMOUNT or unobserved>PERCENT (repeatable)").list =
      &request.fail_on;
  add("--explain", "", "also print rules, priors and the levers that were not advised").on = &request.explain;
  add("--quiet", "", "no progress on standard error").on = &request.quiet;
  add("--no-color", "", "plain text").on = &request.no_color;
  settings_flags.AppendTo(flags);
  std::string help;
  TRY(ReadFlags("audit", "Audits anything that recorded GPUs: cost by phase, causes, fixes.", flags, arguments, &help));
  if (!help.empty()) {
    TRY(Print(help));
    return 0;
  }
  const Result<Settings> settings = settings_flags.Load();
  if (!settings) return tl::unexpected<Error>(settings.error());
  return Audit(request, *settings, environment);
}

}  // namespace idleburn
