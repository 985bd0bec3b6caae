// `idleburn tco`: the command, its four outputs, and what it warns of.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  const json document = Document(path);
  EXPECT_EQ(document["horizon_months"], 6.0);
  EXPECT_EQ(document["scenarios"][0]["subtotal"], "21550.00");
  EXPECT_EQ(document["scenarios"][0]["contingency"], "3232.50");
  EXPECT_EQ(document["scenarios"][0]["total"], "24782.50");
  EXPECT_EQ(document["scenarios"][1]["total"], "14720.00");
  EXPECT_NEAR(document["savings"]["fraction"].get<double>(), 0.40603, 5e-6);
}

TEST(TcoTest, TheTextShowsEveryCategoryAndAddsUp) {
  const ProgramRun run = RunIdleburn(std::string("tco ") + kExample);
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* part :
       {"naive costs 24,782.50 USD over 6 months. optimised: 14,720.00 USD, 40.603 % less.", "0.00 (not given)",
        "3,232.50 (15 %)", "1,920.00 (15 %)", "labelling", "storage", "months of 720 h",
        "LoRA on compute.fine-tuning: x 0.3 (assumed)", "naive: not given: operations, depreciation, risk"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run.out;
  }
}

TEST(TcoTest, GivenAndNotGivenAreToldApart) {
  const TempFolder folder;
  const ProgramRun run = RunIdleburn("tco " + folder.Write("a.toml", "[[risk]]\namount = 0\n"));
  EXPECT_NE(run.out.find("  risk                0.00 (given)"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("  data            0.00 (not given)"), std::string::npos) << run.out;
}

TEST(TcoTest, PrintedLinesSumToThePrintedTotal) {
  const TempFolder folder;
  std::string text = "contingency = 0\n";  // thirds of a cent: 0.33 + 0.33 + 0.33 is not 1.00
  for (const char* name : {"a", "b", "c"}) {
    text += "[[compute]]\nname = \"" + std::string(name) + "\"\namount = \"0.333333333\"\n";
  }
  const ProgramRun run = RunIdleburn("tco " + folder.Write("a.toml", text));
  EXPECT_NE(run.out.find("  total                       1.00"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("    a                         0.34"), std::string::npos) << run.out;
}

TEST(TcoTest, EveryKeyIsDocumentedAndEveryDocumentedOneIsWritten) {
  const TempFolder folder;
  const std::string path = folder.Write("all.toml", kEverything);
  const std::string paid =
      folder.Write("paid.csv", "month,category,amount,quantity\n2026-01,compute,500,200\n2026-01,,5,\n");
  std::vector<std::string> documents;
  for (const std::string& arguments : {path + " --actual " + paid + " --earned 20%", std::string(kExample)}) {
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
  EXPECT_EQ(RunIdleburn(std::string("tco ") + kExample + " " + path + " -o " + html).code, 0);
  EXPECT_EQ(RunIdleburn(std::string("tco ") + kExample + " -o " + csv).code, 0);
  EXPECT_NE(ReadText(csv).find("naive,total,,24782.50,USD,true\n"), std::string::npos);
  EXPECT_NE(ReadText(csv).find("naive,risk,,0.00,USD,false\n"), std::string::npos);
  const std::string page = ReadText(html);
  EXPECT_NE(page.find("24,782.50"), std::string::npos);
  EXPECT_NE(page.find("shared.h100"), std::string::npos);
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);  // nothing is loaded from anywhere
}

TEST(TcoTest, MixedMonthsAndCurrenciesAreWarnedOf) {
  const TempFolder folder;
  const std::string other =
      folder.Write("b.toml", "name = \"b\"\ncurrency = \"EUR\"\nmonth_hours = 730\ncontingency = \"25%\"\n");
  const json warnings = Document(std::string(kExample) + " " + other)["warnings"];
  const std::string all = warnings.dump();
  for (const char* part : {"the month basis is mixed", "its total cannot be compared", "outside 10 to 20 %",
                           "has another horizon than naive"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << all;
  }
}

struct BadTco {
  const char* arguments;
  int code;
  const char* says;
};

TEST(TcoTest, WrongUseIsOneLine) {
  const BadTco rows[] = {
      {"/no/such.toml", 1, "/no/such.toml"},
      {"--draws 5 " IDLEBURN_ROOT "/examples/tco.toml", 2, "--draws '5' is no whole number from 10000"},
      {"--earned 80% " IDLEBURN_ROOT "/examples/tco.toml", 2, "does nothing without --actual"},
      {"--format pdf " IDLEBURN_ROOT "/examples/tco.toml", 2, "none of text, json, csv, html"},
      {"--actual " IDLEBURN_ROOT "/LICENSE " IDLEBURN_ROOT "/examples/tco.toml", 1, "LICENSE"},
  };
  for (const BadTco& row : rows) {
    const ProgramRun run = RunIdleburn(std::string("tco ") + row.arguments);
    EXPECT_EQ(run.code, row.code) << row.arguments << run.err;
    EXPECT_NE(run.err.find(row.says), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace idleburn::testing
