// Why GPUs wait, from end to end: real processes that compute, read and write, the stand-in for the driver, and what
// `idleburn run` and the audit of its recording say. What the machine really did is read by the test itself; where
// other programs disturb it too much, or it lacks what is needed, a test says so and is skipped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "places.h"
#include "support/live_command.h"
#include "support/machine_watch.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// The numbers of two CPUs that this process may use, "0,1"; empty if there is one only.
std::string TwoCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return "";
  std::vector<std::size_t> cpus;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  }
  return cpus.size() < 2 ? "" : std::to_string(cpus[0]) + "," + std::to_string(cpus[1]);
}

// A run of simulated training: what was said live, which must be what the recording says.
struct Diagnosed {
  json live;
  MachineWatch machine;

  [[nodiscard]] bool Names(const std::string& cause) const { return Finding(cause).is_object(); }
  [[nodiscard]] json Finding(const std::string& cause) const { return In("findings", "cause", cause); }
  [[nodiscard]] bool Advises(const std::string& lever) const { return Recommendation(lever).is_object(); }
  [[nodiscard]] json Recommendation(const std::string& lever) const { return In("recommendations", "id", lever); }
  [[nodiscard]] bool NamesALoader() const {
    return Names("loader_cpu_spare_cores") || Names("loader_cpu_no_cores") || Names("storage");
  }

 private:
  [[nodiscard]] json In(const char* list, const char* key, const std::string& value) const {
    for (const json& entry : live.at(list)) {
      if (entry.at(key) == value) return entry;
    }
    return nullptr;
  }
};

Diagnosed Diagnose(const LiveMachine& machine, const std::string& command) {
  Diagnosed run;
  const ProgramRun ended = machine.Run(
      "printf '[classify]\\nspin_seconds = \"2\"\\n' > idleburn.toml; timeout 100 $I run --price 3600 --format json "
      "-o $F/live --recording $F/kept.idleburn -- " +
      command +
      "; code=$?; $I audit --price 3600 --format json -o $F/replayed $F/kept.idleburn || exit 99; exit $code");
  run.machine.Stop();
  EXPECT_EQ(ended.code, 0) << ended.err;
  run.live = machine.Json("live");
  EXPECT_EQ(json::diff(run.live, machine.Json("replayed")), json::array());
  return run;
}

TEST(LiveDiagnosisTest, OneBusyWorkerOnTwoCoresWantsMoreWorkers) {
  const std::string cpus = TwoCpus();
  if (cpus.empty()) GTEST_SKIP() << "needs two CPUs";
  const LiveMachine machine("gpu 0\n", true);
  const Diagnosed run =
      Diagnose(machine, "taskset -c " + cpus + " $T starved 8 --workers 1 --batch-cpu 0.2 --kernel 0.05 --truth $F/t");
  if (run.machine.HasPressure() && run.machine.CpuSome() > 0.15) {
    GTEST_SKIP() << "other programs want the CPUs: some task waits " << 100 * run.machine.CpuSome() << " % of the time";
  }
  if (static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)) - run.machine.Busy() < 0.6) {
    GTEST_SKIP() << "other programs use the CPUs: " << run.machine.Busy() << " are busy";
  }
  ASSERT_TRUE(run.Names("loader_cpu_spare_cores")) << run.live["findings"];
  EXPECT_EQ(run.Finding("loader_cpu_spare_cores")["status"], "likely");
  EXPECT_TRUE(run.Advises("num_workers"));
  EXPECT_FALSE(run.Advises("dali"));
  EXPECT_FALSE(run.Advises("faster_storage"));
}

TEST(LiveDiagnosisTest, SixWorkersOnTwoCoresWantNoMoreWorkers) {
  const std::string cpus = TwoCpus();
  if (cpus.empty()) GTEST_SKIP() << "needs two CPUs";
  const LiveMachine machine("gpu 0\n", true);
  const Diagnosed run =
      Diagnose(machine, "taskset -c " + cpus + " $T starved 8 --workers 6 --batch-cpu 0.05 --kernel 0.01 --truth $F/t");
  ASSERT_TRUE(run.Names("loader_cpu_no_cores")) << run.live["findings"];
  EXPECT_FALSE(run.Names("loader_cpu_spare_cores"));
  EXPECT_FALSE(run.Advises("num_workers"));
  ASSERT_TRUE(run.Advises("dali"));
  EXPECT_GT(run.Recommendation("dali")["saving"]["expected"], 0);
  EXPECT_GT(run.live["savings"]["total_fraction"], 0);
  EXPECT_LE(run.live["savings"]["waste_fraction"], run.live["savings"]["cap"]);
}

// A file of incompressible bytes on a disk, 64 MiB.
std::string DataFile(const TempFolder& folder) {
  std::string block(1 << 20, '\0');
  std::uint64_t state = 88172645463325252U;
  const std::string path = folder.Write("data", "");
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < 64; ++i) {
    for (char& c : block) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      c = static_cast<char>(state);
    }
    out << block;
  }
  out.close();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  fsync(file);
  close(file);
  return path;
}

TEST(LiveDiagnosisTest, DirectReadersWaitForStorage) {
  const TempFolder folder;
  const std::string data = DataFile(folder);
  const int direct = open(data.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (direct < 0) GTEST_SKIP() << "this file system has no O_DIRECT";
  close(direct);
  const LiveMachine machine("gpu 0\n", true);
  const Diagnosed run = Diagnose(machine,
                                 "$T starved 8 --workers 2 --batch-cpu 0 --kernel 0.01 --read 134217728 "
                                 "--direct 1 --truth $F/t --data " +
                                     data);
  if (!run.machine.HasPressure()) GTEST_SKIP() << "needs /proc/pressure";
  if (run.machine.IoFull() < 0.15) {
    GTEST_SKIP() << "the disk is too fast, or others compute meanwhile: all tasks wait for it only "
                 << 100 * run.machine.IoFull() << " % of the time";
  }
  const json truth = machine.Json("t");
  if (truth["busy_s"].get<double>() > 0.6 * truth["seconds"].get<double>()) {
    GTEST_SKIP() << "the disk is fast enough to feed the GPU";
  }
  ASSERT_TRUE(run.Names("storage")) << run.live["findings"];
  EXPECT_TRUE(run.Advises("faster_storage"));
  EXPECT_FALSE(run.Advises("num_workers"));
}

TEST(LiveDiagnosisTest, ReadersOfThePageCacheDoNotWaitForStorage) {
  const TempFolder folder;
  const std::string data = DataFile(folder);
  const LiveMachine machine("gpu 0\n", true);
  const Diagnosed run = Diagnose(machine,
                                 "$T starved 6 --workers 1 --batch-cpu 0.05 --kernel 0.01 --read 134217728 "
                                 "--truth $F/t --data " +
                                     data);
  EXPECT_FALSE(run.Names("storage")) << run.live["findings"];
  EXPECT_FALSE(run.Advises("faster_storage"));
}

// One process that launches small kernels and has no workers: that it is its CPU's only user says nothing of a loader.
TEST(LiveDiagnosisTest, AProcessWithoutWorkersIsNoLoaderWithSpareCores) {
  const LiveMachine machine("gpu 0\n", true);
  const Diagnosed run = Diagnose(machine, "$T small-batch 5 --truth $F/t");
  EXPECT_FALSE(run.Names("loader_cpu_spare_cores")) << run.live["findings"];
  EXPECT_FALSE(run.Advises("num_workers"));
}

std::string TwoRanks(const std::string& seconds, const std::string& first, const std::string& second) {
  return "sh -c '$T in-step " + seconds + " --device 0 --truth $F/0 " + first + " & $T in-step " + seconds +
         " --device 1 --truth $F/1 " + second + " & wait'";
}

// Both at once: they mostly sleep.
TEST(LiveDiagnosisTest, WhatOneRankDoesWhileTheOtherSpinsNamesTheCause) {
  const LiveMachine writes("gpu 0\ngpu 1\n", true);
  const LiveMachine late("gpu 0\ngpu 1\n", true);
  const auto diagnose = [](const LiveMachine& machine, const std::string& command) {
    return std::async(std::launch::async, [&machine, command] { return Diagnose(machine, command); });
  };
  std::future<Diagnosed> writing =
      diagnose(writes, TwoRanks("25", "--data $F/saved --every 7 --stall 3.5", "--every 7 --stall 3.5"));
  std::future<Diagnosed> lagging = diagnose(late, TwoRanks("25", "--every 7 --stall 3.5", "--every 7 --stall 3.5"));
  const Diagnosed checkpoint = writing.get();
  ASSERT_TRUE(checkpoint.Names("checkpoint_stall")) << checkpoint.live["findings"];
  EXPECT_EQ(checkpoint.Finding("checkpoint_stall")["status"], "confirmed");
  EXPECT_TRUE(checkpoint.Advises("async_checkpoint"));
  EXPECT_FALSE(checkpoint.Names("straggler_or_dependency"));
  // Three or four stalls of 3.5 s on both GPUs; those at either end may be cut off.
  const double stalled = Seconds(checkpoint.Finding("checkpoint_stall")["gpu_hours"]);
  EXPECT_GE(stalled, 2 * 3 * 2.0);
  EXPECT_LE(stalled, 2 * 4 * 5.5);

  const Diagnosed straggler = lagging.get();
  ASSERT_TRUE(straggler.Names("straggler_or_dependency")) << straggler.live["findings"];
  EXPECT_TRUE(straggler.Advises("fix_straggler"));
  EXPECT_FALSE(straggler.Names("checkpoint_stall"));
  // Where others want the CPUs, these ranks wait for them too beside their stalls.
  if (straggler.machine.CpuSome() < 0.1) {
    EXPECT_FALSE(straggler.NamesALoader()) << straggler.live["findings"];
  }
}

// --- the machine -------------------------------------------------------------------------------------------------

TEST(SystemSnapshotTest, IsInTheReportAndInTheRecording) {
  const LiveMachine machine("gpu 0 pcie_width=8 vbios=96.00.61 nvlinks=18\ngpu 1\n");
  const ProgramRun run = machine.Run(
      "cd $F && $I run --full --price 3600 -o $F/text --recording kept.idleburn -- sh -c 'exec 3<" IDLEBURN_ROOT
      "/LICENSE; until grep -aqs system.data_m[o]unts kept.idleburn*; do sleep 0.2; n=x$n; "
      "[ ${#n} -lt 150 ] || exit 9; done'");
  ASSERT_EQ(run.code, 0) << run.err << "9: nobody looked at what the command has open for half a minute";
  const json report = machine.Audit("kept.idleburn");
  const json& system = report["system"];
  EXPECT_EQ(system["driver"], "580.95.05");
  EXPECT_EQ(system["cuda"], "13.0");
  EXPECT_EQ(system["gpu_topology"], "0-1 through one PCIe switch");
  EXPECT_EQ(system["cpu_threads"], sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(system["memory_bytes"], std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
  EXPECT_EQ(system["kernel"].get<std::string>() + "\n", ReadText("/proc/sys/kernel/osrelease"));
  EXPECT_TRUE(system["data_mounts"].is_string()) << system;
  EXPECT_EQ(system["gpus"][0]["vbios"], "96.00.61");
  EXPECT_EQ(system["gpus"][0]["pcie_width"], 8);
  EXPECT_EQ(system["gpus"][0]["pcie_most_width"], 16);
  EXPECT_EQ(system["gpus"][0]["nvlinks"], 18);
  EXPECT_EQ(system["gpus"][1]["pcie_width"], 16);

  int narrow = 0;
  for (const json& row : report["data_quality"]) {
    if (row["id"] != "narrow_link") continue;
    ++narrow;
    EXPECT_EQ(row["count"], 1);
    EXPECT_EQ(row["names"], json::array({"GPU 0 PCIe x8 of x16"}));
  }
  EXPECT_EQ(narrow, 1);
  const std::string text = ReadText(machine.Path("text"));
  EXPECT_NE(text.find("PCIe gen 5 x8 of gen 5 x16"), std::string::npos) << text;
  EXPECT_NE(text.find("GPU 0 PCIe x8 of x16"), std::string::npos) << text;
  const ProgramRun html = RunIdleburn("audit --format html --price 3600 " + machine.Path("kept.idleburn"));
  EXPECT_NE(html.out.find("PCIe gen 5 x8 of gen 5 x16"), std::string::npos);
  const ProgramRun markdown = RunIdleburn("audit --format markdown --price 3600 " + machine.Path("kept.idleburn"));
  EXPECT_NE(markdown.out.find("## Machine"), std::string::npos);
}

TEST(SystemSnapshotTest, ALogOfNvidiaSmiTellsItsGpusOnly) {
  const json report = AuditJsonOf("--price 3600 " IDLEBURN_ROOT "/examples/finetune_4xh100.csv.gz");
  EXPECT_EQ(report["system"]["cpu"], nullptr);
  EXPECT_EQ(report["system"]["cpu_reason"], "not_told");
  EXPECT_NE(report["system"]["gpus"][0]["name"].get<std::string>().find("H100"), std::string::npos);
  const ProgramRun text = RunIdleburn("audit --full --price 3600 " IDLEBURN_ROOT "/examples/finetune_4xh100.csv.gz");
  EXPECT_NE(text.out.find("No host data in these files"), std::string::npos);
}

}  // namespace
}  // namespace idleburn::testing
