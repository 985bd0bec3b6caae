#include "cli/history_show.h"

#include <array>
#include <filesystem>
#include <map>

#include "audit/keep_run.h"
#include "audit/open_input.h"
#include "audit/read_run.h"
#include "cli/cmd_audit.h"
#include "config/common_flags.h"
#include "history/runs.h"
#include "history/users_history.h"
#include "price/find_rate.h"
#include "report/history_output.h"
#include "report/write_audit.h"
#include "terminal/output.h"

// Shows one kept run. The price is that of the run's own time: an old run shown at today's price would look cheaper or
// dearer without having changed. A price given now replaces it, but only as a whole, amount and currency together.

namespace idleburn {
namespace {

constexpr auto kShowFormats = FormatsOf(kRunWriters);

// The prices of the run's own time, as flags. They hold unless others are given. Empty if the run has no single price
// and its several prices were not kept.
std::map<std::string, std::string> KeptPrice(const HistoryRun& run) {
  const RunFigures& figures = run.figures;
  if (!figures.rate_nano && figures.rates.empty()) return {};
  std::map<std::string, std::string> price = {
      {"--price", figures.rate_nano ? FormatExact(Money::Nano(*figures.rate_nano)) : figures.rates}};
  if (!figures.currency.empty()) price["--currency"] = figures.currency;
  return price;
}

// Fails if only another currency is given. The kept price is an amount in the kept currency. In another currency the
// same number would be another price.
Result<void> CheckCurrency(const Settings& settings, const std::map<std::string, std::string>& kept) {
  const auto currency = kept.find("--currency");
  const std::string& asked = settings.Text("price.currency");
  if (currency == kept.end() || settings.Get("price.currency").origin != "--currency" || asked == currency->second) {
    return {};
  }
  return FailUsage("history show: --currency " + asked + ": the kept price is in " + currency->second +
                   "; give the price too, with --price");
}

// Computes the figures of a killed run from what it had recorded. The run ends with its last reading.
Result<void> Complete(HistoryRun& run, const Settings& settings, Instant now) {
  const AuditPlan plan = TRY(PlanAudit({}, settings, now));
  const ImportOptions options = TRY(ImportOptionsFrom(settings));
  const Audited audited = TRY(Audit([&] { return Read({run.recording}, options, plan.thresholds); }, plan));
  if (audited.report.run.devices.empty()) return Fail(run.recording + ": has no readings of a GPU");
  run.ended = audited.report.run.end;
  run.figures = FiguresOf(audited, plan);
  return {};
}

// Completes a run whose idleburn is gone, once. The row is written back, so from then on it says "interrupted". A
// recording that is missing or damaged is a message: the row itself can still be shown.
void SettleInterrupted(SqliteDatabase& history, HistoryRun& run, const Settings& settings, Instant now) {
  // Nothing to settle: the row says what is true.
  if (run.state == StateNow(run)) return;
  run.state = RunState::kInterrupted;
  std::error_code ignored;
  if (run.recording.empty() || !std::filesystem::exists(run.recording, ignored)) {
    Say("run " + run.id.substr(0, 8) + " was interrupted, and it has no recording to complete it from");
  } else if (const Result<void> completed = Complete(run, settings, now); !completed) {
    Say("run " + run.id.substr(0, 8) + " was interrupted; " + completed.error().message);
  } else {
    Say("run " + run.id.substr(0, 8) + " was interrupted; it is completed from its recording");
  }
  if (const Result<void> put = PutRun(history, run); !put) Say(put.error().message);
}

}  // namespace

Result<int> ShowRun(const std::vector<std::string>& arguments, const Environment& environment) {
  std::string id;
  AuditRequest request;
  bool audit = false;
  CommandFlags flags({"price.", "advice.", "energy.", "classify.idle_power", "classify.idle_after",
                      "classify.idle_grace", "output.", "history.file"});
  Flag& word = flags.Add("run", "ID", "the start of its id, or last");
  word.text = &id;
  word.required = true;
  flags.Add("--audit", "", "audit its recording again, at its kept price unless you give another").on = &audit;
  flags.Add("--output", "FILE", "write to FILE").text = &request.report.output;
  flags.Add("--no-color", "", "plain text").on = &request.report.no_color;
  const auto read = TRY(flags.Read("history show", "Shows one kept run.", arguments));
  if (!read) return 0;
  // Settings are loaded twice: once to find the history, and again with the prices that it holds.
  const Settings& settings = *read;
  const std::string file = HistoryFile(settings);
  std::optional<SqliteDatabase> history = TRY(OpenToRead(file, environment.now));
  if (!history) return Fail(file + ": no run is kept yet");
  HistoryRun run = TRY(FindRun(*history, id, file));
  // A price that is given now replaces the kept one.
  const std::map<std::string, std::string> kept =
      PriceGiven(settings) ? std::map<std::string, std::string>() : KeptPrice(run);
  TRY(CheckCurrency(settings, kept));
  // The settings again, now with the prices of the run's own time.
  const Settings priced = TRY(flags.Load(kept));
  SettleInterrupted(*history, run, priced, environment.now);
  if (audit) {
    if (run.recording.empty()) return Fail("run " + run.id.substr(0, 8) + " has no recording to audit");
    if (run.figures.cost_nano && KeptPrice(run).empty() && settings.Text("price.rate").empty()) {
      Say("run " + run.id.substr(0, 8) +
          " had several prices, and the history has no price per GPU; the audit uses today's prices");
    }
    request.inputs = {run.recording};
    return AuditFiles(request, priced, environment);
  }
  const ReportFormat format = TRY(ChooseFormat(settings, "history show", request.report.output, kShowFormats));
  // Says whether an outer run has counted the time of this one already.
  const auto within = TRY(WithinOf(*history, {run}));
  const HistoryListing listing{file, {run}, 1, 0, false, within};
  const Paper paper = PaperFor(environment, request.report.output);
  TRY(WriteOutput(request.report.output, Written(kRunWriters, format, listing, paper)));
  return 0;
}

}  // namespace idleburn
