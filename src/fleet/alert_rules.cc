#include "fleet/alert_rules.h"

#include <algorithm>
#include <array>

#include "base/result.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// A measured value that helps to find a cause, as the engine looks it up when an alert fires.
// A share of time or memory is the query divided by WholeOf.
enum class EvidenceUnit : std::uint8_t { kShare, kTimeShare, kMemoryShare, kBytes, kSpan, kCount, kReason, kTeam };
struct EvidenceRow {
  std::string_view name;
  EvidenceUnit unit;
  std::string_view query;  // %[1]q: the alert's node; %[2]q: its uuid
};
constexpr auto kEvidence = std::to_array<EvidenceRow>({
    {"io_wait", EvidenceUnit::kShare,
     R"(max(rate(idleburn_host_pressure_seconds_total{resource="io",kind="some",node=%[1]q}[15m])))"},
    {"cpu_wait", EvidenceUnit::kShare,
     R"(max(rate(idleburn_host_pressure_seconds_total{resource="cpu",kind="some",node=%[1]q}[15m])))"},
    {"disk_read", EvidenceUnit::kBytes,
     R"(max(rate(idleburn_host_disk_bytes_total{direction="read",node=%[1]q}[15m])))"},
    {"infiniband", EvidenceUnit::kBytes,
     "max(sum by (direction) (max by (device, direction) "
     "(rate(idleburn_host_infiniband_bytes_total{node=%[1]q}[15m]))))"},
    {"pcie", EvidenceUnit::kBytes, R"(max(rate(idleburn_gpu_pcie_bytes_total{node=%[1]q,uuid=%[2]q}[15m])))"},
    {"nvlink", EvidenceUnit::kBytes, R"(max(rate(idleburn_gpu_nvlink_bytes_total{node=%[1]q,uuid=%[2]q}[15m])))"},
    {"memory", EvidenceUnit::kMemoryShare, "max(idleburn_gpu_memory_used_bytes{node=%[1]q,uuid=%[2]q})"},
    {"idle_held", EvidenceUnit::kTimeShare,
     R"(max(increase(idleburn_gpu_idle_seconds_total{memory="held",node=%[1]q,uuid=%[2]q}[15m])))"},
    {"idle_empty", EvidenceUnit::kTimeShare,
     R"(max(increase(idleburn_gpu_idle_seconds_total{memory="empty",node=%[1]q,uuid=%[2]q}[15m])))"},
    {"throttled", EvidenceUnit::kTimeShare,
     "max(increase(idleburn_gpu_throttled_seconds_total{node=%[1]q,uuid=%[2]q}[15m]))"},
    {"spin_wait", EvidenceUnit::kShare, "max(idleburn:gpu_spin_wait:ratio1h{node=%[1]q,uuid=%[2]q})"},
    {"utilization", EvidenceUnit::kShare, "max(idleburn:gpu_utilization:ratio5m{node=%[1]q,uuid=%[2]q})"},
    {"working", EvidenceUnit::kShare, "max(idleburn:gpu_working:ratio5m{node=%[1]q,uuid=%[2]q})"},
    {"reason", EvidenceUnit::kReason,
     "topk(1, max by (reason) (increase(idleburn_gpu_unobserved_seconds_total{node=%[1]q,uuid=%[2]q}[15m])))"},
    {"silent_for", EvidenceUnit::kSpan,
     "time() - max(last_over_time(idleburn_last_collect_success_timestamp_seconds{node=%[1]q}[1d]))"},
    {"node_gpus", EvidenceUnit::kCount, "count(count by (uuid) (last_over_time(idleburn_gpu_info{node=%[1]q}[1d])))"},
    {"cluster_utilization", EvidenceUnit::kShare, "max(idleburn:cluster_utilization:ratio1h)"},
    {"cluster_idle", EvidenceUnit::kShare,
     R"(sum(idleburn:cluster_phase:gpus{phase="idle"}) / sum(idleburn:cluster_phase:gpus))"},
    {"cluster_gpus", EvidenceUnit::kCount, "sum(idleburn:cluster_phase:gpus)"},
    {"largest_team", EvidenceUnit::kTeam, "topk(1, sum by (team) (idleburn:team_phase:gpus))"},
});

// What a share is divided by. Empty: the query is the whole value.
std::string_view WholeOf(EvidenceUnit unit) {
  if (unit == EvidenceUnit::kTimeShare)
    return " / sum(max by (phase) (increase(idleburn_gpu_phase_seconds_total{node=%[1]q,uuid=%[2]q}[15m])))";
  if (unit == EvidenceUnit::kMemoryShare) return " / max(idleburn_gpu_memory_total_bytes{node=%[1]q,uuid=%[2]q})";
  return "";
}

// How the engines print a unit. Both know these functions.
std::string_view PrintedAs(EvidenceUnit unit) {
  switch (unit) {
    case EvidenceUnit::kShare:
    case EvidenceUnit::kTimeShare:
    case EvidenceUnit::kMemoryShare:
      return "value | humanizePercentage";
    case EvidenceUnit::kBytes:
      return "value | humanize1024";
    case EvidenceUnit::kSpan:
      return "value | humanizeDuration";
    case EvidenceUnit::kCount:
      return "value | printf `%.0f`";
    case EvidenceUnit::kReason:
      return "label `reason`";
    case EvidenceUnit::kTeam:
      return "label `team`";
  }
  return "";
}

// `and ... idleburn_gpu_phase_seconds_total` asks for a GPU that is scraped now: one that went silent has no alert
// about its work, only those about missing data. With `offset` it asks for a whole window of counters. The limits are
// those of --watch (watch/gpu_load.h), where it has such an alert; alert_rules_test.cc compares them.
constexpr auto kAlerts = std::to_array<AlertRule>({
    // The most that the mean can be: time without data counts as 100 %.
    {.name = "IdleburnLowUtilization",
     .expression = R"(idleburn:gpu_utilization:ratio1h * (1 - idleburn:gpu_unobserved:ratio1h)
  + idleburn:gpu_unobserved:ratio1h < 0.5
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"} offset 1h
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"})",
     .release = R"(idleburn:gpu_utilization:ratio1h * (1 - idleburn:gpu_unobserved:ratio1h)
  + idleburn:gpu_unobserved:ratio1h < 0.55
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"})",
     .keys = "node, uuid",
     .summary = "GPU {{ $labels.uuid }} of {{ $labels.node }}: mean utilization {{ $value | humanizePercentage }} "
                "in the last hour",
     .cause = "IO: tasks of the node waited for IO {io_wait} and for a CPU {cpu_wait} of the time. "
              "The disks read {disk_read}. "
              "Model size: {memory} of the GPU's memory is in use. If that is little, use a larger batch or a smaller "
              "GPU. Scheduling: the GPU was idle and empty {idle_empty} of the time. "
              "User error: a process held the idle GPU {idle_held} of the time. "
              "The largest of these shares is the first suspect."},
    {.name = "IdleburnPcieStall",
     .expression = R"(max by (node, uuid) (rate(idleburn_gpu_pcie_bytes_total[5m]))
  / max by (node, uuid) (idleburn_gpu_pcie_link_bytes_per_second) >= 0.8
and on (node, uuid) idleburn:gpu_working:ratio5m < 0.25
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"})",
     .keep_minutes = 5,
     .keys = "node, uuid",
     .summary =
         "GPU {{ $labels.uuid }} of {{ $labels.node }}: PCIe moves {{ $value | humanizePercentage }} of its rate "
         "and little computes",
     .cause = "At most {working} of the GPU computed. IO: PCIe moves {pcie} and the disks read {disk_read}. "
              "If both are alike, the input is copied without reuse. "
              "Model size: {memory} of the GPU's memory is in use. "
              "If it is nearly full, offloading of weights or optimizer states is the usual cause. "
              "User error: if neither holds, tensors go to the host and back in each step. "
              "Scheduling is not the cause, because the job runs."},
    {.name = "IdleburnAllReduceStall",
     .expression = R"((
  max by (node, uuid) (rate(idleburn_gpu_nvlink_bytes_total[5m]))
    / max by (node, uuid) (idleburn_gpu_nvlink_link_bytes_per_second) >= 0.8
  and on (node, uuid) idleburn:gpu_working:ratio5m < 0.25
  or idleburn:gpu_spin_wait:ratio5m > 0.9
)
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"})",
     .keep_minutes = 5,
     .keys = "node, uuid",
     .summary = "GPU {{ $labels.uuid }} of {{ $labels.node }}: little computes while the GPU communicates or waits",
     .cause = "At most {working} of the GPU computed. IO: NVLink moves {nvlink} and InfiniBand {infiniband}. "
              "If both are near 0, one rank waits for another that reads its input: tasks waited for IO {io_wait} of "
              "the time here. "
              "Model size: if NVLink is full, the batch is too small for its gradients. "
              "Scheduling: if this node has no such wait, the job's slowest node holds all others up. "
              "User error: a collective that one rank never calls waits without end, with spin-wait {spin_wait}."},
    {.name = "IdleburnMemory",
     .expression = R"(max by (node, uuid) (idleburn_gpu_memory_used_bytes)
  / max by (node, uuid) (idleburn_gpu_memory_total_bytes) > 0.85)",
     .release = R"(max by (node, uuid) (idleburn_gpu_memory_used_bytes)
  / max by (node, uuid) (idleburn_gpu_memory_total_bytes) > 0.8)",
     .severity = AlertSeverity::kInfo,
     .keys = "node, uuid",
     .summary = "GPU {{ $labels.uuid }} of {{ $labels.node }}: {{ $value | humanizePercentage }} of its memory in use",
     .cause = "Model size: mean utilization is {utilization}. If that is high, the model just fits, and a larger "
              "batch or longer input fails. User error: if it is low, a process keeps memory that it does not need. "
              "The GPU was idle and held {idle_held} of the time. Scheduling: several processes on one GPU "
              "have the same effect. IO is not the cause: PCIe moves {pcie}, and more only with offloading."},
    // 10 minutes of the window and 5 pending are the 15 minutes of --watch. A second of work in the window ends it.
    {.name = "IdleburnIdleHeld",
     .expression = R"(max by (node, uuid) (increase(idleburn_gpu_idle_seconds_total{memory="held"}[10m]))
  / sum by (node, uuid) (max by (node, uuid, phase) (increase(idleburn_gpu_phase_seconds_total[10m]))) > 0.9
and on (node, uuid)
  sum by (node, uuid) (max by (node, uuid, phase) (
    increase(idleburn_gpu_phase_seconds_total{phase=~"underutilized|productive|compute_bound"}[10m]))) == 0
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"} offset 10m
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"})",
     .keep_minutes = 5,
     .keys = "node, uuid",
     .summary = "GPU {{ $labels.uuid }} of {{ $labels.node }}: idle for 15 minutes while a process holds its memory",
     .cause =
         "User error: a notebook or a hung process is the usual cause. It holds {memory} of the memory. "
         "IO: tasks of the node waited for IO {io_wait} of the time, and the disks read {disk_read}. "
         "If that is much, the job loads data or writes a checkpoint. "
         "Scheduling: InfiniBand moves {infiniband}. If that is nothing, the job may wait for nodes that it has not "
         "got yet. Model size is not the cause, because nothing computes."},
    {.name = "IdleburnSpinWait",
     .expression = R"(idleburn:gpu_spin_wait:ratio1h > 0.2
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"} offset 1h
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"})",
     .release = R"(idleburn:gpu_spin_wait:ratio1h > 0.1
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"})",
     .keys = "node, uuid",
     .summary =
         "GPU {{ $labels.uuid }} of {{ $labels.node }}: looked busy and waited {{ $value | humanizePercentage }} "
         "of the last hour",
     .cause = "IO: a rank with slow input makes all others wait. Tasks of this node waited for IO {io_wait} of the "
              "time. Scheduling: a rank on a slow or throttled GPU does the same. This GPU was throttled "
              "{throttled} of the time; compare the job's other nodes. "
              "Model size: unequal pipeline stages wait for the largest one. "
              "User error: ranks that get unequal batches wait for the largest batch."},
    {.name = "IdleburnUnobserved",
     .expression = R"(idleburn:gpu_unobserved:ratio15m > 0.05
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"})",
     .release = R"(idleburn:gpu_unobserved:ratio15m > 0.03
and on (node, uuid) idleburn_gpu_phase_seconds_total{phase="idle"})",
     .keys = "node, uuid",
     .summary =
         "GPU {{ $labels.uuid }} of {{ $labels.node }}: no data in {{ $value | humanizePercentage }} of the last "
         "15 minutes",
     .cause =
         "The main reason is {reason}. Without data, idleburn cannot tell IO, model size, scheduling and user error "
         "apart. This time never counts as idle. Scheduling: agent_down means that the agent did not run. "
         "User error: permission means that the agent may not read the GPU. "
         "IO: stale and gap come with a driver that answers too slowly, or a node that is overloaded: "
         "tasks waited for a CPU {cpu_wait} of the time. Model size is not the cause."},
    // The mean over a day: a fleet that grows and shrinks may cost more at noon. Missing time costs nothing.
    {.name = "IdleburnBudgetBurnRate",
     .expression = "sum_over_time(idleburn:cost_per_hour[1d:5m]) / 288 * 720 / on (currency) "
                   "idleburn:budget_per_month > 1",
     .for_minutes = 15,
     .release = "sum_over_time(idleburn:cost_per_hour[1d:5m]) / 288 * 720 / on (currency) "
                "idleburn:budget_per_month > 0.95",
     .severity = AlertSeverity::kCritical,
     .keys = "currency",
     .summary = "At the cost of the last day, {{ $value | humanizePercentage }} of the month's budget "
                "({{ $labels.currency }}) is spent in 720 hours",
     .cause = "Scheduling: {cluster_gpus} GPUs are rented, and {cluster_idle} of them are idle. Return those first. "
              "Model size and IO: mean utilization is {cluster_utilization}. If that is low, smaller GPUs or "
              "faster input do the same work for less. "
              "User error: team {largest_team} holds the most GPUs; see the alerts on held idle GPUs."},
    // A node that left the fleet is forgotten after a day.
    {.name = "IdleburnAgentDown",
     .expression = R"(max by (node) (last_over_time(idleburn_build_info[1d]))
unless on (node) max by (node) (idleburn_build_info))",
     .severity = AlertSeverity::kCritical,
     .keys = "node",
     .summary = "Node {{ $labels.node }}: its agent gives no metrics",
     .cause =
         "GPUs of the node: {node_gpus}. Their newest reading is {silent_for} old. Jobs may still run: IO, model size, "
         "scheduling and user error are unknown, and nothing counts as idle. "
         "Scheduling: if other metrics of the node are missing too, the node was drained or is down. "
         "User error: if only this agent is silent, it was stopped, or a firewall blocks its port. "
         "IO and model size do not stop an agent. Exit code 70 in its log means that a driver call hung."},
});

std::string_view NameOf(AlertSeverity severity) {
  switch (severity) {
    case AlertSeverity::kCritical:
      return "critical";
    case AlertSeverity::kWarning:
      return "warning";
    case AlertSeverity::kInfo:
      return "info";
  }
  return "";
}

// A block of YAML: each line of the text with that indent.
std::string BlockOf(std::string_view text, std::string_view indent) {
  std::string block = "|-\n";
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    block.append(indent).append(text.substr(0, end)) += '\n';
    if (end == text.size()) return block;
    text.remove_prefix(end + 1);
  }
}

std::string YamlQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

// The series that a query reads, such as "idleburn_gpu_idle_seconds_total".
void AddSeriesOf(std::string_view query, std::vector<std::string>* series) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_:";
  for (std::size_t at = query.find("idleburn"); at < query.size(); at = query.find("idleburn", at)) {
    const std::size_t end = std::min(query.find_first_not_of(kLetters, at), query.size());
    const std::string name(query.substr(at, end - at));
    if (std::find(series->begin(), series->end(), name) == series->end()) series->push_back(name);
    at = end;
  }
}

const EvidenceRow* FindEvidence(std::string_view name) {
  const auto* const row =
      std::find_if(kEvidence.begin(), kEvidence.end(), [name](const EvidenceRow& each) { return each.name == name; });
  return row == kEvidence.end() ? nullptr : row;
}

// The cause with the templates of its evidence, and the series behind them.
std::string DescriptionOf(const AlertRule& rule) {
  std::vector<std::string> series;
  std::string text = "IO, model size, scheduling or user error? ";
  std::string_view rest = rule.cause;
  while (!rest.empty()) {
    const std::size_t open = std::min(rest.find('{'), rest.size());
    text.append(rest.substr(0, open));
    rest.remove_prefix(open);
    if (rest.empty()) break;
    const std::size_t close = rest.find('}');
    CHECK(close != std::string_view::npos);
    const EvidenceRow* const evidence = FindEvidence(rest.substr(1, close - 1));
    CHECK(evidence != nullptr);
    text += EvidenceTemplate(evidence->name);
    AddSeriesOf(evidence->query, &series);
    rest.remove_prefix(close + 1);
  }
  return text + " Counters: " + ListText(series) + ".";
}

// The expression with its hysteresis. ALERTS is what both engines write about alerts, so an alert can see that it
// fires. vmalert needs -remoteWrite.url for that; without it an alert ends when its expression does.
std::string ExpressionOf(const AlertRule& rule, RuleEngine engine) {
  const std::string expression(rule.expression);
  const std::string fires =
      "on (" + std::string(rule.keys) + ") ALERTS{alertname=\"" + std::string(rule.name) + "\",alertstate=\"firing\"}";
  if (!rule.release.empty()) {
    return "(\n" + expression + "\n)\nor (\n" + std::string(rule.release) + "\n)\nand " + fires;
  }
  if (rule.keep_minutes == 0 || engine == RuleEngine::kPrometheus) return expression;
  return "(\n" + expression + "\n)\nor last_over_time((\n" + expression + "\n)[" + std::to_string(rule.keep_minutes) +
         "m:1m])\nand " + fires;
}

std::string AlertYaml(const AlertRule& rule, RuleEngine engine) {
  std::string yaml = "  - alert: " + std::string(rule.name) +
                     "\n    expr: " + BlockOf(ExpressionOf(rule, engine), "      ") +
                     "    for: " + std::to_string(rule.for_minutes) + "m\n";
  if (rule.keep_minutes > 0 && engine == RuleEngine::kPrometheus) {
    yaml += "    keep_firing_for: " + std::to_string(rule.keep_minutes) + "m\n";
  }
  yaml += "    labels:\n      severity: " + std::string(NameOf(rule.severity)) + "\n";
  return yaml + "    annotations:\n      summary: " + YamlQuoted(rule.summary) +
         "\n      description: " + YamlQuoted(DescriptionOf(rule)) + "\n";
}

std::string RecordingYaml(const RecordingRule& rule) {
  std::string yaml =
      "  # " + rule.comment + "\n  - record: " + rule.name + "\n    expr: " + BlockOf(rule.expression, "      ");
  if (!rule.currency.empty()) yaml += "    labels:\n      currency: " + rule.currency + "\n";
  return yaml;
}

}  // namespace

std::span<const AlertRule> AlertRules() { return kAlerts; }

std::string EvidenceTemplate(std::string_view name) {
  const EvidenceRow* const row = FindEvidence(name);
  if (row == nullptr) return "";
  std::string question = "`" + std::string(row->query) + std::string(WholeOf(row->unit)) + "`";
  if (row->query.find("%[") != std::string_view::npos) {
    const bool by_gpu = row->query.find("%[2]") != std::string_view::npos;
    question = "(printf " + question + " $labels.node" + (by_gpu ? " $labels.uuid" : "") + ")";
  }
  return "{{ with query " + question + " }}{{ . | first | " + std::string(PrintedAs(row->unit)) + " }}" +
         (row->unit == EvidenceUnit::kBytes ? "B/s" : "") + "{{ else }}unknown{{ end }}";
}

std::string AlertRulesYaml(RuleEngine engine, const std::optional<MonthlyBudget>& budget) {
  std::string yaml = "# Rules for the metrics of idleburn's agents, for ";
  yaml += engine == RuleEngine::kPrometheus ? "Prometheus 2.42 or newer.\n" : "vmalert 1.79 or newer.\n";
  if (!budget) yaml += "# No budget was given, so IdleburnBudgetBurnRate stays silent.\n";
  yaml += "groups:\n- name: idleburn\n  interval: 1m\n  rules:\n";
  for (const RecordingRule& rule : RecordingRules(budget)) yaml += RecordingYaml(rule);
  for (const AlertRule& rule : kAlerts) yaml += AlertYaml(rule, engine);
  return yaml;
}

}  // namespace idleburn
