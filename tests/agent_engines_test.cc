// Bills read from real engines equal the agents' own ledgers, to the millisecond, whatever happens to scrapes, engines
// and agents (docs/agent.md, "An exact bill").
//
// Sixteen agents count in this process and serve over HTTP. Their seconds last a tenth of a second, so that a closing
// period of 40 s passes in 4 s. The reader here is independent of the product: it knows only the closed-hour rule.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "agent/agent_metrics.h"
#include "agent/node_counters.h"
#include "expose/scrape_server.h"
#include "support/engines.h"
#include "support/program.h"

namespace idleburn {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::Ask;
using testing::TempFolder;

constexpr std::int64_t kPeriod = 40;  // agent seconds
constexpr milliseconds kSecond(100);  // of an agent, in real time
constexpr milliseconds kRealPeriod(4000);
constexpr int kPeriods = 8;
constexpr int kAgents = 16;

using Phases = std::array<std::int64_t, kAgentPhaseCount>;  // milliseconds

// One agent: counters, a server, and a ledger of its own that nothing resets.
class SimulatedAgent {
 public:
  SimulatedAgent(int number, std::int64_t born) : number_(number), random_(static_cast<std::uint64_t>(number)) {
    Begin(born);
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    Result<std::unique_ptr<ScrapeServer>> server = ScrapeServer::Start(
        options, [this] { return Newest(); }, [] {});
    EXPECT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  // One second passes. `down`: the agent does not run.
  void Pass(bool down) {
    const std::lock_guard lock(mutex_);
    if (down) {
      kept_ = kept_.empty() ? counters_->ToBytes() : kept_;
      ++down_seconds_;
      newest_.reset();
    } else {
      Resume();
      Count();
    }
    ++second_;
    if (second_ % kPeriod == 0) ledger_[second_] = truth_;
  }
  // The next start finds no state. What was counted since the last edge that was read cannot be read any more.
  void LoseState() {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    lost_at_ = second_;
    truth_at_loss_ = truth_;
  }
  // No scrape is answered for now.
  void set_mute(bool mute) {
    const std::lock_guard lock(mutex_);
    mute_ = mute;
  }

  [[nodiscard]] std::string node() const { return "n" + std::to_string(number_); }
  [[nodiscard]] int port() const { return server_->port(); }
  // What the GPU did up to each edge, while the agent ran or its state was kept.
  [[nodiscard]] const std::map<std::int64_t, Phases>& ledger() const { return ledger_; }
  // What cannot be read of the span between two edges, because the state was lost in it.
  [[nodiscard]] Phases LostIn(std::int64_t from, std::int64_t to) const {
    Phases lost{};
    if (lost_at_ <= from || lost_at_ > to) return lost;
    for (std::size_t p = 0; p < kAgentPhaseCount; ++p) lost[p] = truth_at_loss_[p] - ledger_.at(from)[p];
    return lost;
  }

 private:
  void Begin(std::int64_t born) {
    second_ = born;
    counters_.emplace(born, kPeriod);
    counters_->Enter({"GPU-" + std::to_string(number_), "H100", 0, 1, 1});
  }
  void Resume() {
    if (down_seconds_ == 0) return;
    down_seconds_ = 0;
    const std::string bytes = std::exchange(kept_, {});
    if (lost_) {
      lost_ = false;
      Begin(second_);
      return;
    }
    counters_ = *NodeCounters::FromBytes(bytes, kPeriod);
    const std::int64_t from = counters_->next();
    counters_->AddWithout(second_, kAgentDown);
    truth_[kUnobservedPhase] += (second_ - from) * 1000;
  }
  void Count() {
    GpuSecond second;
    const auto phase = static_cast<std::size_t>(random_() % kPhaseCount);
    const auto ms = static_cast<std::int64_t>(random_() % 1001);
    second.phase_ms[phase] = ms;
    second.phase_ms[kUnobservedPhase] = 1000 - ms;
    second.reason_ms[0] = 1000 - ms;
    for (std::size_t p = 0; p < kAgentPhaseCount; ++p) truth_[p] += second.phase_ms[p];
    counters_->Add({&second, 1});
    NodeView view{*counters_, {}, {}, {}, {}, {}};
    auto exposed = std::make_shared<Exposed>();
    exposed->families = AgentFamilies(view, node(), "test");
    newest_ = std::move(exposed);
  }
  std::shared_ptr<const Exposed> Newest() {
    const std::lock_guard lock(mutex_);
    return mute_ ? nullptr : newest_;
  }

  int number_;
  std::mt19937_64 random_;
  std::mutex mutex_;
  std::optional<NodeCounters> counters_;
  std::int64_t second_ = 0;
  std::string kept_;
  std::int64_t down_seconds_ = 0;
  bool lost_ = false;
  std::int64_t lost_at_ = 0;
  Phases truth_at_loss_{};
  bool mute_ = false;
  Phases truth_{};
  std::map<std::int64_t, Phases> ledger_;
  std::shared_ptr<const Exposed> newest_;
  std::unique_ptr<ScrapeServer> server_;
};

// An engine with Prometheus' query API.
struct Engine {
  std::string url;

  // The value of each series at a moment, by its labels.
  [[nodiscard]] std::map<std::string, double> Query(const std::string& expression, double at) const {
    std::string escaped;
    for (const char c : expression) {
      char hex[4];
      std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned char>(c));
      escaped += hex;
    }
    const std::string time = std::to_string(at);
    const json answer =
        json::parse(Ask({url + "/api/v1/query?query=" + escaped + "&time=" + time}).body, nullptr, false);
    std::map<std::string, double> values;
    if (!answer.is_object() || answer["status"] != "success") return values;
    for (const json& each : answer["data"]["result"]) {
      const json& m = each["metric"];
      const std::string key = m.value("node", "") + " " + m.value("epoch", "") + " " + m.value("phase", "");
      const double value = std::stod(each["value"][1].get<std::string>());
      values[key] = std::max(values[key], value);  // of several replicas the larger
    }
    return values;
  }
};

// What the engine says that each node did between two readable edges, in milliseconds, by phase. Deficits are the rest.
class Reader {
 public:
  Reader(const Engine& engine, std::int64_t first_edge, double first_edge_at)
      : engine_(engine), first_edge_(first_edge), at_(first_edge_at) {}

  // Reads all edges 0 to kPeriods.
  void Read() {
    for (int k = 0; k <= kPeriods; ++k) {
      const double at = at_ + k * 4.0 + 3.6;  // the 55th minute of the next hour
      const std::int64_t edge = first_edge_ + k * kPeriod;
      const auto closed = engine_.Query("last_over_time(idleburn_closed_timestamp_seconds[3s])", at);
      const auto values = engine_.Query("last_over_time(idleburn_gpu_phase_closed_seconds_total[3s])", at);
      for (const auto& [key, stamp] : closed) {
        const std::string node = key.substr(0, key.find(' '));
        if (std::llround(stamp) != edge) continue;  // that edge is not readable: wait for the next
        Edge& read = edges_[node][edge];
        for (const auto& [series, value] : values) {
          if (series.rfind(node + " ", 0) == 0) read[series.substr(node.size() + 1)] = std::llround(value * 1000);
        }
      }
    }
  }
  // Edges by node, in order.
  using Edge = std::map<std::string, std::int64_t>;  // "EPOCH PHASE" -> ms
  [[nodiscard]] const std::map<std::string, std::map<std::int64_t, Edge>>& edges() const { return edges_; }

  // The rise between two edges by phase. A series that is born between them starts from 0.
  static Phases Rise(const Edge& from, const Edge& to) {
    Phases rise{};
    for (const auto& [series, value] : to) {
      const auto before = from.find(series);
      const std::string phase = series.substr(series.find(' ') + 1);
      for (std::size_t p = 0; p < kAgentPhaseCount; ++p) {
        if (phase == kAgentPhaseNames[p]) rise[p] += value - (before == from.end() ? 0 : before->second);
      }
    }
    return rise;
  }

 private:
  const Engine& engine_;
  std::int64_t first_edge_;
  double at_;
  std::map<std::string, std::map<std::int64_t, Edge>> edges_;
};

class AgentEngines : public ::testing::Test {
 protected:
  std::string ScrapeConfig(const std::vector<std::unique_ptr<SimulatedAgent>>& agents) {
    std::string targets;
    for (const auto& agent : agents)
      targets += (targets.empty() ? "" : ", ") + ("'127.0.0.1:" + std::to_string(agent->port()) + "'");
    return folder_.Write("scrape.yml",
                         "global:\n  scrape_interval: 400ms\n  scrape_timeout: 400ms\nscrape_configs:\n"
                         "- job_name: idleburn\n  static_configs:\n  - targets: [" +
                             targets + "]\n");
  }
  std::string VmAgent(const std::string& config, const Engine& to) {
    return engines_.Start("vmagent -promscrape.config=" + config + " -remoteWrite.url=" + to.url + "/api/v1/write" +
                              " -remoteWrite.tmpDataPath={folder} -httpListenAddr=127.0.0.1:{port} -loggerLevel=ERROR",
                          "/health");
  }
  // Compares what a reader found with the ledgers. Returns how many spans were compared.
  static int Compare(const Reader& reader, const std::vector<std::unique_ptr<SimulatedAgent>>& agents) {
    int spans = 0;
    for (const auto& agent : agents) {
      const auto found = reader.edges().find(agent->node());
      if (found == reader.edges().end()) {
        ADD_FAILURE() << agent->node() << " was never read";
        continue;
      }
      const auto& edges = found->second;
      for (auto to = edges.begin(); to != edges.end(); ++to) {
        if (to == edges.begin()) continue;
        const auto from = std::prev(to);
        const Phases rise = Reader::Rise(from->second, to->second);
        Phases truth = agent->ledger().at(to->first);
        for (std::size_t p = 0; p < kAgentPhaseCount; ++p) truth[p] -= agent->ledger().at(from->first)[p];
        std::int64_t sum = 0;
        for (const std::int64_t each : rise) sum += each;
        const Phases lost = agent->LostIn(from->first, to->first);
        for (std::size_t p = 0; p < kAgentPhaseCount; ++p) truth[p] -= lost[p];
        EXPECT_EQ(rise, truth) << agent->node() << " up to " << to->first;
        ++spans;
        // Nothing but lost state leaves a deficit.
        const std::int64_t wall = (to->first - from->first) * 1000;
        EXPECT_EQ(sum == wall, lost == Phases{}) << agent->node() << ": " << sum << " of " << wall;
      }
    }
    return spans;
  }
  TempFolder folder_;
  testing::TestEngines engines_;
};

TEST_F(AgentEngines, BillsOfRealEnginesEqualTheLedgersOfTheAgents) {
  const std::string missing = testing::WithoutPrograms({"prometheus", "victoria-metrics", "vmagent"});
  if (!missing.empty()) GTEST_SKIP() << missing;
  // Agent seconds are numbered so that edges fall on full periods.
  const std::int64_t born = 1'790'000'000 / kPeriod * kPeriod - 20;
  std::vector<std::unique_ptr<SimulatedAgent>> agents;
  for (int i = 0; i < kAgents; ++i) agents.push_back(std::make_unique<SimulatedAgent>(i, born));
  const std::string config = ScrapeConfig(agents);
  const Engine first{engines_.PrometheusScraping(config)};
  const Engine second{engines_.PrometheusScraping(config)};  // a replica
  const Engine victoria{engines_.Victoria("-dedup.minScrapeInterval=0s")};
  const std::string vmagent = VmAgent(config, victoria);

  std::mt19937_64 random(5);
  const auto start = std::chrono::steady_clock::now();
  const double wall = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::int64_t seconds = 20 + (kPeriods + 1) * kPeriod;
  for (std::int64_t s = 0; s < seconds; ++s) {
    for (int i = 0; i < kAgents; ++i) {
      SimulatedAgent& agent = *agents[static_cast<std::size_t>(i)];
      agent.set_mute(i % 4 == 1 && random() % 5 == 0);              // every fifth scrape of these is missed
      const bool down = i % 4 == 2 && s % 90 >= 70 && s % 90 < 75;  // these restart with their state,
      const bool lose = i % 8 == 3 && s >= 150 && s < 156;          // and these without
      if (lose && s == 150) agent.LoseState();
      agent.Pass(down || lose);
    }
    if (s == 100) engines_.Kill(first.url);  // an outage over an edge
    if (s == 115) engines_.Restart(first.url);
    if (s == 200) engines_.Kill(vmagent);
    if (s == 206) engines_.Restart(vmagent);
    std::this_thread::sleep_until(start + (s + 1) * kSecond);
  }
  const std::int64_t first_edge = born + 20;
  const double first_edge_at = wall + 2.0;
  const std::pair<const char*, const Engine*> readers[] = {
      {"prometheus", &first}, {"replica", &second}, {"victoria", &victoria}};
  for (const auto& [name, engine] : readers) {
    SCOPED_TRACE(name);
    Reader reader(*engine, first_edge, first_edge_at);
    reader.Read();
    EXPECT_GE(Compare(reader, agents), kAgents * (kPeriods - 2)) << engines_.Log(first.url);
  }
}

}  // namespace
}  // namespace idleburn
