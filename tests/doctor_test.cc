// What doctor says of drivers as they are and as they fail: each case is a driver's library with a script.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <map>

#include "places.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

struct Told {
  ProgramRun run;
  nlohmann::json document;
  std::map<std::string, nlohmann::json> checks;  // by id

  [[nodiscard]] std::string Status(const std::string& id) const { return checks.at(id).at("status"); }
  [[nodiscard]] std::string Evidence(const std::string& id) const { return checks.at(id).at("evidence"); }
};

Told Ask(const std::string& words) {
  Told told;
  told.run = RunShell("export XDG_DATA_HOME=$PWD/data; " + words + " timeout 120 " + IDLEBURN_PROGRAM +
                      " doctor --format json --price 2");
  told.document = nlohmann::json::parse(told.run.out, nullptr, false);
  if (!told.document.is_object()) return told;
  for (const nlohmann::json& check : told.document.at("checks")) told.checks[check.at("id")] = check;
  return told;
}

Told AskDriver(const std::string& script, const std::string& library = IDLEBURN_STANDIN) {
  const TempFolder folder;
  return Ask("IDLEBURN_NVML_LIBRARY=" + library + " IDLEBURN_STANDIN_SCRIPT=" + folder.Write("script", script));
}

struct DriverCase {
  std::string name;
  std::string script;
  std::string library;
  std::map<std::string, std::string> statuses;  // of some checks
  std::string id;                               // a check whose evidence holds ...
  std::string evidence;
  std::string on_the_way = {};  // said on standard error while it is waited for
};

const std::string kMig =
    "gpu 0\nmig 0 gi=7 profile=1g.10gb slices=1 memory=10GiB\nmig 0 gi=2 profile=3g.40gb slices=3 memory=40GiB\n";

std::vector<DriverCase> DriversThatWork() {
  const std::string now = IDLEBURN_STANDIN;
  return {
      {"healthy",
       "gpu 0\nat 0s gpu 0 util=85 sm=60 power=400 procs=11:1GiB,12:1GiB\n",
       now,
       {{"nvml_version", "ok"},
        {"utilization", "ok"},
        {"utilization_ring", "ok"},
        {"utilization_window", "ok"},
        {"gpm_sm_active", "ok"},
        {"power", "ok"},
        {"energy_counter", "ok"},
        {"event_reason_fields", "ok"},
        {"process_list", "ok"},
        {"ecc_xid", "ok"},
        {"price_catalogue", "ok"},
        {"price", "ok"},
        {"recording_folder", "ok"}},
       "utilization",
       "nvml.utilization.gpu (GPU 0: 85 %), 1 of 1"},
      {"window", "gpu 0 window=100ms\n", now, {{"utilization_window", "ok"}}, "utilization_window", "every 100 ms"},
      {"slowdown fields", "gpu 0\n", now, {}, "event_reason_fields", "fields GPU 0 269-271"},
      {"old",
       "gpu 0\n",
       IDLEBURN_STANDIN_OLD,
       {{"utilization", "ok"}, {"power", "ok"}, {"gpm_sm_active", "warning"}, {"pcie", "warning"}},
       "nvml_library",
       "nvmlGpmQueryDeviceSupport"},
      {"no gpm",
       "gpu 0 gpm=0\ngpu 1\n",
       now,
       {{"gpm_sm_active", "warning"}, {"utilization", "ok"}},
       "gpm_sm_active",
       "not GPU 0: not reported"},
      {"not supported",
       "gpu 0\nfail nvmlDeviceGetTotalEnergyConsumption 3\nfail nvmlDeviceGetSamples 3\n",
       now,
       {{"energy_counter", "warning"}, {"utilization_ring", "warning"}, {"utilization", "ok"}},
       "energy_counter",
       "GPU 0: unsupported"},
      {"dry ring",
       "gpu 0\nfail nvmlDeviceGetSamples 6\n",
       now,
       {{"utilization_ring", "warning"}, {"utilization", "ok"}},
       "utilization_ring",
       "nvmlDeviceGetSamples gives none, or only at times"},
      {"no permission",
       "gpu 0\nfail nvmlDeviceGetCurrentClocksEventReasons 4\n",
       now,
       {{"event_reason_fields", "warning"}},
       "event_reason_fields",
       "permission"},
  };
}

std::vector<DriverCase> DriversThatFail() {
  const std::string now = IDLEBURN_STANDIN;
  return {
      {"hang",
       "gpu 0\nhang nvmlInit_v2\n",
       now,
       {{"nvml_version", "failure"}, {"gpu_count", "warning"}, {"utilization", "skipped"}},
       "nvml_version",
       "the NVIDIA driver has not answered nvmlInit_v2 in 6",
       "the NVIDIA driver has not answered nvmlInit_v2 in 1"},
      {"loads first",
       "gpu 0\nhang nvmlInit_v2 for=14s\n",
       now,
       {{"nvml_version", "ok"}, {"gpu_count", "ok"}, {"power", "ok"}},
       "nvml_version",
       "driver 580.95.05",
       "the NVIDIA driver has not answered nvmlInit_v2 in 1"},
      {"hang later",
       "gpu 0\nhang nvmlDeviceGetClockInfo from=1s\n",
       now,
       {{"nvml_version", "failure"}, {"utilization_ring", "skipped"}},
       "nvml_version",
       "did not return"},
      {"mismatch", "gpu 0\nfail nvmlInit_v2 18\n", now, {{"nvml_version", "failure"}}, "nvml_version", "NVML says 18"},
      {"no driver",
       "gpu 0\nfail nvmlInit_v2 9\n",
       now,
       {{"nvml_version", "warning"}, {"power", "skipped"}},
       "nvml_version",
       "NVML says 9"},
      {"lost", "gpu 0\nat 1s gpu 0 lost=1\n", now, {{"gpu_count", "failure"}}, "gpu_count", "NVML says 15"},
      {"mig",
       kMig,
       now,
       {{"utilization", "ok"}, {"utilization_ring", "skipped"}, {"power", "ok"}},
       "mig",
       "GPU 0 MIG 3g.40gb #2"},
      {"no library", "", "", {{"nvml_library", "warning"}, {"gpu_count", "warning"}}, "gpu_count", "none"},
      {"wrong library",
       "",
       "/proc/nowhere/libnvidia-ml.so.1",
       {{"nvml_library", "failure"}},
       "nvml_library",
       "IDLEBURN_NVML_LIBRARY"},
  };
}

// Whether a check of the document has this status.
bool Has(const Told& told, const std::string& status) {
  return std::any_of(told.checks.begin(), told.checks.end(),
                     [&](const auto& check) { return check.second.at("status") == status; });
}

TEST(DoctorTest, SaysWhatEachDriverGivesAndWhatNot) {
  std::vector<DriverCase> cases = DriversThatWork();
  for (const DriverCase& c : DriversThatFail()) cases.push_back(c);
  std::vector<std::future<Told>> asked;
  for (const DriverCase& c : cases) {
    asked.push_back(std::async(std::launch::async, [&c] { return AskDriver(c.script, c.library); }));
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Told told = asked[i].get();
    SCOPED_TRACE(cases[i].name + "\n" + told.run.out + told.run.err);
    ASSERT_TRUE(told.document.is_object());
    EXPECT_EQ(told.document.at("schema"), "idleburn.doctor/1");
    EXPECT_EQ(told.run.code, Has(told, "failure") ? 2 : 0);
    EXPECT_EQ(std::count(told.run.err.begin(), told.run.err.end(), '\n'), cases[i].on_the_way.empty() ? 0 : 1);
    EXPECT_NE(told.run.err.find(cases[i].on_the_way), std::string::npos);
    for (const auto& [id, status] : cases[i].statuses) {
      EXPECT_EQ(told.Status(id), status) << id;
    }
    EXPECT_NE(told.Evidence(cases[i].id).find(cases[i].evidence), std::string::npos) << told.Evidence(cases[i].id);
    for (const auto& [id, check] : told.checks) {
      const std::string status = check.at("status");
      EXPECT_FALSE(check.at("evidence").get<std::string>().empty()) << id;
      EXPECT_TRUE(check.at("fix").is_string() || status == "ok" || status == "skipped") << id << " says no fix";
    }
  }
}

TEST(DoctorTest, WarningsAloneExitWith0) {
  const Told told = AskDriver("gpu 0\nfail nvmlDeviceGetTotalEnergyConsumption 3\n");
  ASSERT_TRUE(Has(told, "warning")) << told.run.out;
  ASSERT_FALSE(Has(told, "failure")) << told.run.out;
  EXPECT_EQ(told.run.code, 0);
}

TEST(DoctorTest, ARecordingFolderThatCannotBeMadeIsAFailure) {
  const Told told = Ask("touch file; XDG_DATA_HOME=$PWD/file IDLEBURN_NVML_LIBRARY=" + std::string(IDLEBURN_STANDIN));
  EXPECT_EQ(told.run.code, 2);
  EXPECT_EQ(told.Status("recording_folder"), "failure");
  EXPECT_NE(told.Evidence("recording_folder").find("Not a directory"), std::string::npos);
}

TEST(DoctorTest, ForPeopleTheVerdictComesFirstAndEachTroubleHasItsFix) {
  const TempFolder folder;
  const ProgramRun run =
      RunShell("IDLEBURN_NVML_LIBRARY=" + std::string(IDLEBURN_STANDIN) + " IDLEBURN_STANDIN_SCRIPT=" +
               folder.Write("script", "gpu 0\nfail nvmlDeviceGetTotalEnergyConsumption 3\n") + " " + IDLEBURN_PROGRAM +
               " doctor --price 2");
  EXPECT_NE(run.out.find(" can be measured, "), std::string::npos);
  EXPECT_LT(run.out.find(" can be measured, "), run.out.find('\n'));
  const std::size_t trouble = run.out.find("warning energy_counter");
  ASSERT_NE(trouble, std::string::npos) << run.out;
  EXPECT_NE(run.out.find("energy_counter: ", trouble), std::string::npos) << run.out;
}

TEST(DoctorTest, AWrongFormatIsAWrongUse) {
  const ProgramRun run = RunIdleburn("doctor --format csv");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err, "idleburn: doctor: --format is text, json, html or markdown, not 'csv'\n");
}

std::string Of(const Told& told, const std::string& id, const std::string& cache) {
  for (const nlohmann::json& read : told.document.at("data").at("reads")) {
    if (read.at("id") == id && read.at("cache") == cache) return read.dump();
  }
  return {};
}

Told AskData(const std::string& before, const std::string& flags) {
  Told told;
  told.run = RunShell("export XDG_DATA_HOME=$PWD/data IDLEBURN_NVML_LIBRARY=/proc/no/such/library; " + before +
                      "timeout 60 " IDLEBURN_PROGRAM " doctor --format json --price 2 " + flags);
  told.document = nlohmann::json::parse(told.run.out, nullptr, false);
  if (!told.document.is_object()) return told;
  for (const nlohmann::json& check : told.document.at("checks")) told.checks[check.at("id")] = check;
  return told;
}

TEST(DoctorDataTest, ReadsFilesOnADiskColdAndWarmAndSaysWhatARunRead) {
  const Told told =
      AskData("mkdir set && for i in 1 2 3 4; do head -c 4194304 /dev/urandom > set/$i; done && sync set/* && " +
                  std::string(IDLEBURN_PROGRAM) +
                  " run --recording r.idleburn -- sh -c 'cat set/* > /dev/null; sleep 2.5' 2>/dev/null; ",
              "--data set --data-bytes 8MiB --run r.idleburn");
  ASSERT_TRUE(told.document.is_object()) << told.run.err;
  if (told.Status("data_speed") == "warning") GTEST_SKIP() << told.Evidence("data_speed");
  EXPECT_EQ(told.Status("data_files"), "ok");
  EXPECT_NE(told.Evidence("data_files").find("4 files, 16.8 MB in all, median 4.19 MB"), std::string::npos);
  const nlohmann::json& data = told.document.at("data");
  std::int64_t bytes = 0;
  for (const nlohmann::json& read : data.at("reads")) {
    EXPECT_TRUE(read.at("unknown").is_null()) << read;
    EXPECT_GT(read.at("bytes_per_second"), 0) << read;
    EXPECT_GE(read.at("p99_s"), read.at("p50_s")) << read;
    if (read.at("cache") == "cold") bytes += read.at("bytes").get<std::int64_t>();
  }
  EXPECT_LE(bytes, 8 << 20);
  EXPECT_GT(bytes, 1 << 20);
  EXPECT_NE(told.Evidence("data_run").find("MB/s"), std::string::npos);
  EXPECT_EQ(data.at("run").at("scope"), "workload");
}

TEST(DoctorDataTest, MemoryIsNeverCold) {
  const Told told = AskData(
      "d=$(mktemp -d /dev/shm/idleburn-test-XXXXXX) && head -c 4194304 /dev/zero > $d/x && "
      "trap 'rm -r $d' EXIT; ",
      "--data $d");
  if (!told.document.is_object()) GTEST_SKIP() << "/dev/shm cannot be written: " << told.run.err;
  EXPECT_EQ(told.Status("data_speed"), "warning");
  EXPECT_NE(told.Evidence("data_speed").find("cold unknown"), std::string::npos);
  for (const char* id : {"sequential_1m", "random_128k", "random_4k"}) {
    EXPECT_NE(Of(told, id, "cold").find("\"bytes_per_second\":null"), std::string::npos) << Of(told, id, "cold");
    EXPECT_EQ(Of(told, id, "warm").find("\"bytes_per_second\":null"), std::string::npos) << Of(told, id, "warm");
  }
}

TEST(DoctorDataTest, WhatCannotBeReadIsAFailureWithAReason) {
  struct Case {
    std::string before;
    std::string flags;
    std::string id;
    std::string evidence;
  };
  const std::vector<Case> cases = {
      {"", "--data /proc/no/such/set", "data_files", "/proc/no/such/set: No such file"},
      {"mkdir set; ", "--data set", "data_files", "set: holds no file"},
      {"mkdir set; ln -s /etc/passwd set/link; mkfifo set/pipe; ", "--data set", "data_files", "holds no file"},
      {"echo x > set; echo no recording > r; ", "--data set --run r", "data_run", "r: "},
  };
  for (const Case& c : cases) {
    const Told told = AskData(c.before, c.flags);
    ASSERT_TRUE(told.document.is_object()) << c.flags << told.run.err;
    EXPECT_EQ(told.run.code, 2) << c.flags;
    EXPECT_EQ(told.Status(c.id), "failure") << c.flags;
    EXPECT_NE(told.Evidence(c.id).find(c.evidence), std::string::npos) << told.Evidence(c.id);
  }
}

TEST(DoctorDataTest, FilesThatMayNotBeOpenedAreCountedNotPassedOver) {
  const ProgramRun run = RunShell(
      "export XDG_DATA_HOME=$PWD/data IDLEBURN_NVML_LIBRARY=/proc/no/such; d=$(mktemp -d); trap 'rm -r $d' "
      "EXIT; "
      "for i in 1 2 3 4; do echo some text > $d/$i; done; chmod 755 $d; chmod 600 $d/2; "
      "command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups cp " IDLEBURN_PROGRAM
      " /dev/null 2>/dev/null && setpriv --reuid=65534 --clear-groups timeout 60 " IDLEBURN_PROGRAM
      " doctor --format json --data $d");
  const nlohmann::json document = nlohmann::json::parse(run.out, nullptr, false);
  if (!document.is_object()) GTEST_SKIP() << "cannot become another user here: " << run.err;
  EXPECT_EQ(document.at("data").at("files"), 4);
  EXPECT_EQ(document.at("data").at("unreadable"), 1);
  EXPECT_EQ(document.at("data").at("reads")[0].at("bytes_per_second"), nullptr);  // nor may it know what is cached
}

TEST(DoctorDataTest, WrongFlagsAreAWrongUse) {
  for (const auto& [flags, said] : std::map<std::string, std::string>{
           {"--data-bytes 1GiB", "need --data PATH"},
           {"--data . --data-bytes much", "--data-bytes: 'much' is not a number of bytes"},
           {"--data . --data-threads 0", "--data-threads: '0' is not a number from 1 to 256"}}) {
    const ProgramRun run = RunIdleburn("doctor " + flags);
    EXPECT_EQ(run.code, 2) << flags;
    EXPECT_NE(run.err.find(said), std::string::npos) << run.err;
  }
}

TEST(DoctorAgentTest, IsSkippedUnlessAsked) {
  const Told told = AskDriver("gpu 0\n");
  for (const char* id : {"agent_owners", "agent_processes", "agent_state", "agent_address"}) {
    EXPECT_EQ(told.Status(id), "skipped") << id;
    EXPECT_NE(told.Evidence(id).find("idleburn doctor --agent"), std::string::npos);
  }
}

TEST(DoctorAgentTest, SaysWhatTheAgentLacksOnThisNode) {
  // A scheduler that answers something else than its document, and a state folder that cannot be made.
  const Told told = AskData(
      "mkdir bin; touch file slurm.conf; for tool in squeue scontrol; do printf '#!/bin/sh\\necho hello\\n' > "
      "bin/$tool; "
      "chmod +x bin/$tool; done; export SLURM_CONF=$PWD/slurm.conf PATH=$PWD/bin:$PATH "
      "STATE_DIRECTORY=$PWD/file/state; ",
      "--agent");
  ASSERT_TRUE(told.document.is_object()) << told.run.err;
  EXPECT_EQ(told.run.code, 2);
  EXPECT_EQ(told.Status("agent_owners"), "warning");
  EXPECT_NE(told.Evidence("agent_owners").find("slurm"), std::string::npos) << told.Evidence("agent_owners");
  EXPECT_EQ(told.Status("agent_state"), "failure");
  EXPECT_NE(told.Evidence("agent_state").find("Not a directory"), std::string::npos) << told.Evidence("agent_state");
}

TEST(DoctorAgentTest, SeesAnAgentThatServesAlready) {
  const std::string agent = std::string(IDLEBURN_PROGRAM) + " agent --for 20s --state-dir $PWD/one";
  const Told told = AskData(agent +
                                " 2>agent.log & agent=$!; for i in $(seq 100); do grep -q serving agent.log && "
                                "break; sleep 0.1; done; trap 'kill $agent; wait $agent' EXIT; ",
                            "--agent");
  ASSERT_TRUE(told.document.is_object()) << told.run.err;
  EXPECT_EQ(told.Status("agent_state"), "ok") << told.Evidence("agent_state");
  EXPECT_EQ(told.Status("agent_address"), "warning");
  EXPECT_NE(told.Evidence("agent_address").find("127.0.0.1:9835"), std::string::npos);
}

}  // namespace
}  // namespace idleburn::testing
