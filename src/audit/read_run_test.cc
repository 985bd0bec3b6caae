// What a whole input comes to, from its text to the run: doubts that arise between the importer and the classifier.
#include "audit/read_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "audit/classify_run.h"
#include "audit/open_input.h"
#include "os/input_file.h"
#include "places.h"
#include "terminal/progress.h"

namespace idleburn {
namespace {

const Thresholds kThresholds;
const ImportOptions kOptions;

Result<std::shared_ptr<RunInputs>> Classified(const std::vector<std::string>& paths, const ImportOptions& options) {
  auto run = TRY(Read(paths, options, kThresholds));
  TRY(ClassifyRun(*run));
  return run;
}

// The run that an input of that text is, or why it is none.
Result<std::shared_ptr<RunInputs>> ClassifyText(const std::string& text, const ImportOptions& options = kOptions) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("idleburn_read_run_" + std::to_string(getpid()) + ".txt");
  std::ofstream(path) << text;
  auto run = Classified({path.string()}, options);
  std::filesystem::remove(path);
  return run;
}

std::string Line(const std::string& metric, const std::string& labels, const std::string& value, int second) {
  return metric + "{" + labels + "} " + value + " " + std::to_string(1'772'445'600'000 + second * 1000) + "\n";
}

// Jobstats on a board of seven instances: each is a device of its own UUID, and none says that it is a seventh.
TEST(ReadRunTest, AnInstanceOfUnknownShareIsNoWholeGpu) {
  std::string instances;
  for (int second = 0; second <= 300; second += 30) {
    for (int i = 0; i < 7; ++i) {
      const std::string uuid = "uuid=\"MIG-5f3a0000-4d1c-11ee-9a6b-a1b2c3d4000" + std::to_string(i) + "\"";
      instances += Line("nvidia_gpu_duty_cycle", uuid, "50", second);
    }
  }
  const auto alone = ClassifyText(instances);
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message.find("add GPU_I_ID and GPU_I_PROFILE with the UUID of the board"), std::string::npos)
      << alone.error().message;
  std::string whole = instances;
  for (int second = 0; second <= 300; second += 30) {
    whole += Line("nvidia_gpu_duty_cycle", "uuid=\"GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40009\"", "50", second);
  }
  const auto beside = ClassifyText(whole);
  ASSERT_TRUE(beside) << beside.error().message;
  ASSERT_EQ((*beside)->run.devices.size(), 1U);
  EXPECT_EQ((*beside)->devices[(*beside)->run.devices[0].device].uuid, "GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40009");
  EXPECT_EQ((*beside)->quality.CountOf(QualityId::kUnsizedInstance), 7);
}

// One GPU with an Xid is one, however often it is told, and by whichever reader.
TEST(ReadRunTest, AnXidOfOneGpuIsCountedOnce) {
  std::string scrapes;
  for (int second = 0; second <= 300; second += 30) {
    for (const std::string gpu : {"0", "1"}) {
      scrapes += Line("DCGM_FI_DEV_GPU_UTIL", "gpu=\"" + gpu + "\"", "50", second);
      scrapes += Line("DCGM_FI_DEV_XID_ERRORS", "gpu=\"" + gpu + "\"", gpu == "0" ? "31" : "0", second);
    }
  }
  const auto prometheus = ClassifyText(scrapes);
  ASSERT_TRUE(prometheus) << prometheus.error().message;
  const DataQuality::Row& row = (*prometheus)->quality.Get(QualityId::kXidSeen);
  EXPECT_EQ(row.count, 1);
  EXPECT_EQ(row.names, std::set<std::string>{"Xid 31"});
  std::string csv = "time,gpu,util,xid\n";
  for (int second = 0; second <= 300; second += 30) {
    csv += std::to_string(1'772'445'600 + second) + ",0,50,31\n" + std::to_string(1'772'445'600 + second) + ",1,50,0\n";
  }
  const auto columns = ClassifyText(csv);
  ASSERT_TRUE(columns) << columns.error().message;
  EXPECT_EQ((*columns)->quality.CountOf(QualityId::kXidSeen), 1);
}

// A log without model and limit: power decides nothing until a flag says one of them.
TEST(ReadRunTest, ModelAndPowerLimitCanBeSaid) {
  std::string log = "timestamp, index, utilization.gpu [%], power.draw [W]\n";
  for (int i = 0; i < 1200; ++i) {
    log += fmt::format("2026/03/02 10:{:02}:{:02}.000, 0, {} %, {} W\n", i / 60, i % 60, i < 600 ? 0 : 100,
                       i < 600 ? 60 : 66);
  }
  const auto spin_of = [&](const ImportOptions& options) {
    const auto run = ClassifyText(log, options);
    EXPECT_TRUE(run) << run.error().message;
    return std::pair((*run)->run.devices.at(0).spin, (*run)->devices[0].name);
  };
  EXPECT_EQ(spin_of({}).first.evidence, SpinVerdict::Evidence::kNone);
  ImportOptions model;
  model.gpu_model = "H100-SXM";
  EXPECT_EQ(spin_of(model).second, "H100-SXM");
  EXPECT_EQ(spin_of(model).first.limit_mw, 700'000);
  EXPECT_GT(spin_of(model).first.time.ns, 500 * kNanosPerSecond);
  ImportOptions limit = model;
  limit.power_limit_mw = 350'000;  // goes before the published one
  EXPECT_EQ(spin_of(limit).first.limit_mw, 350'000);
  EXPECT_EQ(spin_of(limit).first.evidence, SpinVerdict::Evidence::kPower);
}

// One GPU cannot be on two machines: of two names that were said, one would be lost.
TEST(ReadRunTest, OneGpuIsNotOnTwoNodes) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  std::vector<std::string> inputs;
  for (const std::string name : {"a", "b"}) {
    const std::string path = folder / ("idleburn_two_nodes_" + name + std::to_string(getpid()) + ".txt");
    std::ofstream file(path);
    for (int second = 0; second <= 300; second += 30) {
      file << Line("DCGM_FI_DEV_GPU_UTIL", "gpu=\"0\",UUID=\"GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40001\"", "50",
                   second + (name == "b" ? 300 : 0));
    }
    inputs.push_back(path);
  }
  const auto read = [&inputs](const std::string& of_first, const std::string& of_second) {
    std::vector<std::string> said = {of_first + "=" + inputs[0], of_second + "=" + inputs[1]};
    ImportOptions options;
    options.hosts = *TakeHosts(said);
    const auto run = Classified(said, options);
    return run ? std::string() : run.error().message;
  };
  EXPECT_EQ(read("n1", "n1"), "");
  EXPECT_EQ(read("n1", "n2"),
            "GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40001 is on n1 by one input and on n2 by another: name one node for "
            "both, or leave one input out");
  std::vector<std::string> twice = {"n1=" + inputs[0], "n2=" + inputs[0]};
  const auto hosts = TakeHosts(twice);
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error().message, inputs[0] + " has two nodes, n1 and n2; give one");
  for (const std::string& path : inputs) std::filesystem::remove(path);
}

// The lines that a reading shows on a clock that goes on by a second each time it is asked.
std::string ShownWhileReading(const std::vector<std::string>& paths) {
  Nanos time{0};
  std::string shown;
  Progress progress(
      {[&time] { return time += Nanos(kNanosPerSecond); }, [&shown](std::string_view text) { shown += text; }, 300});
  const auto run = Read(paths, kOptions, kThresholds, &progress);
  EXPECT_TRUE(run) << run.error().message;
  return shown;
}

// Shares are of the bytes on disk, so compressed logs have them too, and all inputs together are the whole.
TEST(ReadRunTest, ProgressReachesTheWholeSizeInEveryFormat) {
  const std::filesystem::path root(IDLEBURN_ROOT);
  for (const char* name : {"examples/finetune_4xh100.csv.gz", "examples/starved_loader.pt.trace.json.gz"}) {
    const std::string path = (root / name).string();
    const std::string size = fmt::format("100 % of {:.{}f} kB", static_cast<double>(SizeOfFiles({{path}})) / 1000,
                                         SizeOfFiles({{path}}) < 100'000 ? 1 : 0);
    const std::string shown = ShownWhileReading({path});
    EXPECT_NE(shown.find("reading " + path + ": " + size), std::string::npos) << size << "\n" << shown;
  }
  const std::string log = (root / "examples/finetune_4xh100.csv.gz").string();
  const std::string trace = (root / "examples/starved_loader.pt.trace.json.gz").string();
  EXPECT_NE(ShownWhileReading({log, trace}).find("100 % of 154 kB"), std::string::npos);
}

}  // namespace
}  // namespace idleburn
