#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/comparison_writers.h"
#include "report/json_values.h"
#include "text/escape.h"

// Whether jobs that were selected for being bad gained more than they would have by themselves, as a page and as JSON
// (docs/claim-and-compare.md, "Runs and jobs that were picked for being bad").
namespace idleburn {
namespace {

// A change needs its sign: a larger value is better here.
std::string Signed(double value) { return fmt::format("{:+.4g}", value); }
std::string WithError(double value, double error) {
  return fmt::format("{:+.4g} (standard error {:.3g})", value, error);
}

// The verdict in one sentence. It can only indicate: without a claim written before, nothing is proven here.
std::string ReversionVerdictText(const ReversionReport& report) {
  const ReversionReading& reading = report.reading;
  const std::string change =
      fmt::format("{} beyond what they would have done by themselves ({:g} % interval {} to {})",
                  Signed(reading.net_change), 100 * report.level, Signed(reading.low), Signed(reading.high));
  const std::string name = std::string(VerdictName(reading.verdict)) + ": the selected jobs ";
  switch (reading.verdict) {
    case Verdict::kIndicated:
      return name + "seem to have gained " + change + "; that is no proof yet.";
    case Verdict::kIndicatedRegression:
      return name + "seem to have lost: " + change + "; that is no proof yet.";
    default:
      return name + "changed by " + change + ", which may be nothing.";
  }
}

}  // namespace

// All values are in the unit of the input file. `df` are the degrees of freedom behind the interval.
std::string ReversionJson(const ReversionReport& report) {
  const ReversionReading& reading = report.reading;
  auto json = BeginDocument<nlohmann::ordered_json>("idleburn.reversion/1", report.ids);
  json["version"] = report.version;
  json["verdict"] = VerdictName(reading.verdict);
  json["jobs"] = {{"selected", reading.chosen}, {"untouched", reading.untouched}};
  json["raw_change"] = reading.raw_change;
  json["slope"] = {{"estimate", reading.slope}, {"standard_error", reading.slope_error}};
  json["expected_change"] = {{"estimate", reading.expected_change}, {"standard_error", reading.expected_error}};
  json["net_change"] = {{"estimate", reading.net_change}, {"standard_error", reading.net_error}, {"low", reading.low},
                        {"high", reading.high},           {"confidence", report.level},          {"df", reading.df}};
  json["input"] = {{"name", Printable(report.name)}, {"sha256", report.sha256}};
  return json.dump(2) + "\n";
}

ReportPage ReversionPage(const ReversionReport& report) {
  const ReversionReading& reading = report.reading;
  ReportPage page;
  page.heading = "Selected jobs";
  page.title = TitleAndIds(fmt::format("{} selected jobs of {}, beside {} that were left alone", reading.chosen,
                                       report.name, reading.untouched),
                           report.ids);
  page.verdict = ReversionVerdictText(report);
  page.why = {
      fmt::format("jobs that are selected for a bad value drift back by themselves: of the raw {}, {} was to "
                  "be expected with no effect at all.",
                  Signed(reading.raw_change), Signed(reading.expected_change))};
  page.next = {
      "to prove a saving, claim it before the change and measure GPU-seconds per unit of work: idleburn claim"};
  ReportTable figures;
  figures.title = "Figures, in the unit of the file; a larger value is better";
  figures.columns = {{"figure"}, {"value"}};
  figures.columns[1].wraps = true;
  figures.rows = {{"raw change", Signed(reading.raw_change) + " on the mean of the selected jobs, after less before"},
                  {"slope", WithError(reading.slope, reading.slope_error) + " of after on before, untouched jobs"},
                  {"expected", WithError(reading.expected_change, reading.expected_error) + " with no effect"},
                  {"net change", WithError(reading.net_change, reading.net_error) + ", raw less expected"}};
  page.tables = {figures};
  return page;
}

std::string JobsDocument(const ReversionReport& report, ReportFormat format, int width, bool color) {
  switch (format) {
    case ReportFormat::kText:
      return PageText(ReversionPage(report), width, color);
    case ReportFormat::kJson:
      return ReversionJson(report);
    case ReportFormat::kHtml:
      return PageHtml(ReversionPage(report));
    case ReportFormat::kMarkdown:
      return PageMarkdown(ReversionPage(report));
    case ReportFormat::kCsv:
    case ReportFormat::kParquet:
      break;
  }
  return {};
}

}  // namespace idleburn
