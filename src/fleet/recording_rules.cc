#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/alert_rules.h"

namespace idleburn {
namespace {

// Each GPU's rise of a counter. The inner max takes one of several replicas or scrape jobs; a sum would double them.
// `label` is the label of the counter besides node and uuid, to sum over; empty: none.
// The counters of a MIG instance rise by its share of the board, so shares of time need the sum of phases below.
std::string Rise(const std::string& counter, const std::string& label, const std::string& window) {
  const std::string rise = "(increase(" + counter + "[" + window + "]))";
  if (label.empty()) return "max by (node, uuid) " + rise;
  return "sum by (node, uuid) (max by (node, uuid, " + label + ") " + rise + ")";
}

// The mean utilization of observed time. A second counts as the middle of its decile d, 0.05 + 0.1 d, and d is summed
// by its binary digits: a second of decile 6 is in the terms of 2 and of 4.
std::string UtilizationExpression(const std::string& window) {
  const auto digit = [&](const std::string& deciles) {
    return Rise("idleburn_gpu_utilization_seconds_total{decile=~\"" + deciles + "\"}", "decile", window);
  };
  return "0.05 + 0.1 * (\n  " + digit("[13579]") + "\n  + 2 * " + digit("[2367]") + "\n  + 4 * " + digit("[4567]") +
         "\n  + 8 * " + digit("[89]") + "\n) / (" + Rise("idleburn_gpu_utilization_seconds_total", "decile", window) +
         " > 0)";
}

// A counter's share of wall time: phases, unobserved included, sum to it.
std::string ShareExpression(const std::string& part, const std::string& label, const std::string& window) {
  return Rise(part, label, window) + "\n/ (" + Rise("idleburn_gpu_phase_seconds_total", "phase", window) + " > 0)";
}

// What the rules of one GPU share.
void AddGpuRules(std::vector<RecordingRule>* rules) {
  const std::string unobserved = "idleburn_gpu_phase_seconds_total{phase=\"unobserved\"}";
  for (const std::string window : {"5m", "1h"}) {
    rules->push_back({"idleburn:gpu_utilization:ratio" + window, UtilizationExpression(window), "",
                      "Mean utilization of a GPU in its observed time."});
  }
  for (const std::string window : {"5m", "15m", "1h"}) {
    rules->push_back({"idleburn:gpu_unobserved:ratio" + window, ShareExpression(unobserved, "phase", window), "",
                      "Share of time without data."});
  }
  for (const std::string window : {"5m", "1h"}) {
    rules->push_back({"idleburn:gpu_spin_wait:ratio" + window,
                      ShareExpression("idleburn_gpu_spin_wait_seconds_total", "", window), "",
                      "Share of time in which a GPU looked busy and waited."});
  }
  rules->push_back({"idleburn:gpu_working:ratio5m",
                    "max by (node, uuid) (max_over_time(idleburn_gpu_sm_active_ratio[5m]))\n"
                    "  * (1 - idleburn:gpu_unobserved:ratio5m) + idleburn:gpu_unobserved:ratio5m\n"
                    "or idleburn:gpu_utilization:ratio5m * (1 - idleburn:gpu_unobserved:ratio5m)\n"
                    "  + idleburn:gpu_unobserved:ratio5m - idleburn:gpu_spin_wait:ratio5m",
                    "",
                    "The most that a GPU computed: SM activity, else utilization without spin-wait. Time without data "
                    "counts in full."});
}

// The sums of dashboards. A counter that catches up after its agent was down rises faster than time, so rates of one
// GPU are cut at 1.
void AddFleetRules(std::vector<RecordingRule>* rules) {
  const std::string phases = "clamp_max(max by (node, uuid, phase) (rate(idleburn_gpu_phase_seconds_total[5m])), 1)";
  rules->push_back({"idleburn:cluster_phase:gpus", "sum by (phase) (" + phases + ")", "", "GPUs in each phase."});
  for (const std::string window : {"5m", "1h"}) {
    const std::string weight = "(1 - idleburn:gpu_unobserved:ratio" + window + ")";
    rules->push_back({"idleburn:cluster_utilization:ratio" + window,
                      "sum(idleburn:gpu_utilization:ratio" + window + " * " + weight + ")\n/ (sum(" + weight + ") > 0)",
                      "",
                      "Mean utilization of all GPUs in their observed time. Each GPU or MIG instance counts as one."});
  }
  // Prometheus renames the label job to exported_job, unless the scrape job sets honor_labels.
  rules->push_back({"idleburn:team_phase:gpus",
                    "sum by (team, phase) (max by (node, cluster, job, exported_job, user, team, experiment, phase) "
                    "(rate(idleburn_job_phase_seconds_total[5m])))",
                    "", "GPUs of each team's jobs in each phase."});
  rules->push_back({"idleburn:team_phase_closed:gpu_seconds1h",
                    "sum by (team, phase) (max by (node, team, phase, epoch) (\n"
                    "  last_over_time(idleburn_owner_phase_closed_seconds_total[50m])\n"
                    "  - last_over_time(idleburn_owner_phase_closed_seconds_total[50m] offset 1h)))",
                    "",
                    "GPU-seconds of each team in the newest closed hour. Bills come from the ledger, not from here."});
  rules->push_back({"idleburn:cost_per_hour",
                    "sum by (currency) (\n"
                    "  max by (node, uuid, currency) (idleburn_gpu_price_per_hour)\n"
                    "  * on (node, uuid) group_left ()\n"
                    "  clamp_max(sum by (node, uuid) (" +
                        phases + "), 1))",
                    "", "What all GPUs cost in an hour. A MIG instance costs its share of the board."});
}

}  // namespace

std::vector<RecordingRule> RecordingRules(const std::optional<MonthlyBudget>& budget) {
  std::vector<RecordingRule> rules;
  AddGpuRules(&rules);
  AddFleetRules(&rules);
  if (budget) {
    CHECK(IsCurrencyCode(budget->currency));
    rules.push_back({"idleburn:budget_per_month", "vector(" + FormatExact(budget->amount, 0) + ")", budget->currency,
                     "What the fleet may cost in 720 hours."});
  }
  return rules;
}

}  // namespace idleburn
