// `idleburn tco`: the command, its four outputs, and what it warns of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "history/open_history.h"
#include "history/runs.h"
#include "places.h"
#include "support/documented_keys.h"
#include "support/program.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr const char* kExample = IDLEBURN_ROOT "/examples/tco.toml";

// A scenario that uses all there is.
constexpr const char* kEverything = R"(name = "all"
horizon_months = 6
budget = 30000
[shared]
h100 = ["2.29", "2.50", "2.95"]
[[compute]]
gpu_hours = 800
price = "h100"
purchase = "on_demand"
as_of = "2026-07-01"
[[infrastructure]]
name = "CI"
monthly = 100
paid_in = "1-3"
[[inference]]
name = "api"
requests = 1000
per_request = "0.001"
[[inference]]
name = "peak"
peak_rps = 100
rps_per_gpu = 30
price = "h100"
minimum_replicas = 1
[[inference]]
name = "node"
hourly = 1
[[operations]]
share_of_compute = "5%"
[[risk]]
probability = "5%"
impact = 40000
[units]
samples = 200000
gpu_hours = 800
utilisation = "60%"
[[variant]]
name = "spot"
[[variant.lever]]
name = "spot"
line = "compute"
rate = "60%"
[own]
capex = 300000
residual = "10%"
life_years = 4
gpus = 8
kilowatts = "10.2"
pue = "1.3"
tariff = "0.12"
support_a_year = "5%"
space_a_year = 18000
cloud = ["0.50", "2.95"]
)";

json Document(const std::string& arguments) {
  const ProgramRun run = RunIdleburn("tco --format json " + arguments);
  EXPECT_EQ(run.code, 0) << run.err;
  json document = json::parse(run.out, nullptr, false);
  EXPECT_TRUE(document.is_object()) << run.out;
  return document;
}

TEST(TcoTest, TheTemplateIsTheWorkedExample) {
  const TempFolder folder;
  const std::string path = (folder.path() / "mine.toml").string();
  EXPECT_EQ(RunIdleburn("tco init -o " + path).code, 0);
  EXPECT_EQ(RunIdleburn("tco init -o " + path).code, 1);  // nothing is written over
  EXPECT_EQ(RunIdleburn("tco init " + path).code, 1);
  EXPECT_EQ(Document(path)["warnings"].dump().find("as_of"), std::string::npos);  // it loads as it is
  const json document = Document(path);
  EXPECT_EQ(document["horizon_months"], 6.0);
  EXPECT_EQ(document["scenarios"][0]["subtotal"], "21550.00");
  EXPECT_EQ(document["scenarios"][0]["contingency"], "3232.50");
  EXPECT_EQ(document["scenarios"][0]["total"], "24782.50");
  EXPECT_EQ(document["scenarios"][1]["total"], "14720.00");
  EXPECT_NEAR(document["savings"]["fraction"].get<double>(), 0.40603, 5e-6);
}

TEST(TcoTest, TheTextShowsEveryCategoryAndAddsUp) {
  const ProgramRun run = RunIdleburn(std::string("tco --full ") + kExample);
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* part :
       {"naive costs $24,782.50 over 6 months. optimised: $14,720.00, 40.6 % less.", "$0.00 (not given)",
        "$3,232.50 (15 %)", "$1,920.00 (15 %)", "labelling", "storage", "months of 720 h", "compute.fine-tuning x 0.3",
        "naive: not given: operations, depreciation, risk", "200 gpu_hours x 2.5 price x 4",
        "on_demand, as of 2026-11-01"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run.out;
  }
}

// Example B of tco/plan_cost_test.cc: of four circulating bases only the exact one is printed.
TEST(TcoTest, OnlyTheExactRowOfExampleBIsPrinted) {
  const TempFolder folder;
  for (const char* format : {"text", "json", "csv", "html"}) {
    const ProgramRun run = RunIdleburn("tco --format " + std::string(format) + " " + kExample);
    for (const char* other : {"24650", "24,650", "24500", "24,500", "14450", "14,450", "14547.5", "14,547.5", "41.3",
                              "41.0", "0.413", "0.410", "41.29", "0.4129"}) {
      EXPECT_EQ(run.out.find(other), std::string::npos) << other << " in " << format;
    }
    EXPECT_TRUE(run.out.find("14,720.00") != std::string::npos || run.out.find("14720.00") != std::string::npos);
  }
}

// The figures of tco/plan_cost_test.cc, through a scenario.
TEST(TcoTest, UnitsAreSaidWithWhoseMoneyTheyAre) {
  const TempFolder folder;
  const ProgramRun run = RunIdleburn(
      "tco --full " +
      folder.Write("c.toml",
                   "contingency = 0\nhorizon_months = 1\n[[compute]]\namount = 80\n[[inference]]\nname = "
                   "\"api\"\nrequests = 1000\nprice = \"2.95\"\nrequests_per_s = 20\nutilisation = \"35%\"\n"
                   "[[inference]]\nname = \"chat\"\ntokens = 1000000\nprice = \"2.95\"\ntokens_per_s = 2400\n"
                   "utilisation = \"35%\"\n[[inference]]\nname = \"node\"\nhourly = 4\n"
                   "[units]\ngpu_hours = 10\nutilisation = \"60%\"\n"));
  for (const char* part :
       {"compute per effective GPU-hour: $13.33", "compute that was not busy: $32.00",
        "inference.api per 1,000 requests: $0.117", "inference.chat per 10^6 tokens: $0.976",
        "inference.node: $4.00 an hour is $2,880.00 a month of 720 h, $34,560.00 in twelve of them"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run.out;
  }
  const ProgramRun idle = RunIdleburn(
      "tco --full " + folder.Write("z.toml", "[[compute]]\namount = 80\n[units]\ngpu_hours = 10\nutilisation = 0\n"));
  EXPECT_NE(idle.out.find("per effective GPU-hour: undefined"), std::string::npos) << idle.out;
}

TEST(TcoTest, WhatWasPaidStandsBesideThePlanMonthByMonth) {
  const TempFolder folder;
  const std::string paid = " --actuals " + folder.Write("paid.csv",
                                                        "month,category,amount\n2026-01,compute,500.50\n"
                                                        "2026-02,compute,20\n2026-02,,5\n");
  const ProgramRun run = RunIdleburn("tco --full " + std::string(kExample) + paid);
  for (const char* part : {"actual to date", "re-forecast", "  unallocated ", "525.50", "520.50", "2026-01", "+50.2 %",
                           "Month by month", "2026-06  forecast"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run.out;
  }
  const ProgramRun page = RunIdleburn("tco --format html " + std::string(kExample) + paid);
  for (const char* part : {"Plan and actual, month by month", "2026-02 actual: $25.00", "<td>unallocated</td>",
                           "2026-06 forecast: $3,591.67", "Levers of optimised"}) {
    EXPECT_NE(page.out.find(part), std::string::npos) << part;
  }
}

// Independent sums of the export's rows: 850 of compute, 40.25 of data, 9.75 that no category claims, in two months.
TEST(TcoTest, ABillingExportStandsBesideThePlan) {
  const TempFolder folder;
  const std::string bill = folder.Write(
      "focus.csv",
      "BillingCurrency,ChargePeriodStart,ServiceCategory,BilledCost,EffectiveCost,ConsumedQuantity,ConsumedUnit\n"
      "USD,2026-07-03T00:00:00Z,Compute,999,600.00,240,GPU-Hours\n"
      "USD,2026-07-20T00:00:00Z,Storage,999,40.25,,\n"
      "USD,2026-08-02T00:00:00Z,AI and Machine Learning,999,260.00,100,GPU-Hours\n"
      "USD,2026-08-02T00:00:00Z,Compute,999,-10.00,0,GPU-Hours\n"
      "USD,2026-08-05T00:00:00Z,Something,999,9.75,,\n");
  const json actuals = Document(std::string(kExample) + " --actuals " + bill)["actuals"];
  EXPECT_EQ(actuals["column"], "EffectiveCost");
  EXPECT_EQ(actuals["actual"], "900.00");
  EXPECT_EQ(actuals["categories"][0]["actual"], "850.00");
  EXPECT_EQ(actuals["categories"][1]["actual"], "40.25");
  EXPECT_EQ(actuals["categories"][8]["category"], "unallocated");
  EXPECT_EQ(actuals["categories"][8]["actual"], "9.75");
  // 340 GPU-hours at 2.50 are 850.00: all of the variance against a third of 2,000 is quantity.
  EXPECT_EQ(actuals["variances"][0]["price"], "0.00");
  EXPECT_EQ(actuals["variances"][0]["quantity"], "183.33");
  // 900.00 paid, four of six months of 21,550.00 are left, and two of what has no row: 14,900.00 in all.
  EXPECT_EQ(actuals["reforecast"], "20233.33");
  EXPECT_EQ(actuals["forecast"].size(), 6U);
  EXPECT_EQ(actuals["forecast"][1]["actual"], "259.75");
  EXPECT_EQ(actuals["burn_days"], 30);        // 5 July is outside, the 20th is within
  EXPECT_EQ(actuals["burn_a_day"], "10.00");  // 40.25 + 259.75 in thirty days
}

void KeepRun(SqliteDatabase& history, const std::string& id, const std::string& project, std::int64_t cents) {
  HistoryRun run;
  run.id = id + std::string(31, '0');
  run.kind = "run";
  run.state = RunState::kEnded;
  run.started = Instant::FromNanos(1'763'755'200 * kNanosPerSecond);  // 2025-11-21T20:00:00Z
  run.ended = run.started + Nanos(kNanosPerSecond);
  run.project = project;
  run.figures.currency = "USD";
  run.figures.rate_nano = 2'000'000'000;
  run.figures.cost_nano = Money::Cents(cents).nano();
  EXPECT_TRUE(PutRun(history, run).has_value());
}

TEST(TcoTest, ActualsOfTheHistoryAreThoseOfAProject) {
  const TempFolder folder;
  const std::string file = " --history " + (folder.path() / "h.sqlite").string();
  const ProgramRun none = RunIdleburn("tco --full " + std::string(kExample) + " --actuals history" + file);
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("there is no history yet"), std::string::npos) << none.err;
  HistoryOptions options;
  options.now = Instant::FromNanos(1'763'755'200 * kNanosPerSecond);
  Result<SqliteDatabase> history = OpenHistory((folder.path() / "h.sqlite").string(), options);
  ASSERT_TRUE(history.has_value());
  KeepRun(*history, "a", "vision", 12'000);
  KeepRun(*history, "b", "vision", 3'000);
  KeepRun(*history, "c", "speech", 700);
  const std::string base = std::string(kExample) + " --actuals history" + file;
  EXPECT_EQ(Document(base)["actuals"]["actual"], "157.00");
  const json vision = Document(base + " --project vision")["actuals"];
  EXPECT_EQ(vision["actual"], "150.00");
  EXPECT_EQ(vision["column"], "history");
  EXPECT_EQ(vision["months"][0]["month"], "2025-11");
  EXPECT_EQ(vision["months"][0]["actual"], "150.00");
  // 75 GPU-hours at 2.00 instead of a sixth of 800 at 2.50, 333.33: the parts sum to the variance, -183.33.
  EXPECT_EQ(vision["variances"][0]["price"], "-37.50");
  EXPECT_EQ(vision["variances"][0]["quantity"], "-145.83");
  EXPECT_NE(RunIdleburn("tco --full " + base + " --project sound").err.find("no run of project 'sound'"),
            std::string::npos);
  EXPECT_NE(RunIdleburn("tco --full " + base + " --actuals-tag team=x").err.find("no run tagged team=x"),
            std::string::npos);
  EXPECT_EQ(RunIdleburn("tco --full " + std::string(kExample) + " --actuals-tag team=x").code, 2);
  EXPECT_EQ(RunIdleburn("tco --full " + base + " --actuals-tag team").code, 2);
}

// What a reader needs first: the verdict, why, what to do, and only then the table.
TEST(TcoTest, VerdictWhyNextThenTheTable) {
  const std::string out = RunIdleburn(std::string("tco --full ") + kExample).out;
  std::size_t last = 0;
  for (const char* part : {"naive costs $24,782.50", "  why   naive: labour $13,500.00, 54.5 %",
                           "optimised against naive: labour $4,500.00 less; data $2,500.00 less",
                           "  next  CI gates alone would save $5,175.00: ",
                           "active learning alone would save $2,875.00: ", "LoRA alone would save $1,610.00: ",
                           "as of 20", "\nCosts\n", "\nLevers of optimised", "\nHow the lines of naive were made\n"}) {
    const std::size_t at = out.find(part, last);
    ASSERT_NE(at, std::string::npos) << part << "\n" << out;
    last = at;
  }
}

// Largest first, a line each, with what to do.
TEST(TcoTest, LeversAreRankedInEveryFormat) {
  const json alone = Document(kExample)["scenarios"][1]["levers_alone"];
  ASSERT_EQ(alone.size(), 5U);
  const char* const saves[] = {"5175.00", "2875.00", "1610.00", "345.00", "57.50"};
  const std::string markdown = RunIdleburn(std::string("tco --format markdown ") + kExample).out;
  const std::string page = RunIdleburn(std::string("tco --format html ") + kExample).out;
  std::size_t in_markdown = markdown.find("Levers of optimised");
  std::size_t in_page = page.find("Levers of optimised");
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(alone[i]["saves"], saves[i]);
    const std::string name = alone[i]["name"];
    EXPECT_TRUE(alone[i]["todo"].is_string()) << name;
    in_markdown = markdown.find("| " + name + " |", in_markdown);
    in_page = page.find("<td>" + name + "</td>", in_page);
    ASSERT_NE(in_markdown, std::string::npos) << name;
    ASSERT_NE(in_page, std::string::npos) << name;
  }
}

// Every view of one answer has the same totals: markdown, CSV and the page against the document.
TEST(TcoTest, MarkdownAndCsvFollowTheMonthsToo) {
  const TempFolder folder;
  const std::string arguments = std::string(kExample) + " --earned 25% --actuals " +
                                folder.Write("paid.csv",
                                             "month,line,amount,status\n2026-01,fine-tuning,500.50,closed\n"
                                             "2026-02,labour,3000,open\n");
  const json actuals = Document(arguments)["actuals"];
  EXPECT_EQ(actuals["reforecast"], "20052.00");  // 3,500.50 / 0.25, and 6,050.00 planned without a row
  EXPECT_EQ(actuals["reforecast_by"], "cost_efficiency");
  EXPECT_EQ(actuals["lines"][0]["line"], "compute.fine-tuning");
  double months = 0;
  for (const json& month : actuals["forecast"]) months += std::stod(month["expected_exact"].get<std::string>());
  EXPECT_NEAR(months, 20052, 1e-6);
  double categories = 0;
  for (const json& c : actuals["categories"]) categories += std::stod(c["reforecast_exact"].get<std::string>());
  EXPECT_NEAR(categories, 20052, 1e-6);
  const std::string csv = RunIdleburn("tco --format csv " + arguments).out;
  for (const char* row :
       {"naive,compute,,500.50,USD,true,actual,2026-01\n", "naive,total,,3000.00,USD,true,actual,2026-02\n",
        "naive,total,,20052.00,USD,true,forecast,\n", ",forecast,2026-06\n"}) {
    EXPECT_NE(csv.find(row), std::string::npos) << row << csv;
  }
  const std::string markdown = RunIdleburn("tco --format markdown " + arguments).out;
  for (const char* row : {"| total | $24,782.50 | $14,720.00 | $3,500.50 | $20,052.00 |",
                          "| total |  | $21,550.00 | $20,052.00 | -$1,498.00 |", "| 2026-02 | paid, open |",
                          "fine-tuning | $2,000.00 | $600.00 | $500.50 |  |"}) {
    EXPECT_NE(markdown.find(row), std::string::npos) << row << markdown;
  }
}

// The figures of tco/actuals_test.cc, from files to the verdict.
TEST(TcoTest, WhatWasPaidIsExplainedByPriceAndQuantity) {
  const TempFolder folder;
  const std::string plan = folder.Write(
      "f.toml", "name = \"ft\"\nhorizon_months = 1\nbudget = 3000\n[[compute]]\ngpu_hours = 800\nprice = \"2.50\"\n");
  const std::string bill =
      folder.Write("f.csv", "month,line,amount,quantity,status\n2025-10,compute,2576,920,closed\n");
  const std::string out = RunIdleburn("tco --full " + plan + " --earned 80% --actuals " + bill).out;
  for (const char* part : {"re-forecast $3,220.00 against $2,000.00", "budget of $3,000.00 by $220.00",
                           "$576.00 above, $276.00 by price and $300.00", "raise the budget or cut the remaining work",
                           "cost efficiency 0.621: at completion $3,220.00",
                           "at completion $2,976.00 if the rest goes as planned", "+28.8 %", "2025-11  forecast"}) {
    std::string flat = out;  // lines may break within a sentence
    for (std::size_t at = flat.find("\n"); at != std::string::npos; at = flat.find("\n", at)) {
      flat.replace(at, flat.find_first_not_of(' ', at + 1) - at, " ");
    }
    EXPECT_TRUE(out.find(part) != std::string::npos || flat.find(part) != std::string::npos) << part << out;
  }
}

TEST(TcoTest, RangesGivePercentilesAndWhatMatters) {
  const TempFolder folder;
  const std::string path =
      folder.Write("r.toml",
                   "name = \"r\"\ncontingency = 0\nbudget = 100\n[[labour]]\namount = [0, 10, 40]\n[[data]]\n"
                   "amount = [79, 80, 81]\n");
  const ProgramRun run = RunIdleburn("tco --full " + path);
  for (const char* part : {"How sure", "P10", "P50", "P90", "nine in ten draws of r come to at most",
                           "What matters in r", "labour.labour.amount matters most", "add one of them, never both"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part << run.out;
  }
  EXPECT_LT(run.out.find("  labour.labour.amount "), run.out.find("  data.data.amount "));  // the larger swing first
  const json draws = Document(path)["scenarios"][0]["draws"];
  // The wide triangle alone: F(x) = 1 - (40 - x)^2 / 1200 from 10 on; the narrow one moves it by at most 1.
  EXPECT_NEAR(draws["p90"].get<double>(), 80 + 40 - std::sqrt(120.0), 1);
  EXPECT_NEAR(draws["over_budget"].get<double>(), 400.0 / 1200, 0.03);
  EXPECT_NE(RunIdleburn("tco --format html " + path).out.find("from the low to the high end"), std::string::npos);
}

// The server of tco/plan_cost_test.cc, through a scenario.
TEST(TcoTest, BuyingAgainstRentingSaysFromWhichUseOn) {
  const TempFolder folder;
  std::string text = "[own]\n";
  for (const char* line : {"capex = 300000", "residual = \"10%\"", "life_years = 4", "gpus = 8", "kilowatts = \"10.2\"",
                           "pue = \"1.3\"", "tariff = \"0.12\"", "support_a_year = \"5%\"", "space_a_year = 18000",
                           "utilisation = [\"100%\", \"70%\", \"40%\"]", "cloud = [\"2.29\", \"2.95\", \"6.88\"]",
                           "payback_at = \"70%\""}) {
    text += std::string(line) + "\n";
  }
  const std::string path = folder.Write("own.toml", text);
  const std::string out = RunIdleburn("tco --full " + path).out;
  for (const char* part : {"$1.63", "$2.33", "$4.08", "from 71.3 % use", "from 55.4 % use", "from 23.7 % use",
                           "in 55 months of 730 h", ", longer", "in 36.8 months of 730 h", "in 12.4 months of 730 h",
                           "$114,438.91 = depreciation $67,500.00, energy $13,938.91",
                           "at $2.95 a GPU-hour buy only if jobs get more than 55.4 % of its GPU-hours"}) {
    EXPECT_NE(out.find(part), std::string::npos) << part << out;
  }
  const std::string page = RunIdleburn("tco --format html " + path).out;
  EXPECT_NE(page.find("<polyline"), std::string::npos);
  EXPECT_NE(page.find("rented at $2.95"), std::string::npos);
  const std::string cheap = folder.Write("cheap.toml", text + "cloud_falls_a_year = \"60%\"\n");
  EXPECT_NE(RunIdleburn("tco --full " + cheap).out.find("rent: owning costs more even when always busy"),
            std::string::npos);
}

TEST(TcoTest, WhereThereIsOnlyAServerToBuyThatIsTheVerdict) {
  const TempFolder folder;
  const std::string own = folder.Write("own.toml", "[own]\ncapex = 87600\nlife_years = 1\ngpus = 1\ncloud = [5]\n");
  const std::string out = RunIdleburn("tco --full " + own).out;
  EXPECT_EQ(out.find("Owning costs $87,600.00 a year, $10.00 a delivered GPU-hour at 100 % use."), 0U) << out;
  EXPECT_NE(out.find("at $5.00 a GPU-hour rent"), std::string::npos) << out;
}

TEST(TcoTest, ABudgetThatThePlanExceedsIsSaidFirst) {
  const TempFolder folder;
  const std::string over = folder.Write("b.toml", "budget = 100\n[[labour]]\namount = 100\n");
  EXPECT_NE(RunIdleburn("tco --full " + over).out.find("The plan exceeds the budget of $100.00 by $15.00."),
            std::string::npos);
}

TEST(TcoTest, GivenAndNotGivenAreToldApart) {
  const TempFolder folder;
  const ProgramRun run = RunIdleburn("tco --full " + folder.Write("a.toml", "[[risk]]\namount = 0\n"));
  EXPECT_NE(run.out.find("$0.00 (given)"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("$0.00 (not given)"), std::string::npos) << run.out;
}

TEST(TcoTest, ABillWithoutRowsIsSaidSo) {
  const TempFolder folder;
  const std::string bill = folder.Write("paid.csv", "month,category,amount\n");
  const json document = Document(std::string(kExample) + " --actuals " + bill);
  const json& warnings = document["warnings"];
  EXPECT_NE(std::find(warnings.begin(), warnings.end(), "actuals: " + bill + " has no rows: nothing was paid"),
            warnings.end())
      << warnings;
}

TEST(TcoTest, PrintedLinesSumToThePrintedTotal) {
  const TempFolder folder;
  std::string text = "contingency = 0\n";  // thirds of a cent: 0.33 + 0.33 + 0.33 is not 1.00
  for (const char* name : {"a", "b", "c"}) {
    text += "[[compute]]\nname = \"" + std::string(name) + "\"\namount = \"0.333333333\"\n";
  }
  const ProgramRun run = RunIdleburn("tco --full " + folder.Write("a.toml", text));
  EXPECT_NE(run.out.find(" $1.00\n"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(" $0.34\n"), std::string::npos) << run.out;
}

TEST(TcoTest, EveryKeyIsDocumentedAndEveryDocumentedOneIsWritten) {
  const TempFolder folder;
  const std::string path = folder.Write("all.toml", kEverything);
  const std::string paid =
      folder.Write("paid.csv", "month,line,amount,quantity\n2026-01,compute,500,200\n2026-01,CI,9,\n2026-01,,5,\n");
  std::vector<std::string> documents;
  for (const std::string& arguments : {path + " --actuals " + paid + " --earned 20%", std::string(kExample)}) {
    json document = Document(arguments);
    std::vector<std::string> categories;
    for (const auto& [category, item] : document["scenarios"][0]["items"].items()) categories.push_back(category);
    EXPECT_EQ(categories.size(), 8U);
    for (const std::string& category : categories) {
      json one = document;
      for (json& scenario : one["scenarios"]) scenario["items"] = {{"<category>", scenario["items"][category]}};
      documents.push_back(one.dump());
    }
  }
  const std::string energy = folder.Write(
      "energy.toml", "[[infrastructure]]\ngpu_hours = 8\nwatts = 350\ntariff = \"0.12\"\ngrid_kg_per_kwh = \"0.4\"\n");
  json emitting = Document(energy);
  json& items = emitting["scenarios"][0]["items"];
  items = {{"<category>", items["infrastructure"]}};
  documents.push_back(emitting.dump());
  test::ExpectDocumented("idleburn.tco/1", documents);
}

TEST(TcoTest, DrawsComeOutTheSameAgain) {
  const TempFolder folder;
  const std::string path = folder.Write("all.toml", kEverything);
  const json one = Document(path + " --seed 3");
  EXPECT_EQ(one["scenarios"][0]["draws"], Document(path + " --seed 3")["scenarios"][0]["draws"]);
  EXPECT_NE(one["scenarios"][0]["draws"]["p50"], Document(path + " --seed 4")["scenarios"][0]["draws"]["p50"]);
  EXPECT_EQ(one["scenarios"][0]["draws"]["count"], 10000);
}

TEST(TcoTest, CsvAndHtmlHoldTheSameTotals) {
  const TempFolder folder;
  const std::string html = (folder.path() / "x.html").string();
  const std::string csv = (folder.path() / "x.csv").string();
  const std::string path = folder.Write("all.toml", kEverything);
  EXPECT_EQ(RunIdleburn(std::string("tco --full ") + kExample + " " + path + " -o " + html).code, 0);
  EXPECT_EQ(RunIdleburn(std::string("tco --full ") + kExample + " -o " + csv).code, 0);
  EXPECT_NE(ReadText(csv).find("naive,total,,24782.50,USD,true,plan,\n"), std::string::npos);
  EXPECT_NE(ReadText(csv).find("naive,risk,,0.00,USD,false,plan,\n"), std::string::npos);
  const std::string page = ReadText(html);
  EXPECT_NE(page.find("24,782.50"), std::string::npos);
  EXPECT_NE(page.find("shared.h100"), std::string::npos);
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);  // nothing is loaded from anywhere
}

TEST(TcoTest, MixedMonthsAndCurrenciesAreWarnedOf) {
  const TempFolder folder;
  const std::string other = folder.Write(
      "b.toml", "name = \"b\"\ncurrency = \"EUR\"\nmonth_hours = 730\ncontingency = \"25%\"\n[[labour]]\namount = 1\n");
  const json warnings = Document(std::string(kExample) + " " + other)["warnings"];
  const std::string all = warnings.dump();
  for (const char* part :
       {"the month basis is mixed", "b: has a different contingency rate from naive",
        "so idleburn cannot compare its total", "outside 10 to 20 %", "has a different horizon from naive"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << all;
  }
}

TEST(TcoTest, AScenarioWithoutCostsIsRefused) {
  const TempFolder folder;
  const ProgramRun run = RunIdleburn("tco --full " + folder.Write("a.toml", "name = \"a\"\n"));
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("has no costs; idleburn tco init writes"), std::string::npos) << run.err;
}

struct BadTco {
  const char* arguments;
  int code;
  const char* says;
};

TEST(TcoTest, WrongUseIsOneLine) {
  const BadTco rows[] = {
      {"/proc/no/such.toml", 1, "/proc/no/such.toml"},
      {IDLEBURN_ROOT "/.clang-format", 2, ".clang-format:"},
      {"--draws 5 " IDLEBURN_ROOT "/examples/tco.toml", 2, "--draws '5' is not a whole number from 10000"},
      {"--earned 80% " IDLEBURN_ROOT "/examples/tco.toml", 2, "does nothing without --actuals"},
      {"--project x " IDLEBURN_ROOT "/examples/tco.toml", 2, "does nothing without --actuals history"},
      {"--format pdf " IDLEBURN_ROOT "/examples/tco.toml", 2, "is text, json, html, csv or markdown, not 'pdf'"},
      {"--actuals " IDLEBURN_ROOT "/LICENSE " IDLEBURN_ROOT "/examples/tco.toml", 1, "LICENSE"},
  };
  for (const BadTco& row : rows) {
    const ProgramRun run = RunIdleburn(std::string("tco --full ") + row.arguments);
    EXPECT_EQ(run.code, row.code) << row.arguments << run.err;
    EXPECT_NE(run.err.find(row.says), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace idleburn::testing
