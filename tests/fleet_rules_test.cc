// The rules of `idleburn fleet rules`: promtool and vmalert accept them, they name only what agents expose, and each
// alert fires, does not fire and recovers over made series. vmalert finds the same alerts in VictoriaMetrics.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <tuple>

#include "agent/agent_metrics.h"
#include "agent/node_counters.h"
#include "fleet/alert_rules.h"
#include "support/engines.h"
#include "support/program.h"
#include "support/service.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

using testing::RunShell;
using testing::TempFolder;

// What a GPU does each minute of a stretch. Shares are of the time; what is left of them is productive.
struct RuleStretch {
  int minutes = 0;
  double utilization = 0.9;
  double held = 0;
  double empty = 0;
  double under = 0;
  double unobserved = 0;
  double spin = 0;
  double pcie = 1e9;  // bytes a second
  double nvlink = 1e9;
  double memory = 0.5;
  double price = 2;
  const char* currency = "USD";
  bool gauge = false;  // utilization is shown in time without data too
  bool down = false;   // the agent; its time is counted as unobserved when it is back
};

struct RuleCheck {
  int minute = 0;
  std::vector<std::string> firing;  // an alert for each GPU or node
};

// A series that the rules record, in hundredths.
struct RecordCheck {
  int minute = 0;
  std::string series;
  int hundredths = 0;
};

struct RuleScenario {
  std::string name;
  std::vector<std::vector<RuleStretch>> gpus;  // all on one node
  std::vector<RuleCheck> checks;
  std::vector<RecordCheck> records = {};
};

const std::vector<std::string>& AlertNames() {
  static const std::vector<std::string> kNames = [] {
    const std::string yaml = AlertRulesYaml(RuleEngine::kPrometheus);
    static const std::regex kAlert("- alert: (\\w+)");
    std::vector<std::string> names;
    for (std::sregex_iterator at(yaml.begin(), yaml.end(), kAlert), end; at != end; ++at) names.push_back((*at)[1]);
    return names;
  }();
  return kNames;
}

// Series and their values, a minute apart. "stale": the scrape failed. "_": no sample.
using SeriesOfMinutes = std::map<std::string, std::vector<std::string>>;

std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void AddGpuMinutes(const std::string& uuid, const std::vector<RuleStretch>& stretches, SeriesOfMinutes* all) {
  const std::string gpu = R"({node="n1", uuid=")" + uuid + "\"";
  const std::string job =
      R"(idleburn_job_phase_seconds_total{node="n1", cluster="c1", job="1", team="language", phase=")";
  std::map<std::string, double> counters;
  std::size_t minute = 0;
  const auto add = [&](const std::string& series, const std::string& value) {
    std::vector<std::string>& values = (*all)[series];
    values.resize(minute, "_");
    values.push_back(value);
  };
  const auto rise = [&](const std::string& metric, const std::string& label, const std::string& value, double by) {
    counters[metric + gpu + (label.empty() ? "" : ", " + label + "=\"" + value + "\"") + "}"] += by;
  };
  for (const RuleStretch& each : stretches) {
    for (int i = 0; i < each.minutes; ++i, ++minute) {
      const double lost = each.down ? 1 : each.unobserved;
      const double works = each.down ? 0 : 1;
      const auto phase = [&](const char* name, double share) {
        rise("idleburn_gpu_phase_seconds_total", "phase", name, 60 * share);
        if (uuid == "g0") counters[job + name + "\"}"] += 60 * share;
      };
      phase("idle", works * (each.held + each.empty));
      phase("underutilized", works * each.under);
      phase("productive", works * (1 - each.held - each.empty - each.under - each.unobserved));
      phase("unobserved", lost);
      for (int decile = 0; decile < 10; ++decile) {
        const bool here = decile == std::min(9, static_cast<int>(each.utilization * 10));
        rise("idleburn_gpu_utilization_seconds_total", "decile", std::to_string(decile), here ? 60 * (1 - lost) : 0);
      }
      rise("idleburn_gpu_idle_seconds_total", "memory", "held", works * 60 * each.held);
      rise("idleburn_gpu_idle_seconds_total", "memory", "empty", works * 60 * each.empty);
      rise("idleburn_gpu_spin_wait_seconds_total", "", "", works * 60 * each.spin);
      rise("idleburn_gpu_pcie_bytes_total", "direction", "rx", works * 60 * each.pcie);
      rise("idleburn_gpu_pcie_bytes_total", "direction", "tx", 0);
      rise("idleburn_gpu_nvlink_bytes_total", "direction", "both", works * 60 * each.nvlink);
      std::map<std::string, std::string> gauges = {
          {"idleburn_build_info{node=\"n1\", version=\"1\"}", "1"},
          {"idleburn_gpu_memory_used_bytes" + gpu + "}", Number(each.memory * 80e9)},
          {"idleburn_gpu_memory_total_bytes" + gpu + "}", "80e9"},
          {"idleburn_gpu_price_per_hour" + gpu + ", currency=\"" + each.currency + "\"}", Number(each.price)}};
      if (each.unobserved < 1 || each.gauge)
        gauges["idleburn_gpu_utilization_ratio" + gpu + "}"] = Number(each.utilization);
      for (const auto& [series, value] : counters) add(series, each.down ? "stale" : Number(value));
      for (const auto& [series, value] : gauges) {
        if (series.find("build_info") == std::string::npos || uuid == "g0") add(series, each.down ? "stale" : value);
      }
    }
  }
}

// The file for `promtool test rules`.
std::string PromtoolTests(const std::vector<RuleScenario>& scenarios) {
  std::string yaml = "rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n";
  for (const RuleScenario& scenario : scenarios) {
    SeriesOfMinutes all;
    for (std::size_t i = 0; i < scenario.gpus.size(); ++i)
      AddGpuMinutes("g" + std::to_string(i), scenario.gpus[i], &all);
    yaml += "  - name: '" + scenario.name + "'\n    interval: 1m\n    input_series:\n";
    for (const auto& [series, values] : all) {
      yaml += "      - series: '" + series + "'\n        values: '";
      for (const std::string& value : values) yaml += value + " ";
      yaml += "'\n";
    }
    yaml += "    promql_expr_test:\n";
    for (const RuleCheck& check : scenario.checks) {
      for (const std::string& alert : AlertNames()) {
        yaml += "      - expr: sum(ALERTS{alertname=\"" + alert + "\", alertstate=\"firing\"}) or vector(0)\n" +
                "        eval_time: " + std::to_string(check.minute) +
                "m\n        exp_samples: [{labels: '{}', value: " +
                std::to_string(std::count(check.firing.begin(), check.firing.end(), alert)) + "}]\n";
      }
    }
    for (const RecordCheck& check : scenario.records) {
      yaml += "      - expr: round(sum(" + check.series +
              ") * 100)\n        eval_time: " + std::to_string(check.minute) +
              "m\n        exp_samples: [{labels: '{}', value: " + std::to_string(check.hundredths) + "}]\n";
    }
  }
  return yaml;
}

const char* const kLow = "IdleburnLowUtilization";
const char* const kPcie = "IdleburnPcieStall";
const char* const kAllReduce = "IdleburnAllReduceStall";
const char* const kMemory = "IdleburnMemoryHigh";
const char* const kHeld = "IdleburnIdleHeld";
const char* const kSpin = "IdleburnSpinWait";
const char* const kUnobserved = "IdleburnUnobserved";
const char* const kBudget = "IdleburnBudgetBurn";
const char* const kDown = "IdleburnAgentDown";

std::vector<RuleScenario> Scenarios() {
  const RuleStretch good{.minutes = 120};
  const RuleStretch spinning{.minutes = 40, .utilization = 1, .spin = 0.8};
  return {
      {"healthy",
       {{{.minutes = 180}}},
       {{5, {}}, {30, {}}, {120, {}}, {179, {}}},
       {{120, "team_phase:idleburn_gpus:rate5m{cluster=\"c1\", team=\"language\", phase=\"productive\"}", 100},
        {120, "phase:idleburn_gpus:rate5m{phase=\"productive\"}", 100},
        {120, "cluster:idleburn_utilization:avg5m", 90},
        {120, "cluster:idleburn_utilization:avg1h", 90},
        {120, "currency:idleburn_cost:per_hour{currency=\"USD\"}", 200}}},
      {"low utilization",
       {{{.minutes = 90, .utilization = 0.4, .under = 1}, good}},
       {{40, {}}, {70, {kLow}}, {89, {kLow}}, {160, {}}}},
      {"55 percent is not low", {{{.minutes = 150, .utilization = 0.55}}}, {{60, {}}, {149, {}}}},
      {"bursts count in the mean",
       {{{.minutes = 30, .utilization = 0, .empty = 1}, {.minutes = 60, .utilization = 1}}},
       {{30, {}}, {60, {}}, {89, {}}}},
      {"pcie stall",
       {{good, {.minutes = 25, .utilization = 0.1, .under = 1, .pcie = 20e9}, good}},
       {{119, {}}, {127, {}}, {140, {kPcie}}, {155, {}}}},
      {"pcie traffic of a busy gpu", {{{.minutes = 60, .utilization = 0.9, .pcie = 20e9}}}, {{30, {}}, {59, {}}}},
      {"little pcie traffic at low utilization",
       {{good, {.minutes = 30, .utilization = 0.1, .under = 1}}},
       {{145, {}}}},
      {"nvlink stall",
       {{good, {.minutes = 25, .utilization = 0.1, .under = 1, .nvlink = 300e9}, good}},
       {{127, {}}, {140, {kAllReduce}}, {155, {}}}},
      {"nvlink traffic of a busy gpu", {{{.minutes = 60, .nvlink = 300e9}}}, {{59, {}}}},
      {"two gpus spin",
       {{good, spinning, good}, {good, spinning, good}},
       {{127, {}},
        {136, {kAllReduce, kAllReduce}},
        {159, {kAllReduce, kAllReduce, kSpin, kSpin}},
        {175, {kSpin, kSpin}},
        {239, {}}}},
      {"one gpu spins", {{good, spinning, good}, {good}}, {{136, {}}, {159, {kSpin}}, {239, {}}}},
      {"some spin wait is usual", {{{.minutes = 120, .spin = 0.15}}}, {{60, {}}, {119, {}}}},
      {"memory", {{good, {.minutes = 20, .memory = 0.9}, good}}, {{119, {}}, {122, {}}, {135, {kMemory}}, {150, {}}}},
      {"memory below the limit", {{{.minutes = 60, .memory = 0.84}}}, {{59, {}}}},
      {"idle and held",
       {{good, {.minutes = 25, .utilization = 0, .held = 1}, good}},
       {{119, {}}, {130, {}}, {143, {kHeld}}, {152, {}}}},
      {"idle and empty: low utilization alone",
       {{good, {.minutes = 60, .utilization = 0, .empty = 1}}},
       {{143, {}}, {175, {kLow}}}},
      {"a short break of idle time",
       {{good,
         {.minutes = 12, .utilization = 0, .held = 1},
         {.minutes = 2},
         {.minutes = 12, .utilization = 0, .held = 1}}},
       {{131, {}}, {145, {}}}},
      {"unobserved time is never idle",
       {{good, {.minutes = 12, .utilization = 0, .held = 1}, {.minutes = 90, .unobserved = 1}, good}},
       {{128, {}}, {140, {}}, {160, {kUnobserved}}, {221, {kUnobserved}}, {300, {}}}},
      {"no data from the start",
       {{{.minutes = 150, .utilization = 0, .unobserved = 1}}},
       {{10, {}}, {60, {kUnobserved}}, {149, {kUnobserved}}}},
      {"no data from the start, but a gauge",
       {{{.minutes = 150, .utilization = 0, .unobserved = 1, .gauge = true}}},
       {{10, {}}, {149, {kUnobserved}}}},
      {"a tenth without data",
       {{good, {.minutes = 90, .unobserved = 0.1}, good}},
       {{119, {}}, {209, {kUnobserved}}, {320, {}}}},
      {"4 percent without data", {{{.minutes = 120, .unobserved = 0.04}}}, {{119, {}}}},
      {"budget",
       {{{.minutes = 90, .price = 60}}, {{.minutes = 45, .price = 60}, {.minutes = 45}}},
       {{10, {}}, {16, {}}, {30, {kBudget}}, {60, {}}}},
      {"two currencies are not added",
       {{{.minutes = 60, .price = 60}}, {{.minutes = 60, .price = 60, .currency = "EUR"}}},
       {{59, {}}}},
      {"agent down",
       {{good, {.minutes = 30, .price = 90, .down = true}, {.minutes = 120, .price = 90}}},
       {{119, {}}, {123, {}}, {130, {kDown}}, {149, {kDown}}, {152, {}}, {170, {kUnobserved}}, {260, {}}},
       {{156, "currency:idleburn_cost:per_hour", 9000}, {200, "currency:idleburn_cost:per_hour", 9000}}},
  };
}

class FleetRulesPromtool : public ::testing::Test {
 protected:
  void SetUp() override {
    if (RunShell("command -v promtool").code != 0) GTEST_SKIP() << "promtool is missing (tools/install_deps.sh test)";
  }
  [[nodiscard]] testing::ProgramRun Test(const std::string& rules, const std::vector<RuleScenario>& scenarios) const {
    std::ignore = folder_.Write("rules.yml", rules);
    return RunShell("promtool test rules " + folder_.Write("tests.yml", PromtoolTests(scenarios)) + " 2>&1");
  }
  TempFolder folder_;
};

TEST_F(FleetRulesPromtool, AcceptsTheRules) {
  for (const RuleEngine engine : {RuleEngine::kPrometheus, RuleEngine::kVmalert}) {
    const auto run = RunShell("promtool check rules " + folder_.Write("rules.yml", AlertRulesYaml(engine)) + " 2>&1");
    EXPECT_EQ(run.code, 0) << run.out;
    EXPECT_NE(run.out.find("SUCCESS: 17 rules"), std::string::npos) << run.out;
  }
}

TEST_F(FleetRulesPromtool, AlertsFireAndRecover) {
  const auto run = Test(AlertRulesYaml(RuleEngine::kPrometheus), Scenarios());
  EXPECT_EQ(run.code, 0) << run.out;
}

// Each alert fires somewhere in the scenarios, and is quiet before and after.
TEST_F(FleetRulesPromtool, EachAlertIsTested) {
  std::set<std::string> fires;
  for (const RuleScenario& scenario : Scenarios()) {
    for (std::size_t i = 1; i + 1 < scenario.checks.size(); ++i) {
      for (const std::string& alert : scenario.checks[i].firing) {
        const auto quiet = [&](const RuleCheck& check) { return check.firing.empty(); };
        if (quiet(scenario.checks.front()) && quiet(scenario.checks.back())) fires.insert(alert);
      }
    }
  }
  EXPECT_EQ(fires, std::set<std::string>(AlertNames().begin(), AlertNames().end()));
}

// A rule with a fault, and the scenario that finds it.
struct PlantedRuleFault {
  const char* right;
  const char* wrong;
  const char* scenario;
};

TEST_F(FleetRulesPromtool, SeesPlantedFaults) {
  const PlantedRuleFault faults[] = {
      {"> 0.5\n        for: 5m", "> 0.7\n        for: 5m", "low utilization"},
      {"phase!=\"unobserved\"", "phase=~\".*\"", "no data from the start, but a gauge"},
      {"[0-2]", "[0-9]", "pcie traffic of a busy gpu"},
      {"vector(12e9)", "vector(30e9)", "pcie stall"},
      {"vector(12e9)", "vector(0)", "little pcie traffic at low utilization"},
      {"vector(240e9)", "vector(500e9)", "nvlink stall"},
      {") > 1\n", ") > 2\n", "two gpus spin"},
      {") > 1\n", ") > 0\n", "one gpu spins"},
      {"> 0.85", "> 0.95", "memory"},
      {"> 0.85", "> 0.8", "memory below the limit"},
      {"memory=\"held\"", "memory=\"empty\"", "idle and held"},
      {"for: 15m", "for: 5m", "a short break of idle time"},
      {"> 0.2\n", "> 0.1\n", "some spin wait is usual"},
      {"< 0.95\n", "< 0.97\n", "4 percent without data"},
      {"vector(100)", "vector(1000)", "budget"},
      {"sum by (currency)", "sum", "two currencies are not added"},
      {" unless on (node) idleburn_build_info", "", "healthy"},
  };
  for (const PlantedRuleFault& fault : faults) {
    std::string rules = AlertRulesYaml(RuleEngine::kPrometheus);
    const std::size_t at = rules.find(fault.right);
    ASSERT_NE(at, std::string::npos) << fault.right;
    rules.replace(at, std::string(fault.right).size(), fault.wrong);
    std::vector<RuleScenario> scenarios = Scenarios();
    std::erase_if(scenarios, [&](const RuleScenario& each) { return each.name != fault.scenario; });
    ASSERT_EQ(scenarios.size(), 1U) << fault.scenario;
    const auto run = Test(rules, scenarios);
    EXPECT_NE(run.code, 0) << fault.wrong << " in " << fault.scenario;
    EXPECT_NE(run.out.find("got:"), std::string::npos) << fault.wrong << run.out;
  }
}

// promtool prints the texts of an alert that it did not expect.
TEST_F(FleetRulesPromtool, FillsTheTextsIn) {
  std::map<std::string, std::pair<RuleScenario, int>> firing;
  for (const RuleScenario& scenario : Scenarios()) {
    for (const RuleCheck& check : scenario.checks) {
      for (const std::string& alert : check.firing) firing.try_emplace(alert, scenario, check.minute);
    }
  }
  EXPECT_EQ(firing.size(), AlertNames().size());
  std::ignore = folder_.Write("rules.yml", AlertRulesYaml(RuleEngine::kPrometheus));
  for (const auto& [alert, where] : firing) {
    std::string tests = PromtoolTests({{where.first.name, where.first.gpus, {}}});
    tests.erase(tests.rfind("    promql_expr_test:"));
    tests += "    alert_rule_test: [{eval_time: " + std::to_string(where.second) + "m, alertname: " + alert + "}]\n";
    const auto run = RunShell("promtool test rules " + folder_.Write("tests.yml", tests) + " 2>&1");
    EXPECT_NE(run.code, 0) << alert;
    EXPECT_NE(run.out.find("IO, model size, scheduling or user error?"), std::string::npos) << run.out;
    for (const char* const left : {"{{", "<error", "<no value>", "%!"})
      EXPECT_EQ(run.out.find(left), std::string::npos) << run.out;
    EXPECT_EQ(run.out.find("on n1") != std::string::npos, alert != kBudget) << run.out;
  }
}

TEST(FleetRulesTest, VmalertAcceptsTheRules) {
  if (RunShell("command -v vmalert").code != 0) GTEST_SKIP() << "vmalert is missing (tools/install_deps.sh test)";
  const TempFolder folder;
  const std::string rules = AlertRulesYaml(RuleEngine::kVmalert);
  const auto check = [&](const std::string& yaml) {
    return RunShell("vmalert -dryRun -rule=" + folder.Write("rules.yml", yaml) + " 2>&1");
  };
  EXPECT_EQ(check(rules).code, 0) << check(rules).out;
  std::string wrong = rules;
  wrong.replace(wrong.find("sum by (node"), 3, "smu");
  EXPECT_NE(check(wrong).code, 0);
}

// All scenarios as text with times, each on a node of its own.
std::string ScenariosAsSamples(const std::vector<RuleScenario>& scenarios, std::int64_t start) {
  std::string text;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    SeriesOfMinutes all;
    for (std::size_t gpu = 0; gpu < scenarios[i].gpus.size(); ++gpu)
      AddGpuMinutes("g" + std::to_string(gpu), scenarios[i].gpus[gpu], &all);
    for (const auto& [name, values] : all) {
      std::string series = name;
      series.replace(series.find("n1"), 2, "node" + std::to_string(i));
      for (std::size_t minute = 0; minute < values.size(); ++minute) {
        if (values[minute] == "_" || values[minute] == "stale") continue;
        const std::int64_t at = (start + 60 * static_cast<std::int64_t>(minute)) * 1000;
        text += series + " " + values[minute] + " " + std::to_string(at) + "\n";
      }
    }
  }
  return text;
}

// vmalert computes the rules over the scenarios, in VictoriaMetrics. vmalert 1.79 calls every alert of such a replay
// pending, so an alert counts here if it holds for its time.
TEST(FleetRulesTest, VmalertFindsTheSameAlerts) {
  const std::string missing = testing::WithoutPrograms({"vmalert", "victoria-metrics"});
  if (!missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  testing::TestEngines engines;
  const std::string url = engines.Victoria("-search.disableCache");
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::int64_t start = now / 3600 * 3600 - 8 * 3600;
  const std::vector<RuleScenario> scenarios = Scenarios();
  testing::HttpRequest load{url + "/api/v1/import/prometheus", {}, "POST"};
  load.body = ScenariosAsSamples(scenarios, start);
  ASSERT_EQ(testing::Ask(load).status, 204);
  ASSERT_EQ(testing::Ask({url + "/internal/force_flush"}).status, 200);
  const auto time = [&](std::int64_t second) { return FormatRfc3339(Instant::FromNanos(second * kNanosPerSecond)); };
  const auto run = RunShell("vmalert -rule=" + folder.Write("rules.yml", AlertRulesYaml(RuleEngine::kVmalert)) +
                            " -datasource.url=" + url + " -remoteWrite.url=" + url + " -remoteRead.url=" + url +
                            " -remoteWrite.flushInterval=200ms -replay.disableProgressBar -replay.rulesDelay=400ms" +
                            " -replay.timeFrom=" + time(start) + " -replay.timeTo=" + time(start + 6 * 3600) + " 2>&1");
  ASSERT_EQ(run.code, 0) << run.out;
  std::ignore = testing::Ask({url + "/internal/force_flush"});
  const auto reply = testing::Ask({url + "/api/v1/query_range?query=count(ALERTS)by(alertname,node)&step=60&start=" +
                                   std::to_string(start) + "&end=" + std::to_string(start + 6 * 3600)});
  const nlohmann::json answer = nlohmann::json::parse(reply.body, nullptr, false);
  ASSERT_EQ(answer.value("status", ""), "success") << reply.body;
  std::set<std::pair<std::string, std::string>> found;
  const std::string yaml = AlertRulesYaml(RuleEngine::kVmalert);
  for (const auto& series : answer["data"]["result"]) {
    const std::string alert = series["metric"]["alertname"];
    const std::size_t hold = yaml.find("for: ", yaml.find("alert: " + alert)) + 5;
    int longest = 0;
    int length = 0;
    std::int64_t before = 0;
    for (const auto& value : series["values"]) {
      const auto at = value[0].get<std::int64_t>();
      length = at == before + 60 ? length + 1 : 0;
      before = at;
      longest = std::max(longest, length);
    }
    if (longest >= std::stoi(yaml.substr(hold))) found.emplace(series["metric"].value("node", ""), alert);
  }
  std::set<std::pair<std::string, std::string>> expected = {{"", kBudget}};  // all scenarios together
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    for (const RuleCheck& check : scenarios[i].checks) {
      for (const std::string& alert : check.firing) {
        if (alert != kBudget) expected.emplace("node" + std::to_string(i), alert);
      }
    }
  }
  // An engine that only gets samples sees a node's last one as its end.
  std::erase_if(found, [](const auto& each) { return each.second == kDown; });
  std::erase_if(expected, [](const auto& each) { return each.second == kDown; });
  EXPECT_EQ(found, expected) << run.out;
}

// The two forms differ in a comment alone.
TEST(FleetRulesTest, EnginesGetTheSameRules) {
  static const std::regex kComment("(^|\n) *#[^\n]*");
  const std::string prometheus = AlertRulesYaml(RuleEngine::kPrometheus);
  const std::string vmalert = AlertRulesYaml(RuleEngine::kVmalert);
  EXPECT_NE(prometheus, vmalert);
  EXPECT_EQ(std::regex_replace(prometheus, kComment, ""), std::regex_replace(vmalert, kComment, ""));
}

// The metrics that an agent exposes, with their labels.
std::map<std::string, std::set<std::string>> LabelsOfAgent() {
  NodeCounters counters(0, 20);
  const Owner owner{"c1", "4711", "ann", "language", "exp", Instant::FromNanos(0)};
  counters.Enter({"GPU-0", "NVIDIA H100 80GB HBM3", 0, 1, 1});
  Holdings holdings;
  holdings.held.push_back({"GPU-0", owner, OwnerProof::kScheduler, 1, 1, {}});
  counters.Hold(0, holdings);
  for (int i = 0; i < 21; ++i) {
    GpuSecond second;
    second.phase_ms = {0, 0, 1000, 0, 0};
    counters.Add(std::vector<GpuSecond>{second});
  }
  NodeView view{counters, {}, {}, {}, Instant::FromNanos(21 * kNanosPerSecond), Instant::FromNanos(0)};
  GpuGauges gauges;
  gauges.utilization = gauges.memory_used = gauges.memory_total = gauges.power = gauges.temperature = 1;
  gauges.price = Money::Cents(295);
  gauges.currency = "USD";
  view.gauges.push_back(gauges);
  view.host.rise.fill(kNanosPerSecond);
  view.health.up["nvml"] = true;
  view.health.errors["nvml"] = 0;
  std::map<std::string, std::set<std::string>> metrics;
  static const std::regex kLabel(R"((\w+)=")");
  for (const MetricFamily& family : AgentFamilies(view, "n1", "test")) {
    const char* const ending = family.type == MetricType::kCounter ? "_total"
                               : family.type == MetricType::kInfo  ? "_info"
                                                                   : "";
    std::set<std::string>& labels = metrics[family.name + ending];
    for (const MetricSample& sample : family.samples) {
      for (std::sregex_iterator at(sample.labels.begin(), sample.labels.end(), kLabel), end; at != end; ++at)
        labels.insert((*at)[1]);
    }
  }
  return metrics;
}

// Names in expressions and texts that no agent exposes, with the labels that they are selected by.
std::vector<std::string> UnexposedIn(const std::string& yaml) {
  const auto metrics = LabelsOfAgent();
  static const std::regex kMetric(R"((^|[^:\w])(idleburn_\w+)(\{(\w+)[!=]~?)?)");
  std::vector<std::string> unexposed;
  for (std::sregex_iterator at(yaml.begin(), yaml.end(), kMetric), end; at != end; ++at) {
    const auto metric = metrics.find((*at)[2]);
    if (metric == metrics.end() || ((*at)[4].matched && !metric->second.contains((*at)[4])))
      unexposed.push_back((*at)[2].str() + (*at)[3].str());
  }
  return unexposed;
}

TEST(FleetRulesTest, NamesOnlyWhatAgentsExpose) {
  EXPECT_EQ(UnexposedIn(AlertRulesYaml(RuleEngine::kPrometheus)), std::vector<std::string>{});
  EXPECT_EQ(UnexposedIn("rate(idleburn_gpu_idle_seconds[5m]) + idleburn_gpu_phase_seconds_total{memory=\"held\"}"),
            (std::vector<std::string>{"idleburn_gpu_idle_seconds", "idleburn_gpu_phase_seconds_total{memory="}));
}

TEST(FleetRulesTest, AlertsWaitFiveMinutesAndAskForTheCause) {
  const std::string yaml = AlertRulesYaml(RuleEngine::kPrometheus);
  static const std::regex kHold("        for: (\\d+)m\n");
  std::size_t holds = 0;
  for (std::sregex_iterator at(yaml.begin(), yaml.end(), kHold), end; at != end; ++at, ++holds)
    EXPECT_GE(std::stoi((*at)[1]), 5);
  EXPECT_EQ(holds, AlertNames().size());
  static const std::regex kQuestion("IO, model size, scheduling or user error\\?\n");
  EXPECT_EQ(static_cast<std::size_t>(std::distance(std::sregex_iterator(yaml.begin(), yaml.end(), kQuestion), {})),
            AlertNames().size());
}

}  // namespace
}  // namespace idleburn
