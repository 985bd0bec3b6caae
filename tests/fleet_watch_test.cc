// `idleburn fleet watch` on real engines that hold a small fleet of constant rates, so the truth of its board is known.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "places.h"
#include "support/engines.h"
#include "support/made_series.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/terminal_session.h"
#include "text/table.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 5> kBoardPhases = {"idle", "underutilized", "productive", "compute_bound", "no_data"};
using Rates = std::array<double, 5>;  // GPUs by phase
// Rates of counters that are read every 15 s: a percent.
constexpr double kRateTolerance = 0.01;

const std::string kHostile = std::string("a\"b\\c\nd\x1b[31m'$(x)\t{}") + std::string(200, 'x');

// A fleet of agents that runs into the future, so that a test may take its time.
class MadeFleet {
 public:
  explicit MadeFleet(std::int64_t before = 4200, std::int64_t after = 900)
      : now_(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                 .count()),
        series_(now_ - before, now_ + after, 15) {}

  // A GPU of a node that spends its time by these rates. `until`: when its samples end; 0: they do not.
  void Gpu(const std::string& node, const std::string& uuid, const Rates& rates, double price,
           const std::string& model = "NVIDIA H100", std::int64_t until = 0) {
    Phases("idleburn_gpu_phase_seconds_total", {{"node", node}, {"uuid", uuid}}, rates, until);
    const json labels = {{"node", node}, {"uuid", uuid}, {"name", model}, {"index", "0"}};
    series_.Add(
        "idleburn_gpu_info", labels, [](std::int64_t) { return 1; }, until);
    series_.Add(
        "idleburn_gpu_price_per_hour", {{"node", node}, {"uuid", uuid}, {"currency", "USD"}, {"source", "list"}},
        [price](std::int64_t) { return price; }, until);
  }
  // A further price of a GPU.
  void Price(const std::string& node, const std::string& uuid, const std::string& currency, double price) {
    series_.Add("idleburn_gpu_price_per_hour",
                {{"node", node}, {"uuid", uuid}, {"currency", currency}, {"source", "list"}},
                [price](std::int64_t) { return price; });
  }
  void Job(const std::string& node, const std::string& job, const std::string& team, const Rates& rates,
           std::int64_t until = 0) {
    const json labels = {{"node", node},  {"cluster", "c1"}, {"job", job},
                         {"user", "ann"}, {"team", team},    {"experiment", "e"}};
    Phases("idleburn_job_phase_seconds_total", labels, rates, until);
  }
  void Node(const std::string& node, std::int64_t until = 0) {
    series_.Add(
        "idleburn_build_info", {{"node", node}, {"version", "1"}}, [](std::int64_t) { return 1; }, until);
  }
  // Every case of a board. The truth is in ExpectTruth.
  void AllCases() {
    Node("n1");
    Gpu("n1", "g1", {0.5, 0.5, 0, 0, 0}, 2.5);
    Gpu("n1", "g2", {0.5, 0.5, 0, 0, 0}, 2.5);
    Gpu("n1", "g3", {0, 0, 1, 0, 0}, 2.5);
    Gpu("n1", "g4", {1, 0, 0, 0, 0}, 2.5);  // nobody holds it
    Job("n1", "101", "vision", {1, 1, 0, 0, 0});
    Job("n1", "102", "language", {0, 0, 1, 0, 0});
    Node("n2");
    for (const char* uuid : {"g5", "g6", "g7", "g8"}) Gpu("n2", uuid, {0, 0, 0, 0.75, 0.25}, 2.5);
    Job("n2", "103", "vision", {0, 0, 0, 3, 1});
    // Its agent vanished while all was idle.
    Node("n3", now_ - 1200);
    for (const char* uuid : {"g9", "g10"}) Gpu("n3", uuid, {1, 0, 0, 0, 0}, 1, "NVIDIA A100", now_ - 1200);
    Job("n3", "104", "ghost", {2, 0, 0, 0, 0}, now_ - 1200);
    // Its agent answers and no longer counts.
    Node("n4");
    Gpu("n4", "g11", {0, 0, 0, 0, 0}, 2.5);
    Node("n5");
    Gpu("n5", "g12", {1, 0, 0, 0, 0}, 2.5);
    Job("n5", kHostile, kHostile, {1, 0, 0, 0, 0});
  }

  MadeSeries& series() { return series_; }
  [[nodiscard]] std::int64_t now() const { return now_; }

 private:
  void Phases(const std::string& name, const json& labels, const Rates& rates, std::int64_t until) {
    for (std::size_t p = 0; p < rates.size(); ++p) {
      json all = labels;
      all["phase"] = p == 4 ? "unobserved" : kBoardPhases[p];
      series_.Add(
          name, all, [&, p](std::int64_t at) { return 5000 + rates[p] * static_cast<double>(at - now_); }, until);
    }
  }

  std::int64_t now_;
  MadeSeries series_;
};

void ExpectGpus(const json& gpus, const Rates& truth, const std::string& what) {
  double sum = 0;
  for (std::size_t p = 0; p < truth.size(); ++p) {
    EXPECT_NEAR(gpus[kBoardPhases[p]].get<double>(), truth[p], kRateTolerance * std::max(1.0, truth[p]))
        << what << " " << kBoardPhases[p];
    sum += truth[p];
  }
  EXPECT_NEAR(gpus["total"].get<double>(), sum, kRateTolerance * std::max(1.0, sum)) << what;
}

double MoneyOf(const json& row, const std::string& key) { return std::stod(row[key + "_exact"].get<std::string>()); }

const json* RowOf(const json& rows, const std::string& key, const std::string& name) {
  for (const json& row : rows) {
    if (row[key] == name) return &row;
  }
  return nullptr;
}

// The board of MadeFleet::AllCases, whatever the price of an H100 is.
void ExpectTruth(const json& board, double price = 2.5) {
  ExpectGpus(board["gpus"], {3, 1, 1, 3, 4}, "all");
  EXPECT_NEAR(MoneyOf(board, "idle_cost_per_hour"), 3 * price, 0.03 * price);
  EXPECT_NEAR(MoneyOf(board, "cost_per_hour"), 9 * price, 0.09 * price);
  EXPECT_EQ(board["team_count"], 3);
  const json* vision = RowOf(board["teams"], "team", "vision");
  ASSERT_NE(vision, nullptr) << board;
  ExpectGpus((*vision)["gpus"], {1, 1, 0, 3, 1}, "vision");
  EXPECT_NEAR(MoneyOf(*vision, "idle_cost_per_hour"), price, 0.02 * price);
  EXPECT_EQ((*vision)["cluster"], "c1");
  const json* language = RowOf(board["teams"], "team", "language");
  ASSERT_NE(language, nullptr) << board;
  ExpectGpus((*language)["gpus"], {0, 0, 1, 0, 0}, "language");
  EXPECT_NEAR(MoneyOf(*language, "idle_cost_per_hour"), 0, 1e-9);
  EXPECT_EQ(RowOf(board["teams"], "team", "ghost"), nullptr);
  ExpectGpus(board["other_teams"]["gpus"], {0, 0, 0, 0, 0}, "others");
  ExpectGpus(board["no_job"]["gpus"], {1, 0, 0, 0, 0}, "no job");
  EXPECT_NEAR(MoneyOf(board["no_job"], "idle_cost_per_hour"), price, 0.03 * price);
  EXPECT_EQ(board["no_sample"]["gpus"], 3);
  EXPECT_EQ(board["job_count"], 4);
  const json* job = RowOf(board["jobs"], "job", "101");
  ASSERT_NE(job, nullptr) << board;
  ExpectGpus((*job)["gpus"], {1, 1, 0, 0, 0}, "101");
  EXPECT_EQ((*job)["team"], "vision");
  EXPECT_EQ((*job)["user"], "ann");
  EXPECT_EQ((*job)["experiment"], "e");
  EXPECT_NE(board["notes"].dump().find("agent on n3; their GPUs have no data"), std::string::npos) << board["notes"];
  // Parts sum to the whole, exactly.
  for (const char* phase : kBoardPhases) {
    double sum = board["other_teams"]["gpus"][phase].get<double>() + board["no_job"]["gpus"][phase].get<double>();
    for (const json& team : board["teams"]) sum += team["gpus"][phase].get<double>();
    if (phase == std::string("no_data")) sum += board["no_sample"]["gpus"].get<double>();
    EXPECT_NEAR(sum, board["gpus"][phase].get<double>(), 0.1) << phase;
  }
  EXPECT_LE(board["questions"].get<int>(), 6);
}

class FleetWatchBoard : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = WithoutPrograms({"victoria-metrics", "prometheus", "promtool", "python3"});
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
  std::string Victoria(const MadeSeries& series) {
    return engines_.VictoriaWith(folder_.Write("import.jsonl", series.ImportLines()));
  }
  static std::string Words(const std::string& url, const std::string& more) {
    return "fleet watch --engine " + url + " " + more;
  }
  static json Board(const std::string& url, const std::string& more = "") {
    const ProgramRun run = RunIdleburn(Words(url, "--once --format json " + more));
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1) << run.out;
    json board = json::parse(run.out, nullptr, false);
    EXPECT_EQ(board.value("schema", ""), "idleburn.fleet_board/1") << run.out;
    return board;
  }
  static void ExpectScreen(const std::string& text, int columns) {
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 23) << text;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      EXPECT_LE(DisplayWidth(line), columns) << line;
      for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
    }
  }
  // Runs watch on a terminal of that size and returns the last screen.
  static std::string LastScreen(const std::string& url, unsigned short columns, const std::string& locale) {
    TerminalSession session(
        {"sh", "-c",
         "sleep 0.3; export LC_ALL=" + locale + "; exec " IDLEBURN_PROGRAM " " + Words(url, "--interval 1s")});
    session.Resize(24, columns);
    EXPECT_TRUE(session.Expect("q ends")) << session.shown();
    session.Type("q");
    EXPECT_EQ(session.WaitForEnd(), 0);
    const std::size_t from = session.shown().find("\x1b[H") + 3;
    std::string screen = session.shown().substr(from, session.shown().find("\x1b[J", from) - from);
    for (const std::string cut : {"\x1b[K", "\r"}) {
      for (std::size_t at = screen.find(cut); at != std::string::npos; at = screen.find(cut))
        screen.erase(at, cut.size());
    }
    return screen;
  }
  TempFolder folder_;
  TestEngines engines_;
};

// The label of a currency is anyone's text. What is no code is no price.
TEST_F(FleetWatchBoard, APriceInNoCurrencyIsLeftOut) {
  MadeFleet fleet;
  fleet.AllCases();
  fleet.Price("n1", "g4", "=1+1", 99);
  const json board = Board(Victoria(fleet.series()));
  ExpectTruth(board);
  EXPECT_EQ(board["currency"], "USD");
  EXPECT_NE(board["notes"].dump().find("Prices of GPUs that are left out: 1."), std::string::npos) << board["notes"];
}

TEST_F(FleetWatchBoard, IsTheTruthOnVictoriaMetrics) {
  MadeFleet fleet;
  fleet.AllCases();
  const std::string url = Victoria(fleet.series());
  const json board = Board(url);
  ExpectTruth(board);
  EXPECT_EQ(board["source"], "agents");
  EXPECT_EQ(board["engine"]["kind"], "victoriametrics");
  EXPECT_EQ(board["rate_source"], "the agents' price (list)");
  EXPECT_EQ(board["age_s"], 60);
  EXPECT_TRUE(board["stale_s"].is_null());
  // Prices of the user.
  ExpectTruth(Board(url, "--price 4"), 4);
  ExpectTruth(Board(url, "--price H100=3 --price A100=1"), 3);
}

TEST_F(FleetWatchBoard, IsTheTruthOnPrometheus) {
  MadeFleet fleet;
  fleet.AllCases();
  const std::string url = engines_.PrometheusWith(folder_.Write("series.om", fleet.series().OpenMetrics()));
  const json board = Board(url);
  ExpectTruth(board);
  EXPECT_EQ(board["engine"]["kind"], "prometheus");
  ExpectTruth(Board(url, "--price H100=3 --price A100=1"), 3);
}

TEST_F(FleetWatchBoard, ReplicasAndRenamedLabelsChangeNothing) {
  MadeFleet fleet;
  fleet.AllCases();
  // As Prometheus without honor_labels, twice.
  fleet.series().Relabel([](json* labels) {
    if (labels->contains("job")) (*labels)["exported_job"] = (*labels)["job"];
    (*labels)["job"] = "idleburn";
    (*labels)["replica"] = "a";
  });
  fleet.series().AddAgain([](json* labels) { (*labels)["replica"] = "b"; });
  ExpectTruth(Board(Victoria(fleet.series())));
}

TEST_F(FleetWatchBoard, HostileLabelsStayOnTheirLine) {
  MadeFleet fleet;
  fleet.AllCases();
  const std::string url = Victoria(fleet.series());
  const ProgramRun run = RunIdleburn(Words(url, ""));  // no terminal: one board, plain text
  EXPECT_EQ(run.code, 0) << run.err;
  ExpectScreen(run.out, 100);
  EXPECT_NE(run.out.find("$7.50 an hour burns idle (estimate): 3.0 of 12.0 GPUs are idle, 4.0 have no data."),
            std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("a\"b\\c?d?[31m"), std::string::npos) << run.out;
  for (const char* locale : {"C.UTF-8", "C"}) {
    for (const unsigned short columns : std::to_array<unsigned short>({100, 40})) {
      const std::string screen = LastScreen(url, columns, locale);
      ExpectScreen(screen, columns);
      EXPECT_NE(screen.find("burns idle"), std::string::npos) << screen;
      EXPECT_NE(screen.find("vision"), std::string::npos) << screen;
      if (locale != std::string("C")) continue;
      for (const char c : screen) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << screen;
    }
  }
}

TEST_F(FleetWatchBoard, HundredsOfTeamsAreOneScreen) {
  MadeFleet fleet(420, 120);
  constexpr int kTeams = 300;
  for (int node = 0; node < 10; ++node) fleet.Node("n" + std::to_string(node));
  double idle = 0;
  for (int i = 0; i < kTeams; ++i) {
    const std::string node = "n" + std::to_string(i % 10);
    const double share = i / 300.0;
    idle += share;
    fleet.Gpu(node, "g" + std::to_string(i), {share, 0, 1 - share, 0, 0}, 2);
    fleet.Job(node, "job" + std::to_string(i), "team" + std::to_string(i), {share, 0, 1 - share, 0, 0});
  }
  const std::string url = Victoria(fleet.series());
  const ProgramRun json_run = RunIdleburn(Words(url, "--once --format json"));
  EXPECT_LT(json_run.out.size(), 12'000U);
  const json board = json::parse(json_run.out);
  EXPECT_EQ(board["team_count"], kTeams);
  EXPECT_EQ(board["job_count"], kTeams);
  ASSERT_EQ(board["teams"].size(), 10U);
  ASSERT_EQ(board["jobs"].size(), 10U);
  EXPECT_EQ(board["teams"][0]["team"], "team299");
  EXPECT_EQ(board["jobs"][9]["job"], "job290");
  EXPECT_NEAR(board["gpus"]["idle"].get<double>(), idle, 0.01 * idle);
  double shown = 0;
  for (const json& team : board["teams"]) shown += team["gpus"]["idle"].get<double>();
  EXPECT_NEAR(board["other_teams"]["gpus"]["idle"].get<double>(), idle - shown, 0.01 * idle);
  EXPECT_NEAR(MoneyOf(board, "idle_cost_per_hour"), 2 * idle, 0.02 * idle);
  const ProgramRun text = RunIdleburn(Words(url, "--once"));
  ExpectScreen(text.out, 100);
  EXPECT_NE(text.out.find("other teams"), std::string::npos) << text.out;
}

// Two of 300 GPUs are less than 1 %, and they are two GPUs.
TEST_F(FleetWatchBoard, AFewFreeGpusOfManyAreShown) {
  for (const double free : {2.0, 0.0}) {
    MadeFleet fleet(420, 120);
    fleet.Node("n1");
    for (int i = 0; i < 300; ++i)
      fleet.Gpu("n1", "g" + std::to_string(i), {i < 2 ? 1.0 : 0, 0, i < 2 ? 0 : 1.0, 0, 0}, 2);
    fleet.Job("n1", "big", "vision", {2 - free, 0, 298, 0, 0});
    const std::string url = Victoria(fleet.series());
    const json board = Board(url);
    EXPECT_NEAR(board["no_job"]["gpus"]["idle"].get<double>(), free, 0.1);
    EXPECT_NEAR(MoneyOf(board["no_job"], "idle_cost_per_hour"), 2 * free, 0.2);
    for (const char* phase : kBoardPhases) {
      double sum = board["no_job"]["gpus"][phase].get<double>() + board["other_teams"]["gpus"][phase].get<double>();
      for (const json& team : board["teams"]) sum += team["gpus"][phase].get<double>();
      EXPECT_NEAR(sum, board["gpus"][phase].get<double>(), 0.1) << phase;
    }
    const ProgramRun text = RunIdleburn(Words(url, "--once"));
    EXPECT_EQ(text.out.find("no known job") != std::string::npos, free > 0) << text.out;
  }
}

TEST_F(FleetWatchBoard, MigInstancesCountByTheirShare) {
  MadeFleet fleet;
  fleet.Node("n1");
  fleet.Gpu("n1", "g1", {1, 0, 0, 0, 0}, 7);
  for (const char* uuid : {"m1", "m2"}) {
    // The agent counts an instance by its share already.
    fleet.Gpu("n1", uuid, {1.0 / 7, 0, 0, 0, 0}, 7);
  }
  fleet.series().Relabel([](json* labels) {
    const bool instance = labels->value("uuid", "").starts_with('m');
    if (instance && (*labels)["__name__"] == "idleburn_gpu_info") (*labels)["slices"] = "1/7";
  });
  const json board = Board(Victoria(fleet.series()));
  ExpectGpus(board["gpus"], {9.0 / 7, 0, 0, 0, 0}, "instances");
  EXPECT_NEAR(MoneyOf(board, "idle_cost_per_hour"), 9, 0.1);
  EXPECT_NEAR(MoneyOf(Board(Victoria(fleet.series()), "--price 14"), "idle_cost_per_hour"), 18, 0.2);
}

// Gauges of an exporter: three GPUs of a job, one of a pod, one that no label names, one that is gone.
class FleetWatchGauges : public FleetWatchBoard {
 protected:
  static void AddGpu(MadeFleet& fleet, const std::string& uuid, double percent, const json& owner,
                     std::int64_t until = 0) {
    json labels = {{"UUID", "GPU-" + uuid}, {"gpu", uuid.substr(1)}, {"Hostname", "n1"}, {"modelName", "NVIDIA H100"}};
    labels.update(owner);
    fleet.series().Add(
        "DCGM_FI_DEV_GPU_UTIL", labels, [percent](std::int64_t) { return percent; }, until);
  }
  static void AllGpus(MadeFleet& fleet) {
    AddGpu(fleet, "g1", 0, {{"hpc_job", "7"}});
    AddGpu(fleet, "g2", 9.9, {{"hpc_job", "7"}});
    AddGpu(fleet, "g3", 10, {{"hpc_job", "7"}});
    AddGpu(fleet, "g4", 90, {{"exported_pod", "train"}, {"exported_namespace", "ml"}});
    AddGpu(fleet, "g5", 75, json::object());
    AddGpu(fleet, "g6", 0, json::object(), fleet.now() - 1200);
  }
};

TEST_F(FleetWatchGauges, TheNewestReadingIsTheState) {
  MadeFleet fleet;
  AllGpus(fleet);
  const json victoria = Board(Victoria(fleet.series()), "--price 2");
  const std::string url = engines_.PrometheusWith(folder_.Write("series.om", fleet.series().OpenMetrics()));
  for (const json& board : {victoria, Board(url, "--price 2")}) {
    EXPECT_EQ(board["source"], "exporter");
    EXPECT_EQ(board["counter"], "dcgm.DCGM_FI_DEV_GPU_UTIL");
    ExpectGpus(board["gpus"], {2, 1, 1, 1, 1}, "all");
    EXPECT_EQ(MoneyOf(board, "idle_cost_per_hour"), 4);
    EXPECT_EQ(MoneyOf(board, "cost_per_hour"), 10);
    const json* job = RowOf(board["jobs"], "job", "7");
    ASSERT_NE(job, nullptr) << board;
    ExpectGpus((*job)["gpus"], {2, 1, 0, 0, 0}, "job 7");
    const json* ml = RowOf(board["teams"], "team", "ml");
    ASSERT_NE(ml, nullptr) << board;
    ExpectGpus((*ml)["gpus"], {0, 0, 0, 1, 0}, "ml");
    ExpectGpus((*RowOf(board["teams"], "team", ""))["gpus"], {2, 1, 0, 0, 0}, "a job has no team");
    ExpectGpus(board["no_job"]["gpus"], {0, 0, 1, 0, 0}, "no job");
    EXPECT_EQ(board["no_sample"]["gpus"], 1);
    EXPECT_NE(board["notes"].dump().find("newest readings"), std::string::npos) << board["notes"];
  }
}

TEST_F(FleetWatchGauges, RatiosAndASecondExporterAreNotSummed) {
  MadeFleet fleet;
  for (const char* uuid : {"g1", "g2"}) {
    fleet.series().Add("nvidia_smi_utilization_gpu_ratio", {{"uuid", uuid}, {"instance", "n1:9835"}},
                       [](std::int64_t) { return 0.8; });
  }
  AddGpu(fleet, "g1", 0, json::object());
  const json board = Board(Victoria(fleet.series()));
  EXPECT_EQ(board["counter"], "nvidia_smi_exporter.utilization_gpu_ratio");
  ExpectGpus(board["gpus"], {0, 0, 2, 0, 0}, "ratio");
  EXPECT_TRUE(board["idle_cost_per_hour"].is_null());
  EXPECT_NE(board["notes"].dump().find("dcgm.DCGM_FI_DEV_GPU_UTIL also has 1 GPUs; it is not used."), std::string::npos)
      << board["notes"];
}

TEST_F(FleetWatchBoard, RefreshesInPlaceAndGivesTheTerminalBack) {
  MadeFleet fleet;
  fleet.AllCases();
  const std::string url = Victoria(fleet.series());
  const std::string before = (folder_.path() / "before").string();
  const std::string after = (folder_.path() / "after").string();
  TerminalSession session({"sh", "-c",
                           "trap : INT; stty -a > " + before + "; " IDLEBURN_PROGRAM " " + Words(url, "--interval 1s") +
                               "; echo code $?; stty -a > " + after});
  ASSERT_TRUE(session.Expect("\x1b[?1049h"));
  ASSERT_TRUE(session.Expect("burns idle"));
  ASSERT_TRUE(session.Expect("\x1b[H"));
  ASSERT_TRUE(session.Expect("burns idle"));
  session.Type("\x03");
  ASSERT_TRUE(session.Expect("\x1b[?25h\x1b[?1049l")) << session.shown();
  EXPECT_TRUE(session.Expect("burns idle")) << session.shown();  // the last board stays
  EXPECT_TRUE(session.Expect("code 0")) << session.shown();
  session.WaitForEnd();
  EXPECT_EQ(ReadText(before), ReadText(after));
  EXPECT_NE(ReadText(after), "");
}

TEST_F(FleetWatchBoard, AnEngineThatDiesLeavesAStaleBoardUntilItReturns) {
  MadeFleet fleet;
  fleet.AllCases();
  const std::string relay = engines_.Relay(Victoria(fleet.series()), {});
  TerminalSession session({"sh", "-c", IDLEBURN_PROGRAM " " + Words(relay, "--interval 1s")});
  ASSERT_TRUE(session.Expect("burns idle"));
  engines_.Kill(relay);
  ASSERT_TRUE(session.Expect("STALE for ")) << session.shown();
  ASSERT_TRUE(session.Expect("is it running there?")) << session.shown();
  ASSERT_TRUE(session.Expect("$7.50 an hour burns idle")) << session.shown();
  engines_.Restart(relay);
  ASSERT_TRUE(session.Expect("\x1b[H$7.50 an hour burns idle")) << session.shown();
  // An engine that hangs does not hold the user back.
  engines_.Signal(relay, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const auto typed = std::chrono::steady_clock::now();
  session.Type("q");
  EXPECT_EQ(session.WaitForEnd(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - typed, std::chrono::seconds(5));
}

TEST_F(FleetWatchBoard, DocumentsGoOnWhileTheEngineIsAway) {
  MadeFleet fleet;
  fleet.AllCases();
  const std::string relay = engines_.Relay(Victoria(fleet.series()), {});
  const std::string out = (folder_.path() / "out").string();
  const Service watch(IDLEBURN_PROGRAM " " + Words(relay, "--interval 1s --format json"), out);
  const auto last = [&] {
    const std::string text = ReadText(out);
    const std::size_t end = text.rfind('\n');
    if (end == std::string::npos) return json();
    const std::size_t begin = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    return json::parse(text.substr(begin == std::string::npos ? 0 : begin + 1), nullptr, false);
  };
  const auto becomes = [&](bool stale) {
    return Eventually(std::chrono::seconds(20), [&] {
      const json board = last();
      return board.is_object() && board["stale_reason"].is_null() != stale;
    });
  };
  ASSERT_TRUE(becomes(false));
  engines_.Kill(relay);
  ASSERT_TRUE(becomes(true)) << last();
  const json stale = last();
  ExpectTruth(stale);
  EXPECT_GE(stale["age_s"].get<int>(), 60);
  engines_.Restart(relay);
  ASSERT_TRUE(becomes(false)) << last();
}

TEST_F(FleetWatchBoard, TheFirstFailureIsOneLine) {
  const std::string nobody = "http://127.0.0.1:" + std::to_string(FreePort());
  MadeFleet other;
  other.series().Add("node_load1", {{"instance", "n1"}}, [](std::int64_t) { return 1; });
  const std::pair<std::string, std::string> cases[] = {
      {nobody, "is it running there?"},
      {Victoria(other.series()), "run `idleburn agent` on each node"},
      {engines_.Relay("", {.status = 401, .body = "denied"}), "--token-file"},
  };
  for (const auto& [url, said] : cases) {
    const ProgramRun run = RunIdleburn(Words(url, "--format json"));
    EXPECT_EQ(run.code, 1) << url;
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find(said), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  for (const char* words : {"fleet watch", "fleet watch --engine http://x --interval 10ms"}) {
    EXPECT_EQ(RunIdleburn(words).code, 2) << words;
  }
}

}  // namespace
}  // namespace idleburn::testing
