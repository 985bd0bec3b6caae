#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "report/write_audit.h"
#include "support/audit_fixture.h"
#include "text/table.h"

namespace idleburn {
namespace {

using Json = nlohmann::json;

Money M(std::string_view text) { return Money::Parse(text).value(); }

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::int64_t Cents(const Json& money) { return M(money.get<std::string>()).nano() / kCent; }

// Names that would act on a terminal, a browser, a spreadsheet.
constexpr std::string_view kEscape = "\x1b]0;owned\x07\x1b[2J";
constexpr std::string_view kScript = "</script><script>alert(1)</script>";
constexpr std::string_view kFormula = "=cmd|' /C calc'!A1";

std::unique_ptr<AuditFixture> Hostile() {
  auto audit = std::make_unique<AuditFixture>();
  int n = 0;
  for (const std::string_view name : {kEscape, kScript, kFormula}) {
    AuditFixture::Gpu gpu;
    gpu.uuid = "GPU-0000000" + std::to_string(n++) + "-0000-0000-0000-000000000000";
    gpu.name = name;
    gpu.host = name;
    gpu.counter = name;
    gpu.percent = [](int s) { return s % 100; };
    audit->Add(gpu, 30);
  }
  audit->Settle(M("1"));
  AuditReport& report = audit->report;
  for (const std::string_view name : {kEscape, kScript, kFormula}) {
    const std::string text(name);
    report.inputs.push_back(text);
    report.cost.per_unit[text] = M("0.5");
    report.cost.owners.push_back({text, report.cost.whole.window_ns / 3, M("0.008333333"), false});
    report.advice.findings.push_back(
        {"idle_held", "Why", Status::kLikely, 0.5, {text}, {text}, text, kNanosPerHour, {}, 0, {}, 0, {}});
    report.advice.declined.push_back({"mig", text});
    audit->quality.CountNamed(QualityId::kUnknownColumn, text, {&text, 3});
    report.cost.rate.source += text;
    report.timezone += text;
  }
  report.explain = true;
  return audit;
}

// --- JSON ----------------------------------------------------------------------------------------------------

TEST(AuditJsonTest, KeepsTheContractOfItsFigures) {
  const auto audit = EightGpus(M("2.49"));
  const Json json = Json::parse(AuditJson(audit->report));
  EXPECT_EQ(json["schema"], "idleburn.audit/1");
  EXPECT_EQ(json["window"]["start"], "2026-07-02T14:00:00Z");
  EXPECT_EQ(json["window"]["counter"], "nvml.utilization.gpu");
  EXPECT_EQ(json["window"]["gpus"].size(), 8U);
  EXPECT_DOUBLE_EQ(json["gpu_hours"]["window"].get<double>(), 2.0);
  EXPECT_DOUBLE_EQ(json["gpu_hours"]["unobserved"].get<double>(), 120 / 3600.0);
  EXPECT_DOUBLE_EQ(json["idle_empty_gpu_hours"].get<double>(), 0.25);
  EXPECT_EQ(json["cost"]["total"], "4.98");
  EXPECT_EQ(json["cost"]["hourly"], "19.92");
  EXPECT_EQ(json["cost"]["monthly"], "14342.40");
  EXPECT_EQ(json["cost"]["yearly"], "174499.20");
  EXPECT_EQ(json["cost"]["month_hours"], 720);
  EXPECT_EQ(json["steps"], Json::array());
  EXPECT_EQ(json["unobserved"]["by_reason"]["gap"], json["gpu_hours"]["unobserved"]);
  EXPECT_EQ(json["per_gpu"][6]["phases"]["idle"]["percent"], 77.78);  // 700 of 900 s
  EXPECT_EQ(json["per_gpu"][7]["cost"]["waste_exact"], "0.6225");     // never busy: 0.25 h at $2.49
}

TEST(AuditJsonTest, PercentsAndCostsAddUp) {
  const auto audit = EightGpus(M("2.49"));
  const Json json = Json::parse(AuditJson(audit->report));
  std::int64_t totals = 0;
  std::vector<Json> parts(json["per_gpu"].begin(), json["per_gpu"].end());
  parts.push_back(json);
  for (const Json& part : parts) {
    std::int64_t hundredths = 0;
    std::int64_t cents = Cents(part["unobserved"]["cost"]) + Cents(part["unallocated"]["cost"]);
    for (const auto& [name, phase] : part["phases"].items()) {
      hundredths += std::llround(phase["percent"].get<double>() * 100);
      cents += Cents(phase["cost"]);
    }
    EXPECT_EQ(hundredths, 10'000);
    EXPECT_EQ(cents, Cents(part["cost"]["total"]));
    totals += Cents(part["cost"]["total"]);
  }
  EXPECT_EQ(totals, 2 * 498);  // the GPUs, and the whole once more
}

TEST(AuditJsonTest, ExactMoneyStandsBesideTheRounded) {
  AuditFixture audit;
  AuditFixture::Gpu gpu;
  gpu.percent = [](int s) { return s % 10 < 6 ? 100 : 0; };
  audit.Add(gpu, 600);
  audit.Settle(M("8"));
  audit.report.cost.per_unit["sample"] = M("0.0004");
  const Json cost = Json::parse(AuditJson(audit.report))["cost"];
  EXPECT_EQ(cost["per_effective_gpu_hour"], "13.33");  // 8 / 0.6
  EXPECT_TRUE(cost["per_effective_gpu_hour_exact"].get<std::string>().starts_with("13.33333333"));
  EXPECT_EQ(cost["per_sample"], "0.0004");
  audit.report.cost.per_unit["token"] = CostOfOne::Of(M("0.270872"), Int128{1'000'000'000} * 1'000'000'000);
  EXPECT_EQ(Json::parse(AuditJson(audit.report))["cost"]["per_token_exact"], "0.000000000270872");
  EXPECT_TRUE(Contains(AuditText(audit.report, 140, false), "Per million tokens: $0.000271."));
  EXPECT_TRUE(cost["per_token"].is_null());
  EXPECT_EQ(cost["per_token_reason"], "no_work_count");
}

TEST(AuditJsonTest, WhatThrottlingCostIsNullWithoutTheClock) {
  const auto audit = EightGpus(std::nullopt);
  DeviceTotals& totals = audit->report.run.devices[0].totals;
  totals.reasons_ns = totals.throttled_ns = totals.throttled_untold_ns = kNanosPerHour;
  const Json json = Json::parse(AuditJson(audit->report));
  EXPECT_FALSE(json["throttled_gpu_hours"].is_null());
  EXPECT_TRUE(json["throttled_with_clock_loss_gpu_hours"].is_null());
  EXPECT_EQ(json["throttled_with_clock_loss_gpu_hours_reason"], "not_measured");
  EXPECT_TRUE(
      Contains(AuditMarkdown(audit->report), "The loss is unknown, because the SM clock or its maximum was not read."));
  totals.throttled_told_ns = kNanosPerHour;
  EXPECT_FALSE(Json::parse(AuditJson(audit->report))["throttled_with_clock_loss_gpu_hours"].is_null());
}

TEST(AuditJsonTest, UnknownIsNullWithItsReason) {
  const auto audit = EightGpus(std::nullopt);
  audit->report.cost.rate.reason = "ambiguous_price";
  audit->report.cost.total_low = M("5.90");
  audit->report.cost.total_high = M("24.58");
  const Json json = Json::parse(AuditJson(audit->report));
  for (const char* key : {"rate_per_gpu_hour", "total", "waste", "per_effective_gpu_hour", "monthly"}) {
    EXPECT_TRUE(json["cost"][key].is_null()) << key;
    EXPECT_EQ(json["cost"][std::string(key) + "_reason"], "ambiguous_price") << key;
  }
  EXPECT_EQ(json["cost"]["total_low"], "5.90");
  EXPECT_EQ(json["cost"]["total_high"], "24.58");
  EXPECT_TRUE(json["phases"]["idle"]["cost"].is_null());
  EXPECT_TRUE(json["throttled_gpu_hours"].is_null());  // no event mask was read
  EXPECT_EQ(json["throttled_gpu_hours_reason"], "not_measured");
  EXPECT_EQ(json["spin_wait_gpu_hours_reason"], "no_activity_or_power_evidence");
  EXPECT_TRUE(json["recommendations"][1]["saving"].is_null());
}

TEST(AuditJsonTest, WhatIsMoreThanAnAmountCanBeIsNullWithItsReason) {
  AuditFixture audit;
  AuditFixture::Gpu gpu;
  gpu.percent = [](int s) { return s == 0 ? 1 : 0; };
  audit.Add(gpu, 10);
  audit.Settle(M("2"));
  CostReport& cost = audit.report.cost;
  ASSERT_TRUE(cost.yearly && cost.per_effective_gpu_hour);
  cost.yearly.reset();
  cost.per_effective_gpu_hour.reset();
  cost.per_unit["sample"] = std::nullopt;
  const Json json = Json::parse(AuditJson(audit.report))["cost"];
  EXPECT_EQ(json["monthly"], "1440.00");
  EXPECT_TRUE(json["yearly"].is_null());
  EXPECT_EQ(json["yearly_reason"], "beyond_range");
  for (const char* key : {"per_effective_gpu_hour", "per_sample"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
    EXPECT_EQ(json[std::string(key) + "_reason"], "too_little_work") << key;
  }
  EXPECT_TRUE(json["per_unit"]["sample"].is_null());
  const std::string text = AuditText(audit.report, 300, false);
  EXPECT_TRUE(Contains(text, "Per effective GPU-hour: undefined (too little work to divide by).")) << text;
  EXPECT_TRUE(Contains(text, "$1,440.00 per 720-h month, more than $9,223,372,036.85 per 8,760-h year.")) << text;
}

TEST(AuditJsonTest, NoBusyTimeAndNothingObservedAreToldApart) {
  AuditFixture idle;
  AuditFixture::Gpu gpu;
  gpu.percent = [](int) { return 0; };
  idle.Add(gpu, 10);
  idle.Settle(M("8"));
  EXPECT_EQ(Json::parse(AuditJson(idle.report))["cost"]["per_effective_gpu_hour_reason"], "undefined_no_busy_time");
  EXPECT_TRUE(Contains(AuditText(idle.report, 100, false), "undefined (no busy time)"));

  AuditFixture silent;
  gpu.percent = [](int) -> std::optional<int> { return std::nullopt; };
  silent.Add(gpu, 10);
  silent.Settle(M("8"));
  const Json json = Json::parse(AuditJson(silent.report));
  EXPECT_EQ(json["cost"]["per_effective_gpu_hour_reason"], "nothing_observed");
  EXPECT_TRUE(json["phases"]["idle"]["percent"].is_null());
  EXPECT_TRUE(json["mean_utilization_percent"].is_null());
  EXPECT_EQ(json["phases"]["idle"]["gpu_hours"], 0.0);
}

TEST(AuditJsonTest, AnEmptyAuditIsStillADocument) {
  AuditFixture audit;
  audit.Settle(std::nullopt);
  const Json json = Json::parse(AuditJson(audit.report));
  EXPECT_TRUE(json["window"]["start"].is_null());
  EXPECT_TRUE(json["per_gpu"].empty());
  EXPECT_FALSE(AuditText(audit.report, 80, false).empty());
  EXPECT_FALSE(AuditMarkdown(audit.report).empty());
  EXPECT_FALSE(AuditHtml(audit.report).empty());
  EXPECT_EQ(AuditCsv(audit.report).find('\n'), AuditCsv(audit.report).size() - 1);
}

TEST(AuditJsonTest, CurrenciesKeepTheirMinorUnit) {
  const auto audit = EightGpus(M("300"));
  audit->report.cost.rate.currency = "JPY";
  const Json json = Json::parse(AuditJson(audit->report));
  EXPECT_EQ(json["cost"]["total"], "600");
  EXPECT_TRUE(Contains(AuditText(audit->report, 100, false), "You paid 600 JPY for"));
}

// --- hostile names -------------------------------------------------------------------------------------------

TEST(HostileNamesTest, NoWriterLetsControlCharactersThrough) {
  const auto audit = Hostile();
  for (const std::string& text : {AuditJson(audit->report), AuditText(audit->report, 100, false),
                                  AuditMarkdown(audit->report), AuditCsv(audit->report), AuditHtml(audit->report)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
    EXPECT_EQ(text.find('\r'), std::string::npos);
  }
  EXPECT_EQ(Json::parse(AuditJson(audit->report))["per_gpu"][1]["name"], kScript);
}

TEST(HostileNamesTest, ColourIsTheOnlyEscapeAndOnlyWhenAsked) {
  const auto audit = Hostile();
  const std::string colored = AuditText(audit->report, 100, true);
  const std::string plain = std::regex_replace(colored, std::regex("\x1b\\[[0-9;]*m"), "");
  EXPECT_NE(colored, plain);
  EXPECT_EQ(plain, AuditText(audit->report, 100, false));
}

TEST(HostileNamesTest, HtmlRunsNothingOfThem) {
  const std::string html = AuditHtml(Hostile()->report);
  EXPECT_FALSE(Contains(html, "<script>alert"));
  EXPECT_TRUE(Contains(html, "&lt;/script&gt;&lt;script&gt;alert(1)"));
  // Four script elements: the data, uPlot, ours; each closed once.
  const auto count = [&](std::string_view part) {
    std::size_t n = 0;
    for (std::size_t at = html.find(part); at != std::string::npos; at = html.find(part, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("<script"), 3U);
  EXPECT_EQ(count("</script>"), 3U);
}

TEST(HostileNamesTest, SpreadsheetsSeeNoFormula) {
  const std::string csv = AuditCsv(Hostile()->report);
  EXPECT_TRUE(Contains(csv, ",'=cmd|"));
  EXPECT_FALSE(Contains(csv, ",=cmd"));
  EXPECT_FALSE(Contains(csv, "\n=cmd"));
}

TEST(HostileNamesTest, MarkdownKeepsItsTables) {
  const std::string markdown = AuditMarkdown(Hostile()->report);
  EXPECT_FALSE(Contains(markdown, "<script>"));
  EXPECT_FALSE(Contains(markdown, "=cmd|'"));
  EXPECT_TRUE(Contains(markdown, "=cmd\\|' /C calc'"));
}

// --- text ----------------------------------------------------------------------------------------------------

TEST(AuditTextTest, SaysVerdictWhyAndNextFirst) {
  const auto audit = EightGpus(M("2.49"));
  const std::string text = AuditText(audit->report, 200, false);
  EXPECT_TRUE(text.starts_with("You paid $4.98 for 2 GPU-hours; at least $"));
  EXPECT_TRUE(Contains(AuditMarkdown(audit->report), "By GPU state, largest first: "));
  const std::string head = text.substr(0, text.find("\n\n"));
  EXPECT_LE(std::count(head.begin(), head.end(), '\n'), 7);
  EXPECT_TRUE(Contains(head, "\n  why   GPUs are held without being used: "));
  EXPECT_TRUE(Contains(head, "\n  next  Stop jobs that hold an idle GPU: saves about $"));
}

// A figure that is cut off reads like a smaller one.
TEST(AuditTextTest, TheFirstLinesAreWholeHoweverNarrow) {
  const auto audit = EightGpus(M("2.49"));
  const auto head = [&](int width) {
    std::string text = AuditText(audit->report, width, false);
    text.resize(text.find("\n\n"));
    std::string words;
    for (const char c : text) {
      const bool blank = c == ' ' || c == '\n';
      if (!blank || (!words.empty() && words.back() != ' ')) words += blank ? ' ' : c;
    }
    return words;
  };
  EXPECT_TRUE(Contains(head(140), "(confirmed)"));
  for (const int width : {60, 80, 100}) EXPECT_EQ(head(width), head(140)) << width;
}

TEST(AuditTextTest, NamesCounterBasisRuleAndError) {
  const auto audit = EightGpus(M("2.49"));
  for (DeviceId id = 0; id < 8; ++id) audit->devices.NameCounter(id, Signal::kPower, "nvml.power.draw");
  audit->report.cost.rate.source = "catalogue: acme:h100@eu-1, as of 2026-07-02";
  const std::string text = AuditText(audit->report, 140, false);
  for (const char* part : {"Counter: nvml.utilization.gpu", "per 720-h month", "a second is the mean of its readings",
                           "± 5 %", "(catalogue: acme:h100@eu-1, as of 2026-07-02)",
                           "cannot see how much of the GPU it used", "No data on whether kernels worked"}) {
    EXPECT_TRUE(Contains(text, part)) << part;
  }
  for (DeviceResult& d : audit->report.run.devices) d.fast = false;
  EXPECT_TRUE(Contains(AuditText(audit->report, 140, false), "a reading lasts until the next, at most 2.5 periods"));
}

TEST(AuditTextTest, WithoutAFigureTheNextStepIsToMeasure) {
  AuditFixture audit;
  AuditFixture::Gpu gpu;
  gpu.percent = [](int) { return 50; };
  audit.Add(gpu, 0);
  audit.Settle(std::nullopt);
  AuditReport& report = audit.report;
  report.advice.findings.push_back(
      {"unknown", "Why", Status::kUnknown, 0, {"no reading"}, {}, "record for a minute", 0, {}, 0, {}, 0, {}});
  Recommendation spot;
  spot.title = "Spot capacity";
  report.advice.recommendations.push_back(spot);
  report.cost.rate.low = M("2.95");
  report.cost.rate.high = M("12.29");
  report.cost.total_low = report.cost.total_high = Money();
  const std::string text = AuditText(report, 120, false);
  EXPECT_TRUE(text.starts_with("Nothing was measured: no GPU has two readings"));
  EXPECT_TRUE(Contains(text, "\n  why   Why: no reading\n  next  measure: record for a minute\n"));
  EXPECT_FALSE(Contains(text, "$0.00"));
}

TEST(AuditTextTest, WithoutAPriceThereAreNoDollars) {
  const auto audit = EightGpus(std::nullopt);
  const std::string text = AuditText(audit->report, 100, false);
  EXPECT_EQ(text.find('$'), std::string::npos);
  EXPECT_TRUE(Contains(text, "give --price"));
  audit->report.cost.rate.low = M("2.95");
  audit->report.cost.rate.high = M("12.29");
  EXPECT_TRUE(Contains(AuditMarkdown(audit->report), "the catalogue has $2.95 to $12.29 a GPU-hour (undated)"));
  const Instant july = Instant::FromNanos(1'784'505'600'000'000'000);  // 2026-07-20
  audit->report.cost.rate.candidates = {{"a:b:spot@c", M("2.95"), 1'000'000, {}},
                                        {"a:b:on_demand@c", M("12.29"), 1'000'000, july}};
  EXPECT_TRUE(Contains(AuditMarkdown(audit->report), "(oldest price as of 2026-07-20, some undated)"));
}

TEST(AuditTextTest, FitsTheTerminal) {
  const auto audit = EightGpus(M("2.49"));
  audit->report.explain = true;
  for (const int width : {60, 80, 100, 132}) {
    std::string text = AuditText(audit->report, width, false);
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      EXPECT_LE(DisplayWidth(std::string_view(text).substr(0, end)), width) << text.substr(0, end);
    }
  }
}

TEST(AuditTextTest, ManyGpusAreCounted) {
  AuditFixture audit;
  for (int g = 0; g < 20; ++g) {
    AuditFixture::Gpu gpu;
    gpu.uuid = "GPU-000000" + std::to_string(10 + g) + "-0000-0000-0000-000000000000";
    gpu.percent = [g](int) { return 5 * g; };
    audit.Add(gpu, 10);
  }
  audit.Settle(M("8"));
  const std::string text = AuditText(audit.report, 100, false);
  EXPECT_TRUE(Contains(text, "and 4 more"));
  EXPECT_TRUE(Contains(text, "\n  GPU 0  "));
  EXPECT_FALSE(Contains(text.substr(text.find("Per GPU")), "\n  GPU 19  "));  // 95 % busy: lost the least
}

// --- HTML and CSV --------------------------------------------------------------------------------------------

TEST(AuditHtmlTest, LoadsNothingAndIsSmall) {
  const std::string html = AuditHtml(EightGpus(M("2.49"))->report);
  EXPECT_LT(html.size(), 300'000U);
  EXPECT_TRUE(Contains(html, "content=\"default-src 'none';"));
  std::string rest = html;
  const std::string notice = "https://github.com/leeoniya/uPlot";  // its licence comment
  const std::size_t at = rest.find(notice);
  ASSERT_NE(at, std::string::npos);
  rest.erase(at, notice.size());
  EXPECT_FALSE(Contains(rest, "http://"));
  EXPECT_FALSE(Contains(rest, "https://"));
  EXPECT_FALSE(Contains(rest, "<link"));
  EXPECT_FALSE(Contains(rest, " src="));
}

TEST(AuditHtmlTest, StaysSmallWhenEverySecondDiffers) {
  AuditFixture audit;
  for (int g = 0; g < 8; ++g) {
    AuditFixture::Gpu gpu;
    gpu.uuid = "GPU-0000000" + std::to_string(g) + "-0000-0000-0000-000000000000";
    gpu.percent = [g](int s) { return (s * 7919 + g * 104'729) % 101; };
    audit.Add(gpu, 900);
  }
  audit.Settle(M("8"));
  EXPECT_LT(AuditHtml(audit.report).size(), 300'000U);
}

TEST(AuditHtmlTest, ElementsNest) {
  const std::string html = AuditHtml(Hostile()->report);
  const std::string body = html.substr(html.find("<body>"), html.find("<script") - html.find("<body>"));
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-zA-Z0-9]+)[^<>]*?(/?)>");
  for (std::sregex_iterator it(body.begin(), body.end(), tag), end; it != end; ++it) {
    const std::string name = (*it)[2];
    if ((*it)[3] == "/") continue;
    if ((*it)[1] != "/") {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << it->str();
    EXPECT_EQ(open.back(), name) << it->str();
    open.pop_back();
  }
  EXPECT_EQ(open, std::vector<std::string>{"body"});
}

TEST(AuditHtmlTest, ChartDataParsesAndDrawsEveryGpu) {
  const std::string html = AuditHtml(EightGpus(M("2.49"))->report);
  const std::string mark = "id=\"chart-data\">";
  const std::size_t from = html.find(mark) + mark.size();
  const Json data = Json::parse(html.substr(from, html.find("</script>", from) - from));
  ASSERT_EQ(data["gpus"].size(), 8U);
  EXPECT_EQ(data["gpus"][0]["util"].size(), 900U);
  EXPECT_TRUE(data["gpus"][5]["util"][350].is_null());  // the gap is a gap, not a zero
  EXPECT_EQ(data["gpus"][7]["power"][0], 70.0);
  // Without a script the page still shows a ribbon for each, in words too.
  EXPECT_TRUE(Contains(html, "aria-label=\"GPU 6: idle 0.194, underutilized 0"));
  EXPECT_TRUE(Contains(html, "class=\"look-held\""));
}

TEST(AuditCsvTest, RowsAddUpToTheTotal) {
  const auto audit = EightGpus(M("2.49"));
  const std::string csv = AuditCsv(audit->report);
  std::int64_t nano = 0;
  double hours = 0;
  int phases = 0;
  std::size_t at = csv.find('\n') + 1;
  for (std::size_t end = 0; (end = csv.find('\n', at)) != std::string::npos; at = end + 1) {
    std::vector<std::string> cells;
    std::string line = csv.substr(at, end - at) + ",";
    for (std::size_t comma = 0; (comma = line.find(',')) != std::string::npos; line.erase(0, comma + 1)) {
      cells.push_back(line.substr(0, comma));
    }
    ASSERT_EQ(cells.size(), 21U) << csv.substr(at, end - at);
    if (cells[8].empty()) {
      EXPECT_FALSE(cells[15].empty()) << "neither a phase nor a signal: " << csv.substr(at, end - at);
      continue;
    }
    EXPECT_TRUE(cells[15].empty());
    ++phases;
    hours += std::stod(cells[9]);
    nano += M(cells[11]).nano();
  }
  EXPECT_EQ(phases, 8 * 5);
  EXPECT_NEAR(hours, 2.0, 1e-9);
  EXPECT_EQ(nano, audit->report.cost.whole.total->nano());
}

// Every report that holds advice has the tries too, and none can be read as proved or as part of the saving.
TEST(TryFirstReportTest, EveryReportOfAdviceSaysWhatToTryAndThatItIsNotProved) {
  const auto audit = EightGpus(M("2.49"));
  for (const std::string& page :
       {AuditText(audit->report, 200, false), AuditMarkdown(audit->report), AuditHtml(audit->report)}) {
    for (const char* words :
         {"Try first (not proved)", "More data-loader workers", "0 to 25 % of the bill", "DataLoader(num_workers=8)",
          "swings by 30 points", "CPU cores and storage", "50 steps on one batch", "do not add up"}) {
      EXPECT_TRUE(Contains(page, words)) << words;
    }
  }
  const Json json = Json::parse(AuditJson(audit->report));
  ASSERT_EQ(json["try_first"].size(), 1U);
  const Json& row = json["try_first"][0];
  EXPECT_EQ(row["id"], "num_workers");
  EXPECT_EQ(row["proved"], false);
  EXPECT_EQ(row["high_cost"], "1.24");  // a quarter of $4.98: $1.245, half to even
  auto without = EightGpus(M("2.49"));
  without->report.advice.try_first.clear();
  EXPECT_EQ(Json::parse(AuditJson(without->report))["savings"], json["savings"]);
  EXPECT_FALSE(Contains(AuditText(without->report, 200, false), "not proved"));
}

}  // namespace
}  // namespace idleburn
