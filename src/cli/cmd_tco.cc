#include <array>
#include <filesystem>

#include "audit/audit_plan.h"
#include "audit/keep_run.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "config/output_format.h"
#include "history/runs.h"
#include "history/users_history.h"
#include "os/input_file.h"
#include "os/output_file.h"
#include "report/tco_output.h"
#include "tco/actual_bill.h"
#include "tco/figures.h"
#include "tco/scenario_file.h"
#include "terminal/progress.h"
#include "text/number.h"
#include "text/time_zone.h"

// `idleburn tco`: what a model or a fleet costs over a horizon, from scenarios that a person wrote. The first scenario
// is the reference: the others are compared with it, and payments (--actuals) are held against it.
//
// Doubts are collected as warnings and printed with the answer. A scenario that is incomplete still has a useful total,
// as long as its reader knows what is missing from it.

namespace idleburn {
namespace {

// A scenario is written by hand. A larger file is something else, such as a billing export that was meant for
// --actuals.
constexpr std::size_t kMostBytes = 1 << 20;
constexpr const char* kTemplateName = "tco.toml";

// The flags as they were written.
struct TcoRequest {
  std::vector<std::string> files;
  // A file, or "history".
  std::string actual;
  std::string project;
  std::vector<std::string> tags;  // --actuals-tag
  // The share of the planned work that is done.
  std::string earned;
  std::string seed;
  std::string draws;
  std::string output;
  bool full = false;
  bool quiet = false;
  bool no_color = false;
};

// Reads a scenario file whole, because TOML cannot be read line by line.
Result<std::string> WholeText(const std::string& path) {
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const std::size_t got = TRY(in->Read(buffer));
    if (got == 0) return text;
    text.append(buffer.data(), got);
    if (text.size() > kMostBytes) return FailUsage(path + ": too large for a scenario (more than 1 MiB)");
  }
}

// Reads a whole number from `least` to 10,000,000; `absent` if the flag was not given. It serves --draws and --seed.
Result<std::int64_t> Count(const std::string& text, std::int64_t absent, std::int64_t least, const char* flag) {
  if (text.empty()) return absent;
  const std::optional<std::int64_t> count = ParseInteger(text);
  if (count && *count >= least && *count <= 10'000'000) return *count;
  return FailUsage("tco: " + std::string(flag) + " '" + text.substr(0, 20) + "' is not a whole number from " +
                   std::to_string(least) + " to 10000000");
}

// Adds what a reader must know before the figures are believed: missing categories, months of different length, another
// currency or horizon than the first scenario, an unusual contingency.
void Warn(const TcoScenario& s, const TcoScenario& first, std::vector<std::string>& warnings) {
  const std::string& name = s.plan.name;
  for (const std::string& warning : s.plan.warnings) warnings.push_back(name + ": " + warning);
  // A small tolerance, because 10 % as a double is not exactly 0.1.
  const double rate = s.cost.contingency_rate.AsDouble();
  if (rate < 0.0999999 || rate > 0.2000001) {
    warnings.push_back(name + ": the contingency is outside 10 to 20 %");
  }
  // A variant that misses the same categories as the first need not say it again.
  const bool repeats = &s != &first && s.cost.given == first.cost.given;
  std::string missing;
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    if (!s.cost.given[c]) missing += (missing.empty() ? "" : ", ") + std::string(kCostCategoryNames[c]);
  }
  if (!missing.empty() && !repeats) warnings.push_back(name + ": not given: " + missing);
  if (s.plan.month_hours != first.plan.month_hours) {
    warnings.push_back(name + ": months of " + std::to_string(s.plan.month_hours) + " h together with months of " +
                       std::to_string(first.plan.month_hours) + " h: the month basis is mixed");
  }
  if (s.plan.currency != first.plan.currency) {
    warnings.push_back(name + ": is in " + s.plan.currency + ", not in " + first.plan.currency +
                       ", so idleburn cannot compare its total");
  }
  if (Compare(s.cost.contingency_rate, first.cost.contingency_rate) != 0) {
    warnings.push_back(name + ": has a different contingency rate from " + first.plan.name);
  }
  const bool same = s.plan.months.has_value() == first.plan.months.has_value() &&
                    (!s.plan.months || Compare(*s.plan.months, *first.plan.months) == 0);
  if (!same) warnings.push_back(name + ": has a different horizon from " + first.plan.name);
}

// Computes one scenario: exact cost, tornado of its sensitivities, and uncertainty by draws from `seed`. The same seed
// gives the same figures.
Result<TcoScenario> Evaluate(TcoPlan plan, int draws, std::uint64_t seed, Progress& progress) {
  const PlanCost cost = TRY(CostOfPlan(plan));
  const std::vector<TornadoBar> tornado = TRY(TornadoOf(plan));
  progress.Begin("drawing totals of " + plan.name, ProgressUnit::kDraws);
  std::optional<PlanDraws> drawn = DrawPlan(plan, draws, seed, progress.Watch());
  progress.End();
  return TcoScenario{std::move(plan), cost, drawn, tornado};
}

// The cost of the runs in the user's history, or of one project or tag. An empty selection is an error. It is usually a
// misspelled name, and would look like a plan that has cost nothing so far.
Result<ActualBill> HistoryBill(const TcoRequest& request, const BillingTags& tags, const Settings& settings,
                               Instant now, TcoAnswer& answer) {
  const std::string file = HistoryFile(settings);
  const std::optional<SqliteDatabase> history = TRY(OpenToRead(file, now));
  if (!history) return Fail("tco: there is no history yet; idleburn run and idleburn record keep one");
  RunFilter filter;
  filter.project = request.project;
  // Tags of --actuals-tag select runs as `history list --tag` does.
  filter.tags.assign(tags.begin(), tags.end());
  std::vector<HistoryRun> runs = TRY(ListRuns(*history, filter));
  // A killed run still says "running" in its row. The month of a running run stays open, so the state must be the
  // present one.
  for (HistoryRun& run : runs) run.state = StateNow(run);
  ActualBill bill = BillOfRuns(runs, answer.scenarios.front().plan.currency, answer.warnings);
  if (!bill.rows.empty()) return bill;
  std::string which = request.project.empty() ? "" : " of project '" + request.project.substr(0, 40) + "'";
  for (const std::string& tag : request.tags) which += " tagged " + tag.substr(0, 40);
  return Fail("tco: the history has no run" + which + " with a cost in the scenario's currency; " +
              (which.empty() ? "give runs a --price" : "idleburn history list shows projects, history show tags"));
}

// Reads the payments of --actuals, a file or the history. Whatever was left out or changed while reading becomes a
// warning. A file whose rows all lack the tag is an error, for the same reason as an empty selection.
Result<ActualBill> BillFor(const TcoRequest& request, const Settings& settings, Instant now, TcoAnswer& answer) {
  const Result<BillingTags> tags = ParseTags(request.tags);
  if (!tags) return FailUsage("tco: --actuals-tag: " + tags.error().message);
  if (request.actual == "history") return HistoryBill(request, *tags, settings, now, answer);
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(request.actual));
  Result<ActualBill> bill = ReadActuals(*in, answer.scenarios.front().plan, *tags);
  if (!bill) return bill;
  if (bill->untagged > 0 && bill->rows.empty()) {
    return Fail("tco: " + request.actual + ": none of its " + std::to_string(bill->untagged) +
                " rows has the tag in --actuals-tag");
  }
  if (bill->rows.empty()) answer.warnings.push_back("actuals: " + request.actual + " has no rows: nothing was paid");
  if (bill->untagged > 0) {
    answer.warnings.push_back("actuals: " + std::to_string(bill->untagged) + " rows without the tag are left out");
  }
  for (const std::string& column : bill->unread) {
    answer.warnings.push_back("actuals: the column '" + column + "' is not read");
  }
  if (bill->beyond_month > 0) {
    answer.warnings.push_back("actuals: " + std::to_string(bill->beyond_month) +
                              " charges run past the end of a month; each counts in the month in which it begins");
  }
  if (bill->not_focus > 0) {
    answer.warnings.push_back("actuals: " + std::to_string(bill->not_focus) +
                              " amounts have a + that FOCUS does not allow (35.2E+7); idleburn reads them, but the "
                              "export may have other changes");
  }
  if (bill->rounded > 0) {
    answer.warnings.push_back("actuals: " + std::to_string(bill->rounded) +
                              " amounts have more than nine decimals; idleburn rounds them to nine");
  }
  return bill;
}

// Compares payments with the first scenario. Flags that do nothing without --actuals are errors: their user expects
// them to select something.
Result<void> AddActuals(const TcoRequest& request, const Settings& settings, Instant now, TcoAnswer& answer) {
  std::optional<Fraction> earned;
  if (!request.earned.empty()) {
    const Result<Fraction> share = ParseDecimal(request.earned);
    if (!share || Compare(*share, Fraction::Of(1, 1)) > 0) {
      return FailUsage("tco: --earned '" + request.earned.substr(0, 20) + "' is not a share such as 80% or 0.8");
    }
    earned = *share;
  }
  if (!request.project.empty() && request.actual != "history") {
    return FailUsage("tco: --project does nothing without --actuals history; for a bill give --actuals-tag key=value");
  }
  if (!request.tags.empty() && request.actual.empty()) {
    return FailUsage("tco: --actuals-tag does nothing without --actuals");
  }
  if (request.actual.empty()) {
    return earned ? Result<void>(FailUsage("tco: --earned does nothing without --actuals")) : Result<void>();
  }
  const ActualBill bill = TRY(BillFor(request, settings, now, answer));
  ActualReport report = TRY(CompareWithPlan(answer.scenarios.front().plan, bill, earned, answer.today));
  for (const std::string& doubt : report.doubts) answer.warnings.push_back(doubt);
  answer.actuals = std::move(report);
  return {};
}

// Writes a commented scenario to start from. Never overwrites a file.
Result<int> WriteScenarioTemplate(const std::string& output) {
  const std::string path = output.empty() ? kTemplateName : output;
  if (std::filesystem::exists(path)) return Fail(path + ": exists already; remove it first if you want the template");
  TRY(WriteFileWhole(path, TcoTemplate()));
  TRY(Print("wrote " + path + "; idleburn tco " + path + " reads it\n"));
  return 0;
}

// The whole command. Neither a scenario nor the payments may be overwritten by the report.
Result<int> Tco(const TcoRequest& request, const Settings& settings, const Environment& environment) {
  TRY(SpareInputs(request.output, request.files));
  TRY(SpareInputs(request.output, {request.actual}));
  const ReportFormat format = TRY(ChooseFormat(settings, "tco", request.output, FormatsOf(kTcoWriters)));
  const std::int64_t draws = TRY(Count(request.draws, kFewestDraws, kFewestDraws, "--draws"));
  const std::int64_t seed = TRY(Count(request.seed, 1, 0, "--seed"));
  // `today` is passed in, so that the same files and day give the same answer.
  TcoAnswer answer;
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  answer.ids = OwnIds();
  answer.today = FormatDay(environment.now);
  for (const std::string& path : request.files) {
    const std::string text = TRY(WholeText(path));
    TcoFile file = TRY(ReadTcoFile(path, text, answer.today));
    // A file that only compares buying with renting has no costs of its own.
    if (!file.own && file.plans.front().lines.empty()) {
      return FailUsage(path + ": has no costs; idleburn tco init writes a scenario to start from");
    }
    for (TcoPlan& plan : file.plans) {
      Result<TcoScenario> scenario =
          Evaluate(std::move(plan), static_cast<int>(draws), static_cast<std::uint64_t>(seed), progress);
      if (!scenario) return Fail(path + ": " + scenario.error().message);
      answer.scenarios.push_back(*std::move(scenario));
    }
    // One comparison of buying and renting per answer.
    if (file.own && answer.own) answer.warnings.push_back(path + ": its [own] is left out; the first is shown");
    if (file.own && !answer.own) {
      for (const std::string& warning : file.own->warnings) answer.warnings.push_back(warning);
      answer.own = file.own;
    }
  }
  // After all files are read: warnings compare a scenario with the first.
  for (const TcoScenario& s : answer.scenarios) Warn(s, answer.scenarios.front(), answer.warnings);
  TRY(AddActuals(request, settings, environment.now, answer));
  const Paper paper = PaperFor(environment, request.output, {request.full, request.no_color, request.full ? 120 : 100});
  TRY(WriteOutput(request.output, Written(kTcoWriters, format, answer, paper)));
  return 0;
}

}  // namespace

Result<int> RunTco(const std::vector<std::string>& arguments, const Environment& environment) {
  TcoRequest request;
  CommandFlags flags({"history.file", "output."});
  Flag& files = flags.Add("scenario", "FILE|init",
                          "scenarios to compare; the first is the reference; init writes a commented one");
  files.list = &request.files;
  files.required = true;
  flags.Add("--actuals", "FILE|history", "payments: CSV of month,line,amount, a FOCUS export, or the history's runs")
      .text = &request.actual;
  flags.Add("--project", "NAME", "from the history, use only runs of this project").text = &request.project;
  flags
      .Add(
          "--actuals-tag", "KEY=VALUE",
          "use only payments with this tag: in the Tags of a FOCUS export, in the history, or in a column of that name "
          "(repeatable)")
      .list = &request.tags;
  flags.Add("--earned", "SHARE", "share of the planned work done so far, for the forecast").text = &request.earned;
  flags.Add("--draws", "N", "number of random draws (default and minimum 10000)").text = &request.draws;
  flags.Add("--seed", "N", "seed of the draws (default 1)").text = &request.seed;
  flags.Add("--output", "FILE", "write there instead of the terminal").text = &request.output;
  flags.Add("--full", "", kFullHelp).on = &request.full;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  flags.Add("--no-color", "", "plain text").on = &request.no_color;
  const bool read = TRY(flags.ReadWords(
      "tco", "Computes the total cost of a model or fleet over a horizon, from a scenario file.", arguments));
  if (!read) return 0;
  // "init" is a word and no file, optionally with the name of the file to write.
  if (request.files.front() == "init" && request.files.size() <= 2) {
    return WriteScenarioTemplate(request.files.size() == 2 ? request.files.back() : request.output);
  }
  const Settings settings = TRY(flags.Load());
  return Tco(request, settings, environment);
}

}  // namespace idleburn
