// --detect-cloud: what clouds answer, what else may answer, and that nobody is asked without it.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "measure/cloud_metadata.h"
#include "places.h"
#include "support/live_command.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// A metadata service on this machine while it lives.
class MetadataServer {
 public:
  explicit MetadataServer(const std::string& kind) {
    // The folder that RunShell works in is gone when the server starts.
    const ProgramRun started = RunShell("cd / && python3 " IDLEBURN_ROOT "/tests/programs/metadata_server.py " + kind +
                                        " " + Path("port") + " " + Path("log") + " > /dev/null 2>&1 & echo -n $!");
    pid_ = started.out;
    for (int i = 0; i < 1200 && Port().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_NE(Port(), "") << kind;
  }
  ~MetadataServer() { RunShell("kill " + pid_); }
  MetadataServer(const MetadataServer&) = delete;
  MetadataServer& operator=(const MetadataServer&) = delete;

  [[nodiscard]] std::string Address() const { return "http://127.0.0.1:" + Port(); }
  [[nodiscard]] std::string Asked() const { return ReadText(Path("log")); }
  // "provider type region market"
  [[nodiscard]] std::string Answer(const std::string& provider = "") const {
    CloudQuestion question;
    question.provider = provider;
    question.base = Address();
    question.patience = Nanos(60 * kNanosPerSecond);  // this machine may be busy
    const auto told = AskCloud(question);
    return told ? told->provider + " " + told->type.value_or("?") + " " + told->region + " " + told->market
                : told.error().message;
  }

 private:
  [[nodiscard]] std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  [[nodiscard]] std::string Port() const {
    return std::filesystem::exists(Path("port")) ? ReadText(Path("port")) : std::string();
  }
  TempFolder folder_;
  std::string pid_;
};

TEST(DetectCloudTest, EachCloudIsUnderstood) {
  const std::pair<const char*, const char*> clouds[] = {
      {"aws", "aws p5.48xlarge us-east-1 on_demand"},        {"aws-spot", "aws p5.48xlarge us-east-1 spot"},
      {"gcp", "gcp a3-highgpu-1g us-central1 on_demand"},    {"gcp-spot", "gcp a3-highgpu-1g us-central1 spot"},
      {"azure", "azure Standard_NC12s_v3 eastus on_demand"}, {"azure-spot", "azure Standard_NC12s_v3 eastus spot"},
      {"oracle", "oracle BM.GPU.H100.8 us-ashburn-1 "},
  };
  for (const auto& [kind, answer] : clouds) {
    const MetadataServer server(kind);
    EXPECT_EQ(server.Answer(), answer);
    const std::string provider = std::string(answer).substr(0, std::string(answer).find(' '));
    EXPECT_EQ(server.Answer(provider), answer);
  }
}

TEST(DetectCloudTest, OnlyTheCloudThatThisIsIsAsked) {
  const MetadataServer server("none");
  EXPECT_NE(server.Answer("azure").find("no cloud metadata service answered"), std::string::npos);
  EXPECT_EQ(server.Asked(), "GET /metadata/instance/compute/vmSize?api-version=2021-02-01&format=text\n");
}

TEST(DetectCloudTest, WhoeverElseAnswersIsNoCloud) {
  for (const char* kind : {"none", "garbage"}) {
    const MetadataServer server(kind);
    EXPECT_EQ(server.Answer(), "no cloud metadata service answered at " + server.Address()) << kind;
    EXPECT_EQ(LinesWith(server.Asked(), "PUT /latest/api/token"), 1);
  }
}

// Whatever the other end does, there is an answer: of those that never end theirs, after as long as it may take.
TEST(DetectCloudTest, PatienceIsKept) {
  CloudQuestion question;
  const auto asked = [&](const std::string& base) {
    question.base = base;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(AskCloud(question));  // or the test never ends
    return std::chrono::steady_clock::now() - start;
  };
  for (const char* kind : {"hang", "drip"}) {
    const MetadataServer server(kind);
    EXPECT_GE(asked(server.Address()), std::chrono::nanoseconds(question.patience.count() * 7 / 8)) << kind;
  }
  question.patience = Nanos(24 * kNanosPerHour);  // which these need none of
  for (const char* nobody : {"http://127.0.0.1:1", "http://", "ftp://127.0.0.1"}) asked(nobody);
}

// The price is that of the region and the market, live and from the recording.
TEST(DetectCloudTest, ThePriceIsThatOfTheMarket) {
  const MetadataServer server("gcp-spot");
  const LiveMachine machine("gpu 0\n");
  const std::string run = "IDLEBURN_METADATA_URL=" + server.Address() +
                          " $I run --detect-cloud --format json -o $F/live --recording $F/k.idleburn -- sleep 1.5";
  const ProgramRun ended = machine.Run(run);
  EXPECT_EQ(ended.code, 0) << ended.err;
  const json cost = machine.Json("live")["cost"];
  const std::string source = cost["rate_source"].is_string() ? cost["rate_source"].get<std::string>() : "";
  EXPECT_EQ(source.find("catalogue: gcp:a3-highgpu-1g:spot@us-central1, as of "), 0U) << cost;
  EXPECT_EQ(machine.Audit("k.idleburn", "")["cost"]["rate_source"], source);
  const ProgramRun top = machine.Run("IDLEBURN_METADATA_URL=" + server.Address() + " $I top --once --detect-cloud");
  EXPECT_EQ(LinesWith(top.out, "gcp:a3-highgpu-1g:spot@us-central1"), 1) << top.out;
}

TEST(DetectCloudTest, NobodyIsAskedWithoutTheFlag) {
  const MetadataServer server("aws");
  const LiveMachine machine("gpu 0\n");
  const std::string address = "export IDLEBURN_METADATA_URL=" + server.Address() + "; ";
  for (const char* words :
       {"$I run --no-recording -- true", "$I record --for 1s -o $F/k", "$I top --once", "$I doctor"}) {
    const ProgramRun run = machine.Run(address + words);
    EXPECT_LE(run.code, 2) << run.err;
  }
  EXPECT_EQ(server.Asked(), "");
}

TEST(DetectCloudTest, ThatNobodyAnsweredIsOneLineAndTheRunGoesOn) {
  const MetadataServer server("none");
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run("IDLEBURN_METADATA_URL=" + server.Address() +
                                     " $I run --detect-cloud --no-recording --price 2 -- sh -c 'sleep 1; exit 6'");
  EXPECT_EQ(run.code, 6);
  EXPECT_EQ(LinesWith(run.err, "idleburn: --detect-cloud: no cloud metadata service answered at http://127.0.0.1"), 1)
      << run.err;
}

// Without the flag too: what the firmware names is looked up in the catalogue, and is what each GPU-second costs.
TEST(FirmwareTest, TheTypeItNamesDecidesThePrice) {
  const std::string words =
      "unshare -rm sh -c 'mount -t tmpfs none /sys/class && mkdir -p /sys/class/dmi/id && "
      "echo Amazon EC2 >/sys/class/dmi/id/sys_vendor && echo p5.48xlarge >/sys/class/dmi/id/product_name && ";
  if (RunShell(words + "true'").code != 0) GTEST_SKIP() << "no file system can be mounted here";
  const LiveMachine machine("gpu 0\ngpu 1\ngpu 2\ngpu 3\ngpu 4\ngpu 5\ngpu 6\ngpu 7\n");
  const ProgramRun ended =
      machine.Run(words + "$I run --format json -o $F/live --recording $F/k.idleburn -- sleep 1.5'");
  EXPECT_EQ(ended.code, 0) << ended.err;
  // provider,region,type,gpu,GPUs,market,an hour,...
  const std::string catalogue = ReadText(IDLEBURN_ROOT "/data/prices/catalogue.csv");
  const std::string row = "\naws,us-east-1,p5.48xlarge,H100-80GB-SXM,8,on_demand,";
  const std::size_t at = catalogue.find(row);
  ASSERT_NE(at, std::string::npos);
  const double an_hour = std::stod(catalogue.substr(at + row.size()));
  const json live = machine.Json("live");
  for (const json& audit : {live, machine.Audit("k.idleburn", "")}) {
    const json& cost = audit["cost"];
    ASSERT_TRUE(cost["rate_source"].is_string()) << cost;
    EXPECT_EQ(cost["rate_source"].get<std::string>().find("catalogue: aws:p5.48xlarge:on_demand@us-east-1, as of "),
              0U);
    const double hours = audit["gpu_hours"]["window"].get<double>();
    EXPECT_NEAR(std::stod(cost["total_exact"].get<std::string>()), an_hour / 8 * hours, 1e-6);
  }
  EXPECT_GE(Seconds(live["gpu_hours"]["window"]), 8 * 1.4);
}

}  // namespace
}  // namespace idleburn::testing
