// A fleet without our agents: what kube-state-metrics and exporters of Slurm tell of allocation, in a real
// VictoriaMetrics, against the plan that the series were made from.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "audit/open_input.h"
#include "fleet/exporter_fleet.h"
#include "report/fleet_output.h"
#include "support/documented_keys.h"
#include "support/engines.h"

namespace idleburn::testing {
namespace {

constexpr std::int64_t kPlanBegin = 1772409600;  // 2026-03-02T00:00:00Z
constexpr int kPlanMinutes = 180;
constexpr int kScrape = 30;  // seconds

using LabelList = std::vector<std::pair<std::string, std::string>>;

// Series as a scraper stores them: one sample each 30 s.
class MadeSeries {
 public:
  // The value from a minute up to another.
  void Add(const std::string& name, const LabelList& labels, int from, int to, double value) {
    std::string series = name;
    for (std::size_t i = 0; i < labels.size(); ++i)
      series += (i == 0 ? "{" : ",") + labels[i].first + "=\"" + labels[i].second + "\"";
    if (!labels.empty()) series += "}";
    for (int second = from * 60; second < to * 60; second += kScrape)
      text_ += series + " " + std::to_string(value) + " " + std::to_string((kPlanBegin + second) * 1000) + "\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// How the engine's scraper names the labels of an exporter.
enum class Scraped { kHonoured, kExported };

// A pod as planned: minutes of its life, and how many GPUs each of its containers asks for.
struct PlannedPod {
  std::string space;
  std::string name;
  std::string node;  // empty: not scheduled
  int from = 0;
  int to = 0;  // it ends; after that it stays listed if `listed`
  std::vector<int> containers;
  int init = 0;  // of its init container
  bool listed = false;
  std::string team = {};
  std::string resource = "nvidia_com_gpu";

  [[nodiscard]] int Gpus() const {
    int sum = 0;
    for (const int gpus : containers) sum += gpus;
    return std::max(sum, init);
  }
};

// kube-state-metrics in several replicas. An exporter's own labels are renamed where the scrape has such labels.
class MadeKubeState {
 public:
  MadeKubeState(MadeSeries* series, Scraped scraped, int replicas = 2)
      : series_(*series), scraped_(scraped), replicas_(replicas) {}

  void Node(const std::string& node, const std::string& resource, int capacity, int allocatable,
            int to = kPlanMinutes) {
    Add("kube_node_status_capacity", {{"node", node}, {"resource", resource}, {"unit", "integer"}}, 0, to, capacity);
    Add("kube_node_status_allocatable", {{"node", node}, {"resource", resource}, {"unit", "integer"}}, 0, to,
        allocatable);
  }
  void Pod(const PlannedPod& pod, bool phases = true, bool node_on_requests = true) {
    const std::string uid = "uid-" + pod.name + std::to_string(pod.from);
    const LabelList who = {{"namespace", pod.space}, {"pod", pod.name}, {"uid", uid}};
    const auto with = [&](LabelList more) {
      more.insert(more.end(), who.begin(), who.end());
      return more;
    };
    const int until = pod.listed ? kPlanMinutes : pod.to;
    const auto request = [&](const char* metric, const std::string& container, int gpus) {
      LabelList labels = with({{"container", container}, {"resource", pod.resource}, {"unit", "integer"}});
      if (!pod.node.empty() && node_on_requests) labels.emplace_back("node", pod.node);
      Add(metric, labels, pod.from, until, gpus);
    };
    for (std::size_t i = 0; i < pod.containers.size(); ++i)
      request("kube_pod_container_resource_requests", "c" + std::to_string(i), pod.containers[i]);
    if (pod.init > 0) request("kube_pod_init_container_resource_requests", "prepare", pod.init);
    LabelList info = who;
    if (!pod.node.empty()) info.emplace_back("node", pod.node);
    Add("kube_pod_info", info, pod.from, until, 1);
    if (!pod.team.empty()) Add("kube_pod_labels", with({{"label_team", pod.team}}), pod.from, until, 1);
    if (!phases) return;
    for (const char* phase : {"Pending", "Running", "Succeeded", "Failed", "Unknown"}) {
      const bool runs = std::string(phase) == (pod.node.empty() ? "Pending" : "Running");
      const bool ends = std::string(phase) == "Succeeded";
      Add("kube_pod_status_phase", with({{"phase", phase}}), pod.from, pod.to, runs ? 1 : 0);
      if (pod.listed) Add("kube_pod_status_phase", with({{"phase", phase}}), pod.to, kPlanMinutes, ends ? 1 : 0);
    }
  }

 private:
  void Add(const char* metric, const LabelList& own, int from, int to, double value) {
    for (int replica = 0; replica < replicas_; ++replica) {
      const std::string self = "kube-state-metrics-" + std::to_string(replica);
      LabelList labels = {{"job", "kube-state-metrics"}, {"instance", "10.0.0." + std::to_string(replica) + ":8080"}};
      if (scraped_ == Scraped::kExported) {
        labels.insert(labels.end(),
                      {{"namespace", "monitoring"}, {"pod", self}, {"node", "n9"}, {"container", "main"}});
      }
      for (const auto& [name, text] : own) {
        const bool renamed = scraped_ == Scraped::kExported &&
                             (name == "namespace" || name == "pod" || name == "node" || name == "container");
        labels.emplace_back((renamed ? "exported_" : "") + name, text);
      }
      series_.Add(metric, labels, from, to, value);
    }
  }

  MadeSeries& series_;
  Scraped scraped_;
  int replicas_;
};

// GPUs of a node by dcgm-exporter.
void AddGauges(MadeSeries* series, const std::string& node, int gpus, int from, int to, double percent,
               const LabelList& more = {}) {
  for (int gpu = 0; gpu < gpus; ++gpu) {
    LabelList labels = {{"gpu", std::to_string(gpu)},
                        {"UUID", "GPU-000000" + node.substr(1) + "a-0000-0000-0000-00000000000" + std::to_string(gpu)},
                        {"modelName", "NVIDIA H100 80GB HBM3"},
                        {"Hostname", node}};
    labels.insert(labels.end(), more.begin(), more.end());
    series->Add("DCGM_FI_DEV_GPU_UTIL", labels, from, to, percent);
  }
}

class FleetAllocationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = WithoutPrograms({"victoria-metrics"});
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  Result<FleetReport> Fleet(const MadeSeries& series) {
    const std::string url = engines_.Victoria();
    TestEngines::LoadText(url, series.text());
    const Settings settings = Settings::Load("", {{"--price", "1"}}).value();
    const std::int64_t end = kPlanBegin + kPlanMinutes * 60;
    const AuditPlan plan = PlanAudit({}, settings, Instant::FromNanos(end * kNanosPerSecond)).value();
    const ImportOptions options = ImportOptionsFrom(settings).value();
    Engine engine = TRY(Engine::Open({url, "", "", Nanos(20 * kNanosPerSecond)}));
    return ExporterFleet(engine, {kPlanBegin, end, "", plan, options});
  }

  // GPU-minutes.
  static double Minutes(std::int64_t ms) { return static_cast<double>(ms) / 60'000; }
  static double Minutes(const FleetTime& time) { return Minutes(time.TotalMs()); }
  static double MinutesOf(const FleetReport& report, const std::string& job) {
    for (const FleetOwner& owner : report.jobs) {
      if (owner.name == job) return Minutes(owner.time);
    }
    return 0;
  }
  static const AllocationOwner* OwnerOf(const FleetReport& report, const std::string& kind, const std::string& name) {
    for (const AllocationOwner& owner : report.allocation->owners) {
      if (owner.kind == kind && owner.name == name) return &owner;
    }
    return nullptr;
  }
  static const AllocationResource* ResourceOf(const FleetReport& report, const std::string& name) {
    for (const AllocationResource& resource : report.allocation->resources) {
      if (resource.name == name) return &resource;
    }
    return nullptr;
  }
  static bool Doubts(const FleetReport& report, const std::string& id) {
    return std::any_of(report.doubts.begin(), report.doubts.end(), [&](const FleetDoubt& d) { return d.id == id; });
  }

  TestEngines engines_;
};

// A reading a minute, and a sample each half minute: a begin or an end is off by at most 90 s.
double Ends(double gpus, int ends = 2) { return gpus * ends * 1.5; }

// Three nodes of four GPUs. One pod has a whole node and ends, two share one, and a third one has three of four.
const std::vector<PlannedPod>& Plan() {
  static const std::vector<PlannedPod> kPlan = {
      {"ml", "train-0", "n1", 10, 100, {4}, 0, true},
      {"ml", "half-a", "n2", 0, kPlanMinutes, {2}},
      {"vision", "half-b", "n2", 30, 120, {2}, 0, false, "cars"},
      {"web", "serve", "n3", 0, 60, {1, 1}, 3},
      {"web", "waits", "", 0, 45, {8}},
  };
  return kPlan;
}
void AddPlan(MadeSeries* series, MadeKubeState* kube) {
  kube->Node("n1", "nvidia_com_gpu", 4, 4);
  kube->Node("n2", "nvidia_com_gpu", 4, 4);
  kube->Node("n3", "nvidia_com_gpu", 4, 3);
  AddGauges(series, "n1", 4, 0, 10, 0);
  AddGauges(series, "n1", 4, 10, 100, 80);
  AddGauges(series, "n1", 4, 100, kPlanMinutes, 0);
  AddGauges(series, "n2", 4, 0, kPlanMinutes, 50);
  AddGauges(series, "n3", 4, 0, kPlanMinutes, 0);
}

TEST_F(FleetAllocationTest, PodsHoldWhatWasPlannedHoweverTheyAreScraped) {
  for (const Scraped scraped : {Scraped::kHonoured, Scraped::kExported}) {
    SCOPED_TRACE(scraped == Scraped::kExported ? "exported_" : "honoured");
    MadeSeries series;
    MadeKubeState kube(&series, scraped);
    AddPlan(&series, &kube);
    double planned = 0;
    double ends = 0;
    for (const PlannedPod& pod : Plan()) {
      kube.Pod(pod);
      if (!pod.node.empty()) planned += pod.Gpus() * (pod.to - pod.from);
      if (!pod.node.empty()) ends += Ends(pod.Gpus());
    }
    ASSERT_EQ(planned, 360 + 360 + 180 + 180);
    const Result<FleetReport> report = Fleet(series);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_TRUE(report->allocation);
    EXPECT_FALSE(report->exact);
    const AllocationResource* gpus = ResourceOf(*report, "nvidia_com_gpu");
    ASSERT_NE(gpus, nullptr);
    EXPECT_EQ(Minutes(*gpus->capacity_ms), 12 * kPlanMinutes);
    EXPECT_EQ(Minutes(gpus->unusable_ms), kPlanMinutes);
    EXPECT_NEAR(Minutes(gpus->allocated_ms), planned, ends);
    EXPECT_NEAR(Minutes(*gpus->UnallocatedMs()), 12 * kPlanMinutes - kPlanMinutes - planned, ends);
    std::map<std::string, double> spaces;
    for (const PlannedPod& pod : Plan()) {
      const AllocationOwner* owner = OwnerOf(*report, "pod", pod.space + "/" + pod.name);
      if (pod.node.empty()) {
        EXPECT_EQ(owner, nullptr) << "a pod that waits holds nothing";
        continue;
      }
      ASSERT_NE(owner, nullptr) << pod.name;
      EXPECT_EQ(owner->most, pod.Gpus()) << pod.name;
      EXPECT_EQ(owner->team, pod.team.empty() ? pod.space : pod.team);
      EXPECT_NEAR(Minutes(owner->held_ms), pod.Gpus() * (pod.to - pod.from), Ends(pod.Gpus())) << pod.name;
      spaces[pod.space] += Minutes(owner->held_ms);
    }
    for (const auto& [space, minutes] : spaces)
      EXPECT_EQ(Minutes(OwnerOf(*report, "namespace", space)->held_ms), minutes) << space;
    // n3 was idle while a pod held three of its GPUs. n1 and n2 were used for at least as long as they were held.
    EXPECT_NEAR(Minutes(*report->allocation->unused_ms), 180, Ends(3) + Ends(4));
    ASSERT_EQ(report->allocation->queues.size(), 2U);
    EXPECT_EQ(report->allocation->queues[0].most, 1);
    EXPECT_EQ(report->allocation->queues[1].most, 8);
    EXPECT_EQ(report->allocation->queues[1].newest, 0);
    EXPECT_NEAR(report->allocation->queues[1].mean, 8.0 * 45 / kPlanMinutes, 8 * 1.5 / kPlanMinutes);
    EXPECT_FALSE(Doubts(*report, "pod_phase_unknown"));
    EXPECT_FALSE(Doubts(*report, "allocation_unknown"));
    EXPECT_TRUE(Doubts(*report, "allocation_counts"));
  }
}

// Which GPUs a pod had is known only where it had all of its node. Other time is unknown, never somebody else's.
TEST_F(FleetAllocationTest, APodWithAWholeNodeOwnsWhatItsGaugesShow) {
  MadeSeries series;
  MadeKubeState kube(&series, Scraped::kExported);
  AddPlan(&series, &kube);
  for (const PlannedPod& pod : Plan()) kube.Pod(pod);
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NEAR(MinutesOf(*report, "ml/train-0"), 360, Ends(4));
  EXPECT_EQ(MinutesOf(*report, "ml/half-a"), 0);
  EXPECT_EQ(MinutesOf(*report, "web/serve"), 0);
  // n1 without its pod, and n3 after its pod.
  EXPECT_NEAR(MinutesOf(*report, "_unallocated"), 360 + 480, Ends(4) + Ends(4, 1));
  EXPECT_NEAR(MinutesOf(*report, "_unknown"), 720 + 240, Ends(4, 1) + Ends(4));
  EXPECT_NEAR(Minutes(report->unallocated), 840, Ends(4) + Ends(4, 1));
  EXPECT_NEAR(Minutes(report->whole), 12 * kPlanMinutes, 1);
  const AllocationOwner* train = OwnerOf(*report, "pod", "ml/train-0");
  ASSERT_TRUE(train->mean_utilization);
  EXPECT_NEAR(*train->mean_utilization, 0.8, 0.02);
  EXPECT_FALSE(OwnerOf(*report, "pod", "ml/half-a")->mean_utilization);
  EXPECT_FALSE(OwnerOf(*report, "pod", "web/serve")->mean_utilization);
}

// dcgm-exporter may go on naming a pod for half an hour after its end (NVIDIA/dcgm-exporter#140).
TEST_F(FleetAllocationTest, ALabelOfAPodThatEndedOwnsNothing) {
  for (const bool listed : {true, false}) {
    SCOPED_TRACE(listed ? "listed after its end" : "deleted");
    MadeSeries series;
    MadeKubeState kube(&series, Scraped::kExported);
    kube.Node("n1", "nvidia_com_gpu", 4, 4);
    kube.Pod({"ml", "train-0", "n1", 0, 60, {4}, 0, listed});
    kube.Pod({"ml", "other", "n9", 0, kPlanMinutes, {1}});
    const LabelList named = {{"exported_pod", "train-0"}, {"exported_namespace", "ml"}};
    AddGauges(&series, "n1", 4, 0, 90, 80, named);
    AddGauges(&series, "n1", 4, 90, kPlanMinutes, 0);
    const Result<FleetReport> report = Fleet(series);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_NEAR(MinutesOf(*report, "ml/train-0"), 240, Ends(4));
    EXPECT_NEAR(Minutes(report->unallocated), 480, Ends(4));
  }
}

// A pod of a stateful set has the name of the one that ended before.
TEST_F(FleetAllocationTest, APodThatWasMadeAgainHoldsGpus) {
  MadeSeries series;
  MadeKubeState kube(&series, Scraped::kHonoured);
  kube.Node("n1", "nvidia_com_gpu", 4, 4);
  kube.Pod({"ml", "train-0", "n1", 0, 60, {4}, 0, true});
  kube.Pod({"ml", "train-0", "n1", 90, kPlanMinutes, {4}});
  AddGauges(&series, "n1", 4, 0, kPlanMinutes, 80, {{"exported_pod", "train-0"}, {"exported_namespace", "ml"}});
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NEAR(MinutesOf(*report, "ml/train-0"), 4 * 150, 2 * Ends(4));
}

TEST_F(FleetAllocationTest, WithoutPhasesItSaysThatPodsMayHaveEnded) {
  MadeSeries series;
  MadeKubeState kube(&series, Scraped::kHonoured);
  kube.Node("n1", "nvidia_com_gpu", 4, 4);
  kube.Pod({"ml", "train-0", "n1", 0, 60, {4}, 0, true}, false);
  AddGauges(&series, "n1", 4, 0, kPlanMinutes, 80);
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(Doubts(*report, "pod_phase_unknown"));
}

// Some scrapers drop the label node of requests.
TEST_F(FleetAllocationTest, TheNodeOfAPodMayBeToldBySeriesOfThePodAlone) {
  for (const Scraped scraped : {Scraped::kHonoured, Scraped::kExported}) {
    MadeSeries series;
    MadeKubeState kube(&series, scraped);
    kube.Node("n1", "nvidia_com_gpu", 4, 4);
    kube.Pod({"ml", "train-0", "n1", 30, 90, {4}}, true, false);
    AddGauges(&series, "n1", 4, 0, kPlanMinutes, 80);
    const Result<FleetReport> report = Fleet(series);
    ASSERT_TRUE(report) << report.error().message;
    const AllocationOwner* train = OwnerOf(*report, "pod", "ml/train-0");
    ASSERT_NE(train, nullptr);
    EXPECT_NEAR(Minutes(train->held_ms), 240, Ends(4));
    EXPECT_NEAR(MinutesOf(*report, "ml/train-0"), 240, Ends(4));
  }
}

// Nobody may say that GPUs are free while nobody tells about pods.
TEST_F(FleetAllocationTest, TimeWithoutKubeStateMetricsIsNotFree) {
  MadeSeries series;
  MadeKubeState kube(&series, Scraped::kHonoured);
  kube.Node("n1", "nvidia_com_gpu", 4, 4);
  kube.Pod({"ml", "small", "n1", 0, 60, {1}});
  AddGauges(&series, "n1", 4, 0, kPlanMinutes, 0);
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  // The nodes are told for the whole window, the pods for an hour.
  EXPECT_NEAR(Minutes(*ResourceOf(*report, "nvidia_com_gpu")->capacity_ms), 240, Ends(4));
  EXPECT_EQ(Minutes(report->unallocated), 0);
  EXPECT_TRUE(Doubts(*report, "allocation_gap"));
}

// Replicas of time slicing: eight are advertised, and two GPUs exist. What is not measured may have been used.
TEST_F(FleetAllocationTest, SharedGpusDoNotCountAsUnused) {
  MadeSeries series;
  MadeKubeState kube(&series, Scraped::kHonoured);
  kube.Node("n1", "nvidia_com_gpu", 8, 8);
  kube.Pod({"ml", "shares", "n1", 0, kPlanMinutes, {8}});
  AddGauges(&series, "n1", 2, 0, kPlanMinutes, 60);
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(Minutes(*report->allocation->unused_ms), 0);
}

// Names of nodes that gauges do not know: the clusters are compared as wholes.
TEST_F(FleetAllocationTest, NodesWithOtherNamesAreComparedTogether) {
  MadeSeries series;
  MadeKubeState kube(&series, Scraped::kHonoured);
  kube.Node("ip-10-0-0-1.ec2.internal", "nvidia_com_gpu", 4, 4);
  kube.Pod({"ml", "idle", "ip-10-0-0-1.ec2.internal", 0, kPlanMinutes, {4}});
  AddGauges(&series, "n1", 4, 0, 90, 0);
  AddGauges(&series, "n1", 4, 90, kPlanMinutes, 60);
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NEAR(Minutes(*report->allocation->unused_ms), 360, Ends(4, 4));
  EXPECT_EQ(MinutesOf(*report, "ml/idle"), 0);
}

// vpenso's exporter without labels, a fork with the type and node of GPUs, and two scrapers of it.
TEST_F(FleetAllocationTest, ExportersOfSlurmAreNotSummed) {
  MadeSeries series;
  for (const char* scraper : {"a", "b"}) {
    series.Add("slurm_gpus_total", {{"instance", scraper}}, 0, kPlanMinutes, 8);
    series.Add("slurm_gpus_alloc", {{"instance", scraper}}, 0, 60, 2);
    series.Add("slurm_gpus_alloc", {{"instance", scraper}}, 60, kPlanMinutes, 6);
    series.Add("slurm_gpus_other", {{"instance", scraper}}, 0, kPlanMinutes, 1);
    for (const char* node : {"n1", "n2"}) {
      series.Add("slurm_gpus_total", {{"instance", scraper}, {"type", "h100"}, {"node", node}}, 0, kPlanMinutes, 4);
      series.Add("slurm_gpus_alloc", {{"instance", scraper}, {"type", "h100"}, {"node", node}}, 0, 60, 1);
      series.Add("slurm_gpus_alloc", {{"instance", scraper}, {"type", "h100"}, {"node", node}}, 60, kPlanMinutes, 3);
    }
    series.Add("slurm_account_gpus_running", {{"instance", scraper}, {"account", "nlp"}}, 0, kPlanMinutes, 2);
    series.Add("slurm_account_gpus_running", {{"instance", scraper}, {"account", "vision"}}, 60, kPlanMinutes, 4);
    series.Add("slurm_user_gpus_running", {{"instance", scraper}, {"user", "ann"}}, 0, 30, 2);
    series.Add("slurm_queue_pending",
               {{"instance", scraper}, {"user", "ann"}, {"partition", "gpu"}, {"reason", "Resources"}}, 0, 60, 3);
    series.Add("slurm_queue_pending",
               {{"instance", scraper}, {"user", "bob"}, {"partition", "gpu"}, {"reason", "Priority"}}, 0, 60, 2);
  }
  AddGauges(&series, "n1", 4, 0, kPlanMinutes, 50);
  AddGauges(&series, "n2", 4, 0, kPlanMinutes, 0);
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->allocation);
  const AllocationResource* gpus = ResourceOf(*report, "gpu");
  ASSERT_NE(gpus, nullptr);
  EXPECT_EQ(gpus->scheduler, "slurm");
  EXPECT_EQ(Minutes(*gpus->capacity_ms), 8 * kPlanMinutes);
  EXPECT_NEAR(Minutes(gpus->allocated_ms), 2 * 60 + 6 * 120, Ends(4, 1));
  EXPECT_EQ(Minutes(gpus->unusable_ms), kPlanMinutes);
  EXPECT_NEAR(Minutes(OwnerOf(*report, "account", "vision")->held_ms), 480, Ends(4, 1));
  EXPECT_EQ(Minutes(OwnerOf(*report, "account", "nlp")->held_ms), 360);
  EXPECT_NEAR(Minutes(OwnerOf(*report, "user", "ann")->held_ms), 60, Ends(2, 1));
  ASSERT_EQ(report->allocation->queues.size(), 1U);
  EXPECT_EQ(report->allocation->queues[0].most, 5);
  EXPECT_EQ(report->allocation->queues[0].newest, 0);
  EXPECT_NEAR(report->allocation->queues[0].mean, 5.0 / 3, 5 * 1.5 / kPlanMinutes);
  // Allocated for 840 GPU-minutes, used for 720: the rest had no use. Which owner it was is unknown.
  EXPECT_NEAR(Minutes(*report->allocation->unused_ms), 840 - 720, Ends(4, 1) + Ends(4));
  EXPECT_TRUE(report->jobs.empty());
  for (const AllocationOwner& owner : report->allocation->owners) EXPECT_FALSE(owner.mean_utilization) << owner.name;
}

TEST_F(FleetAllocationTest, ANodeInTwoPartitionsCountsOnce) {
  MadeSeries series;
  for (const char* partition : {"gpu", "debug"}) {
    const LabelList labels = {{"cluster", "c1"}, {"gpu_type", "a100"}, {"node", "n1"}, {"partition", partition}};
    series.Add("slurm_node_gpus_total", labels, 0, kPlanMinutes, 4);
    series.Add("slurm_node_gpus_alloc", labels, 0, kPlanMinutes, 2);
  }
  series.Add("slurm_partition_job_state_total", {{"partition", "gpu"}, {"state", "PENDING"}}, 0, kPlanMinutes, 7);
  series.Add("slurm_partition_job_state_total", {{"partition", "gpu"}, {"state", "RUNNING"}}, 0, kPlanMinutes, 9);
  AddGauges(&series, "n1", 4, 0, kPlanMinutes, 50);
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->allocation);
  EXPECT_EQ(Minutes(*ResourceOf(*report, "gpu")->capacity_ms), 4 * kPlanMinutes);
  EXPECT_EQ(Minutes(ResourceOf(*report, "gpu")->allocated_ms), 2 * kPlanMinutes);
  EXPECT_EQ(report->allocation->queues.at(0).mean, 7);
}

// Two instances of one board, a 3g and a 4g of 7 slices. The driver has no utilization of them; engine activity is.
TEST_F(FleetAllocationTest, MigInstancesAreMeasuredAndCountedByTheirShare) {
  MadeSeries series;
  MadeKubeState kube(&series, Scraped::kExported);
  kube.Node("n1", "nvidia_com_mig_3g_40gb", 1, 1);
  kube.Node("n1", "nvidia_com_mig_4g_40gb", 1, 1);
  PlannedPod pod{"ml", "small", "n1", 0, 120, {1}};
  pod.resource = "nvidia_com_mig_3g_40gb";
  kube.Pod(pod);
  kube.Pod({"ml", "other", "n9", 0, kPlanMinutes, {1}});
  const auto instance = [&](const char* id, const char* profile, double activity, const LabelList& more) {
    LabelList labels = {{"gpu", "0"},
                        {"UUID", "GPU-0000001a-0000-0000-0000-000000000000"},
                        {"modelName", "NVIDIA H100 80GB HBM3"},
                        {"Hostname", "n1"},
                        {"GPU_I_ID", id},
                        {"GPU_I_PROFILE", profile}};
    labels.insert(labels.end(), more.begin(), more.end());
    series.Add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels, 0, kPlanMinutes, activity);
    series.Add("DCGM_FI_DEV_GPU_UTIL", labels, 0, kPlanMinutes, 0);  // as dcgm-exporter does; it is no reading
  };
  instance("1", "3g.40gb", 0.75, {{"exported_pod", "small"}, {"exported_namespace", "ml"}});
  instance("2", "4g.40gb", 0.03, {});
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->gpus.size(), 2U) << "the board has no slice of its own";
  EXPECT_NEAR(Minutes(report->whole), kPlanMinutes, 0.01) << "two instances are one board";
  std::map<std::string, const FleetGpu*> gpus;
  for (const FleetGpu& gpu : report->gpus) gpus[gpu.uuid.substr(gpu.uuid.find('/'))] = &gpu;
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_NEAR(Minutes(gpus.at("/1")->time), kPlanMinutes * 3.0 / 7, 0.01);
  EXPECT_NEAR(Minutes(gpus.at("/2")->time), kPlanMinutes * 4.0 / 7, 0.01);
  EXPECT_NEAR(Minutes(gpus.at("/1")->time.phases[2]), kPlanMinutes * 3.0 / 7, 1) << "75 % is productive";
  EXPECT_NEAR(Minutes(gpus.at("/2")->time.phases[0]), kPlanMinutes * 4.0 / 7, 1) << "3 % is idle";
  const AllocationResource* small = ResourceOf(*report, "nvidia_com_mig_3g_40gb");
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(Minutes(*small->capacity_ms), kPlanMinutes);
  EXPECT_NEAR(Minutes(small->allocated_ms), 120, Ends(1, 1));
  EXPECT_EQ(ResourceOf(*report, "nvidia_com_mig_4g_40gb")->allocated_ms, 0);
  // Instances cannot be compared with boards.
  EXPECT_EQ(*report->allocation->unused_ms, 0);
  EXPECT_NEAR(MinutesOf(*report, "ml/small"), 120 * 3.0 / 7, Ends(1)) << "the pod was gone then";
}

TEST_F(FleetAllocationTest, EveryKeyIsDocumentedAndTheScreenSaysWhatWasAllocated) {
  MadeSeries series;
  MadeKubeState kube(&series, Scraped::kHonoured);
  AddPlan(&series, &kube);
  for (const PlannedPod& pod : Plan()) kube.Pod(pod);
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  const std::string document = FleetJson(*report);
  const nlohmann::json json = nlohmann::json::parse(document);
  const test::NullColumn documented = test::DocumentedKeys("idleburn.fleet/1");
  std::set<std::string> met;
  test::CollectKeys("allocation", json["allocation"], documented, met);
  for (const std::string& key : met) EXPECT_TRUE(documented.contains(key)) << key << " is not in docs/json/";
  for (const auto& [key, null] : documented) {
    if (key.starts_with("allocation.")) {
      EXPECT_TRUE(met.contains(key) || !null.empty()) << key << " is documented, never written";
    }
  }
  EXPECT_EQ(json["allocation"]["resources"][0]["name"], "nvidia_com_gpu");
  EXPECT_EQ(json["allocation"]["step_s"], 60);
  const ReportPage page = FleetPage(*report);
  const auto says = [&](const std::string& words) {
    return std::any_of(page.why.begin(), page.why.end(),
                       [&](const std::string& line) { return line.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(says("nvidia_com_gpu: ")) << page.why.back();
  EXPECT_TRUE(says("were allocated to GPUs below 10 % busy"));
  EXPECT_TRUE(says("GPUs waited on average, 8 at most"));
}

// Nothing is said of allocation where nothing tells it.
TEST_F(FleetAllocationTest, WithoutASchedulersExporterAllocationIsUnknown) {
  MadeSeries series;
  AddGauges(&series, "n1", 4, 0, kPlanMinutes, 50);
  const Result<FleetReport> report = Fleet(series);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->allocation);
  EXPECT_TRUE(Doubts(*report, "allocation_unknown"));
  EXPECT_TRUE(nlohmann::json::parse(FleetJson(*report))["allocation"].is_null());
}

}  // namespace
}  // namespace idleburn::testing
