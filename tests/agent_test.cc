// `idleburn agent` as a node runs it: the program, a driver that is a stand-in, real scrapes, kills and full disks.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "places.h"
#include "support/program.h"
#include "support/service.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::Ask;
using testing::Eventually;
using testing::HttpReply;
using testing::HttpRequest;
using testing::ProgramRun;
using testing::RunIdleburn;
using testing::RunShell;
using testing::SamplesOf;
using testing::Service;
using testing::TempFolder;

constexpr const char* kTwoGpus =
    "gpu 0 name=NVIDIA_H100_80GB_HBM3 memory=80GiB\n"
    "gpu 1 name=NVIDIA_H100_80GB_HBM3 memory=80GiB\n"
    "at 0 gpu 0 util=100 power=600 sm=80\n"
    "at 0 gpu 1 util=0 power=70\n";
constexpr long long kMicro = 1'000'000;

// An agent on a machine whose driver is the stand-in.
class Agent {
 public:
  Agent(const TempFolder& folder, const std::string& flags, const std::string& script = kTwoGpus,
        const std::string& before = "")
      : service_(std::make_unique<Service>(
            "env XDG_DATA_HOME=" + (folder.path() / "data").string() + " IDLEBURN_NVML_LIBRARY=" IDLEBURN_STANDIN +
                " IDLEBURN_STANDIN_SCRIPT=" + folder.Write("gpus", script) + " " + before + " " IDLEBURN_PROGRAM +
                " agent --web.listen-address 127.0.0.1:0 --node n1 --close-period 5s " + flags,
            (folder.path() / ("log" + std::to_string(count_++))).string())) {}

  // The address, once it serves.
  const std::string& url() {
    if (!url_.empty()) return url_;
    std::smatch found;
    std::string log;
    const std::regex serving("serving (https?://[^/]*)/");
    Eventually(std::chrono::seconds(15), [&] {
      log = service_->Log();
      return std::regex_search(log, serving) || !service_->Runs();
    });
    if (std::regex_search(log, found, serving)) url_ = found[1];
    EXPECT_FALSE(url_.empty()) << log;
    return url_;
  }
  // Empty until the first second was counted.
  std::map<std::string, long long> Scrape() {
    const HttpReply reply = Ask({url() + "/metrics", {}});
    return reply.status == 200 ? SamplesOf(reply.body) : std::map<std::string, long long>();
  }
  // Scrapes until this many seconds of GPU 0 were counted.
  std::map<std::string, long long> ScrapeAfter(long long seconds) {
    std::map<std::string, long long> samples;
    EXPECT_TRUE(Eventually(std::chrono::seconds(seconds + 20), [&] {
      samples = Scrape();
      return SumOf(samples, "idleburn_gpu_phase_seconds_total{") >= seconds * kMicro;
    })) << service_->Log();
    return samples;
  }
  static long long SumOf(const std::map<std::string, long long>& samples, const std::string& prefix,
                         const std::string& part = "") {
    long long sum = 0;
    for (const auto& [series, value] : samples) {
      if (series.rfind(prefix, 0) == 0 && series.find(part) != std::string::npos) sum += value;
    }
    return sum;
  }
  Service& service() { return *service_; }

 private:
  static inline int count_ = 0;
  std::unique_ptr<Service> service_;
  std::string url_;
};

std::string StateFlag(const TempFolder& folder) { return "--state-dir " + (folder.path() / "state").string(); }

std::set<std::string> ValuesOf(const std::map<std::string, long long>& samples, const std::string& label) {
  std::set<std::string> values;
  const std::regex wanted(label + "=\"([^\"]*)\"");
  for (const auto& [series, value] : samples) {
    std::smatch found;
    if (std::regex_search(series, found, wanted)) values.insert(found[1]);
  }
  return values;
}

TEST(Agent, PhasesSumToWallTimeAndOwnersToTheGpus) {
  const TempFolder folder;
  Agent agent(folder, StateFlag(folder) + " --price 3");
  const auto samples = agent.ScrapeAfter(14);
  std::set<long long> walls;
  for (const std::string& uuid : ValuesOf(samples, "uuid"))
    walls.insert(Agent::SumOf(samples, "idleburn_gpu_phase_seconds_total{", uuid));
  ASSERT_EQ(walls.size(), 1U) << "all GPUs are counted for the same time";
  EXPECT_EQ(*walls.begin() % kMicro, 0);
  for (const char* phase : {"idle", "underutilized", "productive", "compute_bound", "unobserved"}) {
    const std::string label = std::string("phase=\"") + phase + "\"";
    EXPECT_EQ(Agent::SumOf(samples, "idleburn_gpu_phase_closed_seconds_total{", label),
              Agent::SumOf(samples, "idleburn_owner_phase_closed_seconds_total{", label));
  }
  // GPU 0 works and GPU 1 idles all the time; the first second may be without a reading.
  EXPECT_GE(Agent::SumOf(samples, "idleburn_gpu_phase_seconds_total{", "compute_bound") + kMicro, *walls.begin());
  EXPECT_GE(Agent::SumOf(samples, "idleburn_gpu_phase_seconds_total{", "\"idle\"") + kMicro, *walls.begin());
  EXPECT_EQ(Agent::SumOf(samples, "idleburn_closed_timestamp_seconds") % (5 * kMicro), 0);
  EXPECT_EQ(Agent::SumOf(samples, "idleburn_gpu_price_per_hour"), 6 * kMicro);
  agent.service().Signal(SIGTERM);
  EXPECT_EQ(agent.service().Wait(), 0) << agent.service().Log();
}

// Every counter of every scrape is at least that of the scrape before, whenever the agent is killed.
TEST(Agent, KillNeverMakesACounterStepBack) {
  const TempFolder folder;
  std::map<std::string, long long> last;
  for (int life = 0; life < 5; ++life) {
    Agent agent(folder, StateFlag(folder));
    const long long base = Agent::SumOf(last, "idleburn_gpu_phase_seconds_total{") / kMicro;
    agent.ScrapeAfter(base + 2);
    for (int scrape = 0; scrape < 10; ++scrape) {
      const auto now = agent.Scrape();
      for (const auto& [series, value] : last) {
        if (series.find("_total{") == std::string::npos || series.find("idleburn_gpu_") != 0) continue;
        ASSERT_TRUE(now.contains(series)) << series;
        EXPECT_GE(now.at(series), value) << series;
      }
      last = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(130 + 17 * life));
    }
    agent.service().Signal(SIGKILL);
    agent.service().Wait();
  }
  EXPECT_EQ(ValuesOf(last, "epoch").size(), 1U);
  EXPECT_GT(Agent::SumOf(last, "idleburn_gpu_unobserved_seconds_total{", "agent_down"), 0);
}

TEST(Agent, LostStateBeginsANewEpoch) {
  const TempFolder folder;
  std::set<std::string> epochs;
  for (int life = 0; life < 2; ++life) {
    Agent agent(folder, StateFlag(folder));
    epochs.merge(ValuesOf(agent.ScrapeAfter(2), "epoch"));
    agent.service().Signal(SIGTERM);
    agent.service().Wait();
    std::filesystem::remove(folder.path() / "state/agent.state");
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  }
  EXPECT_EQ(epochs.size(), 2U);
}

TEST(Agent, ASecondAgentOfTheNodeEndsWithOneLine) {
  const TempFolder folder;
  Agent first(folder, StateFlag(folder));
  first.url();
  Agent second(folder, StateFlag(folder));
  EXPECT_EQ(second.service().Wait(), 1);
  const std::string log = second.service().Log();
  EXPECT_NE(log.find("another agent holds this state file"), std::string::npos) << log;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(Agent, ADiskThatIsFullOrReadOnlyIsSaidAndCountsGoOn) {
  const TempFolder folder;
  const std::string disk = (folder.path() / "disk").string();
  if (RunShell("mkdir " + disk + " && mount -t tmpfs -o size=64k none " + disk).code != 0)
    GTEST_SKIP() << "a small disk cannot be mounted here (needs root)";
  {
    Agent agent(folder, "--state-dir " + disk);
    agent.ScrapeAfter(2);
    EXPECT_NE(agent.service().Log().find("could not reserve 1 MiB"), std::string::npos) << agent.service().Log();
    EXPECT_NE(agent.service().Log().find("counts will start from zero at every start"), std::string::npos);
  }
  EXPECT_EQ(RunShell("umount " + disk).code, 0);
}

TEST(Agent, ServesTheFamiliesOfBillsAlone) {
  const TempFolder folder;
  Agent agent(folder, StateFlag(folder));
  agent.ScrapeAfter(2);
  const HttpReply ledger = Ask({agent.url() + "/metrics?collect%5B%5D=ledger", {}});
  EXPECT_EQ(ledger.status, 200);
  // The slices of MIG instances are facts of GPUs, and the ledger needs them.
  std::set<std::string> families;
  for (const auto& [series, value] : SamplesOf(ledger.body)) families.insert(series.substr(0, series.find('{')));
  EXPECT_EQ(families.count("idleburn_gpu_info"), 1U) << ledger.body;
  families.erase("idleburn_gpu_info");
  for (const std::string& family : families) EXPECT_NE(family.find("closed"), std::string::npos) << family;
  EXPECT_EQ(Ask({agent.url() + "/metrics?collect%5B%5D=other", {}}).status, 400);
}

TEST(Agent, NegotiatesFormatAndCompression) {
  const TempFolder folder;
  Agent agent(folder, StateFlag(folder));
  agent.ScrapeAfter(2);
  HttpReply reply = Ask({agent.url() + "/metrics", {{"Accept", "application/openmetrics-text;version=1.0.0"}}});
  EXPECT_EQ(reply.headers["Content-Type"].rfind("application/openmetrics-text; version=1.0.0", 0), 0U);
  ASSERT_GE(reply.body.size(), 6U);
  EXPECT_EQ(reply.body.substr(reply.body.size() - 6), "# EOF\n");
  EXPECT_NE(reply.body.find("_created{"), std::string::npos);
  reply = Ask({agent.url() + "/metrics", {}});
  EXPECT_EQ(reply.headers["Content-Type"].rfind("text/plain; version=0.0.4", 0), 0U);
  HttpRequest packed{agent.url() + "/metrics", {{"Accept-Encoding", "gzip"}}};
  packed.unpack = false;
  reply = Ask(packed);
  EXPECT_EQ(reply.headers["Content-Encoding"], "gzip");
  EXPECT_EQ(reply.body.substr(0, 2), "\x1f\x8b");
}

TEST(Agent, SaysWhetherItLivesAndWhetherItHasData) {
  const TempFolder folder;
  Agent agent(folder, StateFlag(folder));
  agent.ScrapeAfter(2);
  EXPECT_EQ(Ask({agent.url() + "/-/healthy", {}}).status, 200);
  EXPECT_EQ(Ask({agent.url() + "/-/ready", {}}).status, 200);
  EXPECT_EQ(Ask({agent.url() + "/nothing", {}}).status, 404);
  HttpRequest post{agent.url() + "/metrics", {}};
  post.method = "POST";
  EXPECT_EQ(Ask(post).status, 405);
  const HttpReply reply = Ask({agent.url() + "/metrics", {}});
  EXPECT_EQ(reply.headers.at("X-Content-Type-Options"), "nosniff");
  EXPECT_FALSE(reply.headers.contains("Access-Control-Allow-Origin"));
}

TEST(Agent, WithoutADriverItIsHealthyAndNotReady) {
  const TempFolder folder;
  Agent agent(folder, StateFlag(folder), kTwoGpus, "IDLEBURN_NVML_LIBRARY=/proc/no/such.so");
  EXPECT_EQ(Ask({agent.url() + "/-/healthy", {}}).status, 200);
  EXPECT_EQ(Ask({agent.url() + "/-/ready", {}}).status, 503);
  EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] {
    const auto samples = agent.Scrape();
    const auto up = samples.find("idleburn_up{node=\"n1\",source=\"nvml\"}");
    return up != samples.end() && up->second == 0;
  }));
  EXPECT_NE(agent.service().Log().find("no GPU is measured: "), std::string::npos) << agent.service().Log();
}

// Counters of GPUs that an earlier life counted go on as driver_gone while the driver is missing.
TEST(Agent, GpusOfAMissingDriverAreUnobserved) {
  const TempFolder folder;
  {
    Agent agent(folder, StateFlag(folder));
    agent.ScrapeAfter(3);
    agent.service().Signal(SIGTERM);
    agent.service().Wait();
  }
  Agent agent(folder, StateFlag(folder), kTwoGpus, "IDLEBURN_NVML_LIBRARY=/proc/no/such.so");
  EXPECT_TRUE(Eventually(std::chrono::seconds(15), [&] {
    return Agent::SumOf(agent.Scrape(), "idleburn_gpu_unobserved_seconds_total{", "driver_gone") >= 4 * kMicro;
  }));
}

TEST(Agent, PassesPromtoolsCheck) {
  if (const std::string missing = testing::WithoutPrograms({"promtool"}); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  Agent agent(folder, StateFlag(folder) + " --price 3");
  agent.ScrapeAfter(6);
  const std::string file = folder.Write("metrics", Ask({agent.url() + "/metrics", {}}).body);
  const ProgramRun run = RunShell("promtool check metrics < " + file);
  // The one complaint is about a name of the contract.
  EXPECT_EQ(run.out + run.err, "idleburn_counter_resets_total metric name should not include type 'counter'\n");
}

TEST(Agent, AScrapeAMillisecondLeavesMemoryAndFilesAsTheyWere) {
  const TempFolder folder;
  Agent agent(folder, StateFlag(folder));
  agent.ScrapeAfter(2);
  const std::string proc = "/proc/" + std::to_string(agent.service().pid());
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(proc + "/fd"), std::filesystem::directory_iterator());
  };
  const auto memory = [&] { return std::stol(RunShell("awk '/VmRSS/ {print $2}' " + proc + "/status").out); };
  for (int i = 0; i < 300; ++i) agent.Scrape();
  const long before = memory();
  const auto files_before = files();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  int scrapes = 0;
  while (std::chrono::steady_clock::now() < until) scrapes += Ask({agent.url() + "/metrics", {}}).status == 200 ? 1 : 0;
  EXPECT_GT(scrapes, 300);
  EXPECT_LE(memory(), before + 2048);
  EXPECT_LE(files(), files_before + 8);  // connections that are closing
  EXPECT_LE(memory(), 24 * 1024);
}

TEST(Agent, WritesForTheTextfileCollector) {
  const TempFolder folder;
  const std::string file = (folder.path() / "idleburn.prom").string();
  Agent agent(folder, StateFlag(folder) + " --textfile " + file);
  agent.ScrapeAfter(2);
  ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] { return std::filesystem::exists(file); }));
  struct stat info {};
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644U);
  EXPECT_NE(RunShell("cat " + file).out.find("idleburn_gpu_phase_seconds_total{"), std::string::npos);
}

TEST(Agent, OtherMachinesNeedTlsOrASwitch) {
  const ProgramRun run = RunIdleburn("agent --web.listen-address 0.0.0.0:0 --state-dir /proc/none");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("--web.insecure"), std::string::npos) << run.err;
}

TEST(Agent, WrongUseIsOneLine) {
  const TempFolder folder;
  for (const char* flags : {"--close-period 7s", "--close-period 0.5s", "--web.listen-address here",
                            "--web.config.file /proc/none", "--web.telemetry-path metrics"}) {
    const ProgramRun run = RunIdleburn("agent " + StateFlag(folder) + " " + flags);
    EXPECT_EQ(run.code, 2) << flags << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

// A prolog's file says who holds a GPU; the epilog removes it. The job's series stay at their final value, its team
// keeps its closed counter, and a summary is left for the epilog.
TEST(Agent, AJobOfAPrologIsCountedAndSummed) {
  const TempFolder folder;
  const std::string jobs = (folder.path() / "jobs").string();
  std::filesystem::create_directory(jobs);
  const std::string labels =
      folder.Write("labels.toml", "schema_version = 1\n[[rule]]\nuser = \"*\"\nteam = \"vi\\\"sion\"\n");
  Agent agent(folder, StateFlag(folder) + " --price 3 --job-files " + jobs + " --cluster c1 --labels " + labels);
  const std::set<std::string> uuids = ValuesOf(agent.ScrapeAfter(2), "uuid");
  ASSERT_EQ(uuids.size(), 2U);
  const std::string file = jobs + "/" + *uuids.begin();
  ASSERT_EQ(RunShell("echo \"4711 $(date +%s) 0\" > " + file).code, 0);
  const std::string job = "idleburn_job_phase_seconds_total{node=\"n1\",cluster=\"c1\",job=\"4711\",user=\"root\"";
  std::map<std::string, long long> samples;
  ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    samples = agent.Scrape();
    return Agent::SumOf(samples, job) >= 3 * kMicro;
  })) << agent.service().Log();
  EXPECT_GT(Agent::SumOf(samples, job, "team=\"vi\\\"sion\""), 0);
  std::filesystem::remove(file);
  const std::string summary = (folder.path() / "state/jobs/4711.txt").string();
  ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] { return std::filesystem::exists(summary); }))
      << agent.service().Log();
  const std::string text = RunShell("cat " + summary).out;
  EXPECT_EQ(text.rfind("job 4711 of root (team vi\"sion): ", 0), 0U) << text;
  EXPECT_NE(text.find("$0.0"), std::string::npos) << text;
}

// The time of the hang is unobserved, never idle, and the service manager gets its exit code after a minute.
TEST(Agent, ADriverThatHangsIsUnobservedAndEndsItWith70) {
  const TempFolder folder;
  Agent agent(folder, StateFlag(folder) + " --price 3",
              "gpu 0\nat 0 gpu 0 util=50\nhang nvmlDeviceGetClockInfo from=3s\n");
  const auto before = agent.ScrapeAfter(3);
  std::map<std::string, long long> during;
  ASSERT_TRUE(Eventually(std::chrono::seconds(40), [&] {
    during = agent.Scrape();
    return Agent::SumOf(during, "idleburn_gpu_phase_seconds_total{", "phase=\"unobserved\"") >= 8 * kMicro;
  })) << agent.service().Log();
  EXPECT_EQ(Agent::SumOf(during, "idleburn_gpu_phase_seconds_total{", "phase=\"idle\""), 0);
  EXPECT_EQ(Ask({agent.url() + "/-/ready", {}}).status, 503);
  EXPECT_EQ(Ask({agent.url() + "/-/healthy", {}}).status, 200);
  EXPECT_TRUE(Eventually(std::chrono::seconds(90), [&] { return !agent.service().Runs(); }));
  EXPECT_EQ(agent.service().Wait(), 70) << agent.service().Log();
  EXPECT_NE(agent.service().Log().find("has not returned for 60 s"), std::string::npos) << agent.service().Log();
}

// As on a real node: a user without rights. systemd made the state folder.
TEST(Agent, WorksAsNobodyAndTheDoctorSaysWhatNobodyCannotSee) {
  const std::string nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
  if (RunShell(nobody + " " IDLEBURN_PROGRAM " --version").code != 0)
    GTEST_SKIP() << "this test cannot run the program as another user";
  const TempFolder folder;
  ASSERT_EQ(RunShell("cd " + folder.path().string() + " && chmod 755 . && mkdir state && chmod 777 state").code, 0);
  Agent agent(folder, StateFlag(folder) + " --price 3", kTwoGpus, nobody);
  const auto samples = agent.ScrapeAfter(3);
  EXPECT_EQ(Agent::SumOf(samples, "idleburn_gpu_phase_seconds_total{", "unobserved"), 0) << agent.service().Log();
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "state/agent.state"));
  EXPECT_EQ(agent.service().Log().find("zero"), std::string::npos) << agent.service().Log();
  const std::string doctor = RunShell("STATE_DIRECTORY=" + (folder.path() / "state").string() + " " + nobody +
                                      " " IDLEBURN_PROGRAM " doctor --agent --format json --price 2")
                                 .out;
  const auto document = nlohmann::json::parse(doctor, nullptr, false);
  ASSERT_TRUE(document.is_object()) << doctor;
  for (const auto& check : document.at("checks")) {
    const std::string id = check.at("id");
    const char* const wanted = id == "agent_processes" ? "warning" : id == "agent_state" ? "ok" : nullptr;
    EXPECT_TRUE(wanted == nullptr || check.at("status") == wanted) << check;
  }
}

// A certificate authority, a server's and a client's certificate, made for the test.
class Certificates {
 public:
  explicit Certificates(const TempFolder& folder) : at_(folder.path().string() + "/") {
    const std::string made =
        RunShell("cd " + at_ +
                 " && openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca"
                 " && openssl req -newkey rsa:2048 -nodes -keyout key.pem -out csr.pem -subj /CN=localhost"
                 " && printf 'subjectAltName=IP:127.0.0.1,DNS:localhost' > ext"
                 " && openssl x509 -req -in csr.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext"
                 " -out cert.pem && chmod 600 key.pem")
            .err;
    ok_ = std::filesystem::exists(at_ + "cert.pem");
    EXPECT_TRUE(ok_) << made;
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return at_ + name; }

 private:
  std::string at_;
  bool ok_ = false;
};

TEST(Agent, ServesTlsToThoseWhoHaveAPasswordAndACertificate) {
  const TempFolder folder;
  const Certificates certificates(folder);
  // The hash is of "secret", at cost 4 so that the test is quick.
  const std::string hash = RunShell("perl -e 'print crypt(\"secret\", \"\\$2b\\$04\\$abcdefghijklmnopqrstuu\")'").out;
  ASSERT_EQ(hash.size(), 60U) << hash;
  const std::string config = folder.Write("web.yml",
                                          "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"
                                          "  client_ca_file: ca.pem\n  client_auth_type: RequireAndVerifyClientCert\n"
                                          "basic_auth_users:\n  prom: " +
                                              hash + "\n");
  Agent agent(folder, StateFlag(folder) + " --web.config.file " + config);
  ASSERT_EQ(agent.url().rfind("https://", 0), 0U);
  HttpRequest request{agent.url() + "/-/healthy", {{"Authorization", "Basic cHJvbTpzZWNyZXQ="}}};
  request.ca_file = certificates.Path("ca.pem");
  EXPECT_EQ(Ask(request).status, 0) << "without a client certificate there is no connection";
  request.client_cert = certificates.Path("cert.pem");
  request.client_key = certificates.Path("key.pem");
  EXPECT_EQ(Ask(request).status, 200);
  EXPECT_EQ(Ask(request).status, 200) << "by the remembered digest";
  for (const char* wrong : {"Basic cHJvbTp3cm9uZw==", "Basic bm9ib2R5OnNlY3JldA==", "Basic !", "Bearer x", ""}) {
    request.headers = {{"Authorization", wrong}};
    EXPECT_EQ(Ask(request).status, 401) << wrong;
  }
}

}  // namespace
}  // namespace idleburn
