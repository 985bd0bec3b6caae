#include <nlohmann/json.hpp>

#include "audit/document_ids.h"
#include "base/money.h"
#include "report/history_output.h"
#include "report/json_values.h"
#include "report/ledger_output.h"
#include "text/escape.h"
#include "text/json.h"
#include "text/number.h"
#include "text/time_zone.h"

// The JSON of the history and of the ledger (docs/json.md). Every document starts with its schema and ids, so that a
// program can join it with other documents. Unknown values are null.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

std::optional<Money> MoneyOf(const std::optional<std::int64_t>& nano) {
  return nano ? std::optional(Money::Nano(*nano)) : std::nullopt;
}
Json GpuHoursOrNull(const std::optional<std::int64_t>& ns) { return ns ? Json(InHours(*ns)) : Json(); }

// The price and cost that were valid when the run ended. Nothing is priced again here.
Json KeptCostJson(const RunFigures& f) {
  Json cost;
  cost["currency"] = TextOrNull<Json>(f.currency);
  PutMoney(cost, "rate_per_gpu_hour", MoneyOf(f.rate_nano), f.currency);
  cost["rate_source"] = TextOrNull<Json>(f.rate_source);
  cost["rates"] = TextOrNull<Json>(f.rates);
  cost["rate_as_of"] = f.rate_as_of_ns ? Json(FormatRfc3339(Instant::FromNanos(*f.rate_as_of_ns))) : Json();
  PutMoney(cost, "total", MoneyOf(f.cost_nano), f.currency);
  PutMoney(cost, "waste", MoneyOf(f.waste_nano), f.currency);
  cost["waste_share"] = OrNull<Json>(f.waste_share);
  return cost;
}

// The kept figures of a run: hours, phases, cost, work, findings and recommendations.
void PutFigures(Json& json, const RunFigures& f) {
  json["gpus"] = OrNull<Json>(f.gpus);
  json["gpu_models"] = TextOrNull<Json>(f.gpu_models);
  json["gpu_hours"] = {{"window", GpuHoursOrNull(f.window_ns)},
                       {"observed", GpuHoursOrNull(f.observed_ns)},
                       {"unobserved", GpuHoursOrNull(f.unobserved_ns)},
                       {"effective", f.effective_ns ? Json(InHours(*f.effective_ns)) : Json()}};
  json["phases"] = {{"idle", GpuHoursOrNull(f.idle_ns)},
                    {"underutilized", GpuHoursOrNull(f.underutilized_ns)},
                    {"productive", GpuHoursOrNull(f.productive_ns)},
                    {"compute_bound", GpuHoursOrNull(f.compute_bound_ns)}};
  json["cost"] = KeptCostJson(f);
  json["work"] = {{"unit", TextOrNull<Json>(f.work_unit)}, {"count", OrNull<Json>(f.work)}};
  json["findings"] = Json::array();
  for (const KeptFinding& finding : f.findings) {
    Json row = {{"cause", finding.cause},
                {"status", finding.status},
                {"share", finding.share},
                {"gpu_hours", GpuHoursOrNull(finding.gpu_ns)}};
    PutMoney(row, "cost", MoneyOf(finding.cost_nano), f.currency);
    json["findings"].push_back(std::move(row));
  }
  json["recommendations"] = Json::array();
  for (const KeptAdvice& advice : f.advice) {
    Json row = {{"id", advice.id}, {"axis", advice.axis}, {"cause", TextOrNull<Json>(advice.cause)}};
    row["saving"] = !advice.expected ? Json()
                                     : Json{{"low", OrNull<Json>(advice.low)},
                                            {"expected", *advice.expected},
                                            {"high", OrNull<Json>(advice.high)}};
    PutMoney(row, "saving_cost", MoneyOf(advice.cost_nano), f.currency);
    json["recommendations"].push_back(std::move(row));
  }
}

// Pairs as objects: a label may be any text, so it cannot be a key of the document.
Json LabelsJson(const std::map<std::string, std::string>& labels) {
  Json json = Json::array();
  for (const auto& [key, value] : labels) json.push_back({{"key", Printable(key)}, {"value", Printable(value)}});
  return json;
}

// One kept run. `counted_in` names the run whose GPU time includes this one, so that a program does not add both.
Json RunJson(const HistoryRun& run, const HistoryListing& listing) {
  Json json;
  json["id"] = run.id;
  PutIds(json, IdsOfKept(run));
  json["kind"] = run.kind;
  json["state"] = kRunStateNames[static_cast<std::size_t>(run.state)];
  json["started"] = FormatRfc3339(run.started);
  json["ended"] = TimeOrNull<Json>(run.ended);
  json["host"] = TextOrNull<Json>(run.host);
  json["command"] = TextOrNull<Json>(run.command);
  json["folder"] = TextOrNull<Json>(run.folder);
  json["project"] = TextOrNull<Json>(run.project);
  json["exit"] = TextOrNull<Json>(run.exit);
  json["recording"] = TextOrNull<Json>(run.recording);
  json["version"] = TextOrNull<Json>(run.version);
  json["parent"] = TextOrNull<Json>(run.parent);
  const auto within = listing.within.find(run.id);
  json["counted_in"] = within == listing.within.end() ? Json() : Json(within->second);
  PutFigures(json, run.figures);
  json["forecast"] = run.forecast ? ForecastJson<Json>(run) : Json();
  json["inputs"] = Json::array();
  for (const KeptInput& input : run.inputs) {
    json["inputs"].push_back({{"path", Printable(input.path)}, {"sha256", TextOrNull<Json>(input.sha256)}});
  }
  json["experiments"] = LabelsJson(run.experiments);
  json["tags"] = LabelsJson(run.tags);
  return json;
}

// One entry of the ledger exactly as it was written: a claim, a verdict or a correction.
Json EntryJson(const LedgerRow& row) {
  Json json;
  json["kind"] = row.kind;
  json["row"] = row.row;
  json["written"] = FormatRfc3339(row.written);
  json["tool"] = Printable(row.tool);
  json["claim"] = row.claim;
  json["boundary"] = TextOrNull<Json>(row.boundary);
  json["unit"] = TextOrNull<Json>(row.unit);
  json["measure"] = TextOrNull<Json>(row.measure);
  json["verdict"] = TextOrNull<Json>(row.verdict);
  json["plan"] = !row.retrospective ? Json() : Json(*row.retrospective != 0 ? "retrospective" : "claimed");
  json["predicted"] = OrNull<Json>(row.predicted);
  json["bound"] = OrNull<Json>(row.bound);
  json["saving"] =
      !row.fraction
          ? Json()
          : Json{{"fraction", *row.fraction}, {"low", OrNull<Json>(row.low)}, {"high", OrNull<Json>(row.high)}};
  json["avoided_gpu_seconds"] = OrNull<Json>(row.avoided_gpu_seconds);
  json["currency"] = TextOrNull<Json>(row.currency);
  PutMoney(json, "cashable", MoneyOf(row.cashable_nano), row.currency);
  json["freed_gpu_hours"] = OrNull<Json>(row.freed_gpu_hours);
  json["corrects"] = OrNull<Json>(row.corrects);
  json["note"] = TextOrNull<Json>(row.note);
  json["inputs"] = Json::array();
  for (const LedgerInput& input : row.inputs) {
    json["inputs"].push_back(
        {{"side", input.side}, {"name", Printable(input.name)}, {"sha256", TextOrNull<Json>(input.sha256)}});
  }
  return json;
}

// Where one claim stands now, after all its entries.
Json LineJson(const LedgerLine& line) {
  Json json;
  json["claim"] = line.claim;
  json["standing"] = kStandingNames[static_cast<std::size_t>(line.standing)];
  json["measure"] = TextOrNull<Json>(line.measure);
  json["boundary"] = TextOrNull<Json>(line.boundary);
  json["claimed"] = FormatRfc3339(line.claimed);
  json["judged"] = TimeOrNull<Json>(line.judged);
  json["lost"] = TimeOrNull<Json>(line.lost);
  json["verdict"] = TextOrNull<Json>(line.verdict);
  json["predicted"] = OrNull<Json>(line.predicted);
  json["saving"] =
      !line.fraction
          ? Json()
          : Json{{"fraction", *line.fraction}, {"low", OrNull<Json>(line.low)}, {"high", OrNull<Json>(line.high)}};
  json["currency"] = TextOrNull<Json>(line.currency);
  PutMoney(json, "cashable", MoneyOf(line.cashable_nano), line.currency);
  json["freed_gpu_hours"] = OrNull<Json>(line.freed_gpu_hours);
  return json;
}

// Sums by standing and currency. Claims without a currency have no amount, so their cash is null; their freed hours
// count.
Json TotalsJson(const LedgerView& view) {
  Json json = Json::array();
  for (const auto& [standing, by_currency] : view.totals) {
    for (const auto& [currency, total] : by_currency) {
      Json row;
      row["standing"] = kStandingNames[static_cast<std::size_t>(standing)];
      row["claims"] = total.lines;
      row["currency"] = TextOrNull<Json>(currency);
      PutMoney(row, "cashable",
               currency.empty() ? std::optional<Money>() : std::optional(Money::Nano(total.cashable_nano)), currency);
      row["freed_gpu_hours"] = total.freed_gpu_hours;
      json.push_back(std::move(row));
    }
  }
  return json;
}

// Predicted against realised for one kind of change. `pairs` counts claims that have both figures; the means are over
// those.
Json LeverJson(const LeverOutcome& lever, const RecoveredShare& share) {
  Json json;
  json["measure"] = Printable(lever.measure);
  json["verified"] = lever.verified;
  json["regressions"] = lever.regressions;
  json["pairs"] = lever.pairs;
  json["predicted"] = lever.pairs > 0 ? Json(lever.predicted / lever.pairs) : Json();
  json["realised"] = lever.pairs > 0 ? Json(lever.realised / lever.pairs) : Json();
  json["ratio"] = lever.predicted > 0 ? Json(lever.realised / lever.predicted) : Json();
  json["recovered_share"] = {{"mean", share.mean}, {"own_changes", share.own}, {"prior", RecoveredShares::kPriorMean}};
  return json;
}

}  // namespace

std::string LedgerRowJson(const LedgerRow& row) { return JsonLine(EntryJson(row)); }

std::string LedgerJson(const LedgerReport& report) {
  Json json = BeginDocument<Json>("idleburn.ledger/1", report.ids);
  json["file"] = Printable(report.file);
  json["claims"] = Json::array();
  for (const LedgerLine& line : report.view.lines) json["claims"].push_back(LineJson(line));
  json["totals"] = TotalsJson(report.view);
  json["levers"] = Json::array();
  for (const LeverOutcome& lever : report.view.levers) {
    json["levers"].push_back(LeverJson(lever, report.shares.Of(lever.measure)));
  }
  json["entries"] = Json::array();
  for (const LedgerRow& row : report.rows) json["entries"].push_back(EntryJson(row));
  return JsonDocument(json);
}

std::string HistoryJson(const HistoryListing& listing) {
  std::vector<RunIds> ids;
  for (const HistoryRun& run : listing.runs) ids.push_back(IdsOfKept(run));
  Json json = BeginDocument<Json>("idleburn.history/1", SharedIds(ids));
  json["file"] = Printable(listing.file);
  json["matched"] = listing.matched;
  json["unknown_cost"] = listing.unknown_cost;
  json["runs"] = Json::array();
  for (const HistoryRun& run : listing.runs) json["runs"].push_back(RunJson(run, listing));
  return JsonDocument(json);
}

std::string HistoryLines(const HistoryListing& listing, const std::vector<LedgerRow>& ledger) {
  std::string text;
  for (const HistoryRun& run : listing.runs) text += JsonLine(RunJson(run, listing)) + "\n";
  for (const LedgerRow& row : ledger) text += LedgerRowJson(row) + "\n";
  return text;
}

}  // namespace idleburn
