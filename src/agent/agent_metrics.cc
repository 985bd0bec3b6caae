#include "agent/agent_metrics.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "text/time_zone.h"

namespace idleburn {
namespace {

using Labels = std::vector<MetricLabel>;

// Adds families in order. Holds what all samples share.
class FamilyWriter {
 public:
  FamilyWriter(const NodeView& view, std::string node) : view_(view), node_(std::move(node)) {}

  void Begin(std::string name, MetricType type, std::string unit, std::string help, bool ledger = false) {
    families_.push_back({std::move(name), type, std::move(unit), std::move(help), ledger, {}});
  }
  // Adds a sample to the newest family.
  void Add(const Labels& labels, MetricValue value, std::optional<std::int64_t> created_second = {}) {
    Labels all = {{"node", node_}};
    all.insert(all.end(), labels.begin(), labels.end());
    std::optional<Instant> created;
    if (created_second) created = Instant::FromNanos(*created_second * kNanosPerSecond);
    families_.back().samples.push_back({LabelText(all), value, created});
  }
  // A counter of each GPU, one sample for each entry of `values`, labelled by `names`.
  template <std::size_t N>
  void AddGpus(std::string_view label, const std::array<std::string_view, N>& names,
               std::array<std::int64_t, N> GpuCounters::*values) {
    for (const GpuCounters& gpu : view_.counters.gpus()) {
      for (std::size_t i = 0; i < N; ++i)
        Add({{"uuid", gpu.gpu.uuid}, {label, std::string(names[i])}}, SecondsOf((gpu.*values)[i]), gpu.born);
    }
  }
  std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  const NodeView& view_;
  std::string node_;
  std::vector<MetricFamily> families_;
};

// The labels of a job's series. The team may be a bucket.
Labels JobLabels(const Owner& owner) {
  return {{"cluster", owner.cluster},
          {"job", owner.job},
          {"user", owner.user},
          {"team", owner.team},
          {"experiment", owner.experiment}};
}

void AddPhases(const Labels& labels, const PhaseUnits& units, std::int64_t created, FamilyWriter* out) {
  for (std::size_t p = 0; p < kAgentPhaseCount; ++p) {
    Labels all = labels;
    all.push_back({"phase", std::string(kAgentPhaseNames[p])});
    out->Add(all, SecondsOf(units[p]), created);
  }
}

Labels With(Labels labels, std::string_view name, std::string value) {
  labels.push_back({name, std::move(value)});
  return labels;
}

void AddClosed(const NodeView& view, FamilyWriter* out) {
  const NodeCounters& counters = view.counters;
  out->Begin("idleburn_closed_timestamp_seconds", MetricType::kGauge, "seconds",
             "Edge of the closed counters, in Unix seconds.", true);
  if (counters.closed_at()) out->Add({}, {*counters.closed_at(), 0});
  out->Begin("idleburn_gpu_phase_closed_seconds", MetricType::kCounter, "seconds",
             "Time of a GPU by phase up to the last closed hour. Bills read this.", true);
  for (const GpuCounters& gpu : counters.gpus()) {
    AddPhases(With({{"uuid", gpu.gpu.uuid}}, "epoch", std::to_string(counters.epoch())), gpu.closed, gpu.born, out);
  }
  out->Begin("idleburn_owner_phase_closed_seconds", MetricType::kCounter, "seconds",
             "Time of a team's GPUs by phase up to the last closed hour.", true);
  for (const auto& [name, team] : counters.teams()) {
    AddPhases(With({{"team", name}}, "epoch", std::to_string(counters.epoch())), team.closed, team.born, out);
  }
  out->Begin("idleburn_job_phase_closed_seconds", MetricType::kCounter, "seconds",
             "Time of a job's GPUs by phase up to the last closed hour that it crossed.", true);
  for (const auto& [owner, job] : counters.jobs()) {
    if (job.edge) AddPhases(With(JobLabels(owner), "epoch", std::to_string(job.born)), job.closed, job.born, out);
  }
}

// Jobs with the same labels differ by their start. Only the newest has a live series.
std::vector<std::pair<const Owner*, const JobCounters*>> ShownJobs(const NodeView& view) {
  std::vector<std::pair<const Owner*, const JobCounters*>> shown;
  const std::map<Owner, JobCounters>& jobs = view.counters.jobs();
  for (auto job = jobs.begin(); job != jobs.end(); ++job) {
    if (!job->second.LiveShown(view.counters.next())) continue;
    const auto next = std::next(job);
    Owner same = job->first;
    if (next != jobs.end()) same.start = next->first.start;
    const bool replaced = next != jobs.end() && same == next->first && next->second.LiveShown(view.counters.next());
    if (!replaced) shown.emplace_back(&job->first, &job->second);
  }
  return shown;
}

// A signal that never happened has no series: most jobs have none. Readers take differences from 0.
void AddJobs(const NodeView& view, FamilyWriter* out) {
  const auto jobs = ShownJobs(view);
  out->Begin("idleburn_job_phase_seconds", MetricType::kCounter, "seconds", "Time of a job's GPUs by phase.");
  for (const auto& [owner, job] : jobs) AddPhases(JobLabels(*owner), job->live, job->born, out);
  out->Begin("idleburn_job_signal_seconds", MetricType::kCounter, "seconds",
             "Time of a job's GPUs by what may explain waste. Pressure is that of the node.");
  for (const auto& [owner, job] : jobs) {
    for (const JobSignalRow& row : kJobSignals) {
      const std::int64_t units = job->signals[Index(row.id)];
      if (units > 0) out->Add(With(JobLabels(*owner), "signal", std::string(row.name)), SecondsOf(units), job->born);
    }
  }
  out->Begin("idleburn_job_signal_known", MetricType::kGauge, "",
             "Whether a signal can be told on all GPUs of the node. Absent: this agent counts none.");
  for (const JobSignalRow& row : kJobSignals)
    out->Add({{"signal", std::string(row.name)}}, {view.tells[Index(row.id)] ? 1 : 0, 0});
}

void AddGpuCounters(const NodeView& view, FamilyWriter* out) {
  out->Begin("idleburn_gpu_phase_seconds", MetricType::kCounter, "seconds", "Time of a GPU by phase, until now.");
  out->AddGpus("phase", kAgentPhaseNames, &GpuCounters::live);
  out->Begin("idleburn_gpu_idle_seconds", MetricType::kCounter, "seconds",
             "Idle time of a GPU by whether a process held its memory.");
  out->AddGpus("memory", kIdleMemoryNames, &GpuCounters::idle);
  out->Begin("idleburn_gpu_unobserved_seconds", MetricType::kCounter, "seconds", "Time of a GPU without data.");
  out->AddGpus("reason", kAgentReasonNames, &GpuCounters::reasons);
  out->Begin("idleburn_gpu_spin_wait_seconds", MetricType::kCounter, "seconds",
             "Time in which a GPU looked busy and waited.");
  for (const GpuCounters& gpu : view.counters.gpus()) out->Add({{"uuid", gpu.gpu.uuid}}, SecondsOf(gpu.spin), gpu.born);
  out->Begin("idleburn_gpu_utilization_seconds", MetricType::kCounter, "seconds",
             "Time of a GPU by decile of its mean utilization in a second.");
  out->AddGpus("decile", std::array<std::string_view, kDecileCount>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
               &GpuCounters::deciles);
  out->Begin("idleburn_gpu_throttled_seconds", MetricType::kCounter, "seconds",
             "Time in which a GPU lowered its clocks, by reason.");
  for (const GpuCounters& gpu : view.counters.gpus()) {
    for (std::size_t i = 0; i < kEventReasonCount; ++i) {
      if ((kThrottledMask >> i & 1) == 0) continue;
      out->Add({{"uuid", gpu.gpu.uuid}, {"reason", std::string(kEventReasonTable[i].name)}},
               SecondsOf(gpu.throttled[i]), gpu.born);
    }
  }
  out->Begin("idleburn_gpu_energy_joules", MetricType::kCounter, "joules",
             "Energy of a GPU, by the driver's counter and by its power.");
  for (const GpuCounters& gpu : view.counters.gpus()) {
    out->Add({{"uuid", gpu.gpu.uuid}, {"source", "counter"}}, {gpu.energy_counter_mj, 3}, gpu.born);
    out->Add({{"uuid", gpu.gpu.uuid}, {"source", "power"}}, {gpu.energy_power_mj, 3}, gpu.born);
  }
  out->Begin("idleburn_gpu_pcie_bytes", MetricType::kCounter, "bytes", "Traffic of a GPU over PCIe.");
  for (const GpuCounters& gpu : view.counters.gpus()) {
    out->Add({{"uuid", gpu.gpu.uuid}, {"direction", "rx"}}, {gpu.link_bytes[0], 0}, gpu.born);
    out->Add({{"uuid", gpu.gpu.uuid}, {"direction", "tx"}}, {gpu.link_bytes[1], 0}, gpu.born);
  }
  out->Begin("idleburn_gpu_nvlink_bytes", MetricType::kCounter, "bytes", "Traffic of a GPU over NVLink.");
  for (const GpuCounters& gpu : view.counters.gpus())
    out->Add({{"uuid", gpu.gpu.uuid}, {"direction", "both"}}, {gpu.link_bytes[2], 0}, gpu.born);
}

// A gauge of every GPU: where it is in GpuGauges, how it is named, and how its unit becomes a base unit.
struct GaugeRow {
  std::optional<std::int64_t> GpuGauges::*value;
  std::string_view name;
  std::string_view unit;
  std::string_view help;
  int decimals;
};
constexpr std::array<GaugeRow, 8> kGauges = {{
    {&GpuGauges::utilization, "idleburn_gpu_utilization_ratio", "ratio", "Newest utilization of a GPU, 0 to 1.", 8},
    {&GpuGauges::memory_used, "idleburn_gpu_memory_used_bytes", "bytes", "Memory in use on a GPU.", 0},
    {&GpuGauges::memory_total, "idleburn_gpu_memory_total_bytes", "bytes", "Memory of a GPU.", 0},
    {&GpuGauges::power, "idleburn_gpu_power_watts", "watts", "Power draw of a GPU.", 3},
    {&GpuGauges::temperature, "idleburn_gpu_temperature_celsius", "celsius", "Temperature of a GPU.", 3},
    {&GpuGauges::sm_active, "idleburn_gpu_sm_active_ratio", "ratio", "Newest share of SMs with work, 0 to 1.", 8},
    {&GpuGauges::pcie_link, "idleburn_gpu_pcie_link_bytes_per_second", "bytes_per_second",
     "What the PCIe link of a GPU can move one way.", 0},
    {&GpuGauges::nvlink_link, "idleburn_gpu_nvlink_link_bytes_per_second", "bytes_per_second",
     "What the NVLinks of a GPU can move, both ways together.", 0},
}};

void AddGauges(const NodeView& view, FamilyWriter* out) {
  const auto uuid = [&](const GpuGauges& gauges) { return view.counters.gpus()[gauges.place].gpu.uuid; };
  for (const GaugeRow& row : kGauges) {
    out->Begin(std::string(row.name), MetricType::kGauge, std::string(row.unit), std::string(row.help));
    for (const GpuGauges& gauges : view.gauges) {
      if (const auto& value = gauges.*row.value) out->Add({{"uuid", uuid(gauges)}}, {*value, row.decimals});
    }
  }
  out->Begin("idleburn_gpu_price_per_hour", MetricType::kGauge, "", "Price of a GPU-hour.");
  for (const GpuGauges& gauges : view.gauges) {
    if (!gauges.price) continue;
    out->Add({{"uuid", uuid(gauges)}, {"currency", gauges.currency}, {"source", gauges.price_source}},
             {gauges.price->nano(), 9});
  }
  // A ledger needs the slices of MIG instances.
  out->Begin("idleburn_gpu", MetricType::kInfo, "", "The GPUs of this node.", true);
  for (const GpuCounters& gpu : view.counters.gpus()) {
    out->Add({{"uuid", gpu.gpu.uuid},
              {"name", gpu.gpu.name},
              {"index", gpu.gpu.index < 0 ? std::string() : std::to_string(gpu.gpu.index)},
              {"slices", gpu.gpu.slices == gpu.gpu.of_slices
                             ? std::string()
                             : std::to_string(gpu.gpu.slices) + "/" + std::to_string(gpu.gpu.of_slices)}},
             {1, 0});
  }
}

// A counter of the host and its labels.
struct HostRow {
  HostSignal signal;
  std::string_view family;
  std::string_view unit;
  std::string_view help;
  std::array<std::pair<std::string_view, std::string_view>, 2> labels;  // an empty name: none
};
// Rows of one family follow each other.
constexpr std::array<HostRow, 10> kHostRows = {{
    {HostSignal::kCpuTime, "idleburn_host_cpu_seconds", "seconds", "CPU time of the host.", {{{"mode", "busy"}, {}}}},
    {HostSignal::kPsiCpuSome,
     "idleburn_host_pressure_seconds",
     "seconds",
     "Time in which tasks of the host waited.",
     {{{"resource", "cpu"}, {"kind", "some"}}}},
    {HostSignal::kPsiIoSome, "idleburn_host_pressure_seconds", "seconds", "", {{{"resource", "io"}, {"kind", "some"}}}},
    {HostSignal::kPsiIoFull, "idleburn_host_pressure_seconds", "seconds", "", {{{"resource", "io"}, {"kind", "full"}}}},
    {HostSignal::kPsiMemorySome,
     "idleburn_host_pressure_seconds",
     "seconds",
     "",
     {{{"resource", "memory"}, {"kind", "some"}}}},
    {HostSignal::kPsiMemoryFull,
     "idleburn_host_pressure_seconds",
     "seconds",
     "",
     {{{"resource", "memory"}, {"kind", "full"}}}},
    {HostSignal::kReadBytes,
     "idleburn_host_disk_bytes",
     "bytes",
     "Bytes of the host's disks.",
     {{{"direction", "read"}, {}}}},
    {HostSignal::kWriteBytes, "idleburn_host_disk_bytes", "bytes", "", {{{"direction", "write"}, {}}}},
    {HostSignal::kNetReceived,
     "idleburn_host_network_bytes",
     "bytes",
     "Bytes of the host's network.",
     {{{"direction", "rx"}, {}}}},
    {HostSignal::kNetSent, "idleburn_host_network_bytes", "bytes", "", {{{"direction", "tx"}, {}}}},
}};

void AddHost(const NodeView& view, FamilyWriter* out) {
  std::string_view family;
  for (const HostRow& row : kHostRows) {
    if (row.family != family)
      out->Begin(std::string(row.family), MetricType::kCounter, std::string(row.unit), std::string(row.help));
    family = row.family;
    const std::optional<std::int64_t>& rise = view.host.rise[Index(row.signal)];
    if (!rise) continue;
    Labels labels;
    for (const auto& [name, value] : row.labels) {
      if (!name.empty()) labels.push_back({name, std::string(value)});
    }
    out->Add(labels, {*rise, row.unit == "seconds" ? 9 : 0}, FloorSecond(view.started.nanos()));
  }
  out->Begin("idleburn_host_infiniband_bytes", MetricType::kCounter, "bytes", "Bytes of an InfiniBand or RoCE port.");
  for (const auto& [name, port] : view.host.ports) {
    for (std::size_t i = 0; i < port.bytes.size(); ++i) {
      if (!port.known[i]) continue;
      const Labels labels = {{"device", name}, {"direction", i == 0 ? "rx" : "tx"}};
      out->Add(labels, {port.bytes[i], 0}, FloorSecond(view.started.nanos()));
    }
  }
}

void AddHealth(const NodeView& view, const std::string& version, FamilyWriter* out) {
  const NodeHealth& health = view.health;
  const std::int64_t started = FloorSecond(view.started.nanos());
  out->Begin("idleburn_build", MetricType::kInfo, "", "The version of the agent.");
  out->Add({{"version", version}}, {1, 0});
  out->Begin("idleburn_up", MetricType::kGauge, "", "Whether a source gives data.");
  for (const auto& [source, up] : health.up) out->Add({{"source", source}}, {up ? 1 : 0, 0});
  out->Begin("idleburn_collect_errors", MetricType::kCounter, "", "Errors of a source.");
  for (const auto& [source, errors] : health.errors) out->Add({{"source", source}}, {errors, 0}, started);
  out->Begin("idleburn_missed_ticks", MetricType::kCounter, "", "Readings that came too late to be taken.");
  out->Add({}, {health.missed_ticks, 0}, started);
  out->Begin("idleburn_late_samples", MetricType::kCounter, "", "Samples of a second that was counted already.");
  out->Add({}, {health.late_samples, 0}, started);
  out->Begin("idleburn_counter_resets", MetricType::kCounter, "", "How often all counters started from zero.");
  out->Add({}, {health.resets, 0}, started);
  out->Begin("idleburn_clock_offset_seconds", MetricType::kGauge, "seconds",
             "How far the wall clock was set since the agent started.");
  out->Add({}, {health.clock_offset_ns, 9});
  out->Begin("idleburn_series_capped", MetricType::kCounter, "", "Owners that were counted as _other.");
  out->Add({}, {view.counters.capped(), 0}, started);
  out->Begin("idleburn_last_collect_success_timestamp_seconds", MetricType::kGauge, "seconds",
             "When a GPU last gave a value, in Unix seconds.");
  if (health.newest_sample) out->Add({}, {health.newest_sample->nanos() / 1'000'000, 3});
}

}  // namespace

MetricValue SecondsOf(std::int64_t units) {
  return {units / kUnitsPerMs * 1000 + units % kUnitsPerMs * 1000 / kUnitsPerMs, 6};
}

std::vector<MetricFamily> AgentFamilies(const NodeView& view, const std::string& node, const std::string& version) {
  FamilyWriter out(view, node);
  AddClosed(view, &out);
  AddGpuCounters(view, &out);
  AddJobs(view, &out);
  AddGauges(view, &out);
  AddHost(view, &out);
  AddHealth(view, version, &out);
  return out.Take();
}

std::string JobsJson(const NodeView& view, const std::string& node) {
  nlohmann::ordered_json document = {{"schema", "idleburn.jobs/1"}, {"node", node}, {"jobs", nlohmann::json::array()}};
  for (const auto& [owner, job] : view.counters.jobs()) {
    nlohmann::ordered_json each = {{"cluster", owner.cluster},
                                   {"job", owner.job},
                                   {"user", owner.user},
                                   {"team", owner.team},
                                   {"experiment", owner.experiment}};
    each["start"] = owner.start ? nlohmann::json(FormatRfc3339(*owner.start)) : nlohmann::json();
    each["running"] = !job.ended.has_value();
    for (std::size_t p = 0; p < kAgentPhaseCount; ++p)
      each["seconds"][std::string(kAgentPhaseNames[p])] = static_cast<double>(job.live[p]) / (1000.0 * kUnitsPerMs);
    document["jobs"].push_back(std::move(each));
  }
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace idleburn
