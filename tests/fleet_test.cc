// `idleburn fleet` against a fleet whose every GPU-second is known (../shared/data/fleet), on real engines: exact under
// every fault, however the hours are pulled.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fleet/closed_hours.h"
#include "support/program.h"
#include "support/service.h"
#include "support/shared_data.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr const char* kScenarios[] = {"clean",         "miss", "outage",    "restart_state",
                                      "restart_reset", "ha",   "ha_merged", "skew"};
constexpr double kTolerance = 0.001;  // seconds

// Answers every question with this status and body.
constexpr const char* kFalseEngine = R"py(
import http.server, sys
class False_(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get('Content-Length', 0)))
        body = sys.argv[3].encode()
        self.send_response(int(sys.argv[2])); self.send_header('Content-Length', str(len(body))); self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = answer
    def log_message(self, *words): pass
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), False_).serve_forever()
)py";

// Forwards `last` questions and then ends, as an engine that dies. 0: never. Refuses edges of more than `longest` hours
// in one question.
constexpr const char* kFragileEngine = R"py(
import http.server, os, sys, urllib.parse, urllib.request
last, longest, asked = int(sys.argv[3]), int(sys.argv[4]), 0
class Relay(http.server.BaseHTTPRequestHandler):
    def answer(self):
        global asked
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        asked += 1
        if last and asked > last: os._exit(0)
        form = urllib.parse.parse_qs(body.decode())
        hours = (int(form['end'][0]) - int(form['start'][0])) // 3600 + 1 if 'end' in form else 0
        if hours > longest:
            status, reply = 422, b'{"status":"error","errorType":"422","error":"too many samples"}'
        else:
            status = 200
            request = urllib.request.Request(sys.argv[2] + self.path, data=body or None)
            with urllib.request.urlopen(request) as answer: reply = answer.read()
        self.send_response(status); self.send_header('Content-Length', str(len(reply))); self.end_headers()
        self.wfile.write(reply)
    do_GET = do_POST = answer
    def log_message(self, *words): pass
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Relay).serve_forever()
)py";

class FleetTruth : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"victoria-metrics", "prometheus", "python3"}) {
      if (RunShell(std::string("command -v ") + program).code != 0) {
        GTEST_SKIP() << program << " is missing (tools/install_deps.sh test)";
      }
    }
    generator_ = test::SharedPath("data/fleet/fleet_gen.py");
    if (!std::filesystem::exists(generator_)) GTEST_SKIP() << "data/fleet/fleet_gen.py is missing";
  }

  std::string Make(const std::string& seed, const std::string& more = "") {
    const std::string out = (folder_.path() / ("fleet" + seed)).string();
    EXPECT_EQ(RunShell("python3 " + generator_.string() + " " + out + " --seed " + seed + " " + more).code, 0);
    return out;
  }

  std::string Start(const std::string& words, int port, const std::string& ready) {
    const std::string url = "http://127.0.0.1:" + std::to_string(port);
    const std::string log = (folder_.path() / ("log" + std::to_string(++engines_))).string();
    services_.push_back(std::make_unique<Service>(words, log));
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
      return services_.back()->ListensAt(port) && (ready.empty() || Ask({url + ready}).status == 200);
    })) << services_.back()->Log();
    return url;
  }

  std::string Victoria(const std::string& import) {
    const int port = FreePort();
    const std::string data = (folder_.path() / ("vm" + std::to_string(++engines_))).string();
    const std::string url =
        Start("victoria-metrics -storageDataPath=" + data + " -httpListenAddr=127.0.0.1:" + std::to_string(port) +
                  " -search.latencyOffset=0s -retentionPeriod=24 -loggerLevel=ERROR",
              port, "/health");
    EXPECT_EQ(RunShell("python3 -c 'import urllib.request,sys; urllib.request.urlopen(sys.argv[1], "
                       "open(sys.argv[2],\"rb\").read())' " +
                       url + "/api/v1/import " + import)
                  .code,
              0);
    Ask({url + "/internal/force_flush"});
    return url;
  }

  std::string Prometheus(const std::string& openmetrics) {
    const std::string data = (folder_.path() / ("prom" + std::to_string(++engines_))).string();
    EXPECT_EQ(RunShell("promtool tsdb create-blocks-from openmetrics " + openmetrics + " " + data + " >&2").code, 0);
    const int port = FreePort();
    return Start("prometheus --config.file=" + folder_.Write("empty.yml", "") + " --storage.tsdb.path=" + data +
                     " --storage.tsdb.retention.time=10y --web.listen-address=127.0.0.1:" + std::to_string(port) +
                     " --log.level=error",
                 port, "/-/ready");
  }

  std::string Python(const char* script, const std::string& words) {
    const int port = FreePort();
    const std::string file = folder_.Write("engine" + std::to_string(services_.size()) + ".py", script);
    return Start("python3 " + file + " " + std::to_string(port) + " " + words, port, "");
  }

  [[nodiscard]] std::string LedgerPath(const std::string& name) const {
    return (folder_.path() / (name + ".sqlite")).string();
  }

  static std::string Words(const std::string& url, const std::string& ledger, const std::string& to,
                           const std::string& action = "") {
    return "fleet " + action + " --engine " + url + " --from 2026-03-02T00:00:00Z --to " + to + " --ledger " + ledger +
           " --price 2.50 --format json";
  }

  static json Fleet(const std::string& url, const std::string& ledger, const std::string& to = kEnd) {
    const ProgramRun run = RunIdleburn(Words(url, ledger, to));
    EXPECT_EQ(run.code, 0) << run.err;
    json document = json::parse(run.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << run.out;
    return document;
  }

  static constexpr const char* kEnd = "2026-03-02T06:00:00Z";
  TempFolder folder_;
  std::filesystem::path generator_;
  std::vector<std::unique_ptr<Service>> services_;
  int engines_ = 0;  // each has a folder of its own
};

// Every figure of expected.json, to the millisecond.
void ExpectTruth(const json& got, const json& expected) {
  std::map<std::string, double> lost;
  for (const json& deficit : expected["deficits"]) lost[deficit["uuid"]] += deficit["seconds"].get<double>();
  ASSERT_EQ(got["per_gpu"].size(), expected["per_gpu"].size());
  double sum = 0;
  for (const json& gpu : got["per_gpu"]) {
    const std::string uuid = gpu["uuid"];
    for (const auto& [phase, seconds] : expected["per_gpu"][uuid].items()) {
      const double more = phase == "unobserved" ? lost[uuid] : 0;
      EXPECT_NEAR(gpu["seconds"][phase].get<double>(), seconds.get<double>() + more, kTolerance) << uuid << phase;
      sum += gpu["seconds"][phase].get<double>();
    }
    EXPECT_NEAR(gpu["seconds"]["unobserved_reset"].get<double>(), lost[uuid], kTolerance) << uuid;
  }
  EXPECT_NEAR(sum, expected["gpu_seconds"].get<double>(), kTolerance);
  EXPECT_NEAR(got["gpu_hours"]["total"].get<double>() * 3600, expected["gpu_seconds"].get<double>(), kTolerance);
  std::map<std::string, json> teams;
  for (const json& team : got["by"]["team"]) teams[team["name"]] = team["gpu_hours"];
  for (const auto& [team, phases] : expected["per_team"].items()) {
    double seconds_of_team = 0;
    for (const auto& [phase, seconds] : phases.items()) seconds_of_team += seconds.get<double>();
    if (seconds_of_team == 0) continue;
    ASSERT_TRUE(teams.count(team) > 0) << team;
    for (const auto& [phase, seconds] : phases.items()) {
      EXPECT_NEAR(teams[team][phase].get<double>() * 3600, seconds.get<double>(), kTolerance) << team << " " << phase;
    }
  }
  double deficits = 0;
  for (const json& deficit : got["deficits"]) deficits += deficit["seconds"].get<double>();
  EXPECT_NEAR(deficits, expected["unobserved_reset_seconds"].get<double>(), kTolerance);
  std::map<std::string, json> jobs;
  for (const json& job : got["by"]["job"]) jobs[job["name"]] = job;
  if (!expected["jobs"].is_object()) return;
  for (const auto& [name, job] : expected["jobs"].items()) {
    ASSERT_TRUE(jobs.count(name) > 0) << name;
    for (const auto& [phase, seconds] : job["phase_seconds"].items()) {
      EXPECT_NEAR(jobs[name]["gpu_hours"][phase].get<double>() * 3600, seconds.get<double>(), kTolerance)
          << "job " << name << " " << phase;
    }
    EXPECT_EQ(jobs[name]["user"], job["user"]);
    EXPECT_EQ(jobs[name]["experiment"], job["experiment"]);
  }
}

// Money: teams sum to the total, and so do GPUs, to the billionth.
void ExpectMoneyAddsUp(const json& got) {
  const auto nano = [](const json& text) { return std::llround(std::stod(text.get<std::string>()) * 1e9); };
  long long teams = 0;
  long long gpus = 0;
  for (const json& team : got["by"]["team"]) teams += nano(team["cost_exact"]);
  for (const json& gpu : got["per_gpu"]) gpus += nano(gpu["cost_exact"]);
  EXPECT_EQ(teams, nano(got["cost"]["total_exact"]));
  EXPECT_EQ(gpus, nano(got["cost"]["total_exact"]));
  EXPECT_NEAR(std::stod(got["cost"]["total_exact"].get<std::string>()), got["gpu_hours"]["total"].get<double>() * 2.5,
              1e-6);
}

TEST_F(FleetTruth, EveryFaultIsExactOnVictoriaMetrics) {
  for (const std::string seed : {"1", "7", "heron"}) {
    const std::string out = Make(seed, "--formats vm --scrape " + std::string(seed == "7" ? "300" : "60"));
    for (const std::string scenario : kScenarios) {
      SCOPED_TRACE("seed " + seed + ", " + scenario);
      const std::string url = Victoria(out + "/" + scenario + "/import.jsonl");
      const json got = Fleet(url, LedgerPath(seed + scenario));
      ExpectTruth(got, json::parse(std::ifstream(out + "/" + scenario + "/expected.json")));
      ExpectMoneyAddsUp(got);
      services_.clear();
    }
  }
}

TEST_F(FleetTruth, PrometheusGivesTheSame) {
  const std::string out = Make("2", "--only clean,restart_reset");
  for (const std::string scenario : {"clean", "restart_reset"}) {
    SCOPED_TRACE(scenario);
    const std::string url = Prometheus(out + "/" + scenario + "/scrapes.om");
    const json got = Fleet(url, LedgerPath(scenario));
    EXPECT_EQ(got["engine"]["kind"], "prometheus");
    ExpectTruth(got, json::parse(std::ifstream(out + "/" + scenario + "/expected.json")));
    services_.clear();
  }
}

// Hours at once are read with all counters of jobs. Hours one by one are read with those that they need.
TEST_F(FleetTruth, HoursPulledOneByOneAreTheSameAsAtOnce) {
  const std::string out = Make("3", "--formats vm --only outage,miss,restart_reset,ha");
  for (const std::string scenario : {"outage", "miss", "restart_reset", "ha"}) {
    SCOPED_TRACE(scenario);
    const std::string url = Victoria(out + "/" + scenario + "/import.jsonl");
    const std::string once = LedgerPath("once" + scenario);
    const std::string steps = LedgerPath("steps" + scenario);
    json at_once = Fleet(url, once);
    for (int hour = 1; hour <= 6; ++hour) Fleet(url, steps, "2026-03-02T0" + std::to_string(hour) + ":00:00Z");
    EXPECT_EQ(Fleet(url, steps), at_once);
    // A ledger that was lost is filled again, to the same figures.
    std::filesystem::remove_all(once);
    EXPECT_EQ(Fleet(url, once), at_once);
    const ProgramRun rebuilt = RunIdleburn(Words(url, steps, kEnd) + " --rebuild");
    EXPECT_EQ(json::parse(rebuilt.out), at_once);
    services_.clear();
  }
}

TEST_F(FleetTruth, AnEngineThatDiesMidwayLosesNothing) {
  const std::string out = Make("4", "--formats vm --only clean");
  const std::string url = Victoria(out + "/clean/import.jsonl");
  const json whole = Fleet(url, LedgerPath("whole"));
  int failures = 0;
  for (const int questions : {4, 9, 11, 14}) {
    const std::string relay = Python(kFragileEngine, url + " " + std::to_string(questions) + " 1");
    const ProgramRun died = RunIdleburn(Words(relay, LedgerPath("fragile"), kEnd));
    if (died.code == 0) continue;
    ++failures;
    EXPECT_EQ(died.code, 1);
    EXPECT_EQ(std::count(died.err.begin(), died.err.end(), '\n'), 1) << died.err;
    EXPECT_NE(died.err.find(relay), std::string::npos) << died.err;
  }
  EXPECT_GE(failures, 3);
  EXPECT_EQ(Fleet(url, LedgerPath("fragile"))["per_gpu"], whole["per_gpu"]);
}

TEST_F(FleetTruth, AnEngineWithLimitsIsAskedInSmallerParts) {
  const std::string out = Make("5", "--formats vm --only clean");
  const std::string url = Victoria(out + "/clean/import.jsonl");
  const std::string relay = Python(kFragileEngine, url + " 0 1");
  ExpectTruth(Fleet(relay, LedgerPath("limited")), json::parse(std::ifstream(out + "/clean/expected.json")));
}

TEST_F(FleetTruth, TwoPullsAtOnceBookEachHourOnce) {
  const std::string out = Make("6", "--formats vm --only clean");
  const std::string url = Victoria(out + "/clean/import.jsonl");
  const json alone = Fleet(url, LedgerPath("alone"));
  for (int round = 0; round < 3; ++round) {
    const std::string ledger = LedgerPath("both" + std::to_string(round));
    const std::string words = "$IDLEBURN " + Words(url, ledger, kEnd, "pull");
    std::string shell = folder_.Write("idleburn", ProgramBytes());
    const ProgramRun run = RunShell("chmod +x " + shell + "; export IDLEBURN=" + shell + "; " + words + " & " + words +
                                    " & " + words + "; wait");
    EXPECT_EQ(run.err.find("damaged"), std::string::npos) << run.err;
    EXPECT_EQ(Fleet(url, ledger)["per_gpu"], alone["per_gpu"]) << run.err;
  }
}

TEST_F(FleetTruth, TheSchedulersJobsTellWaitsAndEnds) {
  const std::string out = Make("8", "--formats vm --only clean");
  const std::string url = Victoria(out + "/clean/import.jsonl");
  const json before = Fleet(url, LedgerPath("jobs"));
  EXPECT_TRUE(before["kpi"]["queue_wait_s"].is_null());
  // Waits of 0, 10, ... seconds; every job failed but the first.
  std::string list = "JobID|User|State|Submit|Eligible|Start|End\n";
  double failed = 0;
  int n = 0;
  for (const json& job : before["by"]["job"]) {
    const std::string name = job["name"];
    if (name == "_unknown") continue;
    char start[32];
    std::snprintf(start, sizeof start, "2026-03-02T01:%02d:%02d", n * 10 / 60, n * 10 % 60);
    list += name + "|u|" + (n == 0 ? "COMPLETED" : "FAILED") + "|2026-03-01T00:00:00|2026-03-02T01:00:00|" + start +
            "|2026-03-02T05:00:00\n" + name + ".batch|u|FAILED|Unknown|Unknown|" + start + "|2026-03-02T05:00:00\n";
    if (n > 0) failed += job["gpu_hours"]["total"].get<double>();
    ++n;
  }
  ASSERT_GT(n, 5);
  const ProgramRun run =
      RunIdleburn(Words(url, LedgerPath("jobs"), kEnd) + " --jobs " + folder_.Write("sacct.txt", list));
  ASSERT_EQ(run.code, 0) << run.err;
  const json kpi = json::parse(run.out)["kpi"];
  EXPECT_EQ(kpi["queue_wait_s"]["jobs"], n);
  EXPECT_EQ(kpi["queue_wait_s"]["p50"], (n + 1) / 2 * 10 - 10);
  EXPECT_EQ(kpi["queue_wait_s"]["histogram"][0]["jobs"], 2);  // 0 s and 10 s
  EXPECT_NEAR(kpi["gpu_hours_by_end"]["failed"].get<double>(), failed, 1e-9);
}

TEST_F(FleetTruth, WhatIsNoEngineIsOneLine) {
  struct Case {
    std::string status, body, said;
  };
  const Case cases[] = {
      {"200", "'<html><body>Sign in</body></html>'", "web page"},
      {"401", "denied", "--token-file"},
      {"200", "'{\"status\":\"success\",\"data\":{\"resultType\":\"vec'", "half an answer"},
      {"404", "no", "prefix"},
      {"200", "'{\"cluster\":1}'", "not that of Prometheus"},
  };
  for (const Case& each : cases) {
    const std::string url = Python(kFalseEngine, each.status + " " + each.body);
    const ProgramRun run = RunIdleburn(Words(url, LedgerPath("false"), kEnd));
    EXPECT_EQ(run.code, 1) << each.body;
    EXPECT_NE(run.err.find(each.said), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  const ProgramRun nobody =
      RunIdleburn(Words("http://127.0.0.1:" + std::to_string(FreePort()), LedgerPath("false"), kEnd));
  EXPECT_EQ(nobody.code, 1);
  EXPECT_NE(nobody.err.find("is it running there?"), std::string::npos) << nobody.err;
}

}  // namespace
}  // namespace idleburn::testing
