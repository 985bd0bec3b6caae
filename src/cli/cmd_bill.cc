#include <algorithm>
#include <array>

#include "audit/audit_plan.h"
#include "audit/keep_run.h"
#include "audit/open_input.h"
#include "bill/bill_close.h"
#include "bill/bill_forecast.h"
#include "bill/bill_sql.h"
#include "bill/bill_store.h"
#include "bill/bill_validate.h"
#include "bill/focus_export.h"
#include "bill/reconcile.h"
#include "cli/commands.h"
#include "cli/fleet_charge_flags.h"
#include "config/common_flags.h"
#include "fleet/ledger_month.h"
#include "os/input_file.h"
#include "price/find_rate.h"
#include "report/bill_charges_output.h"
#include "report/bill_forecast_output.h"
#include "report/bill_output.h"
#include "report/focus_files.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/time_zone.h"

// `idleburn bill`: every invoiced GPU dollar has an owner and a use.

namespace idleburn {
namespace {

// The flags as they were written. `words` holds the action and what follows it.
struct BillRequest {
  std::vector<std::string> words;
  std::vector<std::string> telemetry;
  std::string ledger;
  std::string resources;
  std::string invoice;
  std::string invoice_id;
  std::string month;
  std::string owner_tag;
  std::string store;
  std::string columns;
  std::string output;
  std::string by;
  std::string share;
  std::string weights;
  std::string tag_rules;
  std::string budgets;
  std::string provider;
  std::string account;
  bool focus = false;
  bool replace = false;
  bool full = false;
  bool quiet = false;

  [[nodiscard]] std::vector<std::string> Files() const { return {words.begin() + 1, words.end()}; }
};

using BillAction = Result<int> (*)(const BillRequest&, const Settings&, const Environment&);

Result<std::string> BillStorePath(const BillRequest& request) {
  const std::string path = request.store.empty() ? UsersBillStore() : request.store;
  if (path.empty()) return FailUsage("bill: no data folder for the store of bills; name a file with --store");
  return path;
}

Result<int> BillThreads(const Settings& settings) {
  const ImportOptions options = TRY(ImportOptionsFrom(settings));
  return std::max(2, options.threads);
}

Result<BillImport> ImportBill(BillStore& store, const std::string& path, const BillRequest& request,
                              Progress& progress) {
  BillReadOptions options;
  options.columns = request.columns;
  const std::vector<std::string> paths = {path};
  progress.Begin("reading " + path, ProgressUnit::kBytes, SizeOfFiles(paths));
  options.progress = [&](std::uint64_t done, std::uint64_t /*total*/) { progress.Reach(done); };
  const Result<BillImport> import = store.Import(path, options, request.replace);
  progress.End();
  return import;
}

Result<int> ImportBills(const BillRequest& request, const Settings& settings, const Environment& environment) {
  if (request.words.size() < 2) return FailUsage("bill import: name the files of the bill");
  const std::string file = TRY(BillStorePath(request));
  const int threads = TRY(BillThreads(settings));
  BillStore store = TRY(BillStore::Open(file, threads));
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  std::string said;
  for (const std::string& path : request.Files()) {
    const BillImport import = TRY(ImportBill(store, path, request, progress));
    for (const std::string& line : ImportLines(import)) said += Printable(line) + "\n";
  }
  TRY(WriteOutput(request.output, said));
  return 0;
}

// The prices that flags or settings name for the GPU models of the bill.
Result<std::map<std::string, Money>> AgreedPrices(BillStore& store, const Settings& settings, Instant now) {
  std::map<std::string, Money> agreed;
  if (!PriceGiven(settings)) return agreed;
  const Prices prices = TRY(OpenRates(settings, now));
  for (const std::string& model : TRY(GpuModels(store))) {
    const std::vector<std::string> one = {model};
    const Result<Rate> rate = RateOfModels(prices.book, one);
    if (rate && rate->per_gpu_hour) agreed.emplace(model, *rate->per_gpu_hour);
  }
  return agreed;
}

Result<BillTelemetry> ReadBillTelemetry(BillRequest request, const Settings& settings) {
  BillTelemetry telemetry;
  if (!request.ledger.empty()) TRY(telemetry.AddLedger(request.ledger, request.words.front() != "reconcile"));
  if (!request.telemetry.empty()) {
    ImportOptions options = TRY(ImportOptionsFrom(settings));
    options.hosts = TRY(TakeHosts(request.telemetry));
    const InputFiles files = TRY(FindInputFiles(request.telemetry, options));
    const Thresholds thresholds = TRY(ThresholdsFrom(settings));
    TRY(telemetry.AddInputs(files.read, options, thresholds));
  }
  if (!request.resources.empty()) TRY(telemetry.ReadNames(request.resources));
  telemetry.Finish();
  return telemetry;
}

// The rows that an action is about, and what is asked of them. Files named on the command line are read by themselves
// and leave no trace in the user's store.
struct BillCase {
  BillTelemetry telemetry;
  std::optional<BillStore> store;
  ReconcileQuestion question;
};

Result<void> OpenCase(const BillRequest& request, const std::vector<std::string>& files, const Settings& settings,
                      const Environment& environment, BillCase* open) {
  ReconcileQuestion& question = open->question;
  question.month = request.month;
  question.invoice_id = request.invoice_id;
  question.owner_tag = request.owner_tag;
  if (!request.invoice.empty()) TRY(ReadInvoice(request.invoice, &question));
  if (!request.tag_rules.empty()) {
    const std::unique_ptr<ByteSource> in = TRY(OpenInput(request.tag_rules));
    question.rules = TRY(ReadTagRules(*in));
  }
  const int threads = TRY(BillThreads(settings));
  open->telemetry = TRY(ReadBillTelemetry(request, settings));
  question.telemetry = &open->telemetry;
  const std::string path = files.empty() ? TRY(BillStorePath(request)) : std::string();
  open->store = TRY(files.empty() ? BillStore::Open(path, threads) : BillStore::OpenScratch(threads));
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  for (const std::string& file : files) TRY(ImportBill(*open->store, file, request, progress));
  question.gpu_hour = TRY(AgreedPrices(*open->store, settings, environment.now));
  return {};
}

Paper BillPaper(const BillRequest& request, const Environment& environment) {
  TextWish wish;
  wish.full = request.full;
  return PaperFor(environment, request.output, wish);
}

Result<int> ReconcileBills(const BillRequest& request, const Settings& settings, const Environment& environment) {
  const ReportFormat format = TRY(ChooseFormat(settings, "bill", request.output, FormatsOf(kBillWriters)));
  BillCase open;
  TRY(OpenCase(request, request.Files(), settings, environment, &open));
  BillReport report = TRY(Reconcile(*open.store, open.question));
  report.ids = OwnIds();
  TRY(WriteOutput(request.output, Written(kBillWriters, format, report, BillPaper(request, environment))));
  return 0;
}

Result<BillChargeRequest> ChargeRequestOf(const BillRequest& request) {
  BillChargeRequest charge;
  charge.by = TRY(ParseOwnerBy(request.by));
  TRY(ReadShareFlags("bill", request.share, request.weights, &charge.policy, &charge.weights));
  return charge;
}

// Prints the summary, or writes it and one statement for each owner into a folder.
Result<int> ChargeBills(const BillRequest& request, const Settings& settings, const Environment& environment) {
  const ReportFormat format = TRY(ChooseFormat(settings, "bill", "", FormatsOf(kChargebackWriters)));
  const BillChargeRequest charge = TRY(ChargeRequestOf(request));
  BillCase open;
  TRY(OpenCase(request, request.Files(), settings, environment, &open));
  BillChargeback charged = TRY(ChargeStore(*open.store, open.question, charge));
  TRY(AddClose(*open.store, &charged));
  charged.ids = OwnIds();
  const Paper paper = BillPaper(request, environment);
  if (request.output.empty() || request.output == "-") {
    TRY(WriteOutput(request.output, Written(kChargebackWriters, format, charged, paper)));
  } else {
    TRY(WriteIntoFolder(request.output, ChargebackFiles(std::move(charged), format, paper)));
  }
  return 0;
}

Result<int> CloseBills(const BillRequest& request, const Settings& settings, const Environment& environment) {
  if (request.words.size() != 2) return FailUsage("bill close: name one month, such as 2026-10");
  BillCase open;
  TRY(OpenCase(request, {}, settings, environment, &open));
  open.question.month = request.words[1];
  const BillChargeRequest charge = TRY(ChargeRequestOf(request));
  const BillCloseOutcome outcome = TRY(CloseMonth(*open.store, open.question, charge, environment.now));
  TRY(WriteOutput(request.output, CloseWords(outcome)));
  return 0;
}

Result<int> ForecastBills(const BillRequest& request, const Settings& settings, const Environment& environment) {
  const ReportFormat format = TRY(ChooseFormat(settings, "bill", request.output, FormatsOf(kForecastWriters)));
  if (request.ledger.empty()) return FailUsage("bill forecast: name the fleet's ledger with --ledger");
  std::map<std::string, std::int64_t> budgets;
  if (!request.budgets.empty()) {
    const std::unique_ptr<ByteSource> in = TRY(OpenInput(request.budgets));
    budgets = TRY(ReadTeamNumbers(*in, "budget"));
  }
  const Prices prices = TRY(OpenRates(settings, environment.now));
  const MonthSpan month = TRY(ParseMonth(request.month, environment.now));
  BillForecast forecast = TRY(ForecastFrom(request.ledger, prices, PriceGiven(settings), month, budgets));
  forecast.ids = OwnIds();
  TRY(WriteOutput(request.output, Written(kForecastWriters, format, forecast, BillPaper(request, environment))));
  return 0;
}

// What the table has no place for.
void SayLeftOut(const FocusExportFacts& facts) {
  const auto say = [](std::int64_t count, const std::string& what) {
    if (count > 0) Say("bill export: " + what);
  };
  const auto hours = [](std::int64_t ms) { return GpuHoursForPeople(GpuHoursOf(ms)); };
  say(facts.unpriced_ms, hours(facts.unpriced_ms) + " without a price are left out");
  say(facts.over_month_ms, hours(facts.over_month_ms) + " reach over the end of a month and are left out");
  say(facts.several_jobs, std::to_string(facts.several_jobs) + " rows name no job, since several shared the machine");
}

Result<int> ExportBill(const BillRequest& request, const Settings& settings, const Environment& environment) {
  constexpr std::array<ReportFormat, 2> kTables = {ReportFormat::kCsv, ReportFormat::kParquet};
  const ReportFormat format = TRY(ChooseFormat(settings, "bill", request.output, kTables));
  if (!request.focus) return FailUsage("bill export: say what to write; there is --focus");
  if (request.ledger.empty() == request.telemetry.empty()) {
    return FailUsage("bill export: name the telemetry with --ledger or with --telemetry");
  }
  const Prices prices = TRY(OpenRates(settings, environment.now));
  FocusExportOptions options{0, kLedgerEnd, request.provider, request.account, prices};
  if (!request.month.empty()) {
    const MonthSpan month = TRY(ParseMonth(request.month, environment.now));
    options.from = month.begin;
    options.to = month.end;
  }
  const auto table = [&](const WriteText& write) -> Result<FocusExportFacts> {
    if (!request.ledger.empty()) return ExportLedger(request.ledger, options, write);
    std::vector<std::string> inputs = request.telemetry;
    ImportOptions import = TRY(ImportOptionsFrom(settings));
    import.hosts = TRY(TakeHosts(inputs));
    const InputFiles files = TRY(FindInputFiles(inputs, import));
    const Thresholds thresholds = TRY(ThresholdsFrom(settings));
    return ExportInputs(files.read, import, thresholds, options, write);
  };
  SayLeftOut(TRY(WriteFocus(request.output, format, table)));
  return 0;
}

Result<int> ValidateBills(const BillRequest& request, const Settings& settings, const Environment& environment) {
  const ReportFormat format = TRY(ChooseFormat(settings, "bill", request.output, FormatsOf(kValidationWriters)));
  if (request.words.size() != 2) return FailUsage("bill validate: name one FOCUS file");
  BillValidation validation = TRY(ValidateBill(request.words[1], {}));
  validation.ids = OwnIds();
  TRY(WriteOutput(request.output, Written(kValidationWriters, format, validation, BillPaper(request, environment))));
  return 0;
}

Result<int> AskWithSql(const BillRequest& request, const Settings& settings, const Environment& environment) {
  const ReportFormat format = TRY(ChooseFormat(settings, "bill", request.output, FormatsOf(kSqlWriters)));
  if (request.words.size() != 2) return FailUsage("bill sql: give one SELECT in quotes");
  const std::string file = TRY(BillStorePath(request));
  const SqlAnswer answer = TRY(AskBills(file, request.ledger, request.words[1]));
  TRY(WriteOutput(request.output, Written(kSqlWriters, format, answer, PaperFor(environment, request.output))));
  if (answer.cut) Say("bill sql: only the first " + std::to_string(kMostSqlRows) + " rows are shown");
  return 0;
}

struct BillActionRow {
  std::string_view name;
  BillAction run;
};
constexpr auto kBillActions = std::to_array<BillActionRow>({
    {"import", ImportBills},
    {"reconcile", ReconcileBills},
    {"chargeback", ChargeBills},
    {"close", CloseBills},
    {"forecast", ForecastBills},
    {"export", ExportBill},
    {"validate", ValidateBills},
    {"sql", AskWithSql},
});

}  // namespace

Result<int> RunBill(const std::vector<std::string>& arguments, const Environment& environment) {
  BillRequest request;
  CommandFlags flags({"output.", "price.", "import.timezone", "import.max_gap", "import.gpu_model", "import.threads"});
  flags.Writes(FormatsOf(kBillWriters));
  flags
      .Add("action", "",
           "import FILE..., reconcile [FILE...], chargeback [FILE...], close MONTH, forecast, export, "
           "validate FILE, or sql QUERY")
      .list = &request.words;
  Flag& telemetry =
      flags.Add("--telemetry", "INPUT", "logs or recordings of the GPUs (NODE=FILE if FILE names no node)");
  telemetry.list = &request.telemetry;
  telemetry.several = true;
  flags.Add("--ledger", "FILE", "the ledger of closed hours that idleburn fleet keeps").text = &request.ledger;
  flags.Add("--resources", "FILE", "CSV with resource,node: which machine a resource of the bill is").text =
      &request.resources;
  flags.Add("--invoice", "TOTAL", "the amount to pay, or a JSON file with total").text = &request.invoice;
  flags.Add("--invoice-id", "ID", "only rows of this invoice").text = &request.invoice_id;
  flags.Add("--month", "YYYY-MM", "only this billing period or month").text = &request.month;
  flags.Add("--owner-tag", "KEY", "the tag that names the owner (default team, owner, cost_center or project)").text =
      &request.owner_tag;
  flags.Add("--by", "OWNER", "chargeback: who pays: tag, team, job or experiment (default team)").text = &request.by;
  flags
      .Add("--share", "POLICY",
           "chargeback: split shared cost: none, uniform, proportional, custom, experiments (default none)")
      .text = &request.share;
  flags.Add("--share-weights", "FILE", "chargeback: CSV of team,weight for --share custom").text = &request.weights;
  flags.Add("--tag-rules", "FILE", "CSV of column,value,owner for rows without a tag").text = &request.tag_rules;
  flags.Add("--budgets", "FILE", "forecast: CSV of team,budget for the month").text = &request.budgets;
  flags.Add("--focus", "", "export: FOCUS 1.2, as CSV or Parquet").on = &request.focus;
  flags.Add("--provider", "NAME", "export: who rents the GPUs out (default: they are your own)").text =
      &request.provider;
  flags.Add("--account", "ID", "export: the billing account (default: the provider)").text = &request.account;
  flags.Add("--columns", "MAP", "columns of another export, or a file with them: BilledCost=amount,ResourceName=node")
      .text = &request.columns;
  flags.Add("--replace", "", "import: the file restates its billing periods").on = &request.replace;
  flags.Add("--store", "FILE", "the imported bills (default in the user's data folder)").text = &request.store;
  flags.Add("--output", "FILE", "write there instead of the terminal; for chargeback a folder").text = &request.output;
  flags.Add("--full", "", kFullHelp).on = &request.full;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  const auto settings = TRY(flags.Read("bill", "Imports invoices and says what each GPU dollar was for.", arguments));
  if (!settings) return 0;
  const std::string action = request.words.empty() ? "" : request.words.front();
  const auto* row = std::find_if(kBillActions.begin(), kBillActions.end(),
                                 [&](const BillActionRow& known) { return known.name == action; });
  if (row == kBillActions.end()) {
    return FailUsage("bill: " + (action.empty() ? "say what to do" : "no action '" + Printable(action) + "'") +
                     "; there are import, reconcile, chargeback, close, forecast, export, validate and sql");
  }
  return row->run(request, *settings, environment);
}

}  // namespace idleburn
