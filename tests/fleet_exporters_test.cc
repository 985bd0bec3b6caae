// A fleet without our agents: exporters' gauges in a real VictoriaMetrics, against what was scraped and against the
// truth.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "audit/open_input.h"
#include "fleet/exporter_fleet.h"
#include "places.h"
#include "support/engines.h"
#include "support/generated_fleets.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

constexpr std::int64_t kWindowBegin = 1772409600;  // 2026-03-02T00:00:00Z
constexpr std::int64_t kWindowEnd = kWindowBegin + 6 * 3600;

using nlohmann::json;

// A gauge as VictoriaMetrics imports it, one JSON object a line.
using Dump = std::vector<json>;

// What an exporter calls the utilization, and how.
struct Spelling {
  std::string exporter;
  std::string utilization;
  std::string counter;  // of the report
  double scale = 1;     // of a percentage
};

// The fleet is made once for all tests of the process, and so is the engine that holds its gauges as they are.
class FleetExporters : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& missing : {WithoutPrograms({"victoria-metrics", "python3"}), GeneratedFleets::WhyNot()}) {
      if (!missing.empty()) GTEST_SKIP() << missing;
    }
    if (shared_ == nullptr) {
      shared_ = new Shared;
      std::ifstream lines(Out() + "/gauges/import.jsonl");
      for (std::string line; std::getline(lines, line);) shared_->gauges.push_back(json::parse(line));
      shared_->expected = json::parse(std::ifstream(Out() + "/gauges/expected.json")).at("per_gpu");
    }
    out_ = Out();
    gauges_ = shared_->gauges;
    expected_ = shared_->expected;
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  static std::string Out() { return shared_->fleets.Make("--only clean --formats om,vm"); }

  // The engine with the gauges of the fleet.
  static std::string Plain() {
    if (shared_->plain.empty()) shared_->plain = shared_->engines.VictoriaWith(Out() + "/gauges/import.jsonl");
    return shared_->plain;
  }
  // Starts an engine with these series.
  std::string Start(const std::vector<Dump>& dumps) {
    std::string text;
    for (const Dump& dump : dumps) {
      for (const json& series : dump) text += series.dump() + "\n";
    }
    return engines_.VictoriaWith(folder_.Write("load", text));
  }

  Result<FleetReport> Fleet(const std::string& url, const std::string& jobs = "", int patience_s = 20) {
    const Settings settings = Settings::Load("", {{"--price", "1"}}).value();
    const AuditPlan plan = PlanAudit({}, settings, Instant::FromNanos(kWindowEnd * kNanosPerSecond)).value();
    const ImportOptions options = ImportOptionsFrom(settings).value();
    Engine engine = TRY(Engine::Open({url, "", "", Nanos(patience_s * kNanosPerSecond)}));
    return ExporterFleet(engine, {kWindowBegin, kWindowEnd, jobs, plan, options});
  }

  // The same gauges under the names of another exporter. Its readings are `shift` points higher.
  [[nodiscard]] Dump As(const Spelling& spelling, double shift = 0) const {
    Dump dump;
    for (const json& series : gauges_) {
      json labels = series.at("metric");
      if (labels.at("__name__") != "DCGM_FI_DEV_GPU_UTIL") continue;
      const std::string uuid = labels.at("UUID");
      const std::string node = labels.contains("hostname") ? labels.at("hostname") : labels.at("Hostname");
      const std::string index = labels.at("gpu");
      const std::string model = labels.at("modelName");
      json made = {{"__name__", spelling.utilization}};
      if (spelling.exporter == "dcgm") made.update({{"gpu", index}, {"UUID", uuid}, {"Hostname", node}});
      if (spelling.exporter == "nvidia_gpu_exporter")
        made.update({{"uuid", uuid.substr(4)}, {"instance", node + ":9835"}});
      if (spelling.exporter == "nvitop") {
        made.update({{"hostname", node}, {"index", index}, {"devicename", model}, {"uuid", uuid}});
      }
      if (spelling.exporter == "all-smi") {
        made.update({{"gpu", model}, {"instance", node + ":9090"}, {"gpu_uuid", uuid}, {"gpu_index", index}});
      }
      if (spelling.exporter == "jobstats") {
        made.update({{"minor_number", index}, {"name", model}, {"uuid", uuid}, {"instance", node + ":9445"}});
      }
      json values = json::array();
      for (const double value : series.at("values")) values.push_back(std::min(value + shift, 100.0) * spelling.scale);
      dump.push_back({{"metric", made}, {"values", values}, {"timestamps", series.at("timestamps")}});
    }
    return dump;
  }

  // Mean utilization and idle share of each GPU are those of the scrapes. A reading is held until the next one, so the
  // first and the last of the window and of a hole weigh a little less or more: up to 75 s of 21,600.
  void ExpectScraped(const FleetReport& report) {
    ASSERT_EQ(report.gpus.size(), expected_.size());
    for (const FleetGpu& gpu : report.gpus) {
      const json& want = expected_.at(gpu.uuid);
      const double window = Sum(gpu.time);
      EXPECT_EQ(window, 6 * 3600 * 1000) << gpu.uuid;
      const double observed = window - static_cast<double>(gpu.time.phases[kFleetUnobserved]);
      EXPECT_GT(observed, 0.99 * window) << gpu.uuid;
      EXPECT_NEAR(UtilizationOf(gpu), want.at("mean_util_scraped").get<double>() / 100, 0.003) << gpu.uuid;
      EXPECT_NEAR(static_cast<double>(gpu.time.phases[0]) / observed, want.at("idle_share_scraped").get<double>(),
                  0.005)
          << gpu.uuid;
    }
  }
  // At $1 per GPU-hour the cost of observed time less the waste is the busy time.
  static double UtilizationOf(const FleetGpu& gpu) {
    const double observed = Sum(gpu.time) - static_cast<double>(gpu.time.phases[kFleetUnobserved]);
    return 1 - static_cast<double>(gpu.cost.waste->nano()) * 1e-9 / (observed / 3'600'000);
  }
  static double Sum(const FleetTime& time) {
    return static_cast<double>(std::accumulate(time.phases.begin(), time.phases.end(), std::int64_t{0}));
  }
  static const FleetDoubt* DoubtOf(const FleetReport& report, const std::string& id) {
    for (const FleetDoubt& doubt : report.doubts) {
      if (doubt.id == id) return &doubt;
    }
    return nullptr;
  }

  TempFolder folder_;
  TestEngines engines_;  // of one test
  std::string out_;
  Dump gauges_;
  json expected_;

 private:
  struct Shared {
    GeneratedFleets fleets;
    Dump gauges;
    json expected;
    TestEngines engines;
    std::string plain;
  };
  static Shared* shared_;
};
FleetExporters::Shared* FleetExporters::shared_ = nullptr;

TEST_F(FleetExporters, GpusAreAsTheyWereScrapedAndTheIntervalHoldsTheTruth) {
  const Result<FleetReport> report = Fleet(Plain(), out_ + "/truth_job.csv");
  ASSERT_TRUE(report) << report.error().message;
  ExpectScraped(*report);
  EXPECT_FALSE(report->exact);
  ASSERT_EQ(report->errors.size(), 1U);
  const FleetError& error = report->errors[0];
  EXPECT_EQ(error.counter, "dcgm.DCGM_FI_DEV_GPU_UTIL");
  EXPECT_EQ(error.interval_s, 30);
  EXPECT_NE(error.sentence.find("assumes no period near 30 s"), std::string::npos) << error.sentence;
  std::int64_t samples = 0;
  for (const auto& [uuid, want] : expected_.items()) {
    samples += want.at("samples").get<std::int64_t>();
    const double truth = want.at("mean_util_true").get<double>() / 100;
    const double seen = want.at("mean_util_scraped").get<double>() / 100;
    EXPECT_LE(std::abs(truth - seen), error.half_width) << uuid;
  }
  EXPECT_EQ(error.samples, samples);
  const FleetDoubt* const gauges = DoubtOf(*report, "gauges_only");
  ASSERT_NE(gauges, nullptr);
  // An empty list without a word would read as a cluster without waste.
  EXPECT_TRUE(report->wasters.empty());
  EXPECT_NE(gauges->sentence.find("no job is listed as a waster"), std::string::npos) << gauges->sentence;
  EXPECT_EQ(DoubtOf(*report, "allocation_unknown"), nullptr);
}

// One row of truth_job.csv has one phase of one job.
struct TrueJob {
  std::string team;
  std::string user;
  std::map<std::string, double> seconds;
};
std::map<std::string, TrueJob> TrueJobs(const std::string& file) {
  std::map<std::string, TrueJob> jobs;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    TrueJob& job = jobs[cells.at(1)];
    job.team = cells.at(3);
    job.user = cells.at(4);
    job.seconds[cells.at(9)] += std::stod(cells.at(10));
  }
  return jobs;
}

TEST_F(FleetExporters, JobsHaveTheirOwnPhasesAndSumToTheGpus) {
  const Result<FleetReport> report = Fleet(Plain(), out_ + "/truth_job.csv");
  ASSERT_TRUE(report) << report.error().message;
  const std::map<std::string, TrueJob> truth = TrueJobs(out_ + "/truth_job.csv");
  PhaseMs sum{};
  PhaseMs of_teams{};
  std::int64_t nanos = 0;
  std::int64_t waste = 0;
  for (const FleetOwner& job : report->jobs) {
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) sum[p] += job.time.phases[p];
    nanos += job.cost.total->nano();
    waste += job.cost.waste->nano();
    EXPECT_GE(job.cost.waste->nano(), 0) << job.name;
    EXPECT_LE(*job.cost.waste, *job.cost.total) << job.name;
    if (job.name.starts_with('_')) continue;
    const TrueJob& want = truth.at(job.name);
    EXPECT_EQ(job.team, want.team) << job.name;
    EXPECT_EQ(job.user, want.user) << job.name;
    double all = 0;
    for (const auto& [phase, seconds] : want.seconds) all += seconds;
    // Four GPUs of a node run one job. Each may be off by up to a scrape at both ends, and a hole hides up to 2 %. A
    // phase is a sample besides: three standard deviations of its share, of one GPU's readings.
    const double ends = 4 * 2 * 30 + 0.02 * all;
    EXPECT_NEAR(Sum(job.time) / 1000, all, ends) << job.name;
    for (std::size_t p = 0; p + 1 < kFleetPhaseCount; ++p) {
      const auto found = want.seconds.find(std::string(kFleetPhaseNames[p]));
      const double seconds = found == want.seconds.end() ? 0 : found->second;
      const double share = seconds / all;
      const double deviation = std::sqrt(share * (1 - share) / (all / 4 / 30)) * all;
      EXPECT_NEAR(static_cast<double>(job.time.phases[p]) / 1000, seconds, ends + 3 * deviation)
          << job.name << " " << kFleetPhaseNames[p];
    }
  }
  for (const FleetOwner& team : report->teams) {
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) of_teams[p] += team.time.phases[p];
  }
  EXPECT_EQ(sum, report->whole.phases);
  EXPECT_EQ(of_teams, report->whole.phases);
  EXPECT_EQ(nanos, report->cost.total->nano());
  EXPECT_EQ(waste, report->cost.waste->nano());
  EXPECT_GT(Sum(report->unallocated), 0);
  EXPECT_FALSE(report->users.empty());
  EXPECT_FALSE(report->experiments.empty());
}

TEST_F(FleetExporters, TheAuditOfTheSameDumpSaysTheSame) {
  const Result<FleetReport> report = Fleet(Plain());
  ASSERT_TRUE(report) << report.error().message;
  json result = json::array();
  for (const json& series : gauges_) {
    json values = json::array();
    for (std::size_t i = 0; i < series.at("values").size(); ++i) {
      const double stamp = series.at("timestamps")[i].get<double>() / 1000;
      values.push_back({stamp, series.at("values")[i].dump()});
    }
    result.push_back({{"metric", series.at("metric")}, {"values", values}});
  }
  const json answer = {{"status", "success"}, {"data", {{"resultType", "matrix"}, {"result", result}}}};
  const ProgramRun audit = RunIdleburn("audit " + folder_.Write("dump.json", answer.dump()) +
                                       " --price 1 --format json --window 2026-03-02T00:00:00Z..2026-03-02T06:00:00Z");
  ASSERT_EQ(audit.code, 0) << audit.err;
  const json audited = json::parse(audit.out);
  ASSERT_EQ(audited.at("per_gpu").size(), report->gpus.size());
  for (std::size_t i = 0; i < report->gpus.size(); ++i) {
    const json& theirs = audited.at("per_gpu")[i];
    const FleetGpu& gpu = report->gpus[i];
    EXPECT_EQ(gpu.uuid, theirs.at("uuid"));
    EXPECT_EQ(gpu.node, theirs.at("host"));
    for (std::size_t p = 0; p < 4; ++p) {
      const double hours = theirs.at("phases").at(std::string(kFleetPhaseNames[p])).at("gpu_hours");
      EXPECT_NEAR(static_cast<double>(gpu.time.phases[p]) / 3'600'000, hours, 1e-6) << gpu.uuid;
    }
    EXPECT_NEAR(UtilizationOf(gpu), theirs.at("mean_utilization_percent").get<double>() / 100, 1e-6) << gpu.uuid;
  }
  // Who held the GPUs for how long: the audit's own split, to a scrape at each end of a job on each of four GPUs.
  std::map<std::string, double> hours;
  for (const json& owner : audited.at("owners")) {
    if (!owner.at("owner").is_null()) hours[owner.at("owner")] = owner.at("gpu_hours");
  }
  std::size_t jobs = 0;
  for (const FleetOwner& job : report->jobs) {
    if (job.name.starts_with('_')) continue;
    EXPECT_NEAR(Sum(job.time) / 3'600'000, hours.at("job " + job.name), 4 * 120.0 / 3600) << job.name;
    ++jobs;
  }
  EXPECT_EQ(jobs, hours.size());
}

TEST_F(FleetExporters, EveryExportersSpellingGivesTheSame) {
  const std::vector<Spelling> spellings = {
      {"dcgm", "DCGM_FI_DEV_GPU_UTIL_RATIO", "dcgm.DCGM_FI_DEV_GPU_UTIL_RATIO"},
      {"dcgm", "dcgm_gpu_utilization", "dcgm.dcgm_gpu_utilization"},
      {"nvidia_gpu_exporter", "nvidia_smi_utilization_gpu_ratio", "nvidia_smi_exporter.utilization_gpu_ratio", 0.01},
      {"nvitop", "gpu_utilization", "nvitop.gpu_utilization"},
      {"nvitop", "gpu_utilization_Percentage", "nvitop.gpu_utilization_Percentage"},
      {"all-smi", "all_smi_gpu_utilization", "all_smi.gpu_utilization"},
      {"jobstats", "nvidia_gpu_duty_cycle", "jobstats.duty_cycle"},
  };
  for (const Spelling& spelling : spellings) {
    SCOPED_TRACE(spelling.utilization);
    const Result<FleetReport> report = Fleet(Start({As(spelling)}));
    ASSERT_TRUE(report) << report.error().message;
    ExpectScraped(*report);
    ASSERT_EQ(report->errors.size(), 1U);
    EXPECT_EQ(report->errors[0].counter, spelling.counter);
    const FleetDoubt* doubt = DoubtOf(*report, "allocation_unknown");
    ASSERT_NE(doubt, nullptr);
    EXPECT_EQ(doubt->count, 8);
    EXPECT_TRUE(report->jobs.empty());
    EXPECT_EQ(Sum(report->unallocated), 0);
  }
}

TEST_F(FleetExporters, SeveralExportersOfTheSameGpusAreNotSummed) {
  const Dump nvitop = As({"nvitop", "gpu_utilization", ""}, 5);
  const Dump all_smi = As({"all-smi", "all_smi_gpu_utilization", ""}, 7);
  const Result<FleetReport> report = Fleet(Start({gauges_, nvitop, all_smi}));
  ASSERT_TRUE(report) << report.error().message;
  ExpectScraped(*report);
  const FleetDoubt* doubt = DoubtOf(*report, "mixed_counters");
  ASSERT_NE(doubt, nullptr);
  EXPECT_NE(doubt->sentence.find("nvitop.gpu_utilization (dcgm.DCGM_FI_DEV_GPU_UTIL is used)"), std::string::npos)
      << doubt->sentence;
  EXPECT_NE(doubt->sentence.find("all_smi.gpu_utilization (dcgm.DCGM_FI_DEV_GPU_UTIL is used)"), std::string::npos)
      << doubt->sentence;
}

// jobstats tells the job of a GPU as the value of a metric: 0 is none.
TEST_F(FleetExporters, JobstatsNamesJobsByAMetric) {
  Dump dump = As({"jobstats", "nvidia_gpu_duty_cycle", ""});
  Dump ids;
  for (const json& series : gauges_) {
    const json& labels = series.at("metric");
    if (labels.at("__name__") != "DCGM_FI_DEV_GPU_UTIL" || !labels.contains("hpc_job")) continue;
    json values = series.at("values");
    for (json& value : values) value = std::stod(labels.at("hpc_job").get<std::string>());
    const std::string node = labels.contains("hostname") ? labels.at("hostname") : labels.at("Hostname");
    const json made = {{"__name__", "nvidia_gpu_jobId"}, {"uuid", labels.at("UUID")}, {"instance", node + ":9445"}};
    ids.push_back({{"metric", made}, {"values", values}, {"timestamps", series.at("timestamps")}});
  }
  const Result<FleetReport> report = Fleet(Start({dump, ids}), out_ + "/truth_job.csv");
  ASSERT_TRUE(report) << report.error().message;
  ExpectScraped(*report);
  PhaseMs sum{};
  std::size_t jobs = 0;
  const std::map<std::string, TrueJob> truth = TrueJobs(out_ + "/truth_job.csv");
  for (const FleetOwner& job : report->jobs) {
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) sum[p] += job.time.phases[p];
    if (job.name.starts_with('_')) continue;
    double all = 0;
    for (const auto& [phase, seconds] : truth.at(job.name).seconds) all += seconds;
    EXPECT_NEAR(Sum(job.time) / 1000, all, 4 * 2 * 30 + 0.03 * all) << job.name;
    ++jobs;
  }
  EXPECT_EQ(sum, report->whole.phases);
  EXPECT_GE(jobs, 10U);
}

TEST_F(FleetExporters, APodIsAJobOfItsNamespace) {
  Dump dump = gauges_;
  for (json& series : dump) {
    json& labels = series["metric"];
    if (!labels.contains("hpc_job")) continue;
    labels["exported_pod"] = "train-" + labels.at("hpc_job").get<std::string>();
    labels["exported_namespace"] = "ml";
    labels.erase("hpc_job");
  }
  const Result<FleetReport> report = Fleet(Start({dump}));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->teams.size(), 3U);
  std::set<std::string> teams;
  for (const FleetOwner& team : report->teams) teams.insert(team.name);
  EXPECT_EQ(teams, (std::set<std::string>{"ml", "_unallocated", "_unknown"}));
  std::set<std::string> pods;
  for (const FleetOwner& pod : report->jobs) pods.insert(pod.name);
  EXPECT_EQ(pods.count("ml/train-100002"), 1U);
  EXPECT_TRUE(report->users.empty());
}

TEST_F(FleetExporters, ReplicasAreNotSummed) {
  std::vector<Dump> dumps(2, gauges_);
  for (std::size_t i = 0; i < 2; ++i) {
    for (json& series : dumps[i]) {
      series["metric"]["prometheus_replica"] = "prometheus-" + std::to_string(i);
      // The replicas scrape half an interval apart.
      for (json& stamp : series["timestamps"]) stamp = stamp.get<std::int64_t>() + static_cast<std::int64_t>(i) * 15000;
    }
  }
  const Result<FleetReport> report = Fleet(Start(dumps));
  ASSERT_TRUE(report) << report.error().message;
  ExpectScraped(*report);
  const FleetDoubt* doubt = DoubtOf(*report, "replicas");
  ASSERT_NE(doubt, nullptr);
  EXPECT_EQ(doubt->count, 2);
}

TEST_F(FleetExporters, AnEngineThatRefusesLongQuestionsIsAskedShorterOnes) {
  const std::string url = Plain();
  const Result<FleetReport> whole = Fleet(url);
  const Result<FleetReport> pieces = Fleet(engines_.Relay(url, {.longest_window = 900}));
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_TRUE(pieces) << pieces.error().message;
  EXPECT_EQ(pieces->whole.phases, whole->whole.phases);
  EXPECT_EQ(pieces->cost.waste, whole->cost.waste);
  EXPECT_EQ(DoubtOf(*pieces, "engine_refused"), nullptr);
}

TEST_F(FleetExporters, WhatTheEngineNeverAnswersIsNamedAndUnobserved) {
  const RelayFaults faults = {.never_from = kWindowBegin + 7200, .never_to = kWindowBegin + 7800};
  const Result<FleetReport> report = Fleet(engines_.Relay(Plain(), faults));
  ASSERT_TRUE(report) << report.error().message;
  const FleetDoubt* doubt = DoubtOf(*report, "engine_refused");
  ASSERT_NE(doubt, nullptr);
  EXPECT_NE(doubt->sentence.find("DCGM_FI_DEV_GPU_UTIL from 2026-03-02T02:00:00Z to 2026-03-02T02:10:00Z"),
            std::string::npos)
      << doubt->sentence;
  for (const FleetGpu& gpu : report->gpus) {
    EXPECT_EQ(Sum(gpu.time), 6 * 3600 * 1000);
    EXPECT_NEAR(static_cast<double>(gpu.time.phases[kFleetUnobserved]) / 1000, 600, 180) << gpu.uuid;
  }
}

TEST_F(FleetExporters, AnEngineThatDiesMidwayIsOneLine) {
  const std::string url = Plain();
  for (const int last : {3, 4, 9}) {
    const std::string relay = engines_.Relay(url, {.last = last});
    const Result<FleetReport> report = Fleet(relay);
    ASSERT_FALSE(report) << last;
    EXPECT_EQ(report.error().message.find('\n'), std::string::npos) << report.error().message;
    EXPECT_TRUE(report.error().message.starts_with(relay)) << report.error().message;
  }
}

TEST_F(FleetExporters, AnEngineThatNoLongerAnswersIsOneLineAndNotAllHours) {
  const Result<FleetReport> report = Fleet(engines_.Relay(Plain(), {.silent = true}), "", 1);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("gave no whole answer in 1 s"), std::string::npos) << report.error().message;
}

TEST_F(FleetExporters, PrometheusGivesTheSame) {
  const std::string missing = WithoutPrograms({"prometheus", "promtool"});
  if (!missing.empty()) GTEST_SKIP() << missing;
  const std::string url = engines_.PrometheusWith(out_ + "/gauges/scrapes.om");
  const Result<FleetReport> report = Fleet(url, out_ + "/truth_job.csv");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->engine.kind, "prometheus");
  ExpectScraped(*report);
  const Result<FleetReport> other = Fleet(Plain(), out_ + "/truth_job.csv");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(report->whole.phases, other->whole.phases);
  EXPECT_EQ(report->cost.waste, other->cost.waste);
  ASSERT_EQ(report->jobs.size(), other->jobs.size());
  for (std::size_t i = 0; i < report->jobs.size(); ++i) {
    EXPECT_EQ(report->jobs[i].name, other->jobs[i].name);
    EXPECT_EQ(report->jobs[i].time.phases, other->jobs[i].time.phases) << report->jobs[i].name;
  }
}

TEST_F(FleetExporters, WithoutAKnownMetricTheExportersAreNamed) {
  Dump other = As({"nvitop", "node_load1", ""});
  const Result<FleetReport> report = Fleet(Start({other}));
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("dcgm-exporter"), std::string::npos) << report.error().message;
  EXPECT_NE(report.error().message.find("`idleburn agent`"), std::string::npos) << report.error().message;
  EXPECT_EQ(report.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace idleburn::testing
