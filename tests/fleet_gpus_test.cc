// What `idleburn fleet` makes of live counters, on real engines, against agents with every second known
// (support/counter_fleet.h): lost states inside a gap, replicas, GPUs that move, nodes that were not scraped.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/counter_fleet.h"
#include "support/engines.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr std::int64_t kBegin = 1'772'409'600;  // 2026-03-02T00:00:00Z
constexpr std::int64_t kEnd = kBegin + 6 * 3600;
constexpr std::int64_t kScrape = 60;

// Two GPUs with these names, counted since two hours before.
CounterNode Plain(const std::string& name) {
  return {name, {"GPU-" + name + "-0", "GPU-" + name + "-1"}, {kBegin - 2 * 3600}};
}

// Every fault that a reader of live counters meets.
CounterFleet FaultyFleet() {
  CounterFleet fleet(kBegin, kEnd, kScrape);
  fleet.Add(Plain("clean"));
  CounterNode reset = Plain("reset-in-gap");  // afterwards the counters are higher than before
  reset.births = {kBegin - 1800, kBegin + 3600 + 1800};
  reset.silent = {{kBegin + 3600, kBegin + 4 * 3600}};
  fleet.Add(reset);
  CounterNode twice = Plain("reset-twice");
  twice.births = {kBegin - 7000, kBegin + 5000, kBegin + 9000};
  fleet.Add(twice);
  CounterNode replicas = Plain("replicas");
  replicas.replicas = {"a", "b"};
  fleet.Add(replicas);
  CounterNode merged = Plain("merged");
  merged.replicas = {"", ""};
  fleet.Add(merged);
  CounterNode unseen = Plain("unseen-at-ends");
  unseen.silent = {{kBegin - 900, kBegin + 1200}, {kEnd - 1500, kEnd + 600}};
  fleet.Add(unseen);
  CounterNode born = Plain("born-inside");
  born.births = {kBegin + 4000};
  fleet.Add(born);
  CounterNode left = Plain("left");  // its second GPU moves to the next node
  left.here["GPU-left-1"] = {0, kBegin + 3 * 3600};
  fleet.Add(left);
  CounterNode taken = Plain("taken");
  taken.uuids = {"GPU-taken-0", "GPU-left-1"};
  taken.here["GPU-left-1"] = {kBegin + 3 * 3600 + 600, INT64_MAX};
  fleet.Add(taken);
  CounterNode no_gauge = Plain("no-gauge");
  no_gauge.memory_gauge = false;
  no_gauge.energy_counter = false;
  fleet.Add(no_gauge);
  CounterNode mig = Plain("mig");
  mig.uuids = {"MIG-0", "MIG-1", "MIG-2"};
  mig.slices = "1/7";
  mig.energy_counter = mig.power = false;
  fleet.Add(mig);
  return fleet;
}

class FleetGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = WithoutPrograms({"victoria-metrics", "prometheus", "promtool", "python3"});
    if (!missing.empty()) GTEST_SKIP() << missing;
    if (shared_ == nullptr) shared_ = new Shared;
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }

  std::string Victoria(const CounterFleet& fleet) {
    return engines_.VictoriaWith(folder_.Write("import.jsonl", fleet.ImportLines()));
  }
  // The engine with the fleet of every fault, one for all tests.
  static std::string Faulty() {
    const TempFolder folder;
    if (shared_->faulty.empty())
      shared_->faulty = shared_->engines.VictoriaWith(folder.Write("import.jsonl", FaultyFleet().ImportLines()));
    return shared_->faulty;
  }

  [[nodiscard]] std::string Words(const std::string& url, const std::string& more) const {
    return "fleet --engine " + url + " --from 2026-03-02T00:00:00Z --to 2026-03-02T06:00:00Z --ledger " +
           (folder_.path() / "ledger.sqlite").string() + " --price 3 " + more;
  }

  [[nodiscard]] json Fleet(const std::string& url, const std::string& more = "") const {
    const ProgramRun run = RunIdleburn(Words(url, "--format json " + more));
    EXPECT_EQ(run.code, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  }

  TempFolder folder_;
  TestEngines engines_;  // of one test

 private:
  struct Shared {
    TestEngines engines;
    std::string faulty;
  };
  static Shared* shared_;
};
FleetGpus::Shared* FleetGpus::shared_ = nullptr;

// Milliseconds of a number of hours.
std::int64_t Ms(const json& hours) { return std::llround(hours.get<double>() * 3'600'000); }

// A counter of a GPU in the document, by the name that the generator has for it. -1: not in the document.
std::int64_t CellOf(const json& gpu, const std::string& cell) {
  const std::size_t blank = cell.find(' ');
  const std::string family = cell.substr(0, blank);
  const std::string label = cell.substr(blank + 1);
  if (family == "utilization_seconds") return Ms(gpu["decile_gpu_hours"][std::stoul(label)]);
  if (family == "idle_seconds") return Ms(gpu["idle_gpu_hours"][label]);
  if (family == "spin_wait_seconds") return Ms(gpu["spin_wait_gpu_hours"]);
  if (family != "throttled_seconds") return -1;
  return label == "sw_power_cap" ? Ms(gpu["power_cap_gpu_hours"]) : Ms(gpu["slowdown_gpu_hours"][label]);
}

// Every counter of every GPU equals what its scrapes tell, and differs from what happened by no more than the scrapes
// at the ends of its pieces explain.
void ExpectTold(const json& got, const CounterFleet& fleet) {
  ASSERT_TRUE(got["gpu_use"].is_object()) << got["data_quality"];
  std::map<std::pair<std::string, std::string>, json> rows;
  for (const json& gpu : got["gpu_use"]["per_gpu"]) rows[{gpu["node"], gpu["uuid"]}] = gpu;
  std::size_t gpus = 0;
  for (const CounterNode& node : fleet.nodes()) {
    for (const std::string& uuid : node.uuids) {
      SCOPED_TRACE(node.name + " " + uuid);
      ++gpus;
      ASSERT_TRUE(rows.count({node.name, uuid}) > 0);
      const json& gpu = rows.at({node.name, uuid});
      std::int64_t observed = 0;
      std::int64_t truth = 0;
      for (const std::string& cell : CounterFleet::Cells()) {
        const std::int64_t value = CellOf(gpu, cell);
        if (value < 0) continue;
        ASSERT_NEAR(static_cast<double>(value), static_cast<double>(fleet.Told(node, uuid, cell)), 5) << cell;
        if (!cell.starts_with("utilization")) continue;
        observed += value;
        truth += fleet.Truth(node, uuid, cell);
      }
      std::int64_t unseen = 2 * kScrape * static_cast<std::int64_t>(node.births.size());
      for (const FromTo& gap : node.silent) unseen += gap.second - gap.first;
      EXPECT_LE(std::abs(observed - truth), unseen * 1000);
    }
  }
  EXPECT_EQ(rows.size(), gpus);
}

TEST_F(FleetGpus, EveryCounterIsWhatTheScrapesTell) {
  const CounterFleet fleet = FaultyFleet();
  const std::string url = Faulty();
  const json got = Fleet(url);
  ExpectTold(got, fleet);
  EXPECT_EQ(got["gpu_use"]["lost_states"], 3);
  // The mean of every second lies in the interval.
  for (const json& gpu : got["gpu_use"]["per_gpu"]) {
    EXPECT_LE(gpu["effective_gpu_hours_low"], gpu["effective_gpu_hours_high"]);
  }
  // An engine that refuses more than two nodes at once tells the same.
  const std::string relay = engines_.Relay(url, {.most_nodes = 2});
  const json refused = Fleet(relay);
  EXPECT_EQ(refused["gpu_use"], got["gpu_use"]) << refused["data_quality"];
  EXPECT_EQ(refused["energy"], got["energy"]);
}

TEST_F(FleetGpus, PrometheusTellsTheSame) {
  const CounterFleet fleet = FaultyFleet();
  ExpectTold(Fleet(engines_.PrometheusWith(folder_.Write("scrapes.om", fleet.OpenMetrics()))), fleet);
}

TEST_F(FleetGpus, EnergyIsOfOneSourceAndWhatLacksItIsNamed) {
  const CounterFleet fleet = FaultyFleet();
  const std::string url = Faulty();
  const json got = Fleet(url, "--grid 400 --pue 1.5 --tariff 0.20");
  double joules = 0;
  std::map<std::string, int> gpus;
  for (const CounterNode& node : fleet.nodes()) {
    for (const std::string& uuid : node.uuids) {
      const std::string source = node.energy_counter ? "counter" : "power";
      const auto told = static_cast<double>(fleet.Told(node, uuid, "energy_joules " + source)) / 1000;
      joules += told;
      ++gpus[told == 0 ? "none" : node.energy_counter ? "driver_counter" : "power"];
    }
  }
  const json& energy = got["energy"];
  EXPECT_EQ(energy["gpus"]["driver_counter"], gpus["driver_counter"]);
  EXPECT_EQ(energy["gpus"]["power"], 2);
  EXPECT_EQ(energy["gpus"]["none"], 3);  // MIG instances: the board's energy is nowhere
  EXPECT_NEAR(energy["energy_kwh"].get<double>(), joules / 3.6e6, 1e-6);
  EXPECT_NEAR(energy["site_kwh"].get<double>(), 1.5 * joules / 3.6e6, 1e-6);
  EXPECT_NEAR(energy["co2e_kg"].get<double>(), 0.4 * 1.5 * joules / 3.6e6, 1e-6);
  EXPECT_NEAR(std::stod(energy["cost_exact"].get<std::string>()), 0.2 * 1.5 * joules / 3.6e6, 1e-6);
  const json plain = Fleet(url);
  EXPECT_TRUE(plain["energy"]["co2e_kg"].is_null());
  EXPECT_TRUE(plain["energy"]["cost"].is_null());
  EXPECT_EQ(plain["energy"]["pue"], 1.0);
  const ProgramRun full = RunIdleburn(Words(url, "--full"));
  EXPECT_NE(full.out.find("CO2e is unknown"), std::string::npos) << full.out;
  EXPECT_NE(full.out.find("MIG-0 on mig"), std::string::npos) << full.out;
  EXPECT_EQ(RunIdleburn(Words(url, "--full --pue 0.8")).code, 2);
}

TEST_F(FleetGpus, SmallerGpusAreCandidatesOnlyWhereMemoryIsKnown) {
  CounterFleet fleet(kBegin, kEnd, kScrape);
  CounterNode small = Plain("small");  // 4 to 5 GiB, 0 to 10 % busy
  small.most_decile = 0;
  small.holds = {{"7", "ml", 2, {kBegin - 7200, kEnd + 7200}}};
  fleet.Add(small);
  CounterNode busy = Plain("busy");
  busy.least_decile = 9;
  fleet.Add(busy);
  CounterNode unknown = small;
  unknown.name = "unknown";
  unknown.uuids = {"GPU-u0"};
  unknown.holds[0].gpus = 1;
  unknown.memory_gauge = false;
  fleet.Add(unknown);
  CounterNode mig = small;
  mig.name = "mig";
  mig.uuids = {"MIG-0"};
  mig.holds = {};
  mig.slices = "1/7";
  fleet.Add(mig);
  const json sizing = Fleet(Victoria(fleet))["right_sizing"];
  EXPECT_EQ(sizing["without_memory"], 1);
  EXPECT_EQ(sizing["instances"], 1);
  // One of the small GPUs was without data for more than a twentieth of its time.
  EXPECT_EQ(sizing["judged"], 3);
  EXPECT_EQ(sizing["too_little_data"], 1);
  std::int64_t peak = 0;
  for (std::int64_t s = kBegin - 600; s < kEnd; s += 60) {
    for (const std::string& uuid : small.uuids) peak = std::max(peak, CounterFleet::MemoryAt(uuid, s));
  }
  ASSERT_EQ(sizing["candidates"].size(), 2U);
  for (const json& each : sizing["candidates"]) {
    EXPECT_EQ(each["gpus"].size(), 1U);
    EXPECT_EQ(each["team"], "ml");
    EXPECT_EQ(each["job"], "7");
    EXPECT_LE(each["memory_peak_bytes"].get<std::int64_t>(), peak);
    EXPECT_GE(each["memory_peak_bytes"].get<std::int64_t>(), peak - 1'000'000'000);
    if (each["kind"] == "mig_slice") {
      EXPECT_EQ(each["target"], "1g");
      EXPECT_EQ(each["saving_at_most"], "15.43");  // 6 of 7 of a GPU x 6 h x $3
    }
  }
}

TEST_F(FleetGpus, PackingIsABoundFromHoursThatOwnersHeld) {
  CounterFleet fleet(kBegin, kEnd, kScrape);
  const auto node = [&](int n, const std::vector<CounterHold>& holds) {
    CounterNode one = Plain("n" + std::to_string(n));
    one.uuids = {};
    for (int g = 0; g < 4; ++g) one.uuids.push_back("GPU-" + std::to_string(n) + "-" + std::to_string(g));
    one.holds = holds;
    fleet.Add(one);
  };
  const FromTo always = {kBegin - 7200, kEnd + 7200};
  node(0, {{"1", "ml", 3, always}});                               // over half of a node
  node(1, {{"2", "ml", 3, always}});                               // and another
  node(2, {{"3", "nlp", 1, {kBegin - 7200, kBegin + 3 * 3600}}});  // three hours
  node(3, {});
  const json got = Fleet(Victoria(fleet));
  ASSERT_EQ(got["packing"]["classes"].size(), 1U);
  const json& all = got["packing"]["classes"][0];
  EXPECT_EQ(all["nodes"], 4);
  EXPECT_EQ(all["gpus_per_node"], 4);
  EXPECT_EQ(all["hours"], 6);
  EXPECT_NEAR(all["gpus_held_mean"].get<double>(), 6.5, 1e-6);
  EXPECT_NEAR(all["gpus_held_peak"].get<double>(), 7, 1e-6);
  EXPECT_EQ(all["nodes_needed_at_least"], 2);
  EXPECT_EQ(all["nodes_needed_at_least_whole_jobs"], 2);
  EXPECT_EQ(all["nodes_freed_at_most"], 2);
  EXPECT_EQ(all["saving_at_most"], "144.00");  // 2 nodes x 4 GPUs x 6 h x $3
}

TEST_F(FleetGpus, OneScreenAsksForNoLiveCounterAndABillNeedsNone) {
  CounterFleet fleet(kBegin, kEnd, kScrape);
  fleet.Add(Plain("clean"));
  const std::string url = Victoria(fleet);
  const json whole = Fleet(url);
  const std::string relay = engines_.Relay(url, {.never = "utilization_seconds_total"});
  for (const char* words : {"", "--format csv", "pull"}) {
    const ProgramRun run = RunIdleburn(Words(relay, words));
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.out.find("live counters"), std::string::npos) << run.out;
    const std::string questions = engines_.Log(relay);
    EXPECT_NE(questions.find("last_over_time"), std::string::npos);
    EXPECT_EQ(questions.find("utilization_seconds"), std::string::npos) << questions;
    EXPECT_EQ(questions.find("memory_used"), std::string::npos) << questions;
  }
  // An engine that fails there costs these figures, and not the bill.
  const json without = Fleet(relay);
  EXPECT_TRUE(without["gpu_use"].is_null());
  EXPECT_TRUE(without["energy"].is_null());
  EXPECT_EQ(without["cost"], whole["cost"]);
  EXPECT_EQ(without["by"], whole["by"]);
  EXPECT_EQ(without["packing"], whole["packing"]);
  bool said = false;
  for (const json& doubt : without["data_quality"]) said = said || doubt["id"] == "gpu_counters_unread";
  EXPECT_TRUE(said) << without["data_quality"];
}

TEST_F(FleetGpus, TheListOfGpusIsCsvWithExactSeconds) {
  const CounterFleet fleet = FaultyFleet();
  const ProgramRun run = RunIdleburn(Words(Faulty(), "--format csv gpus"));
  ASSERT_EQ(run.code, 0) << run.err;
  std::istringstream lines(run.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("node,uuid,model,counted_gpu_seconds,unobserved_gpu_seconds,decile_0_gpu_seconds"));
  const CounterNode& clean = fleet.nodes().front();
  bool found = false;
  std::size_t rows = 0;
  while (std::getline(lines, line)) {
    ++rows;
    if (!line.starts_with("clean,GPU-clean-0,NVIDIA H100 80GB HBM3,21600.000,")) continue;
    found = true;
    const std::int64_t idle = fleet.Told(clean, "GPU-clean-0", "utilization_seconds 0");
    EXPECT_NE(line.find("," + std::to_string(idle / 1000) + ".000,"), std::string::npos) << line;
    EXPECT_NE(line.find(",driver_counter,"), std::string::npos) << line;
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(rows, 23U);
}

}  // namespace
}  // namespace idleburn::testing
