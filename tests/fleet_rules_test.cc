// The alert rules do on real engines what docs/fleet-rules.md promises: each alert fires, stays silent and recovers.
//
// A story is what one GPU does, minute by minute. The counters of a real agent count it, so each series and label is
// one that agents expose. promtool and vmalert evaluate the rules on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "fleet/alert_rules.h"
#include "support/agent_story.h"
#include "support/engines.h"
#include "support/program.h"
#include "support/service.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AgentStory;
using testing::Ask;
using testing::Doing;
using testing::Eventually;
using testing::ProgramRun;
using testing::RunShell;
using testing::TempFolder;
using testing::TestEngines;
using testing::While;
using testing::WithoutPrograms;

constexpr std::size_t kIdle = 0;
constexpr std::size_t kUnderutilized = 1;
constexpr std::size_t kComputeBound = 3;

const Doing kHealthy;

// Which alerts fire at a minute of a story.
struct Firing {
  int minute;
  std::set<std::string> alerts;
};
// A story and what must come of it.
struct Case {
  std::string name;
  std::vector<While> whiles;
  std::vector<Firing> firings;
  // The annotations of the first alert that fires, once it does.
  std::string severity;
  std::string summary;
  std::string description;
  NodeGpuShare gpu = {"GPU-1", "NVIDIA H100 80GB HBM3", 0, 1, 1};
};

Doing IdleHeld() { return {.phase = kIdle, .decile = 0}; }
Doing Stalled(std::int64_t pcie, std::int64_t nvlink) {
  return {.phase = kUnderutilized, .decile = 1, .pcie = pcie, .nvlink = nvlink};
}
// A GPU that looks busy and tells its SM activity.
Doing LooksBusy(std::int64_t sm_percent, std::int64_t pcie, std::int64_t nvlink = 0) {
  return {.phase = kComputeBound, .decile = 9, .pcie = pcie, .nvlink = nvlink, .sm_percent = sm_percent};
}

// Windows are 5 or 10 minutes or an hour, and alerts are pending for 5 minutes. The minutes follow from these.
std::vector<Case> LowUtilizationCases() {
  const Doing slow{.phase = kUnderutilized, .decile = 2};
  Doing slow_and_blind = slow;
  slow_and_blind.unobserved_ms = 400;
  return {
      // A minute counts 0.85 when healthy and 0.25 when slow. After m slow minutes the mean is 0.85 - 0.6 m / 60: below
      // 0.5 from minute 36 on, and back above 0.55 after 31 healthy ones.
      {"low",
       {{kHealthy, 70}, {slow, 60}, {kHealthy, 60}},
       {{70 + 35, {}},
        {70 + 39, {}},
        {70 + 60, {"IdleburnLowUtilization"}},
        {130 + 28, {"IdleburnLowUtilization"}},
        {130 + 35, {}}},
       "warning",
       "GPU GPU-1 of n1: mean utilization 25% in the last hour",
       "IO, model size, scheduling or user error? IO: tasks of the node waited for IO 25% and for a CPU 10% of the "
       "time. The disks read 512MiB/s. Model size: 50% of the GPU's memory is in use. If that is little, use a larger "
       "batch or a smaller GPU. Scheduling: the GPU was idle and empty 0% of the time. User error: a process held the "
       "idle GPU 0% of the time. The largest of these shares is the first suspect. Counters: "
       "idleburn_host_pressure_seconds_total, idleburn_host_disk_bytes_total, idleburn_gpu_memory_used_bytes, "
       "idleburn_gpu_idle_seconds_total."},
      // The same without data for 0.4 s of each second: 0.6 x 0.25 + 0.4 is more than 0.5.
      {"low_but_unobserved", {{kHealthy, 70}, {slow_and_blind, 80}}, {{70 + 80, {"IdleburnUnobserved"}}}, "", "", ""},
      // Half an hour after its first reading, a GPU was not slow for an hour.
      {"low_but_new", {{slow, 90}}, {{55, {}}, {70, {"IdleburnLowUtilization"}}}, "", "", ""},
  };
}

std::vector<Case> StallCases() {
  const Doing spin{.phase = kComputeBound, .decile = 9, .spin_ms = 1000};
  const Doing half_spin{.phase = kComputeBound, .decile = 9, .spin_ms = 400};
  const std::int64_t full_pcie = 55'000'000'000;     // of 63
  const std::int64_t full_nvlink = 760'000'000'000;  // of 900
  return {
      {"pcie",
       {{kHealthy, 30}, {Stalled(full_pcie, 0), 20}, {kHealthy, 30}},
       {{30 + 8, {}}, {30 + 12, {"IdleburnPcieStall"}}, {50 + 3, {"IdleburnPcieStall"}}, {50 + 12, {}}},
       "warning",
       "GPU GPU-1 of n1: PCIe moves 87.28% of its rate and little computes",
       "IO, model size, scheduling or user error? At most 15% of the GPU computed. IO: PCIe moves 41.18GiB/s and the "
       "disks read 512MiB/s. If both are alike, the input is copied without reuse. Model size: 50% of the GPU's memory "
       "is in use. If it is nearly full, offloading of weights or optimizer states is the usual cause. User error: if "
       "neither holds, tensors go to the host and back in each step. Scheduling is not the cause, because the job "
       "runs. Counters: idleburn:gpu_working:ratio5m, idleburn_gpu_pcie_bytes_total, idleburn_host_disk_bytes_total, "
       "idleburn_gpu_memory_used_bytes."},
      // Full, but the GPU computes; and a link of unknown speed.
      {"pcie_and_work", {{kHealthy, 30}, {{.pcie = full_pcie}, 30}}, {{30 + 30, {}}}, "", "", ""},
      {"pcie_unknown",
       {{kHealthy, 30}, {{.phase = kUnderutilized, .decile = 1, .pcie = full_pcie, .pcie_link = 0}, 25}},
       {{30 + 25, {}}},
       "",
       "",
       ""},
      {"pcie_below", {{kHealthy, 30}, {Stalled(48'000'000'000, 0), 25}}, {{30 + 25, {}}}, "", "", ""},
      // The same traffic fills a link of half the lanes.
      {"pcie_half_the_lanes",
       {{kHealthy, 30},
        {{.phase = kUnderutilized, .decile = 1, .pcie = 27'000'000'000, .pcie_link = 31'507'692'304}, 25}},
       {{30 + 8, {}}, {30 + 12, {"IdleburnPcieStall"}}},
       "",
       "",
       ""},
      {"nvlink",
       {{kHealthy, 30}, {Stalled(0, full_nvlink), 20}, {kHealthy, 30}},
       {{30 + 8, {}}, {30 + 12, {"IdleburnAllReduceStall"}}, {50 + 12, {}}},
       "",
       "",
       ""},
      // Ten minutes of spin-wait are a stall. Twelve minutes of an hour are also the other alert, which ends when an
      // hour has less than six.
      {"all_spin",
       {{kHealthy, 70}, {spin, 30}, {kHealthy, 80}},
       {{70 + 8, {}},
        {70 + 11, {"IdleburnAllReduceStall"}},
        {70 + 19, {"IdleburnAllReduceStall", "IdleburnSpinWait"}},
        {100 + 12, {"IdleburnSpinWait"}},
        {100 + 52, {"IdleburnSpinWait"}},
        {100 + 58, {}}},
       "warning",
       "GPU GPU-1 of n1: little computes while the GPU communicates or waits",
       ""},
      {"half_spin",
       {{kHealthy, 70}, {half_spin, 60}, {kHealthy, 60}},
       {{70 + 28, {}}, {70 + 40, {"IdleburnSpinWait"}}, {130 + 40, {"IdleburnSpinWait"}}, {130 + 50, {}}},
       "warning",
       "GPU GPU-1 of n1: looked busy and waited 26.67% of the last hour",
       "IO, model size, scheduling or user error? IO: a rank with slow input makes all others wait. Tasks of this node "
       "waited for IO 25% of the time. Scheduling: a rank on a slow or throttled GPU does the same. This GPU was "
       "throttled 0% of the time; compare the job's other nodes. Model size: unequal pipeline stages wait for the "
       "largest one. User error: ranks that get unequal batches wait for the largest batch. Counters: "
       "idleburn_host_pressure_seconds_total, idleburn_gpu_throttled_seconds_total."},
  };
}

// GPUs that tell their SM activity: it sees what utilization hides.
std::vector<Case> SmActivityCases() {
  const std::int64_t full_pcie = 55'000'000'000;     // of 63
  const std::int64_t full_nvlink = 760'000'000'000;  // of 900
  return {
      {"pcie_sm",
       {{LooksBusy(60, 0), 30}, {LooksBusy(10, full_pcie), 20}, {LooksBusy(60, 0), 30}},
       {{30 + 8, {}}, {30 + 12, {"IdleburnPcieStall"}}, {50 + 12, {}}},
       "",
       "",
       ""},
      {"pcie_sm_works", {{LooksBusy(60, 0), 30}, {LooksBusy(60, full_pcie), 25}}, {{30 + 25, {}}}, "", "", ""},
      // A minute of work begins a new stretch.
      {"pcie_sm_with_work",
       {{LooksBusy(60, 0), 30},
        {LooksBusy(10, full_pcie), 9},
        {LooksBusy(60, full_pcie), 1},
        {LooksBusy(10, full_pcie), 9}},
       {{30 + 9, {}}, {30 + 19, {}}},
       "",
       "",
       ""},
      {"nvlink_sm",
       {{LooksBusy(60, 0), 30}, {LooksBusy(10, 0, full_nvlink), 20}, {LooksBusy(60, 0), 30}},
       {{30 + 8, {}}, {30 + 12, {"IdleburnAllReduceStall"}}, {50 + 12, {}}},
       "",
       "",
       ""},
  };
}

std::vector<Case> IdleCases() {
  const Doing empty{.phase = kIdle, .decile = 0, .memory = IdleMemory::kEmpty, .used_percent = 0};
  Doing half_blind = IdleHeld();
  half_blind.unobserved_ms = 500;
  Doing works_a_little = IdleHeld();
  works_a_little.work_ms = 50;
  Doing blind = IdleHeld();
  blind.unobserved_ms = 1000;
  const Doing gone{.agent_runs = false};
  return {
      {"held",
       {{kHealthy, 30}, {IdleHeld(), 25}, {kHealthy, 30}},
       {{30 + 13, {}}, {30 + 16, {"IdleburnIdleHeld"}}, {55 + 3, {"IdleburnIdleHeld"}}, {55 + 8, {}}},
       "warning",
       "GPU GPU-1 of n1: idle for 15 minutes while a process holds its memory",
       "IO, model size, scheduling or user error? User error: a notebook or a hung process is the usual cause. It "
       "holds 50% of the memory. IO: tasks of the node waited for IO 25% of the time, and the disks read 512MiB/s. If "
       "that is much, the job loads data or writes a checkpoint. Scheduling: InfiniBand moves 3GiB/s. If that is "
       "nothing, the "
       "job may wait for nodes that it has not got yet. Model size is not the cause, because nothing computes. "
       "Counters: "
       "idleburn_gpu_memory_used_bytes, idleburn_host_pressure_seconds_total, idleburn_host_disk_bytes_total, "
       "idleburn_host_infiniband_bytes_total."},
      // A MIG instance counts a seventh of the board.
      {"held_mig",
       {{kHealthy, 30}, {IdleHeld(), 25}},
       {{30 + 13, {}}, {30 + 16, {"IdleburnIdleHeld"}}},
       "",
       "",
       "",
       {"GPU-1", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 0, 1, 7}},
      {"empty", {{kHealthy, 30}, {empty, 25}}, {{30 + 25, {}}}, "", "", ""},
      // A minute of work begins a new stretch.
      {"held_with_work", {{IdleHeld(), 14}, {kHealthy, 1}, {IdleHeld(), 14}}, {{14, {}}, {29, {}}}, "", "", ""},
      {"held_with_little_work", {{kHealthy, 30}, {works_a_little, 30}}, {{30 + 30, {}}}, "", "", ""},
      {"held_but_half_unobserved",
       {{kHealthy, 30}, {half_blind, 30}, {kHealthy, 30}},
       {{30 + 4, {}}, {30 + 30, {"IdleburnUnobserved"}}, {60 + 12, {"IdleburnUnobserved"}}, {60 + 17, {}}},
       "warning",
       "GPU GPU-1 of n1: no data in 50% of the last 15 minutes",
       ""},
      {"unobserved",
       {{kHealthy, 30}, {blind, 90}},
       {{30 + 30, {"IdleburnUnobserved"}}, {120, {"IdleburnUnobserved"}}},
       "",
       "",
       ""},
      // A restart that takes three of fifteen minutes.
      {"restart",
       {{kHealthy, 30}, {gone, 3}, {kHealthy, 30}},
       {{33, {}}, {33 + 8, {"IdleburnUnobserved"}}, {33 + 20, {}}},
       "warning",
       "GPU GPU-1 of n1: no data in 20% of the last 15 minutes",
       ""},
      // An idle GPU of an agent that is gone: the silence is told, and nothing else.
      {"gone",
       {{kHealthy, 30}, {IdleHeld(), 12}, {gone, 60}, {kHealthy, 30}},
       {{42, {}},
        {42 + 4, {}},
        {42 + 7, {"IdleburnAgentDown"}},
        {102, {"IdleburnAgentDown"}},
        {102 + 2, {}},
        {102 + 8, {}}},
       "critical",
       "Node n1: its agent gives no metrics",
       "IO, model size, scheduling or user error? GPUs of the node: 1. Their newest reading is 7m 0s old. Jobs may "
       "still run: "
       "IO, model size, scheduling and user error are unknown, and nothing counts as idle. Scheduling: if other "
       "metrics of the node are missing too, the node was drained or is down. User error: if only this agent is "
       "silent, it was stopped, or a firewall blocks its port. IO and model size do not stop an agent. Exit code 70 in "
       "its log means that a driver call hung. Counters: idleburn_gpu_info, "
       "idleburn_last_collect_success_timestamp_seconds."},
  };
}

std::vector<Case> OtherCases() {
  return {
      {"memory",
       {{kHealthy, 30}, {{.used_percent = 90}, 20}, {{.used_percent = 82}, 20}, {kHealthy, 20}},
       {{30 + 4, {}}, {30 + 10, {"IdleburnMemory"}}, {50 + 15, {"IdleburnMemory"}}, {70 + 2, {}}},
       "info",
       "GPU GPU-1 of n1: 90% of its memory in use",
       ""},
      {"memory_between", {{kHealthy, 30}, {{.used_percent = 84}, 20}}, {{50, {}}}, "", "", ""},
      // $150 an hour, of a budget of $50,000 in 720 h, $69.44 an hour: after 11.1 h the mean of the day is above it.
      // At $10 the mean falls below 95 % after 26.4 h.
      {"budget",
       {{{.dollars = 150}, 12 * 60}, {{.dollars = 10}, 17 * 60}},
       {{11 * 60, {}},
        {12 * 60, {"IdleburnBudgetBurnRate"}},
        {26 * 60, {"IdleburnBudgetBurnRate"}},
        {27 * 60, {}},
        {29 * 60, {}}},
       "critical",
       "",
       ""},
  };
}

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (auto* cases : {&LowUtilizationCases, &StallCases, &SmActivityCases, &IdleCases, &OtherCases}) {
    for (Case& each : cases()) all.push_back(std::move(each));
  }
  return all;
}

// The budget counts a day. Other cases last an hour or two.
constexpr int kLongCase = 600;

const MonthlyBudget kBudget{Money::Cents(5'000'000), "USD"};

// A story as a file for `promtool test rules`.
std::string PromtoolTest(const Case& each, const std::string& rules) {
  AgentStory story("n1", each.gpu, 0);
  story.Live(each.whiles);
  std::string yaml = "rule_files: ['" + rules +
                     "']\nevaluation_interval: " + (story.minutes() > kLongCase ? "5m" : "1m") +
                     "\ntests:\n- name: " + each.name + "\n  interval: 1m\n  input_series:\n" + story.InputSeries() +
                     "  promql_expr_test:\n";
  const Firing* first = nullptr;
  for (const Firing& firing : each.firings) {
    yaml += "  - expr: count by (alertname) (ALERTS{alertstate=\"firing\"})\n    eval_time: " +
            std::to_string(firing.minute) + "m\n    exp_samples:\n";
    for (const std::string& alert : firing.alerts)
      yaml += "    - {labels: '{alertname=\"" + alert + "\"}', value: 1}\n";
    if (first == nullptr && !firing.alerts.empty()) first = &firing;
  }
  if (first == nullptr || each.description.empty()) return yaml;
  yaml += "  alert_rule_test:\n  - eval_time: " + std::to_string(first->minute) +
          "m\n    alertname: " + *first->alerts.begin() +
          "\n    exp_alerts:\n    - exp_labels: {severity: " + each.severity + ", node: n1" +
          (each.summary.find("GPU-1") == std::string::npos ? "" : ", uuid: GPU-1") +
          "}\n      exp_annotations:\n        summary: \"" + each.summary + "\"\n        description: \"" +
          each.description + "\"\n";
  return yaml;
}

// The metrics that an agent exposes, with their labels.
std::map<std::string, std::set<std::string>> LabelsOfAgent() {
  AgentStory story("n1", {"GPU-1", "NVIDIA H100 80GB HBM3", 0, 1, 1}, 0);
  story.Live({{{.sm_percent = 50}, 1}});
  static const std::regex kSeries(R"((idleburn_\w+)\{([^}]*)\})");
  static const std::regex kLabel(R"((\w+)=")");
  const std::string text = story.Text();
  std::map<std::string, std::set<std::string>> metrics;
  for (std::sregex_iterator series(text.begin(), text.end(), kSeries), end; series != end; ++series) {
    const std::string labels = (*series)[2];
    std::set<std::string>& known = metrics[(*series)[1]];
    for (std::sregex_iterator at(labels.begin(), labels.end(), kLabel); at != end; ++at) known.insert((*at)[1]);
  }
  return metrics;
}

// Metrics of a text that no agent exposes, and labels in their selectors that they do not have.
std::vector<std::string> UnexposedIn(const std::string& text) {
  const auto metrics = LabelsOfAgent();
  static const std::regex kMetric(R"((^|[^:\w])(idleburn_\w+)(\{([^}]*)\})?)");
  static const std::regex kLabel(R"((\w+)(=|!=|=~|!~)["%])");
  std::vector<std::string> unexposed;
  for (std::sregex_iterator at(text.begin(), text.end(), kMetric), end; at != end; ++at) {
    const auto metric = metrics.find((*at)[2]);
    if (metric == metrics.end()) {
      unexposed.push_back((*at)[2]);
      continue;
    }
    const std::string selector = (*at)[4];
    for (std::sregex_iterator label(selector.begin(), selector.end(), kLabel); label != end; ++label) {
      if (metric->second.count((*label)[1]) == 0) unexposed.push_back((*at)[2].str() + "{" + (*label)[1].str());
    }
  }
  return unexposed;
}

TEST(FleetRules, EveryMetricAndLabelIsOneThatAgentsExpose) {
  for (const RuleEngine engine : {RuleEngine::kPrometheus, RuleEngine::kVmalert})
    EXPECT_EQ(UnexposedIn(AlertRulesYaml(engine, kBudget)), std::vector<std::string>{});
  EXPECT_EQ(UnexposedIn("rate(idleburn_gpu_idle_seconds[5m]) + idleburn_gpu_phase_seconds_total{memory=\"held\"}"),
            (std::vector<std::string>{"idleburn_gpu_idle_seconds", "idleburn_gpu_phase_seconds_total{memory"}));
}

TEST(FleetRules, EveryAlertHasStoriesInWhichItFiresStaysSilentAndRecovers) {
  std::map<std::string, std::set<std::string>> seen;
  for (const Case& each : AllCases()) {
    for (const AlertRule& rule : AlertRules()) {
      bool fired = false;
      for (const Firing& firing : each.firings) {
        const bool fires = firing.alerts.count(std::string(rule.name)) != 0;
        seen[std::string(rule.name)].insert(fires ? "fires" : fired ? "recovers" : "silent");
        fired = fired || fires;
      }
    }
  }
  for (const AlertRule& rule : AlertRules()) EXPECT_EQ(seen[std::string(rule.name)].size(), 3U) << rule.name;
}

TEST(FleetRules, PrometheusFiresEachAlertAndEndsIt) {
  if (const std::string missing = WithoutPrograms({"promtool"}); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  const std::string rules = folder.Write("rules.yml", AlertRulesYaml(RuleEngine::kPrometheus, kBudget));
  const ProgramRun check = RunShell("promtool check rules " + rules);
  EXPECT_EQ(check.code, 0) << check.out << check.err;
  for (const Case& each : AllCases()) {
    const ProgramRun run = RunShell("promtool test rules " + folder.Write("test.yml", PromtoolTest(each, rules)));
    EXPECT_EQ(run.code, 0) << each.name << "\n" << run.out << run.err;
  }
}

// Whether vmalert's form of a rule that fires in a case differs from Prometheus'.
bool FormsDifferFor(const Case& each) {
  for (const AlertRule& rule : AlertRules()) {
    for (const Firing& firing : each.firings)
      if (rule.keep_minutes > 0 && firing.alerts.count(std::string(rule.name)) != 0) return true;
  }
  return false;
}

// Its hysteresis is an expression, which Prometheus understands too.
TEST(FleetRules, VmalertsFormFiresAndEndsAtTheSameMinutes) {
  if (const std::string missing = WithoutPrograms({"promtool"}); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  const std::string rules = folder.Write("rules.yml", AlertRulesYaml(RuleEngine::kVmalert, kBudget));
  int differ = 0;
  for (const Case& each : AllCases()) {
    if (!FormsDifferFor(each)) continue;
    ++differ;
    const ProgramRun run = RunShell("promtool test rules " + folder.Write("test.yml", PromtoolTest(each, rules)));
    EXPECT_EQ(run.code, 0) << each.name << "\n" << run.out << run.err;
  }
  EXPECT_GE(differ, 4);
}

// A node with one GPU and another with a seventh of one, both scraped twice: the sums count each once.
TEST(FleetRules, RecordedSumsCountEachGpuOnce) {
  if (const std::string missing = WithoutPrograms({"promtool"}); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  const std::string rules = folder.Write("rules.yml", AlertRulesYaml(RuleEngine::kPrometheus, kBudget));
  std::string series;
  for (const auto& [node, slices] : {std::pair("n1", 1), std::pair("n2", 7)}) {
    AgentStory story(node, {"GPU-1", "NVIDIA H100 80GB HBM3", 0, 1, slices}, 0);
    story.Live({{slices == 1 ? kHealthy : IdleHeld(), 180}});
    const std::string once = story.InputSeries();
    series += once + std::regex_replace(once, std::regex(":9835"), ":9836");
  }
  // In thousandths. Hours close 3 s after the edge at the latest, so each scrape from minute 121 on sees that of 2 h.
  const std::vector<std::array<std::string, 3>> sums = {
      {"idleburn:cluster_phase:gpus", "{phase=\"productive\"}", "1000"},
      {"idleburn:cluster_phase:gpus", "{phase=\"idle\"}", "143"},
      {"idleburn:team_phase:gpus", "{team=\"vision\",phase=\"productive\"}", "1000"},
      {"idleburn:team_phase:gpus", "{team=\"vision\",phase=\"idle\"}", "143"},
      {"idleburn:team_phase_closed:gpu_seconds1h", "{team=\"vision\",phase=\"productive\"}", "3600000"},
      {"idleburn:team_phase_closed:gpu_seconds1h", "{team=\"vision\",phase=\"idle\"}", "514286"},
      {"idleburn:team_phase_closed:gpu_seconds1h", "{team=\"_unallocated\",phase=\"idle\"}", "0"},
      {"idleburn:gpu_utilization:ratio1h", "{node=\"n1\",uuid=\"GPU-1\"}", "850"},
      {"idleburn:gpu_utilization:ratio5m", "{node=\"n2\",uuid=\"GPU-1\"}", "50"},
      {"idleburn:cluster_utilization:ratio5m", "{}", "450"},
      {"idleburn:cost_per_hour", "{currency=\"USD\"}", "2286"},
      {"idleburn:budget_per_month", "{currency=\"USD\"}", "50000000"},
  };
  std::string yaml = "rule_files: ['" + rules +
                     "']\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n" + series +
                     "  promql_expr_test:\n";
  for (const auto& [name, labels, value] : sums) {
    yaml += "  - expr: 'round(" + name + (labels == "{}" ? "" : labels) +
            " * 1000)'\n    eval_time: 175m\n    exp_samples:\n";
    yaml += "    - {labels: '" + labels + "', value: " + value + "}\n";
  }
  const ProgramRun run = RunShell("promtool test rules " + folder.Write("test.yml", yaml));
  EXPECT_EQ(run.code, 0) << run.out << run.err;
}

// A rule with a fault, and the story that finds it.
struct PlantedRuleFault {
  const char* right;
  const char* wrong;
  const char* story;
};

TEST(FleetRules, PlantedFaultsAreSeen) {
  if (const std::string missing = WithoutPrograms({"promtool"}); !missing.empty()) GTEST_SKIP() << missing;
  const PlantedRuleFault faults[] = {
      {"1h < 0.5\n", "1h < 0.3\n", "low"},
      {"  + idleburn:gpu_unobserved:ratio1h < 0.5\n", "  < 0.5\n", "low_but_unobserved"},
      {"1h < 0.55", "1h < 0.8", "low"},
      {"link_bytes_per_second) >= 0.8", "link_bytes_per_second) >= 0.95", "pcie"},
      {"link_bytes_per_second) >= 0.8", "link_bytes_per_second) >= 0.7", "pcie_below"},
      {"ratio5m < 0.25", "ratio5m < 0.95", "pcie_and_work"},
      {"max_over_time(idleburn_gpu_sm_active_ratio[5m])", "min_over_time(idleburn_gpu_sm_active_ratio[5m])",
       "pcie_sm_with_work"},
      {"max by (node, uuid) (max_over_time(idleburn_gpu_sm_active_ratio[5m]))", "vector(1)", "pcie_sm"},
      {"ratio5m > 0.9", "ratio5m > 0.3", "half_spin"},
      {"> 0.85", "> 0.95", "memory"},
      {"> 0.85", "> 0.83", "memory_between"},
      {"memory=\"held\"}[10m]", "memory=\"empty\"}[10m]", "held"},
      {"underutilized|productive", "underutilized", "held_with_little_work"},
      {"ratio15m > 0.05", "ratio15m > 0.6", "held_but_half_unobserved"},
      {"[1d:5m]) / 288 * 720", "[1h:5m]) / 12 * 720", "budget"},
      {"unless on (node) max by (node) (idleburn_build_info)", "", "pcie_and_work"},
  };
  const TempFolder folder;
  const std::vector<Case> stories = AllCases();
  for (const PlantedRuleFault& fault : faults) {
    std::string rules = AlertRulesYaml(RuleEngine::kPrometheus, kBudget);
    ASSERT_NE(rules.find(fault.right), std::string::npos) << fault.right;
    for (std::size_t at = 0; (at = rules.find(fault.right, at)) != std::string::npos;) {
      rules.replace(at, std::string(fault.right).size(), fault.wrong);
      at += std::string(fault.wrong).size();
    }
    const auto story =
        std::find_if(stories.begin(), stories.end(), [&](const Case& each) { return each.name == fault.story; });
    ASSERT_NE(story, stories.end()) << fault.story;
    const std::string file = folder.Write("rules.yml", rules);
    ASSERT_EQ(RunShell("promtool check rules " + file).code, 0) << fault.wrong;
    const ProgramRun run =
        RunShell("promtool test rules " + folder.Write("test.yml", PromtoolTest(*story, file)) + " 2>&1");
    EXPECT_NE(run.code, 0) << fault.wrong << " in " << fault.story;
    EXPECT_NE(run.out.find("got:"), std::string::npos) << fault.wrong << run.out;
  }
}

// A node of the test below: what it does up to now, and which alerts it must have.
struct Now {
  std::string node;
  std::vector<While> whiles;
  std::set<std::string> alerts;
};

std::vector<Now> Nows() {
  const Doing slow{.phase = kUnderutilized, .decile = 2};
  const Doing spin{.phase = kComputeBound, .decile = 9, .spin_ms = 1000};
  const Doing empty{.phase = kIdle, .decile = 0, .memory = IdleMemory::kEmpty, .used_percent = 0};
  Doing half_blind = IdleHeld();
  half_blind.unobserved_ms = 500;
  const Doing pcie = Stalled(55'000'000'000, 0);
  const Doing nvlink = Stalled(0, 760'000'000'000);
  return {
      {"well", {{kHealthy, 70}}, {}},
      {"low", {{kHealthy, 10}, {slow, 62}}, {"IdleburnLowUtilization"}},
      {"low-then-well", {{slow, 70}, {kHealthy, 40}}, {}},
      {"low-but-new", {{slow, 50}}, {}},
      {"pcie", {{kHealthy, 20}, {pcie, 10}}, {"IdleburnPcieStall"}},
      {"pcie-then-well", {{pcie, 20}, {kHealthy, 10}}, {}},
      {"pcie-and-work", {{{.pcie = 55'000'000'000}, 20}}, {}},
      {"nvlink", {{kHealthy, 20}, {nvlink, 10}}, {"IdleburnAllReduceStall"}},
      {"spin", {{kHealthy, 70}, {spin, 20}}, {"IdleburnAllReduceStall", "IdleburnSpinWait"}},
      {"spin-then-well", {{kHealthy, 70}, {spin, 20}, {kHealthy, 10}}, {"IdleburnSpinWait"}},
      {"memory", {{kHealthy, 20}, {{.used_percent = 90}, 10}}, {"IdleburnMemory"}},
      {"held", {{kHealthy, 20}, {IdleHeld(), 15}}, {"IdleburnIdleHeld"}},
      {"held-with-work", {{IdleHeld(), 14}, {kHealthy, 1}, {IdleHeld(), 5}}, {}},
      {"empty", {{kHealthy, 20}, {empty, 20}}, {}},
      {"half-blind", {{kHealthy, 20}, {half_blind, 20}}, {"IdleburnUnobserved"}},
      {"gone", {{kHealthy, 20}, {IdleHeld(), 12}, {{.agent_runs = false}, 12}}, {"IdleburnAgentDown"}},
  };
}

// vmalert on VictoriaMetrics, a real pair. Only the times that alerts are pending are left out.
class EvaluatedVictoria {
 public:
  void Import(const std::string& text) const { TestEngines::LoadText(url_, text); }
  void Evaluate(const std::string& rules) {
    vmalert_ = engines_.Start("vmalert -rule=" + rules + " -datasource.url=" + url_ + " -remoteWrite.url=" + url_ +
                                  " -remoteWrite.flushInterval=100ms -notifier.url=http://127.0.0.1:9"
                                  " -loggerLevel=FATAL -httpListenAddr=127.0.0.1:{port}",
                              "/health");
  }
  [[nodiscard]] bool Has(const std::string& series) const {
    const json answer = json::parse(Ask({.url = url_ + "/api/v1/query?query=" + series}).body, nullptr, false);
    return answer.is_object() && answer["status"] == "success" && !answer["data"]["result"].empty();
  }
  // All alerts that fire now.
  [[nodiscard]] std::vector<json> Firing() const {
    const json answer = json::parse(Ask({.url = vmalert_ + "/api/v1/alerts"}).body, nullptr, false);
    std::vector<json> firing;
    if (!answer.is_object()) return firing;
    for (const json& alert : answer["data"]["alerts"]) {
      if (alert["state"] == "firing") firing.push_back(alert);
    }
    return firing;
  }

 private:
  TestEngines engines_;
  std::string url_ = engines_.Victoria("-search.disableCache");
  std::string vmalert_;
};

TEST(FleetRules, VmalertFiresOnVictoriaMetricsAndFillsInTheDescriptions) {
  if (const std::string missing = WithoutPrograms({"victoria-metrics", "vmalert"}); !missing.empty())
    GTEST_SKIP() << missing;
  const TempFolder folder;
  std::string yaml = AlertRulesYaml(RuleEngine::kVmalert, kBudget);
  yaml = std::regex_replace(yaml, std::regex(" for: [0-9]+m"), " for: 0s");
  yaml = std::regex_replace(yaml, std::regex("interval: 1m"), "interval: 1s");
  EvaluatedVictoria victoria;
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::map<std::string, std::set<std::string>> expected;
  for (const Now& each : Nows()) {
    int minutes = 0;
    for (const While& part : each.whiles) minutes += part.minutes;
    AgentStory story(each.node, {"GPU-1", "NVIDIA H100 80GB HBM3", 0, 1, 1}, now - minutes * 60);
    story.Live(each.whiles);
    victoria.Import(story.Text());
    if (!each.alerts.empty()) expected[each.node] = each.alerts;
  }
  std::string cost;
  for (int ago = 0; ago <= 24 * 60; ago += 5)
    cost += "idleburn:cost_per_hour{currency=\"USD\"} 100 " + std::to_string((now - ago * 60) * 1000) + "\n";
  victoria.Import(cost);
  expected[""] = {"IdleburnBudgetBurnRate"};

  EXPECT_TRUE(Eventually(std::chrono::seconds(60), [&] {
    for (const Now& each : Nows()) {
      if (!victoria.Has("last_over_time(idleburn_build_info%7Bnode=%22" + each.node + "%22%7D%5B1h%5D)")) return false;
    }
    return victoria.Has("last_over_time(idleburn:cost_per_hour%5B10m%5D)");
  }));
  // VictoriaMetrics shows a new series up to 10 s after it was written, and some rules use what others record.
  victoria.Evaluate(folder.Write("rules.yml", yaml));
  std::map<std::string, std::set<std::string>> found;
  EXPECT_TRUE(Eventually(std::chrono::seconds(60), [&] {
    found.clear();
    for (const json& alert : victoria.Firing())
      found[alert["labels"].value("node", "")].insert(alert["name"].get<std::string>());
    return found == expected;
  })) << json(found).dump();
  for (const RecordingRule& rule : RecordingRules(kBudget)) EXPECT_TRUE(victoria.Has(rule.name)) << rule.name;
  for (const json& alert : victoria.Firing()) {
    const std::string text = alert["annotations"].dump();
    EXPECT_NE(text.find("IO, model size, scheduling or user error? "), std::string::npos) << text;
    for (const char* bad : {"unknown}", "unknownB", "{{", "no value", "NaN", "error eval", "failed to", "%!"})
      EXPECT_EQ(text.find(bad), std::string::npos) << bad << ": " << text;
    if (alert["name"] == "IdleburnMemory") {
      EXPECT_EQ(alert["annotations"]["summary"], "GPU GPU-1 of memory: 90% of its memory in use");
      EXPECT_NE(text.find("mean utilization is 85%"), std::string::npos) << text;
    }
  }
}

TEST(FleetRules, VmalertAcceptsItsForm) {
  if (const std::string missing = WithoutPrograms({"vmalert"}); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  for (const auto& budget : {std::optional(kBudget), std::optional<MonthlyBudget>()}) {
    const std::string rules = folder.Write("rules.yml", AlertRulesYaml(RuleEngine::kVmalert, budget));
    const ProgramRun run = RunShell("vmalert -dryRun -rule=" + rules);
    EXPECT_EQ(run.code, 0) << run.out << run.err;
  }
}

}  // namespace
}  // namespace idleburn
