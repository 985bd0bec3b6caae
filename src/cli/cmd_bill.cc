#include <algorithm>
#include <array>

#include "audit/audit_plan.h"
#include "audit/keep_run.h"
#include "audit/open_input.h"
#include "bill/bill_sql.h"
#include "bill/bill_store.h"
#include "bill/bill_validate.h"
#include "bill/reconcile.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "price/find_rate.h"
#include "report/bill_output.h"
#include "terminal/output.h"
#include "terminal/progress.h"
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
  if (!request.ledger.empty()) TRY(telemetry.AddLedger(request.ledger));
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

Result<int> ReconcileBills(const BillRequest& request, const Settings& settings, const Environment& environment) {
  const ReportFormat format = TRY(ChooseFormat(settings, "bill", request.output, FormatsOf(kBillWriters)));
  ReconcileQuestion question;
  question.month = request.month;
  question.invoice_id = request.invoice_id;
  question.owner_tag = request.owner_tag;
  if (!request.invoice.empty()) TRY(ReadInvoice(request.invoice, &question));
  const int threads = TRY(BillThreads(settings));
  const BillTelemetry telemetry = TRY(ReadBillTelemetry(request, settings));
  question.telemetry = &telemetry;
  // Files named here are reconciled by themselves and leave no trace in the store.
  const bool files = request.words.size() > 1;
  const std::string file = files ? std::string() : TRY(BillStorePath(request));
  BillStore store = TRY(files ? BillStore::OpenScratch(threads) : BillStore::Open(file, threads));
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  for (const std::string& path : request.Files()) TRY(ImportBill(store, path, request, progress));
  question.gpu_hour = TRY(AgreedPrices(store, settings, environment.now));
  BillReport report = TRY(Reconcile(store, question));
  report.ids = OwnIds();
  TextWish wish;
  wish.full = request.full;
  TRY(WriteOutput(request.output, Written(kBillWriters, format, report, PaperFor(environment, request.output, wish))));
  return 0;
}

Result<int> ValidateBills(const BillRequest& request, const Settings& settings, const Environment& environment) {
  const ReportFormat format = TRY(ChooseFormat(settings, "bill", request.output, FormatsOf(kValidationWriters)));
  if (request.words.size() != 2) return FailUsage("bill validate: name one FOCUS file");
  BillValidation validation = TRY(ValidateBill(request.words[1], {}));
  validation.ids = OwnIds();
  TextWish wish;
  wish.full = request.full;
  TRY(WriteOutput(request.output,
                  Written(kValidationWriters, format, validation, PaperFor(environment, request.output, wish))));
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
    {"validate", ValidateBills},
    {"sql", AskWithSql},
});

}  // namespace

Result<int> RunBill(const std::vector<std::string>& arguments, const Environment& environment) {
  BillRequest request;
  CommandFlags flags({"output.", "price.", "import.timezone", "import.max_gap", "import.gpu_model", "import.threads"});
  flags.Writes(FormatsOf(kBillWriters));
  flags.Add("action", "", "import FILE..., reconcile [FILE...], validate FILE, or sql QUERY").list = &request.words;
  Flag& telemetry =
      flags.Add("--telemetry", "INPUT", "logs or recordings of the GPUs (NODE=FILE if FILE names no node)");
  telemetry.list = &request.telemetry;
  telemetry.several = true;
  flags.Add("--ledger", "FILE", "the ledger of closed hours that idleburn fleet keeps").text = &request.ledger;
  flags.Add("--resources", "FILE", "CSV with resource,node: which machine a resource of the bill is").text =
      &request.resources;
  flags.Add("--invoice", "TOTAL", "the amount to pay, or a JSON file with total").text = &request.invoice;
  flags.Add("--invoice-id", "ID", "only rows of this invoice").text = &request.invoice_id;
  flags.Add("--month", "YYYY-MM", "only rows of this billing period").text = &request.month;
  flags.Add("--owner-tag", "KEY", "the tag that names the owner (default team, owner, cost_center or project)").text =
      &request.owner_tag;
  flags.Add("--columns", "MAP", "columns of another export, or a file with them: BilledCost=amount,ResourceName=node")
      .text = &request.columns;
  flags.Add("--replace", "", "import: the file restates its billing periods").on = &request.replace;
  flags.Add("--store", "FILE", "the imported bills (default in the user's data folder)").text = &request.store;
  flags.Add("--output", "FILE", "write there instead of the terminal").text = &request.output;
  flags.Add("--full", "", kFullHelp).on = &request.full;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  const auto settings = TRY(flags.Read("bill", "Imports invoices and says what each GPU dollar was for.", arguments));
  if (!settings) return 0;
  const std::string action = request.words.empty() ? "" : request.words.front();
  const auto* row = std::find_if(kBillActions.begin(), kBillActions.end(),
                                 [&](const BillActionRow& known) { return known.name == action; });
  if (row == kBillActions.end()) {
    return FailUsage("bill: " + (action.empty() ? "say what to do" : "no action '" + Printable(action) + "'") +
                     "; there are import, reconcile, validate and sql");
  }
  return row->run(request, *settings, environment);
}

}  // namespace idleburn
