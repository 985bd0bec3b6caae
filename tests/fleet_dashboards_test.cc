// The dashboards ask for what agents expose, every panel shows something on real engines, and Grafana's own
// declarations accept the documents.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <thread>

#include "agent/agent_metrics.h"
#include "agent/node_counters.h"
#include "expose/scrape_server.h"
#include "fleet/dashboards.h"
#include "fleet/panel_answers.h"
#include "places.h"
#include "support/engines.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/service.h"

namespace idleburn {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::Ask;
using testing::Eventually;
using testing::ReadText;
using testing::RunShell;
using testing::TempFolder;

constexpr std::int64_t kPeriod = 20;      // agent seconds in an "hour"
constexpr milliseconds kPanelSecond(50);  // of an agent, in real time

// The counters of a node with a GPU of each of two teams and one that no job holds, and everything else that an agent
// can expose.
class PanelNode {
 public:
  explicit PanelNode(std::int64_t born) : counters_(born, kPeriod), started_(born) {
    Holdings holdings;
    const char* const teams[] = {"language", "vision"};
    for (int gpu = 0; gpu < 3; ++gpu) {
      const std::string uuid = "GPU-" + std::to_string(gpu);
      counters_.Enter({uuid, "NVIDIA H100 80GB HBM3", gpu, 1, 1});
      if (gpu == 2) continue;
      const Owner owner{
          "c1", std::to_string(4711 + gpu), "ann", teams[gpu], "exp", Instant::FromNanos(born * kNanosPerSecond)};
      holdings.held.push_back({uuid, owner, OwnerProof::kScheduler, 1, 1, {}});
    }
    counters_.Hold(born * kMsPerSecond, holdings);
  }
  void Count() {
    GpuSecond second;
    second.phase_ms = {300, 200, 300, 100, 100};
    second.reason_ms[0] = 100;
    second.idle_ms = {200, 100, 0};
    second.decile = 5;
    second.spin_ms = 50;
    second.energy_counter_mj = second.energy_power_mj = 400'000;
    second.throttled_ms.fill(10);
    second.link_bytes.fill(1'000'000);
    counters_.Add(std::vector<GpuSecond>(3, second));
  }
  [[nodiscard]] std::vector<MetricFamily> Families(const std::string& node) const {
    NodeView view{counters_,
                  {},
                  {},
                  {},
                  Instant::FromNanos(counters_.next() * kNanosPerSecond),
                  Instant::FromNanos(started_ * kNanosPerSecond)};
    for (std::size_t gpu = 0; gpu < 3; ++gpu) {
      GpuGauges gauges;
      gauges.place = gpu;
      gauges.utilization = 50'000'000;
      gauges.memory_used = 40'000'000'000;
      gauges.memory_total = 80'000'000'000;
      gauges.power = 400'000;
      gauges.temperature = 60'000;
      gauges.price = Money::Cents(295);
      gauges.currency = "USD";
      gauges.price_source = "--price 2.95";
      view.gauges.push_back(gauges);
    }
    view.host.rise.fill((counters_.next() - started_) * kNanosPerSecond);
    const std::int64_t bytes = (counters_.next() - started_) * 1000;
    view.host.ports["mlx5_0/1"] = {{bytes, bytes}, {true, true}};
    for (const char* source : {"nvml", "host", "owners"}) {
      view.health.up[source] = true;
      view.health.errors[source] = 0;
    }
    view.health.newest_sample = view.at;
    return AgentFamilies(view, node, "test");
  }

 private:
  NodeCounters counters_;
  std::int64_t started_;
};

// A node that counts by itself and serves its metrics.
class PanelAgent {
 public:
  PanelAgent(std::string name, std::int64_t born) : name_(std::move(name)), node_(born) {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    Result<std::unique_ptr<ScrapeServer>> server = ScrapeServer::Start(
        options, [this] { return Newest(); }, [] {});
    EXPECT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    clock_ = std::thread([this] {
      while (!stop_) {
        Count();
        std::this_thread::sleep_for(kPanelSecond);
      }
    });
  }
  ~PanelAgent() {
    stop_ = true;
    clock_.join();
  }
  PanelAgent(const PanelAgent&) = delete;
  PanelAgent& operator=(const PanelAgent&) = delete;
  [[nodiscard]] int port() const { return server_->port(); }

 private:
  void Count() {
    const std::lock_guard lock(mutex_);
    node_.Count();
    auto exposed = std::make_shared<Exposed>();
    exposed->families = node_.Families(name_);
    newest_ = std::move(exposed);
  }
  std::shared_ptr<const Exposed> Newest() {
    const std::lock_guard lock(mutex_);
    return newest_;
  }
  std::string name_;
  std::mutex mutex_;
  PanelNode node_;
  std::shared_ptr<const Exposed> newest_;
  std::atomic<bool> stop_ = false;
  std::unique_ptr<ScrapeServer> server_;
  std::thread clock_;
};

// A query of a panel or of a variable.
struct PanelQuery {
  std::string where;  // "idleburn-cluster.json, GPUs by state"
  std::string expression;
  bool range = false;  // it asks for the whole time range
};

std::vector<PanelQuery> PanelQueries() {
  std::vector<PanelQuery> queries;
  for (const FleetDashboard& dashboard : FleetDashboards()) {
    const json document = json::parse(dashboard.json);
    for (const json& panel : document["panels"]) {
      for (const json& target : panel.value("targets", json::array())) {
        queries.push_back({dashboard.file + ", " + panel["title"].get<std::string>(), target["expr"].get<std::string>(),
                           target["range"].get<bool>()});
      }
    }
    for (const json& variable : document["templating"]["list"]) {
      static const std::regex kValues(R"(label_values\((.*), (\w+)\))");
      std::smatch found;
      const std::string query = variable["query"];
      if (!std::regex_match(query, found, kValues)) continue;
      const std::string label = found[2];
      queries.push_back({dashboard.file + ", variable " + variable["name"].get<std::string>(),
                         "count by (" + label + ") (" + found[1].str() + ") and on (" + label + ") " + found[1].str(),
                         false});
    }
  }
  return queries;
}

// An expression as Grafana sends it, after it put in what the user chose.
std::string FilledIn(std::string expression, const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    for (std::size_t at = expression.find(name); at != std::string::npos; at = expression.find(name, at))
      expression.replace(at, name.size(), value);
  }
  return expression;
}
// All values, and one of each. Ranges are short because the agents' seconds are.
const std::map<std::string, std::string> kAllValues = {
    {"$__rate_interval", "3s"}, {"$__range", "5s"}, {"$node", ".*"}, {"$team", ".*"},
    {"$cluster", ".*"},         {"$job", ".*"}};
const std::map<std::string, std::string> kOneValue = {{"$__rate_interval", "3s"}, {"$__range", "5s"}, {"$node", "n1"},
                                                      {"$team", "language"},      {"$cluster", "c1"}, {"$job", "4711"}};

// The labels of each metric that an agent exposes, by its full name.
std::map<std::string, std::set<std::string>> ExposedLabels() {
  PanelNode node(0);
  for (std::int64_t second = 0; second <= kPeriod; ++second) node.Count();
  std::map<std::string, std::set<std::string>> exposed;
  for (const MetricFamily& family : node.Families("n1")) {
    const char* const ending = family.type == MetricType::kCounter ? "_total"
                               : family.type == MetricType::kInfo  ? "_info"
                                                                   : "";
    std::set<std::string>& labels = exposed[family.name + ending];
    static const std::regex kLabel(R"((\w+)=")");
    for (const MetricSample& sample : family.samples) {
      for (std::sregex_iterator at(sample.labels.begin(), sample.labels.end(), kLabel), end; at != end; ++at)
        labels.insert((*at)[1]);
    }
  }
  return exposed;
}

// What an expression names that no agent exposes: metrics, and labels that a metric does not have.
std::vector<std::string> Unexposed(const std::string& expression) {
  const std::map<std::string, std::set<std::string>> exposed = ExposedLabels();
  static const std::regex kMetric(R"((idleburn_\w+)(?:\{([^}]*)\})?)");
  static const std::regex kMatcher("(\\w+)(?:=~|!~|!=|=)\"");
  std::vector<std::string> unexposed;
  for (std::sregex_iterator at(expression.begin(), expression.end(), kMetric), end; at != end; ++at) {
    const auto metric = exposed.find((*at)[1]);
    if (metric == exposed.end()) {
      unexposed.push_back((*at)[1]);
      continue;
    }
    const std::string matchers = (*at)[2];
    for (std::sregex_iterator label(matchers.begin(), matchers.end(), kMatcher), last; label != last; ++label) {
      if (!metric->second.contains((*label)[1])) unexposed.push_back(metric->first + "{" + (*label)[1].str() + "}");
    }
  }
  return unexposed;
}

TEST(FleetDashboardsTest, NamesOnlyWhatAgentsExpose) {
  EXPECT_GT(PanelQueries().size(), 80U);
  for (const PanelQuery& query : PanelQueries())
    EXPECT_EQ(Unexposed(query.expression), std::vector<std::string>{}) << query.where;
}

TEST(FleetDashboardsTest, SeesPlantedNames) {
  EXPECT_EQ(Unexposed(R"(sum(idleburn_gpu_phase_seconds{node="a"}) + idleburn_gpu_phase_seconds_total{team=~"a"})"),
            (std::vector<std::string>{"idleburn_gpu_phase_seconds", "idleburn_gpu_phase_seconds_total{team}"}));
}

// Every metric of the agent is on a dashboard, or here with the reason.
TEST(FleetDashboardsTest, ShowsEveryMetric) {
  const std::set<std::string> left_out = {
      "idleburn_gpu_phase_closed_seconds_total",  // bills read them; panels show the live twins
      "idleburn_job_phase_closed_seconds_total",
      "idleburn_gpu_pcie_link_bytes_per_second",  // alert rules compare traffic with them
      "idleburn_gpu_nvlink_link_bytes_per_second",
      "idleburn_gpu_sm_active_ratio",
      "idleburn_job_signal_seconds_total",  // idleburn fleet names causes of jobs by them
      "idleburn_job_signal_known",
  };
  std::string all;
  for (const PanelQuery& query : PanelQueries()) all += query.expression + "\n";
  for (const auto& [metric, labels] : ExposedLabels())
    EXPECT_EQ(std::regex_search(all, std::regex(metric + "\\b")), !left_out.contains(metric)) << metric;
}

// Asks an engine with Prometheus' query API that scrapes by itself.
class PanelEngine {
 public:
  explicit PanelEngine(std::string url) : url_(std::move(url)) {}
  [[nodiscard]] const std::string& url() const { return url_; }

  // Why a query shows nothing now; empty: it has a value.
  [[nodiscard]] std::string WhyEmpty(const PanelQuery& query, const std::string& expression) const {
    const std::string body = Answer(query, expression);
    return ValuesIn(body).empty() ? "no value: " + body : "";
  }
  // The values of all series, at one moment or over the time range.
  [[nodiscard]] std::vector<double> Values(const PanelQuery& query, const std::string& expression) const {
    return ValuesIn(Answer(query, expression));
  }

 private:
  [[nodiscard]] std::string Answer(const PanelQuery& query, const std::string& expression) const {
    std::string escaped;
    for (const char c : expression) {
      char hex[4];
      std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned char>(c));
      escaped += hex;
    }
    const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::string times =
        query.range ? "_range?start=" + std::to_string(now - 2) + "&end=" + std::to_string(now) + "&step=1"
                    : "?time=" + std::to_string(now);
    return Ask({url_ + "/api/v1/query" + times + "&query=" + escaped}).body;
  }
  // Finite ones only: 0 / 0 shows nothing.
  static std::vector<double> ValuesIn(const std::string& body) {
    std::vector<double> values;
    const json answer = json::parse(body, nullptr, false);
    if (!answer.is_object() || answer.value("status", "") != "success") return values;
    const bool range = answer["data"]["resultType"] == "matrix";
    for (const json& series : answer["data"]["result"]) {
      for (const json& value : range ? series["values"] : json::array({series["value"]})) {
        const double number = std::stod(value[1].get<std::string>());
        if (std::isfinite(number)) values.push_back(number);
      }
    }
    return values;
  }

  std::string url_;
};

class FleetDashboardEngines : public ::testing::Test {
 protected:
  void StartAgents() {
    const std::int64_t now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    std::string targets;
    for (const char* node : {"n0", "n1"}) {
      agents_.push_back(std::make_unique<PanelAgent>(node, now - 60));
      targets += (targets.empty() ? "" : ", ") + ("'127.0.0.1:" + std::to_string(agents_.back()->port()) + "'");
    }
    // As deploy/prometheus/scrape.yml does: two jobs, and the agent's label `job` stays. The third job is a second
    // engine that writes into the first one.
    std::string jobs;
    for (const char* const job : {"live", "ledger", "replica"}) {
      jobs += "- job_name: idleburn-" + std::string(job) + "\n  honor_labels: true\n" +
              (job == std::string("ledger") ? "  params: {'collect[]': [ledger]}\n" : "") +
              "  static_configs:\n  - targets: [" + targets + "]\n" +
              (job == std::string("replica") ? "    labels: {replica: b}\n" : "");
    }
    config_ = folder_.Write("scrape.yml",
                            "global:\n  scrape_interval: 400ms\n  scrape_timeout: 400ms\nscrape_configs:\n" + jobs);
  }
  void ExpectEveryPanelShowsSomething(const PanelEngine& engine) {
    for (const PanelQuery& query : PanelQueries()) {
      for (const auto& variables : {kAllValues, kOneValue}) {
        const std::string expression = FilledIn(query.expression, variables);
        EXPECT_EQ(expression.find('$'), std::string::npos) << expression;
        std::string why;
        EXPECT_TRUE(Eventually(std::chrono::seconds(10),
                               [&] {
                                 why = engine.WhyEmpty(query, expression);
                                 return why.empty();
                               }))
            << query.where << "\n"
            << expression << "\n"
            << why;
      }
    }
    ExpectTruth(engine);
    ExpectPanelsOfThePage(engine.url());
    EXPECT_NE(engine.WhyEmpty({"planted", "", false}, "idleburn_gpu_nothing_total"), "");
  }
  // What is known of two nodes with three GPUs and two jobs each: all seconds of all GPUs are the same. Rates depend on
  // how fast the agents' seconds pass, so shares and counts are compared.
  static void ExpectTruth(const PanelEngine& engine) {
    const auto value_of = [&](const std::string& where) {
      for (const PanelQuery& query : PanelQueries()) {
        if (query.where != where) continue;
        const std::vector<double> values = engine.Values(query, FilledIn(query.expression, kAllValues));
        return values.empty() ? std::nan("") : values.front();
      }
      return std::nan("");
    };
    const std::pair<const char*, double> truth[] = {
        {"idleburn-cluster.json, GPUs", 6},
        {"idleburn-cluster.json, Utilization, 1 h", 0.5},
        {"idleburn-cluster.json, Productive time, 24 h", 0.4},
        {"idleburn-cluster.json, Idle time, 24 h", 0.3},
        {"idleburn-cluster.json, Time without data, 24 h", 0.1},
        {"idleburn-cluster.json, Share of memory in use by node", 0.5},
        {"idleburn-team.json, Idle time, 1 h", 0.3},
        {"idleburn-team.json, Idle share by team", 0.3},
        {"idleburn-job.json, Jobs", 2},
        {"idleburn-job.json, Idle share", 0.3},
        {"idleburn-cost.json, GPUs without a price", 0},
        {"idleburn-cost.json, Prices in use", 2.95},
        {"idleburn-cluster.json, Memory in use by node", 3 * 40e9},
        {"idleburn-cluster.json, Power by node", 3 * 400.0},
        {"idleburn-agent.json, GPU models", 6},
        {"idleburn-agent.json, Versions", 2},
        {"idleburn-agent.json, Agents up", 2},
        {"idleburn-agent.json, Agents lost in 24 h", 0},
        {"idleburn-agent.json, Sources down", 0},
    };
    for (const auto& [where, value] : truth) EXPECT_NEAR(value_of(where), value, 0.02 * value + 1e-9) << where;
    const double cost = value_of("idleburn-cost.json, Cost per hour (estimate)");
    EXPECT_NEAR(value_of("idleburn-cost.json, Idle cost per hour (estimate)") / cost, 0.3, 0.03);
    // Six GPUs at $2.95 cost as much for each second that passes for the agents. A copy of an engine would double it.
    double dollars = 0;
    double gpus = 0;
    for (int i = 0; i < 10; ++i) {
      dollars += value_of("idleburn-cost.json, Cost per hour (estimate)") / 2.95;
      const std::string one =
          "6 * max(sum by (node, uuid, job, instance, replica) (rate(idleburn_gpu_phase_seconds_total[3s])))";
      for (const double value : engine.Values({"", "", false}, one)) gpus += value;
      std::this_thread::sleep_for(milliseconds(100));
    }
    EXPECT_NEAR(dollars / gpus, 1, 0.4);
    // All scrape jobs carry the closed counters. They count once, or a team would have twice the time of its job. A
    // closed counter moves in steps and the larger copy counts, so the mean over two steps is up to 1.4.
    double team = 0;
    double job = 0;
    for (int i = 0; i < 20; ++i) {
      team += value_of("idleburn-team.json, GPU-hours by team");
      job += value_of("idleburn-job.json, GPU-hours") / 2;
      std::this_thread::sleep_for(milliseconds(100));
    }
    EXPECT_NEAR(team / job, 1.1, 0.5);
  }
  // What the page of idleburn fleet shows without Grafana.
  static void ExpectPanelsOfThePage(const std::string& url) {
    EngineAddress address;
    address.url = url;
    Result<Engine> engine = Engine::Open(address);
    ASSERT_TRUE(engine) << engine.error().message;
    const std::int64_t now = *engine->Now();
    const PanelAnswers answers = AskPanels(*engine, now - 2, now);
    EXPECT_EQ(answers.unanswered, 0U);
    std::map<std::string, const PanelAnswer*> panels;
    for (const PanelAnswer& panel : answers.panels) panels[std::string(panel.row->title)] = &panel;
    EXPECT_EQ(panels.count("GPUs by state"), 0U);  // the ledger answers that
    const std::pair<const char*, double> truth[] = {{"Agents up", 2},
                                                    {"Sources down", 0},
                                                    {"Hottest GPU by node", 60},
                                                    {"Share of memory in use by node", 0.5},
                                                    {"Power by node", 1200},
                                                    {"GPU models", 6}};
    for (const auto& [title, value] : truth) {
      ASSERT_EQ(panels.count(title), 1U) << title;
      EXPECT_NEAR(panels.at(title)->lines.at(0).last, value, 0.02 * value + 1e-9) << title;
    }
    EXPECT_EQ(panels.at("GPU models")->lines.at(0).name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(panels.at("Power by node")->lines.size(), 2U);
    for (const char* const title : {"Host pressure", "Busy CPU cores by node", "InfiniBand traffic", "Clock offset"})
      EXPECT_EQ(panels.count(title), 1U) << title;
  }
  TempFolder folder_;
  std::string config_;
  std::vector<std::unique_ptr<PanelAgent>> agents_;
  testing::TestEngines engines_;
};

TEST_F(FleetDashboardEngines, EveryPanelShowsSomethingOnPrometheus) {
  if (const std::string missing = testing::WithoutPrograms({"prometheus"}); !missing.empty()) GTEST_SKIP() << missing;
  StartAgents();
  ExpectEveryPanelShowsSomething(PanelEngine(engines_.PrometheusScraping(config_)));
}

TEST_F(FleetDashboardEngines, EveryPanelShowsSomethingOnVictoriaMetrics) {
  const std::string missing = testing::WithoutPrograms({"victoria-metrics"});
  if (!missing.empty()) GTEST_SKIP() << missing;
  StartAgents();
  const std::string url = engines_.Victoria("-promscrape.config=" + config_ + " -search.disableCache");
  ExpectEveryPanelShowsSomething(PanelEngine(url));
}

// What Grafana's declarations refuse of these documents; empty: nothing. Document i is file "dashboard<i>.ts".
std::string TypeErrors(const std::vector<FleetDashboard>& dashboards) {
  const std::string share = IDLEBURN_ROOT "/.deps/share";
  const std::string types = ReadText(IDLEBURN_ROOT "/tests/programs/grafana_types.ts");
  const TempFolder folder;
  json files = json::array();
  for (const FleetDashboard& dashboard : dashboards) {
    files.push_back("dashboard" + std::to_string(files.size()) + ".ts");
    std::ignore = folder.Write(files.back(), types + "const checked: Checked = " + dashboard.json +
                                                 ";\nexport const dashboard: Json<Dashboard> = checked;\n");
  }
  const json options = {
      {"strict", true},
      {"noEmit", true},
      {"target", "es5"},
      {"lib", {"es5"}},
      {"types", json::array()},
      {"moduleResolution", "node10"},
      {"paths",
       {{"@grafana/schema", {share + "/grafana-schema/index"}}, {"@grafana/schema/*", {share + "/grafana-schema/*"}}}}};
  const std::string project =
      folder.Write("tsconfig.json", json({{"compilerOptions", options}, {"files", files}}).dump());
  const auto run = RunShell("node " + share + "/typescript/tsc.js -p " + project);
  return run.code == 0 ? "" : run.out + run.err;
}

std::string WithoutTypes() {
  if (std::string missing = testing::WithoutPrograms({"node"}); !missing.empty()) return missing;
  for (const char* const file : {"typescript/tsc.js", "grafana-schema/index.d.ts"}) {
    if (!std::filesystem::exists(IDLEBURN_ROOT "/.deps/share/" + std::string(file)))
      return "no .deps/share/" + std::string(file) + " (tools/install_deps.sh test)";
  }
  return "";
}

TEST(FleetDashboardTypes, GrafanaDeclarationsAcceptThem) {
  if (const std::string why = WithoutTypes(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(TypeErrors(FleetDashboards()), "");
}

TEST(FleetDashboardTypes, GrafanaDeclarationsRefusePlantedFaults) {
  if (const std::string why = WithoutTypes(); !why.empty()) GTEST_SKIP() << why;
  const std::pair<const char*, const char*> faults[] = {{"\"schemaVersion\"", "\"schema_version\""},
                                                        {"\"palette-classic\"", "\"palette\""},
                                                        {"\"valueMode\": \"text\"", "\"valueMode\": \"words\""},
                                                        {"\"showPoints\"", "\"points\""},
                                                        {"\"stacking\": {", "\"stacked\": {"},
                                                        {"\"refresh\": 2", "\"refresh\": 5"},
                                                        {"\"type\": \"stat\"", "\"type\": \"number\""}};
  std::vector<FleetDashboard> dashboards;
  for (const auto& [right, wrong] : faults) {
    dashboards.push_back(FleetDashboards().front());
    std::string& text = dashboards.back().json;
    const std::size_t at = text.find(right);
    ASSERT_NE(at, std::string::npos) << right;
    text.replace(at, std::string(right).size(), wrong);
  }
  // One run for all of them, because the checker takes a second to start.
  const std::string errors = TypeErrors(dashboards);
  for (std::size_t i = 0; i < dashboards.size(); ++i) {
    static const std::string kHead = "dashboard";
    EXPECT_TRUE(std::regex_search(errors, std::regex(kHead + std::to_string(i) + R"(\.ts\(\d+,\d+\): error TS)")))
        << faults[i].second << "\n"
        << errors;
  }
}

// Without it an engine renames the agent's label `job` to `exported_job`, and no panel finds a job.
TEST(FleetDashboardsTest, ShippedScrapeJobsKeepTheLabelsOfTheAgent) {
  for (const char* const file : {"prometheus/scrape.yml", "vmagent/scrape.yml"}) {
    const std::string text = ReadText(IDLEBURN_ROOT "/deploy/" + std::string(file));
    const auto count = [&](const std::regex& line) {
      return std::distance(std::sregex_iterator(text.begin(), text.end(), line), std::sregex_iterator());
    };
    EXPECT_GT(count(std::regex("- job_name: ")), 0) << file;
    EXPECT_EQ(count(std::regex("\n    honor_labels: true\n")), count(std::regex("- job_name: "))) << file;
  }
}

}  // namespace
}  // namespace idleburn
