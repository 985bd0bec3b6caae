#include <fmt/format.h>

#include <array>
#include <set>
#include <string_view>

#include "cli/commands.h"
#include "config/common_flags.h"
#include "price/find_rate.h"
#include "price/resolve.h"
#include "telemetry/gpu_facts.h"
#include "terminal/output.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/time_zone.h"

// `idleburn prices`: shows where a price comes from before a run depends on it. `resolve` asks the same functions as an
// audit, with the same settings, so its answer is the rate of the audit. The rules are in docs/money.md, "Which price".

namespace idleburn {
namespace {

// The flags as they were written.
struct PricesRequest {
  std::vector<std::string> words;  // action and what it is about
  std::string provider;
  std::string as_of;
  std::string output;
  std::string gpu;
};

// One offer as a line of the table: per GPU-hour, per instance-hour, GPU, date, key. Both prices are shown, because a
// catalogue row is the price of a whole instance. Fails if the division exceeds Money.
Result<std::string> RowLine(const CatalogueRow& row) {
  const Money per_gpu = TRY(PerGpuHour(row));
  return fmt::format("{:>12} {:>12}  {:<20} {:<10} {}\n", FormatExact(per_gpu), FormatExact(row.per_hour), row.gpu,
                     DayOrUndated(row.as_of), KeyOf(row));
}

// Returns the products of the catalogue with `name` in their names: "H100-80GB-SXM, H100-94GB-NVL" for "H100".
std::vector<std::string> Similar(const Catalogue& catalogue, std::string_view name) {
  const std::string part = NormalGpuName(name);
  std::set<std::string> gpus;
  for (const CatalogueRow* row : catalogue.Rows()) {
    const bool similar = !part.empty() && NormalGpuName(row->gpu).find(part) != std::string::npos;
    if (similar && gpus.count(row->gpu) == 0 && !RowsOfGpu(catalogue, row->gpu).empty()) gpus.insert(row->gpu);
  }
  return {gpus.begin(), gpus.end()};
}

// The error for a GPU without a row. It names the products that may be meant, because a GPU family is no product and
// has no price. `unknown` is the message if there is none.
tl::unexpected<Error> NoSuchGpu(const Catalogue& catalogue, const std::string& name, const std::string& unknown) {
  const std::vector<std::string> similar = Similar(catalogue, name);
  if (similar.empty()) {
    const std::string meant = MeantGpu(name, catalogue);
    return Fail("prices: " + unknown + (meant.empty() ? "" : "; did you mean " + meant + "?"));
  }
  return Fail("prices: '" + name.substr(0, 60) +
              (similar.size() == 1 ? "' is not a product name" : "' matches several products") + ": say " +
              ListText(similar));
}

// Its columns have the widths of RowLine.
constexpr const char* kHeading = " $/GPU-hour  $/instance-h  GPU                  as of      key for --price\n";

Result<std::string> RowLines(const std::vector<const CatalogueRow*>& rows) {
  std::string text = kHeading;
  for (const CatalogueRow* row : rows) {
    const Result<std::string> line = RowLine(*row);
    if (!line) return line;
    text += *line;
  }
  return text;
}

// `prices list`: the catalogue, or the rows of one GPU. With --output it writes the form that --prices reads, so that a
// user can edit and use it.
Result<int> ListPrices(const PricesRequest& request, const Catalogue& catalogue) {
  // The name of a driver works too: RowsOfGpu knows which product it means.
  std::vector<const CatalogueRow*> rows = request.gpu.empty() ? catalogue.Rows() : RowsOfGpu(catalogue, request.gpu);
  if (rows.empty())
    return NoSuchGpu(catalogue, request.gpu,
                     "no row for the GPU '" + request.gpu.substr(0, 60) + "'; idleburn prices list shows all");
  if (!request.output.empty()) {
    TRY(WriteOutput(request.output, WritePrices(rows)));
    return 0;
  }
  const std::string text = TRY(RowLines(rows));
  TRY(Print(text));
  return 0;
}

// Where the rows were taken from, a line a source: a price that cannot be looked up again is hearsay.
std::string SourceLines(const std::vector<const CatalogueRow*>& rows) {
  std::set<std::string> sources;
  for (const CatalogueRow* row : rows) {
    if (!row->source.empty()) sources.insert(row->source);
  }
  std::string text;
  for (const std::string& source : sources) text += "from " + Printable(source) + "\n";
  return text;
}

// The rate as an audit would find it. A number or a key is a price itself. Anything else is a GPU, which may be under a
// contract. `live` makes a stated price for another GPU no error: the user asks about this one.
Result<Rate> AskedRate(const std::string& what, const Catalogue& catalogue, const Settings& settings, Instant now) {
  if (what.find('@') != std::string::npos || Money::Parse(what)) {
    return RateOfGiven(settings, catalogue, {GpuSelector(""), what, what}, now);
  }
  RateQuestion question;
  question.live = true;
  const Prices prices = TRY(OpenRates(settings, now));
  Rate rate = TRY(RateOfModels(prices.For(question), std::vector<std::string>{what}));
  if (rate.reason != "no_price") return rate;
  // "H100" names several products. As a price it is the range of them all.
  Result<Rate> family = RateOfGiven(settings, catalogue, {GpuSelector(""), what, what}, now);
  return family ? family : Result<Rate>(std::move(rate));
}

// `prices resolve`. Several prices are an answer too: the range and the offers, from which the user chooses a key.
Result<int> Resolve(const PricesRequest& request, const Catalogue& catalogue, const Settings& settings,
                    const Environment& environment) {
  if (request.words.size() != 2)
    return FailUsage("prices resolve: give one GPU name, number or key, e.g. 'NVIDIA H100 80GB HBM3'");
  const std::string& what = request.words[1];
  const Rate rate = TRY(AskedRate(what, catalogue, settings, environment.now));
  // One price: the audit would use it.
  if (rate.per_gpu_hour) {
    TRY(Print(fmt::format("{} a GPU-hour ({}{})\n", UnitPrice(*rate.per_gpu_hour, rate.currency), rate.source,
                          rate.stale ? ", older than 90 days" : "")));
    return 0;
  }
  // No price at all, as opposed to several.
  if (rate.reason != "ambiguous_price") {
    return NoSuchGpu(
        catalogue, what,
        "no price is known for '" + what.substr(0, 60) + "'; give one with --price, or a list with --prices");
  }
  std::vector<const CatalogueRow*> rows;
  for (const Rate::Candidate& c : rate.candidates) rows.push_back(catalogue.Find(c.key));
  const std::string lines = TRY(RowLines(rows));
  TRY(Print(fmt::format("{} a GPU-hour: {} offers; choose one with --price KEY:\n{}{}",
                        AmountInterval(*rate.low, *rate.high, rate.currency), rows.size(), lines, SourceLines(rows))));
  return 0;
}

// `prices import`: reads a price list and says what was left out, by reason. A short list must not pass for a complete
// one.
Result<int> Import(const PricesRequest& request, const Catalogue& catalogue) {
  if (request.words.size() != 2)
    return FailUsage(
        "prices import: give one file, e.g. idleburn prices import vms.csv --provider lambda -o prices.csv");
  PriceFileOptions options;
  options.provider = request.provider;
  if (!request.as_of.empty()) {
    const Result<Instant> as_of = ParseDayOrTime(request.as_of);
    if (!as_of) return FailUsage("--as-of: " + as_of.error().message);
    options.as_of = *as_of;
  }
  DataQuality quality;
  const PriceFile file = TRY(OpenPrices(request.words[1], options, catalogue, quality));
  std::vector<const CatalogueRow*> rows;
  for (const CatalogueRow& row : file.rows) rows.push_back(&row);
  TRY(WriteOutput(request.output, WritePrices(rows)));
  Say(
      fmt::format("{} read. Left out: {} host without its GPU, {} GPU without its host, {} not for sale (no price, or "
                  "700.0). Also left out: {} spot prices equal to on-demand, {} cheaper ones of the same key. {} "
                  "without a stated form (found by key only); {} rounded to nine decimals",
                  rows.size() == 1 ? "1 price" : fmt::format("{} prices", rows.size()), file.host_only, file.gpu_only,
                  file.unavailable, file.spot_not_offered, file.not_told_apart, file.form_not_stated,
                  quality.CountOf(QualityId::kPriceRounded)));
  return 0;
}

// Fails on a flag of another action. It would do nothing here, and its user expects something to happen.
Result<void> CheckFlags(const PricesRequest& request, const Settings& settings) {
  // A flag, whether it was given, and the actions that use it.
  struct ActionFlag {
    std::string_view flag;
    bool given;
    std::string_view actions;
  };
  // A price in a settings file is for audits, and no mistake here. Only flags count.
  const auto set = [&](std::string_view key, std::string_view flag) { return settings.Get(key).origin == flag; };
  const std::array<ActionFlag, 8> flags = {{{"--gpu", !request.gpu.empty(), "list"},
                                            {"--provider", !request.provider.empty(), "import"},
                                            {"--as-of", !request.as_of.empty(), "import"},
                                            {"--output", !request.output.empty(), "list and import"},
                                            {"--price", set("price.rate", "--price"), "resolve"},
                                            {"--contracts", set("price.contracts", "--contracts"), "resolve"},
                                            {"--owned", set("price.owned", "--owned"), "resolve"},
                                            {"--currency", set("price.currency", "--currency"), "resolve"}}};
  const std::string& action = request.words.front();
  for (const ActionFlag& f : flags) {
    if (!f.given || f.actions.find(action) != std::string_view::npos) continue;
    return FailUsage("prices " + action + ": " + std::string(f.flag) + " is a flag of prices " +
                     std::string(f.actions) + ", not of this action");
  }
  return {};
}

}  // namespace

Result<int> RunPrices(const std::vector<std::string>& arguments, const Environment& environment) {
  PricesRequest request;
  CommandFlags flags({"price.rate", "price.catalogue", "price.contracts", "price.owned", "price.currency"});
  Flag& words = flags.Add("action", "list|resolve WHAT|import FILE",
                          "list the catalogue; find a price for a GPU name, number or key; read a price list");
  words.list = &request.words;
  words.required = true;
  flags.Add("--gpu", "NAME", "list: only rows of this GPU").text = &request.gpu;
  flags.Add("--provider", "NAME", "import: the provider of a SkyPilot catalogue").text = &request.provider;
  flags.Add("--as-of", "DATE", "import: date of the prices, 2026-11-01").text = &request.as_of;
  flags.Add("--output", "FILE", "list, import: write the rows here as CSV, for --prices").text = &request.output;
  const auto settings = TRY(
      flags.Read("prices", "Shows the price catalogue: USD per hour, with place, market, date and source.", arguments));
  if (!settings) return 0;
  const std::string& action = request.words.front();
  if (action != "list" && action != "resolve" && action != "import") {
    return FailUsage("prices: '" + action.substr(0, 20) + "' is not one of list, resolve, import");
  }
  TRY(CheckFlags(request, *settings));
  if (action == "list" && request.words.size() > 1) {
    return FailUsage("prices list: '" + request.words[1].substr(0, 40) +
                     "' is one word too many; rows of one GPU: idleburn prices list --gpu NAME");
  }
  DataQuality quality;
  const Catalogue catalogue = TRY(LoadPrices(settings->Text("price.catalogue"), quality));
  if (action == "list") return ListPrices(request, catalogue);
  if (action == "resolve") return Resolve(request, catalogue, *settings, environment);
  return Import(request, catalogue);
}

}  // namespace idleburn
