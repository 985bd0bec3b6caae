// What doctor says of drivers as they are and as they fail: each case is a driver's library with a script.
#include <gtest/gtest.h>

#include <future>
#include <map>

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
  told.run = RunShell("export XDG_DATA_HOME=$PWD/data; " + words + " timeout 60 " + IDLEBURN_PROGRAM +
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
       "nvmlInit_v2 does not return"},
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
       "/nowhere/libnvidia-ml.so.1",
       {{"nvml_library", "failure"}},
       "nvml_library",
       "IDLEBURN_NVML_LIBRARY"},
  };
}

// The exit code that the document's checks call for.
int CodeOf(const Told& told) {
  int code = 0;
  for (const auto& [id, check] : told.checks) {
    code = std::max(code, check.at("status") == "failure" ? 2 : check.at("status") == "warning" ? 1 : 0);
  }
  return code;
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
    EXPECT_EQ(told.run.code, CodeOf(told));
    EXPECT_EQ(told.run.err, "");
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
  EXPECT_NE(run.out.find("-> ", trouble), std::string::npos);
}

TEST(DoctorTest, AWrongFormatIsAWrongUse) {
  const ProgramRun run = RunIdleburn("doctor --format csv");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err, "idleburn: doctor: --format is text or json, not 'csv'\n");
}

}  // namespace
}  // namespace idleburn::testing
