#include "fleet/dashboard_panels.h"

#include <array>

namespace idleburn {

// A namespace of its own, because its names are short.
namespace panel_table {

using enum DashboardId;
using enum PanelKind;
using enum PanelUnit;

constexpr auto kPanelRows = std::to_array<PanelRow>({
    // ---- The cluster: what all GPUs did, and why not more.
    {kCluster, kSection, "Overview", ""},
    {kCluster, kStat, "GPUs", R"(count(count by (node, uuid) (idleburn_gpu_phase_seconds_total{node=~"$node"})))",
     kGpus, "GPUs", 4, "Whole GPUs and MIG instances with a live agent."},
    {kCluster, kStat, "Utilization, 1 h", R"(avg(avg_over_time(idleburn_gpu_utilization_ratio{node=~"$node"}[1h])))",
     kShare, "utilization", 4,
     "Mean of the utilization gauge at each scrape. Time by phase comes from counters and misses nothing."},
    {kCluster, kStat, "Utilization, 24 h", R"(avg(avg_over_time(idleburn_gpu_utilization_ratio{node=~"$node"}[24h])))",
     kShare, "utilization", 4, "Mean of the utilization gauge at each scrape. A mean hides long idle stretches."},
    {kCluster, kStat, "Productive time, 24 h",
     R"(sum(rate(idleburn_gpu_phase_seconds_total{node=~"$node", phase=~"productive|compute_bound"}[24h])))"
     "\n"
     R"(/ sum(rate(idleburn_gpu_phase_seconds_total{node=~"$node"}[24h])))",
     kShare, "productive", 4, "Share of all GPU time in the phases productive and compute_bound."},
    {kCluster, kStat, "Idle time, 24 h",
     R"(sum(rate(idleburn_gpu_phase_seconds_total{node=~"$node", phase="idle"}[24h])))"
     "\n"
     R"(/ sum(rate(idleburn_gpu_phase_seconds_total{node=~"$node"}[24h])))",
     kShare, "idle", 4, "Share of all GPU time. Time without data is not idle."},
    {kCluster, kStat, "Time without data, 24 h",
     R"(sum(rate(idleburn_gpu_phase_seconds_total{node=~"$node", phase="unobserved"}[24h])))"
     "\n"
     R"(/ sum(rate(idleburn_gpu_phase_seconds_total{node=~"$node"}[24h])))",
     kShare, "no data", 4, "Share of all GPU time that the agent could not observe."},

    {kCluster, kSection, "Where GPU time goes", ""},
    {kCluster, kStacked, "GPUs by state",
     R"(sum by (phase) (rate(idleburn_gpu_phase_seconds_total{node=~"$node"}[$__rate_interval])))", kGpus, "{{phase}}",
     12, "GPUs in each phase, averaged between scrapes."},
    {kCluster, kBarGauge, "From all GPUs to effective ones, 1 h",
     R"(sum(rate(idleburn_gpu_phase_seconds_total{node=~"$node"}[1h])))", kGpus, "total", 12,
     "Allocated: a job holds it. Active: its job works on it. Effective: productive time without spin-wait."},
    {kCluster, kMore, "", R"(sum(rate(idleburn_job_phase_seconds_total{node=~"$node"}[1h])))", kGpus, "allocated"},
    {kCluster, kMore, "", R"(sum(rate(idleburn_job_phase_seconds_total{node=~"$node", phase!~"idle|unobserved"}[1h])))",
     kGpus, "active"},
    {kCluster, kMore, "",
     R"(clamp_min(sum(rate(idleburn_job_phase_seconds_total{node=~"$node", phase=~"productive|compute_bound"}[1h])))"
     "\n"
     R"(- sum(rate(idleburn_gpu_spin_wait_seconds_total{node=~"$node"}[1h])), 0))",
     kGpus, "effective"},
    {kCluster, kBarGauge, "GPU-hours by phase",
     R"(sum by (phase) (increase(idleburn_gpu_phase_seconds_total{node=~"$node"}[$__range])) / 3600)", kGpuHours,
     "{{phase}}", 12, "Over the time range of the dashboard."},
    {kCluster, kBarGauge, "GPU-hours by utilization",
     R"(sum by (decile) (increase(idleburn_gpu_utilization_seconds_total{node=~"$node"}[$__range])) / 3600)", kGpuHours,
     "{{decile}}0 % or more", 12, "Each second counts in the decile of its mean utilization."},
    {kCluster, kStacked, "Idle GPUs by memory",
     R"(sum by (memory) (rate(idleburn_gpu_idle_seconds_total{node=~"$node"}[$__rate_interval])))", kGpus, "{{memory}}",
     12, "Held: a process keeps memory on an idle GPU. Empty: the GPU is free for other work."},
    {kCluster, kTimeSeries, "GPUs in spin-wait",
     R"(sum by (node) (rate(idleburn_gpu_spin_wait_seconds_total{node=~"$node"}[$__rate_interval])))", kGpus,
     "{{node}}", 12, "GPUs that looked busy and waited, for another GPU for example."},
    {kCluster, kStacked, "GPUs without data by reason",
     R"(sum by (reason) (rate(idleburn_gpu_unobserved_seconds_total{node=~"$node"}[$__rate_interval])))", kGpus,
     "{{reason}}", 12},
    {kCluster, kTimeSeries, "Utilization by node", R"(avg by (node) (idleburn_gpu_utilization_ratio{node=~"$node"}))",
     kShare, "{{node}}", 12},
    {kCluster, kTable, "Nodes by idle time",
     R"(sum by (node) (increase(idleburn_gpu_phase_seconds_total{node=~"$node", phase="idle"}[$__range])) / 3600)",
     kGpuHours, "Idle", 24, "Over the time range of the dashboard."},
    {kCluster, kMore, "",
     R"(sum by (node) (increase(idleburn_gpu_phase_seconds_total{node=~"$node"}[$__range])) / 3600)", kGpuHours,
     "All time"},
    {kCluster, kMore, "",
     R"(sum by (node) (rate(idleburn_gpu_phase_seconds_total{node=~"$node", phase="idle"}[$__range])))"
     "\n"
     R"(/ sum by (node) (rate(idleburn_gpu_phase_seconds_total{node=~"$node"}[$__range])))",
     kShare, "Idle share"},

    {kCluster, kSection, "GPU hardware", ""},
    {kCluster, kTimeSeries, "Memory in use by node",
     R"(sum by (node) (max by (node, uuid) (idleburn_gpu_memory_used_bytes{node=~"$node"})))", kBytes, "{{node}}", 8},
    {kCluster, kTimeSeries, "Share of memory in use by node",
     R"(sum by (node) (max by (node, uuid) (idleburn_gpu_memory_used_bytes{node=~"$node"})))"
     "\n"
     R"(/ sum by (node) (max by (node, uuid) (idleburn_gpu_memory_total_bytes{node=~"$node"})))",
     kShare, "{{node}}", 8},
    {kCluster, kTimeSeries, "Hottest GPU by node", R"(max by (node) (idleburn_gpu_temperature_celsius{node=~"$node"}))",
     kCelsius, "{{node}}", 8},
    {kCluster, kTimeSeries, "Power by node",
     R"(sum by (node) (max by (node, uuid) (idleburn_gpu_power_watts{node=~"$node"})))", kWatts, "{{node}}", 8},
    {kCluster, kStat, "Energy",
     R"(sum(sum by (node, uuid) )"
     R"((increase(idleburn_gpu_energy_joules_total{node=~"$node", source="counter"}[$__range])) > 0)"
     "\n"
     R"(or sum by (node, uuid) (increase(idleburn_gpu_energy_joules_total{node=~"$node", source="power"}[$__range]))))",
     kJoules, "energy", 8,
     "Over the time range. Each GPU counts by the driver's counter, or by its power if that counter does not move."},
    {kCluster, kStacked, "Throttled GPUs by reason",
     R"(sum by (reason) (rate(idleburn_gpu_throttled_seconds_total{node=~"$node"}[$__rate_interval])))", kGpus,
     "{{reason}}", 8, "GPUs with lowered clocks. Two reasons can hold at the same time."},
    {kCluster, kTimeSeries, "PCIe traffic",
     R"(sum by (direction) (rate(idleburn_gpu_pcie_bytes_total{node=~"$node"}[$__rate_interval])))", kBytesPerSecond,
     "{{direction}}", 12, "rx is from host to GPU."},
    {kCluster, kTimeSeries, "NVLink traffic",
     R"(sum by (node) (rate(idleburn_gpu_nvlink_bytes_total{node=~"$node"}[$__rate_interval])))", kBytesPerSecond,
     "{{node}}", 12, "Both directions together, as the driver counts."},

    {kCluster, kSection, "Hosts", ""},
    {kCluster, kTimeSeries, "Host pressure",
     R"(avg by (resource, kind) (rate(idleburn_host_pressure_seconds_total{node=~"$node"}[$__rate_interval])))", kShare,
     "{{resource}}, {{kind}}", 12, "Share of time in which some or all tasks waited for the resource."},
    {kCluster, kTimeSeries, "Busy CPU cores by node",
     R"(sum by (node) (rate(idleburn_host_cpu_seconds_total{node=~"$node"}[$__rate_interval])))", kCount, "{{node}}",
     12},
    {kCluster, kTimeSeries, "Disk traffic",
     R"(sum by (direction) (rate(idleburn_host_disk_bytes_total{node=~"$node"}[$__rate_interval])))", kBytesPerSecond,
     "{{direction}}", 8},
    {kCluster, kTimeSeries, "Network traffic",
     R"(sum by (direction) (rate(idleburn_host_network_bytes_total{node=~"$node"}[$__rate_interval])))",
     kBytesPerSecond, "{{direction}}", 8},
    {kCluster, kTimeSeries, "InfiniBand traffic",
     R"(sum by (direction) (rate(idleburn_host_infiniband_bytes_total{node=~"$node"}[$__rate_interval])))",
     kBytesPerSecond, "{{direction}}", 8},

    // ---- Teams: who held GPUs, and what for.
    {kTeam, kSection, "Now", ""},
    {kTeam, kStat, "GPUs held",
     R"(sum(rate(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team"}[$__rate_interval])))", kGpus, "GPUs", 6,
     "GPUs that the selected teams hold."},
    {kTeam, kStat, "Idle time, 1 h",
     R"(sum(rate(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team", phase="idle"}[1h])))"
     "\n"
     R"(/ sum(rate(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team"}[1h])))",
     kShare, "idle", 6, "Share of the time of held GPUs."},
    {kTeam, kStat, "Idle time, 24 h",
     R"(sum(rate(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team", phase="idle"}[24h])))"
     "\n"
     R"(/ sum(rate(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team"}[24h])))",
     kShare, "idle", 6, "Share of the time of held GPUs."},
    {kTeam, kStat, "Unallocated GPU-hours",
     R"(sum(max by (node, team, phase, epoch) ()"
     R"(increase(idleburn_owner_phase_closed_seconds_total{node=~"$node", team="_unallocated"}[$__range]))) / 3600)",
     kGpuHours, "unallocated", 6, "Time in which no job held the GPU. Moves once an hour."},
    {kTeam, kStacked, "GPUs by team",
     R"(sum by (team) (rate(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team"}[$__rate_interval])))", kGpus,
     "{{team}}", 12},
    {kTeam, kStacked, "GPUs of the teams by state",
     R"(sum by (phase) (rate(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team"}[$__rate_interval])))",
     kGpus, "{{phase}}", 12},

    {kTeam, kSection, "Closed hours", ""},
    {kTeam, kBarGauge, "GPU-hours by team",
     R"(sum by (team) (max by (node, team, phase, epoch) ()"
     R"(increase(idleburn_owner_phase_closed_seconds_total{node=~"$node", team=~"$team"}[$__range]))) / 3600)",
     kGpuHours, "{{team}}", 12,
     "Choose a range of several hours, because these counters move once an hour. Bills come from idleburn fleet."},
    {kTeam, kBarGauge, "Idle share by team",
     R"(sum by (team) (max by (node, team, phase, epoch) ()"
     R"(increase(idleburn_owner_phase_closed_seconds_total{node=~"$node", team=~"$team", phase="idle"}[$__range]))))"
     "\n"
     R"(/ sum by (team) (max by (node, team, phase, epoch) ()"
     R"(increase(idleburn_owner_phase_closed_seconds_total{node=~"$node", team=~"$team"}[$__range])) > 0))",
     kShare, "{{team}}", 12},
    {kTeam, kTable, "GPU-hours by phase and team",
     R"(sum by (team, phase) (max by (node, team, phase, epoch) ()"
     R"(increase(idleburn_owner_phase_closed_seconds_total{node=~"$node", team=~"$team"}[$__range]))) / 3600)",
     kGpuHours, "GPU-hours", 12, "The names that start with _ are GPUs without a known team."},
    {kTeam, kTable, "Top teams by idle time",
     R"(topk(20, sum by (team) (max by (node, team, phase, epoch) ()"
     R"(increase(idleburn_owner_phase_closed_seconds_total{node=~"$node", team=~"$team", phase="idle"})"
     R"([$__range])))) / 3600)",
     kGpuHours, "Idle", 12},

    // ---- Jobs: what the GPUs of a job did, and what its nodes suffered.
    {kJob, kSection, "Selected jobs", ""},
    {kJob, kStat, "Jobs",
     R"(count(count by (cluster, job, user, team, experiment) ()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job"})))",
     kCount, "jobs", 6, "Jobs that hold a GPU or ended a moment ago."},
    {kJob, kStat, "GPUs held by jobs",
     R"(sum(rate()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job"})"
     R"([$__rate_interval])))",
     kGpus, "GPUs", 6},
    {kJob, kStat, "GPU-hours",
     R"(sum(increase()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job"})"
     R"([$__range])) / 3600)",
     kGpuHours, "GPU-hours", 6, "Over the time range of the dashboard."},
    {kJob, kStat, "Idle share",
     R"(sum(rate(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job",)"
     R"( phase="idle"}[$__range])))"
     "\n"
     R"(/ sum(rate(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job"})"
     R"([$__range])))",
     kShare, "idle", 6, "Over the time range of the dashboard."},
    {kJob, kStacked, "GPUs of the jobs by state",
     R"(sum by (phase) (rate()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job"})"
     R"([$__rate_interval])))",
     kGpus, "{{phase}}", 12},
    {kJob, kStacked, "GPUs by job",
     R"(topk(20, sum by (cluster, job) (rate()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job"})"
     R"([$__rate_interval]))))",
     kGpus, "{{job}} {{cluster}}", 12, "The 20 largest at each moment."},
    {kJob, kTable, "Top jobs by idle time",
     R"(topk(50, sum by (cluster, job, user, team, experiment) (increase()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job", phase="idle"})"
     R"([$__range]))) / 3600)",
     kGpuHours, "Idle", 24, "Over the time range of the dashboard. idleburn fleet jobs has the final figures."},
    {kJob, kMore, "",
     R"(sum by (cluster, job, user, team, experiment) (increase()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job"})"
     R"([$__range])) / 3600)"
     "\n"
     R"(and topk(50, sum by (cluster, job, user, team, experiment) (increase()"
     "\n"
     R"(idleburn_job_phase_seconds_total{node=~"$node", cluster=~"$cluster", team=~"$team", job=~"$job", phase="idle"})"
     R"([$__range]))))",
     kGpuHours, "All time"},

    {kJob, kSection, "Nodes of the selected jobs", ""},
    {kJob, kTimeSeries, "Utilization of the nodes",
     R"(avg by (node) (idleburn_gpu_utilization_ratio{node=~"$node"}))"
     "\n"
     R"(and on (node) idleburn_job_phase_seconds_total{cluster=~"$cluster", team=~"$team", job=~"$job"})",
     kShare, "{{node}}", 8, "All GPUs of these nodes, because GPU gauges carry no job."},
    {kJob, kTimeSeries, "Memory of the nodes",
     R"(sum by (node) (max by (node, uuid) (idleburn_gpu_memory_used_bytes{node=~"$node"})))"
     "\n"
     R"(and on (node) idleburn_job_phase_seconds_total{cluster=~"$cluster", team=~"$team", job=~"$job"})",
     kBytes, "{{node}}", 8, "All GPUs of these nodes, because GPU gauges carry no job."},
    {kJob, kTimeSeries, "Throttled GPUs of the nodes",
     R"(sum by (node, reason) (rate(idleburn_gpu_throttled_seconds_total{node=~"$node"}[$__rate_interval])))"
     "\n"
     R"(and on (node) idleburn_job_phase_seconds_total{cluster=~"$cluster", team=~"$team", job=~"$job"})",
     kGpus, "{{node}} {{reason}}", 8},
    {kJob, kTimeSeries, "Pressure on the nodes",
     R"(sum by (node, resource, kind) (rate(idleburn_host_pressure_seconds_total{node=~"$node"}[$__rate_interval])))"
     "\n"
     R"(and on (node) idleburn_job_phase_seconds_total{cluster=~"$cluster", team=~"$team", job=~"$job"})",
     kShare, "{{node}} {{resource}}, {{kind}}", 12,
     "Share of time in which some or all tasks waited for the resource."},
    {kJob, kTimeSeries, "Disk and network traffic of the nodes",
     R"(sum by (node, direction) (rate(idleburn_host_disk_bytes_total{node=~"$node"}[$__rate_interval])))"
     "\n"
     R"(and on (node) idleburn_job_phase_seconds_total{cluster=~"$cluster", team=~"$team", job=~"$job"})",
     kBytesPerSecond, "{{node}} disk {{direction}}", 12},
    {kJob, kMore, "",
     R"(sum by (node, direction) (rate(idleburn_host_network_bytes_total{node=~"$node"}[$__rate_interval])))"
     "\n"
     R"(and on (node) idleburn_job_phase_seconds_total{cluster=~"$cluster", team=~"$team", job=~"$job"})",
     kBytesPerSecond, "{{node}} network {{direction}}"},

    // ---- Cost: rates times the newest price. Never a bill.
    {kCost, kSection, "Now", ""},
    {kCost, kStat, "Cost per hour (estimate)",
     R"(sum by (currency) (sum by (node, uuid) (rate()"
     R"(idleburn_gpu_phase_seconds_total{node=~"$node"}[$__rate_interval])))"
     "\n"
     R"( * on (node, uuid) group_left (currency) max by (node, uuid, currency) ()"
     R"(idleburn_gpu_price_per_hour{node=~"$node"})))",
     kMoney, "{{currency}}", 6},
    {kCost, kStat, "Idle cost per hour (estimate)",
     R"(sum by (currency) (sum by (node, uuid) (rate()"
     R"(idleburn_gpu_phase_seconds_total{node=~"$node", phase="idle"}[$__rate_interval])))"
     "\n"
     R"( * on (node, uuid) group_left (currency) max by (node, uuid, currency) ()"
     R"(idleburn_gpu_price_per_hour{node=~"$node"})))",
     kMoney, "{{currency}}", 6},
    {kCost, kStat, "Cost of 720 h at this rate (estimate)",
     R"(720 * sum by (currency) (sum by (node, uuid) (rate()"
     R"(idleburn_gpu_phase_seconds_total{node=~"$node"}[$__rate_interval])))"
     "\n"
     R"( * on (node, uuid) group_left (currency) max by (node, uuid, currency) ()"
     R"(idleburn_gpu_price_per_hour{node=~"$node"})))",
     kMoney, "{{currency}}", 6, "A month has 30 days here."},
    {kCost, kStat, "GPUs without a price",
     R"(count(group by (node, uuid) (idleburn_gpu_phase_seconds_total{node=~"$node"}))"
     "\n"
     R"(unless on (node, uuid) idleburn_gpu_price_per_hour{node=~"$node"}) or vector(0))",
     kGpus, "GPUs", 6, "No panel of this page counts them."},

    {kCost, kSection, "Time range", ""},
    {kCost, kStacked, "Cost per hour by state (estimate)",
     R"(sum by (currency, phase) (sum by (node, uuid, phase) (rate()"
     R"(idleburn_gpu_phase_seconds_total{node=~"$node"}[$__rate_interval])))"
     "\n"
     R"( * on (node, uuid) group_left (currency) max by (node, uuid, currency) ()"
     R"(idleburn_gpu_price_per_hour{node=~"$node"})))",
     kMoney, "{{phase}} {{currency}}", 12},
    {kCost, kBarGauge, "Cost by state (estimate)",
     R"(sum by (currency, phase) (sum by (node, uuid, phase) (increase()"
     R"(idleburn_gpu_phase_seconds_total{node=~"$node"}[$__range])) / 3600)"
     "\n"
     R"( * on (node, uuid) group_left (currency) max by (node, uuid, currency) ()"
     R"(idleburn_gpu_price_per_hour{node=~"$node"})))",
     kMoney, "{{phase}} {{currency}}", 12, "Over the time range of the dashboard."},
    {kCost, kTimeSeries, "Cost per hour by team (estimate)",
     R"(sum by (currency, team) (sum by (node, team) (rate()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team"}[$__rate_interval])))"
     "\n"
     R"( * on (node) group_left (currency) avg by (node, currency) (idleburn_gpu_price_per_hour{node=~"$node"})))",
     kMoney, "{{team}} {{currency}}", 12, "A team pays the mean price of each node that it uses."},
    {kCost, kTimeSeries, "Idle cost per hour by team (estimate)",
     R"(sum by (currency, team) (sum by (node, team) (rate()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team", phase="idle"}[$__rate_interval])))"
     "\n"
     R"( * on (node) group_left (currency) avg by (node, currency) (idleburn_gpu_price_per_hour{node=~"$node"})))",
     kMoney, "{{team}} {{currency}}", 12, "A team pays the mean price of each node that it uses."},
    {kCost, kTable, "Top teams by idle cost (estimate)",
     R"(topk(20, sum by (currency, team) (sum by (node, team) (increase()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team", phase="idle"}[$__range])) / 3600)"
     "\n"
     R"( * on (node) group_left (currency) avg by (node, currency) (idleburn_gpu_price_per_hour{node=~"$node"}))))",
     kMoney, "Idle cost", 10, "Over the time range of the dashboard."},
    {kCost, kTable, "Top jobs by idle cost (estimate)",
     R"(topk(50, sum by (currency, cluster, job, user, team) (sum by (node, cluster, job, user, team) (increase()"
     R"(idleburn_job_phase_seconds_total{node=~"$node", team=~"$team", phase="idle"}[$__range])) / 3600)"
     "\n"
     R"( * on (node) group_left (currency) avg by (node, currency) (idleburn_gpu_price_per_hour{node=~"$node"}))))",
     kMoney, "Idle cost", 14, "Over the time range of the dashboard."},
    {kCost, kTable, "Prices in use", R"(max by (currency, source) (idleburn_gpu_price_per_hour{node=~"$node"}))",
     kCount, "Highest price of a GPU-hour", 24},
    {kCost, kMore, "",
     R"(count by (currency, source) )"
     R"((max by (node, uuid, currency, source) (idleburn_gpu_price_per_hour{node=~"$node"})))",
     kGpus, "GPUs"},

    // ---- The agents themselves: whether the other dashboards can be trusted.
    {kAgent, kSection, "Overview", ""},
    {kAgent, kStat, "Agents up", R"(count(group by (node) (idleburn_build_info{node=~"$node"})))", kCount, "agents", 4},
    {kAgent, kStat, "Agents lost in 24 h",
     R"(count(group by (node) (last_over_time(idleburn_build_info{node=~"$node"}[24h])))"
     "\n"
     R"(unless on (node) idleburn_build_info{node=~"$node"}) or vector(0))",
     kCount, "agents", 4, "Nodes with an agent in the last 24 h that the engine cannot read now."},
    {kAgent, kStat, "Sources down", R"(count(max by (node, source) (idleburn_up{node=~"$node"}) == 0) or vector(0))",
     kCount, "sources", 4},
    {kAgent, kStat, "GPU-hours lost while agents were down",
     R"(sum(increase(idleburn_gpu_unobserved_seconds_total{node=~"$node", reason="agent_down"}[$__range])) / 3600)",
     kGpuHours, "down", 6, "Over the time range of the dashboard."},
    {kAgent, kStat, "Largest lag of closed hours",
     R"(max(time() - max by (node) (idleburn_closed_timestamp_seconds{node=~"$node"})))", kSeconds, "lag", 6,
     "An hour closes 3 s after its end. More than 1 h and 2 min is late, and a bill waits for it."},

    {kAgent, kSection, "Sources and readings", ""},
    {kAgent, kTimeSeries, "Share of agents with a working source", R"(avg by (source) (idleburn_up{node=~"$node"}))",
     kShare, "{{source}}", 12},
    {kAgent, kTimeSeries, "Errors by source",
     R"(sum by (source) (increase(idleburn_collect_errors_total{node=~"$node"}[$__rate_interval])))", kCount,
     "{{source}}", 12},
    {kAgent, kTimeSeries, "Missed readings",
     R"(sum by (node) (increase(idleburn_missed_ticks_total{node=~"$node"}[$__rate_interval])))", kCount, "{{node}}", 8,
     "Readings that came too late. A busy host or a slow driver causes them."},
    {kAgent, kTimeSeries, "Late samples",
     R"(sum by (node) (increase(idleburn_late_samples_total{node=~"$node"}[$__rate_interval])))", kCount, "{{node}}", 8,
     "Samples of a second that was already counted."},
    {kAgent, kTimeSeries, "Age of the newest reading",
     R"(time() - max by (node) (idleburn_last_collect_success_timestamp_seconds{node=~"$node"}))", kSeconds, "{{node}}",
     8},

    {kAgent, kSection, "Counters and clocks", ""},
    {kAgent, kTimeSeries, "Lag of closed hours",
     R"(time() - max by (node) (idleburn_closed_timestamp_seconds{node=~"$node"}))", kSeconds, "{{node}}", 8,
     "Rises to 1 h and falls to a few seconds after each full hour."},
    {kAgent, kTimeSeries, "Clock offset", R"(max by (node) (idleburn_clock_offset_seconds{node=~"$node"}))", kSeconds,
     "{{node}}", 8, "How far the wall clock was set since the agent started."},
    {kAgent, kTimeSeries, "Counters started from zero",
     R"(sum by (node) (increase(idleburn_counter_resets_total{node=~"$node"}[$__rate_interval])))", kCount, "{{node}}",
     8, "Each one loses the open hour for bills."},
    {kAgent, kTimeSeries, "Owners counted as other",
     R"(sum by (node) (increase(idleburn_series_capped_total{node=~"$node"}[$__rate_interval])))", kCount, "{{node}}",
     8, "The node had more teams or jobs than its agent counts apart."},
    {kAgent, kTable, "Versions", R"(count by (version) (max by (node, version) (idleburn_build_info{node=~"$node"})))",
     kCount, "Agents", 8},
    {kAgent, kTable, "GPU models", R"(count by (name) (max by (node, uuid, name) (idleburn_gpu_info{node=~"$node"})))",
     kGpus, "GPUs", 8},
});

}  // namespace panel_table

std::span<const PanelRow> PanelRows() { return panel_table::kPanelRows; }

}  // namespace idleburn
