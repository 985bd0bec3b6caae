// `idleburn fleet` names why jobs waste: real counters of agents with planted causes, scraped each minute into a real
// VictoriaMetrics, and the cases in which a cause must not be named.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "agent/agent_metrics.h"
#include "agent/node_counters.h"
#include "places.h"
#include "support/engines.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr std::int64_t kFrom = 1'772'409'600;  // 2026-03-02T00:00:00Z
constexpr std::int64_t kTo = kFrom + 4 * 3600;
constexpr std::int64_t kScrape = 60;

GpuSecond InPhase(std::size_t phase) {
  GpuSecond second;
  second.phase_ms[phase] = kMsPerSecond;
  if (phase == 0) second.idle_ms[0] = kMsPerSecond;
  return second;
}

GpuSecond Idle(IdleMemory memory) {
  GpuSecond second = InPhase(0);
  second.idle_ms = {};
  second.idle_ms[static_cast<std::size_t>(memory)] = kMsPerSecond;
  return second;
}

GpuSecond Spinning() {
  GpuSecond second = InPhase(3);
  second.spin_ms = kMsPerSecond;
  return second;
}

GpuSecond Slowed() {
  GpuSecond second = InPhase(3);
  second.slowed_ms = kMsPerSecond;
  second.clock_lost_ms = 300;
  return second;
}

GpuSecond LinkFull() {
  GpuSecond second = InPhase(1);
  second.link_full = true;
  return second;
}

// A job on a GPU of its own: what it does in a second, counted from the begin of the test's world.
struct PlantedJob {
  std::string name;
  std::function<GpuSecond(std::int64_t)> does;
  std::int64_t begin = kFrom - 1800;
  std::int64_t end = kTo + 7200;
};

// A node with a GPU for each of its jobs. Its exposition is written once a minute with the time of the scrape.
struct PlantedNode {
  std::string name;
  std::vector<PlantedJob> jobs;
  PressedSecond pressed = {};
  bool shares = false;              // the first two jobs share the first GPU
  std::int64_t counts_signals = 0;  // from this second on; before it the agent is of an older version
  bool renamed = false;             // Prometheus set its own label `job`
};

Owner OwnerOf(const PlantedJob& job) {
  return {"c1", job.name, "ada", "vision", "exp", Instant::FromNanos(job.begin * kNanosPerSecond)};
}

Holdings HoldingsAt(const PlantedNode& node, std::int64_t second) {
  Holdings holdings;
  for (std::size_t i = 0; i < node.jobs.size(); ++i) {
    if (second < node.jobs[i].begin || second >= node.jobs[i].end) continue;
    const bool shared = node.shares && i < 2;
    holdings.held.push_back({"GPU-" + node.name + std::to_string(shared ? 0 : i),
                             OwnerOf(node.jobs[i]),
                             OwnerProof::kScheduler,
                             1,
                             shared ? 2 : 1,
                             {}});
  }
  return holdings;
}

// The lines of a scrape, each with its time.
void WriteScrape(const NodeView& view, const PlantedNode& node, std::int64_t second, std::ostream* out) {
  std::vector<MetricFamily> families = AgentFamilies(view, node.name, "test");
  if (second < node.counts_signals)
    std::erase_if(families, [](const MetricFamily& each) { return each.name.starts_with("idleburn_job_signal"); });
  std::istringstream text(MetricText(families, MetricFormat::kPrometheus));
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] == '#' || line.find("gpu_utilization_seconds") != std::string::npos) continue;
    if (const std::size_t job = line.find(",job="); node.renamed && job != std::string::npos)
      line.replace(job, 5, ",job=\"agents\",exported_job=");
    *out << line << ' ' << second * 1000 << '\n';
  }
}

void WriteNode(const PlantedNode& node, std::ostream* out) {
  constexpr std::int64_t kBorn = kFrom - 3600;
  NodeCounters counters(kBorn, 3600);
  for (std::size_t i = 0; i < node.jobs.size(); ++i)
    counters.Enter({"GPU-" + node.name + std::to_string(i), "NVIDIA H100 80GB HBM3", static_cast<int>(i), 1, 1});
  for (std::int64_t second = kBorn; second < kTo + 3600; ++second) {
    if (second % 10 == 0) counters.Hold(second * 1000, HoldingsAt(node, second));
    std::vector<GpuSecond> seconds;
    for (const PlantedJob& job : node.jobs) seconds.push_back(job.does(second));
    counters.Add(seconds, {false, node.pressed});
    std::ignore = counters.TakeEnded();
    if (second % kScrape != 17) continue;
    NodeView view{counters, {}, {}, {}, Instant::FromNanos(second * kNanosPerSecond), {}};
    view.tells.fill(true);
    view.tells[Index(JobSignal::kSpinWait)] = node.name != "blind";
    WriteScrape(view, node, second, out);
    counters.OnScrape();
  }
}

class FleetWasters : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = WithoutPrograms({"victoria-metrics"});
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  // `replicas`: labels of engines that each scraped the nodes.
  json Ask(const std::vector<PlantedNode>& nodes, const std::vector<std::string>& replicas = {""}) {
    url_ = engines_.Victoria();
    for (const PlantedNode& node : nodes) {
      std::ostringstream scrapes;
      WriteNode(node, &scrapes);
      for (const std::string& replica : replicas)
        TestEngines::LoadText(url_, scrapes.str(), replica.empty() ? "" : "replica=" + replica);
    }
    const ProgramRun run = Fleet("--format json");
    EXPECT_EQ(run.code, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  }

  ProgramRun Fleet(const std::string& more) {
    return RunIdleburn("fleet --engine " + url_ + " --from 2026-03-02T00:00:00Z --to 2026-03-02T04:00:00Z --ledger " +
                       (folder_.path() / (std::to_string(++ledgers_) + ".sqlite")).string() + " --price 2.50 " + more);
  }

  TempFolder folder_;
  TestEngines engines_;
  std::string url_;
  int ledgers_ = 0;
};

std::map<std::string, json> ByJob(const json& document) {
  std::map<std::string, json> wasters;
  for (const json& waster : document["wasters"]) wasters[waster["job"]] = waster;
  return wasters;
}

double HoursOf(const json& waster, const std::string& signal) {
  for (const json& seen : waster["evidence"]) {
    if (seen["signal"] == signal) return seen["gpu_hours"];
  }
  return 0;
}

std::vector<std::string> CausesOf(const json& waster) {
  std::vector<std::string> causes;
  for (const json& part : waster["causes"]) causes.push_back(part["cause"]);
  return causes;
}

// docs/json/fleet.md names every key of a waster and of its parts. A key that ends with _exact belongs to the one
// before.
void ExpectKeysDocumented(const json& waster) {
  std::ifstream file(std::string(IDLEBURN_ROOT) + "/docs/json/fleet.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::vector<const json*> objects = {&waster};
  for (const char* part : {"causes", "evidence", "try_first"}) {
    for (const json& each : waster[part]) objects.push_back(&each);
  }
  for (const json* object : objects) {
    for (const auto& [key, value] : object->items()) {
      const std::string name = key.substr(0, key.rfind("_exact"));
      EXPECT_TRUE(page.find("`" + name + "`") != std::string::npos || page.find("." + name) != std::string::npos)
          << key;
    }
  }
}

constexpr double kHours = 4;         // of the window
constexpr double kPrecision = 0.04;  // hours: a scrape on each side of the window, and what settles late

TEST_F(FleetWasters, NamesThePlantedCauseOfEachJob) {
  const auto always = [](GpuSecond second) { return [second](std::int64_t) { return second; }; };
  const PlantedNode busy = {"n1",
                            {{"held", always(Idle(IdleMemory::kHeld))},
                             {"empty", always(Idle(IdleMemory::kEmpty))},
                             {"spin", always(Spinning())},
                             {"slow", always(Slowed())},
                             {"link", always(LinkFull())},
                             // Idle for half of the hour, spinning in the other half.
                             {"two", [](std::int64_t t) { return t / 1800 % 2 == 0 ? InPhase(0) : Spinning(); }},
                             // Pauses of half a minute: the counters do not tell what it waits for.
                             {"bursts", [](std::int64_t t) { return t / 30 % 2 == 0 ? InPhase(0) : InPhase(3); }},
                             {"healthy", always(InPhase(3))}},
                            {true, true}};
  const PlantedNode alone = {"n2", {{"loader", always(InPhase(1))}}, {true, false}};
  const json document = Ask({busy, alone});
  const std::map<std::string, json> wasters = ByJob(document);
  const std::map<std::string, std::string> causes = {{"held", "idle_held"},     {"empty", "idle_empty"},
                                                     {"spin", "spin_wait"},     {"slow", "throttling"},
                                                     {"link", "h2d_bandwidth"}, {"loader", "loader_cpu_no_cores"}};
  const std::map<std::string, std::string> signals = {{"held", "idle_held"}, {"empty", "idle_empty"},
                                                      {"spin", "spin_wait"}, {"slow", "throttled"},
                                                      {"link", "pcie_full"}, {"loader", "node_cpu_pressure"}};
  for (const auto& [job, cause] : causes) {
    SCOPED_TRACE(job);
    ASSERT_TRUE(wasters.contains(job));
    const json& waster = wasters.at(job);
    EXPECT_EQ(waster["cause"], cause) << waster["why"];
    EXPECT_EQ(CausesOf(waster), std::vector<std::string>{cause});
    EXPECT_NEAR(HoursOf(waster, signals.at(job)), kHours, kPrecision);
    EXPECT_TRUE(waster["try_first"].empty());
  }
  const json& two = wasters.at("two");
  EXPECT_EQ(CausesOf(two), (std::vector<std::string>{"spin_wait", "idle_held"}));
  EXPECT_NEAR(HoursOf(two, "spin_wait"), kHours / 2, kPrecision);
  EXPECT_NEAR(HoursOf(two, "idle_held"), kHours / 2, kPrecision);
  double parts = 0;
  for (const json& part : two["causes"]) parts += std::stod(part["waste_exact"].get<std::string>());
  EXPECT_LE(parts, std::stod(two["waste_exact"].get<std::string>()) + 1e-9);
  EXPECT_NEAR(parts, (kHours / 2 + kHours / 2 * 0.9) * 2.5, 0.2);
  // Pressure on a node with eight jobs is nobody's: the bursts stay unknown.
  const json& bursts = wasters.at("bursts");
  EXPECT_EQ(bursts["cause"], "unknown");
  EXPECT_TRUE(bursts["causes"].empty());
  EXPECT_EQ(bursts["try_first"][0]["lever"], "num_workers");
  EXPECT_NE(bursts["fix"].get<std::string>().find("try first"), std::string::npos);
  EXPECT_FALSE(wasters.contains("healthy"));
  for (const json& doubt : document["data_quality"]) EXPECT_NE(doubt["id"], "no_job_signals");
  ExpectKeysDocumented(two);
  ExpectKeysDocumented(bursts);
  const ProgramRun page = Fleet("--full");
  EXPECT_EQ(page.code, 0);
  EXPECT_NE(page.out.find("Jobs that waste most"), std::string::npos) << page.out;
}

// What a job did before the window is not of the window, and a job that ended inside keeps its last value. Two replicas
// of the engine tell the same, once.
TEST_F(FleetWasters, JobsThatStraddleTheWindowCountTheirPartInside) {
  const auto first_half = [](std::int64_t t) { return t < kFrom + 7200 ? Idle(IdleMemory::kHeld) : InPhase(1); };
  const std::map<std::string, json> wasters = ByJob(Ask({{"n1",
                                                          {{"before", first_half, kFrom - 3000, kFrom + 5400},
                                                           {"long", first_half, kFrom - 3000, kTo + 7200},
                                                           {"late", first_half, kFrom + 1800, kTo + 7200}}}},
                                                        {"a", "b"}));
  EXPECT_NEAR(HoursOf(wasters.at("before"), "idle_held"), 1.5, kPrecision);
  EXPECT_NEAR(HoursOf(wasters.at("long"), "idle_held"), 2, kPrecision);
  EXPECT_NEAR(HoursOf(wasters.at("late"), "idle_held"), 1.5, kPrecision);
  EXPECT_EQ(wasters.at("before")["cause"], "idle_held");
}

TEST_F(FleetWasters, WhatAgentsCannotTellIsSaidAndNotGuessed) {
  const auto low = [](std::int64_t) { return InPhase(1); };
  const auto held = [](std::int64_t) { return Idle(IdleMemory::kHeld); };
  const PlantedNode old = {"old", {{"old_low", low}, {"old_idle", held}}, {}, false, kTo + 9000};
  const PlantedNode updated = {"updated", {{"half", low}}, {}, false, kFrom + 7200};
  const PlantedNode shared = {"shared", {{"one", low}, {"other", low}}, {}, true};
  const PlantedNode blind = {"blind", {{"unread", low}}};
  const PlantedNode storage = {"storage", {{"reader", low}}, {false, true}, false, 0, true};
  const json document = Ask({old, updated, shared, blind, storage});
  const std::map<std::string, json> wasters = ByJob(document);
  const auto why = [&](const std::string& job) { return wasters.at(job)["why"].get<std::string>(); };
  EXPECT_NE(why("old_low").find("count no signals"), std::string::npos) << why("old_low");
  EXPECT_NE(why("half").find("did not count signals in all of the window"), std::string::npos) << why("half");
  EXPECT_NE(why("one").find("other jobs shared its GPUs"), std::string::npos) << why("one");
  EXPECT_NE(why("unread").find("cannot tell spin_wait"), std::string::npos) << why("unread");
  EXPECT_NE(why("reader").find("storage is a suspect"), std::string::npos) << why("reader");
  EXPECT_EQ(wasters.at("old_idle")["cause"], "idle");
  for (const std::string job : {"old_low", "half", "one", "other", "unread", "reader"}) {
    EXPECT_EQ(wasters.at(job)["cause"], "unknown") << job;
    EXPECT_FALSE(wasters.at(job)["try_first"].empty()) << job;
  }
  const auto old_agents = std::find_if(document["data_quality"].begin(), document["data_quality"].end(),
                                       [](const json& doubt) { return doubt["id"] == "no_job_signals"; });
  ASSERT_NE(old_agents, document["data_quality"].end());
  EXPECT_EQ((*old_agents)["count"], 2);
}

// A cluster has tens of thousands of jobs: no question asks for all signals of all of them.
TEST_F(FleetWasters, AsksForFewSignalsOfAllJobsAndAllSignalsOfFewJobs) {
  const auto held = [](std::int64_t) { return Idle(IdleMemory::kHeld); };
  ASSERT_EQ(ByJob(Ask({{"n1", {{"held", held}}}})).at("held")["cause"], "idle_held");
  url_ = engines_.Relay(url_, {});
  ASSERT_EQ(Fleet("--format json").code, 0);
  const std::string asked = engines_.Log(url_);
  const std::string counter = "idleburn_job_signal_seconds_total";
  EXPECT_EQ(asked.find(counter + "["), std::string::npos) << asked;
  EXPECT_NE(asked.find(counter + "{signal=~"), std::string::npos) << asked;
  EXPECT_NE(asked.find(counter + "{job=~\"held\"}"), std::string::npos) << asked;
  // What does not show wasters does not ask for them.
  for (const char* action : {"jobs", "gpus", "--format csv"}) {
    const std::size_t before = engines_.Log(url_).size();
    const ProgramRun run = Fleet(action);
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(engines_.Log(url_).find(counter, before), std::string::npos) << action;
  }
}

}  // namespace
}  // namespace idleburn::testing
