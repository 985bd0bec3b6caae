#include "fleet/alert_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace idleburn {

// A namespace of its own, because its names are short.
namespace rule_table {

// A series that the engine computes each minute.
struct RecordRule {
  std::string_view name;
  std::string_view expression;
  std::string_view comment;  // a line above the rule
};

// An alert. `causes` has one line for each of the four answers to the question in every description.
struct AlertRule {
  std::string_view name;
  std::string_view expression;
  std::string_view hold;  // `for:`, five minutes at least
  std::string_view severity;
  std::string_view summary;
  std::string_view meaning;
  std::string_view causes;
};

// The first three are limits, and users edit them.
constexpr auto kRecords = std::to_array<RecordRule>({
    {"idleburn:budget:per_hour", "vector(100)",
     "Edit: the money that all GPUs may cost per hour, in each currency of the agents' prices."},
    {"idleburn:pcie_stall:bytes_per_second", "vector(12e9)",
     "Edit: high PCIe traffic of a GPU, one way. This is about 80 % of PCIe 3.0 x16; PCIe 5.0 x16 has four times "
     "that."},
    {"idleburn:nvlink_stall:bytes_per_second", "vector(240e9)",
     "Edit: high NVLink traffic of a GPU, both ways. This is 80 % of a V100; an H100 has three times that."},
    {"team_phase:idleburn_gpus:rate5m", "sum by (cluster, team, phase) (rate(idleburn_job_phase_seconds_total[5m]))",
     "GPUs that jobs of a team hold, by phase."},
    {"phase:idleburn_gpus:rate5m", "sum by (phase) (rate(idleburn_gpu_phase_seconds_total[5m]))", "All GPUs by phase."},
    {"cluster:idleburn_utilization:avg5m",
     "avg(max by (node, uuid) (avg_over_time(idleburn_gpu_utilization_ratio[5m])))",
     "Mean utilization of all GPUs, 0 to 1. Time without a reading does not count."},
    {"cluster:idleburn_utilization:avg1h",
     "avg(max by (node, uuid) (avg_over_time(idleburn_gpu_utilization_ratio[1h])))", ""},
    {"currency:idleburn_cost:per_hour",
     "sum by (currency) (\n"
     "  sum by (node, uuid) (rate(idleburn_gpu_phase_seconds_total[5m]))\n"
     "  * on (node, uuid) group_right () max by (node, uuid, currency) (idleburn_gpu_price_per_hour)\n"
     ")",
     "Cost of all GPUs per hour, an estimate. GPUs without a price are not in it."},
});

constexpr auto kAlerts = std::to_array<AlertRule>({
    {"IdleburnLowUtilization",
     "(1 - max by (node, uuid) (avg_over_time(idleburn_gpu_utilization_ratio[1h])))\n"
     "* on (node, uuid)\n"
     "sum by (node, uuid) (increase(idleburn_gpu_phase_seconds_total{phase!=\"unobserved\"}[1h])) / 3600\n"
     "> 0.5",
     "5m", "warning", "Utilization of {{ $labels.uuid }} on {{ $labels.node }} was below 50 % for an hour",
     "{{ $value | humanizePercentage }} of the hour was not used. Time without data counts as busy.",
     "IO if the rate of idleburn_host_pressure_seconds_total for io or of idleburn_gpu_pcie_bytes_total is high.\n"
     "Model size if idleburn_gpu_memory_used_bytes is far below idleburn_gpu_memory_total_bytes.\n"
     "Scheduling if idleburn_gpu_idle_seconds_total rises with memory empty: no process used the GPU.\n"
     "User error if it rises with memory held: a process keeps the GPU and does not use it."},
    {"IdleburnPcieStall",
     "max by (node, uuid) (rate(idleburn_gpu_pcie_bytes_total[5m]))\n"
     "> on () group_left () idleburn:pcie_stall:bytes_per_second\n"
     "and on (node, uuid)\n"
     "sum by (node, uuid) (rate(idleburn_gpu_utilization_seconds_total{decile=~\"[0-2]\"}[5m]))\n"
     "/ sum by (node, uuid) (rate(idleburn_gpu_phase_seconds_total[5m])) > 0.8",
     "10m", "warning", "{{ $labels.uuid }} on {{ $labels.node }} waits for PCIe",
     "PCIe moves {{ $value | humanize }}B/s one way, and utilization is below 30 %.",
     "IO if idleburn_gpu_pcie_bytes_total rises with direction rx, and idleburn_host_disk_bytes_total rises too.\n"
     "Model size if idleburn_gpu_memory_used_bytes is near idleburn_gpu_memory_total_bytes: weights are offloaded.\n"
     "Scheduling if idleburn_job_phase_seconds_total shows several jobs on the node: they share the link.\n"
     "User error if direction tx is high too and disks are quiet: the program copies each step back to the host."},
    {"IdleburnAllReduceStall",
     "(\n"
     "  sum by (node, uuid) (rate(idleburn_gpu_nvlink_bytes_total[5m]))\n"
     "  > on () group_left () idleburn:nvlink_stall:bytes_per_second\n"
     "  and on (node, uuid)\n"
     "  sum by (node, uuid) (rate(idleburn_gpu_utilization_seconds_total{decile=~\"[0-2]\"}[5m]))\n"
     "  / sum by (node, uuid) (rate(idleburn_gpu_phase_seconds_total[5m])) > 0.8\n"
     ")\n"
     "or\n"
     "(\n"
     "  sum by (node, uuid) (rate(idleburn_gpu_spin_wait_seconds_total[5m]))\n"
     "  / sum by (node, uuid) (rate(idleburn_gpu_phase_seconds_total[5m])) > 0.5\n"
     "  and on (node)\n"
     "  count by (node) (\n"
     "    sum by (node, uuid) (rate(idleburn_gpu_spin_wait_seconds_total[5m]))\n"
     "    / sum by (node, uuid) (rate(idleburn_gpu_phase_seconds_total[5m])) > 0.5\n"
     "  ) > 1\n"
     ")",
     "10m", "warning", "{{ $labels.uuid }} on {{ $labels.node }} waits in collectives",
     "NVLink is busy at low utilization, or several GPUs of the node spin at the same time.",
     "IO if idleburn_host_pressure_seconds_total for io is high: one late data loader holds all GPUs back.\n"
     "Model size if idleburn_gpu_nvlink_bytes_total is high: too little work per GPU between two collectives.\n"
     "Scheduling if idleburn_host_infiniband_bytes_total is high: the job is spread over many nodes.\n"
     "User error if one GPU of the job has no idleburn_gpu_spin_wait_seconds_total: the others wait for that rank."},
    {"IdleburnMemoryHigh",
     "max by (node, uuid) (avg_over_time(idleburn_gpu_memory_used_bytes[5m]))\n"
     "/ max by (node, uuid) (max_over_time(idleburn_gpu_memory_total_bytes[5m])) > 0.85",
     "5m", "warning", "Memory of {{ $labels.uuid }} on {{ $labels.node }} is almost full",
     "{{ $value | humanizePercentage }} of the memory is in use. A larger batch or a longer input may not fit.",
     "IO if idleburn_gpu_pcie_bytes_total is high too: pages or weights move between host and GPU.\n"
     "Model size if idleburn_gpu_phase_seconds_total is mostly productive: the model needs this memory.\n"
     "Scheduling if idleburn_job_phase_seconds_total shows several jobs on the node: they may share this GPU.\n"
     "User error if idleburn_gpu_idle_seconds_total rises with memory held: a process forgot its memory."},
    {"IdleburnIdleHeld",
     "sum by (node, uuid) (rate(idleburn_gpu_idle_seconds_total{memory=\"held\"}[5m]))\n"
     "/ sum by (node, uuid) (rate(idleburn_gpu_phase_seconds_total[5m])) > 0.95",
     "15m", "warning", "{{ $labels.uuid }} on {{ $labels.node }} is idle and held",
     "A process held memory and did not compute for 15 minutes. Time without data counts as busy.",
     "IO if idleburn_host_pressure_seconds_total for io or idleburn_host_network_bytes_total is high: the job loads.\n"
     "Model size is not the cause: idleburn_gpu_memory_used_bytes shows what is held, and nothing computes.\n"
     "Scheduling if idleburn_job_phase_seconds_total shows no job on the node: a process outlived its job.\n"
     "User error if it shows a job with phase idle: a notebook or a program that hangs."},
    {"IdleburnSpinWait",
     "sum by (node, uuid) (rate(idleburn_gpu_spin_wait_seconds_total[1h]))\n"
     "/ sum by (node, uuid) (rate(idleburn_gpu_phase_seconds_total[1h])) > 0.2",
     "15m", "warning", "{{ $labels.uuid }} on {{ $labels.node }} looks busy and waits",
     "{{ $value | humanizePercentage }} of the last hour was spin-wait. Utilization counts it as work.",
     "IO if idleburn_host_pressure_seconds_total for io or cpu is high: a peer waits for its data.\n"
     "Model size if idleburn_gpu_nvlink_bytes_total or idleburn_host_infiniband_bytes_total is high.\n"
     "Scheduling if idleburn_gpu_throttled_seconds_total rises on a peer: one slow GPU holds the others back.\n"
     "User error if idleburn_gpu_idle_seconds_total rises on a peer: that rank hangs or has ended."},
    {"IdleburnUnobserved",
     "1 - sum by (node, uuid) (rate(idleburn_gpu_phase_seconds_total{phase=\"unobserved\"}[1h]))\n"
     "/ sum by (node, uuid) (rate(idleburn_gpu_phase_seconds_total[1h])) < 0.95",
     "15m", "warning", "{{ $labels.uuid }} on {{ $labels.node }} has time without data",
     "Only {{ $value | humanizePercentage }} of the last hour has data. It is neither idle nor busy.",
     "IO, model size and scheduling cannot be seen in this time.\n"
     "The label reason of idleburn_gpu_unobserved_seconds_total names the cause.\n"
     "User error if the reason is permission or unsupported: the agent was set up wrong.\n"
     "Also read idleburn_up, idleburn_collect_errors_total and idleburn_missed_ticks_total."},
    {"IdleburnBudgetBurn", "currency:idleburn_cost:per_hour > on () group_left () idleburn:budget:per_hour", "15m",
     "warning", "GPUs cost more per hour than the budget allows",
     "They cost {{ $value | humanize }} {{ $labels.currency }} per hour, an estimate.",
     "IO if idleburn_gpu_phase_seconds_total is mostly underutilized and idleburn_host_pressure_seconds_total is "
     "high.\n"
     "Model size if it is mostly productive or compute_bound: the work needs these GPUs.\n"
     "Scheduling if idleburn_gpu_idle_seconds_total rises with memory empty: paid GPUs have no work.\n"
     "User error if it rises with memory held, or idleburn_gpu_price_per_hour is wrong; its label source says why."},
    {"IdleburnAgentDown",
     "max by (node) (max_over_time(idleburn_build_info[1d:10m])) unless on (node) idleburn_build_info", "5m",
     "critical", "The agent on {{ $labels.node }} gives no metrics",
     "It did within the last day. For a node that left the cluster, the alert ends after a day.",
     "IO, model size and scheduling cannot be seen without the agent.\n"
     "The node is down if the metrics of its other exporters are missing too.\n"
     "User error if only the agent is gone: read its journal, and check the scrape job.\n"
     "After its return idleburn_gpu_unobserved_seconds_total with reason agent_down has the lost time."},
});

}  // namespace rule_table

namespace {

// A block of lines, indented under its key.
void AppendBlock(std::string_view key, std::string_view text, const std::string& indent, std::string* yaml) {
  *yaml += indent + std::string(key) + ": |-\n";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    *yaml += indent + "  " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void AppendRecord(const rule_table::RecordRule& rule, std::string* yaml) {
  if (!rule.comment.empty()) *yaml += "      # " + std::string(rule.comment) + "\n";
  *yaml += "      - record: " + std::string(rule.name) + "\n";
  AppendBlock("expr", rule.expression, "        ", yaml);
}

void AppendAlert(const rule_table::AlertRule& rule, std::string* yaml) {
  *yaml += "      - alert: " + std::string(rule.name) + "\n";
  AppendBlock("expr", rule.expression, "        ", yaml);
  *yaml += "        for: " + std::string(rule.hold) +
           "\n        labels:\n          severity: " + std::string(rule.severity) + "\n        annotations:\n";
  AppendBlock("summary", rule.summary, "          ", yaml);
  AppendBlock("description",
              std::string(rule.meaning) + "\nIO, model size, scheduling or user error?\n" + std::string(rule.causes),
              "          ", yaml);
}

}  // namespace

std::string AlertRulesYaml(RuleEngine engine) {
  std::string yaml = "# Rules over the metrics of idleburn's agents. Edit the limits, then load the file.\n";
  yaml += engine == RuleEngine::kPrometheus
              ? "# Prometheus: name it under rule_files.\n"
              : "# vmalert: name it with -rule, and give -remoteWrite.url and -remoteRead.url.\n";
  yaml += "groups:\n  - name: idleburn-records\n    interval: 1m\n    rules:\n";
  for (const rule_table::RecordRule& rule : rule_table::kRecords) AppendRecord(rule, &yaml);
  yaml += "  - name: idleburn-alerts\n    interval: 1m\n    rules:\n";
  for (const rule_table::AlertRule& rule : rule_table::kAlerts) AppendAlert(rule, &yaml);
  return yaml;
}

}  // namespace idleburn
