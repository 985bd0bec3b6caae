// What the program says of nvidia-smi logs whose truth is known: whether GPUs work, wait or rest, and whom to stop.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/program.h"
#include "support/smi_log.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// What a GPU does for a while.
struct Spell {
  std::int64_t seconds = 0;
  int percent = 0;
  int watts = 0;
  int memory = 40'000;  // MiB
};

// A log of H100s, every `period` seconds, without a column of the limit: 700 W by the name.
std::string SmiLog(const std::vector<std::vector<Spell>>& gpus, std::int64_t period = 5) {
  std::string text = "timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB], power.draw [W]\n";
  std::int64_t seconds = 0;
  for (const Spell& s : gpus.front()) seconds += s.seconds;
  for (std::int64_t t = 0; t <= seconds; t += period) {
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      std::int64_t at = 0;
      const Spell* now = &gpus[g].front();
      for (const Spell& s : gpus[g]) {
        now = &s;
        at += s.seconds;
        if (t < at) break;
      }
      const std::string index = std::to_string(g);
      text += SmiStamp(t) + ", " + index + ", GPU-5f3a000" + index +
              "-4d1c-11ee-9a6b-a1b2c3d40000, NVIDIA H100 80GB HBM3, " + std::to_string(now->percent) + " %, " +
              std::to_string(now->memory) + " MiB, " + std::to_string(now->watts) + ".00 W\n";
    }
  }
  return text;
}

class ReadingClaims : public ::testing::Test {
 protected:
  std::string Write(const std::vector<std::vector<Spell>>& gpus) { return folder_.Write("gpu.csv", SmiLog(gpus)); }
  json Audit(const std::vector<std::vector<Spell>>& gpus, const std::string& flags = "") {
    return AuditJsonOf(Write(gpus) + " --price 4 " + flags);
  }
  static const json* Find(const json& list, const char* key, const std::string& id) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const json& e) { return e[key] == id; });
    return at == list.end() ? nullptr : &*at;
  }
  static std::string Stop(const json& audit) {
    const json* stop = Find(audit["recommendations"], "id", "stop_idle");
    return stop == nullptr ? "" : stop->dump();
  }

  TempFolder folder_;
};

TEST_F(ReadingClaims, WorkAtHighPowerIsHealthyWithoutKnowingWhatTheBoardIdlesAt) {
  const json audit = Audit({{{1200, 99, 620}}});
  EXPECT_EQ(audit["findings"][0]["cause"], "healthy");
  EXPECT_EQ(audit["spin_wait_gpu_hours"], 0.0);
  EXPECT_EQ(audit["spin_wait_unknown_gpu_hours"], 0.0);
  EXPECT_NE(RunIdleburn("audit " + Write({{{1200, 99, 620}}}) + " --price 4").out.find("; $0.01 (1.0 %) was waste;"),
            std::string::npos);
}

TEST_F(ReadingClaims, FullUseAtAQuarterOfThePowerCannotBeTold) {
  const json audit = Audit({{{1200, 100, 170}}});
  EXPECT_EQ(audit["findings"][0]["cause"], "unknown");
  EXPECT_NEAR(audit["busy_at_low_power_gpu_hours"].get<double>(), 1200.0 / 3600, 1e-9);
  EXPECT_NEAR(audit["spin_wait_unknown_gpu_hours"].get<double>(), 1200.0 / 3600, 1e-9);
  EXPECT_EQ(audit["spin_wait_lacks"], "no_long_idle");
  for (const char* lever : {"mixed_precision", "fp8", "larger_gpu"}) {
    EXPECT_EQ(Find(audit["recommendations"], "id", lever), nullptr) << lever;
  }
  const std::string text = RunIdleburn("audit " + Write({{{1200, 100, 170}}}) + " --price 4").out;
  EXPECT_EQ(text.find("did work"), std::string::npos) << text;
  EXPECT_EQ(text.find("nothing to fix"), std::string::npos) << text;
  EXPECT_NE(text.find("whether they work"), std::string::npos) << text;
  // Whoever says what the board idles at gets an answer.
  EXPECT_EQ(Audit({{{1200, 100, 170}}}, "--idle-power 80")["findings"][0]["cause"], "spin_wait");
}

// Seven GPUs wait for the first: there is nobody to stop, and no work to make faster.
TEST_F(ReadingClaims, GpusThatWaitForAStragglerAreOneJob) {
  std::vector<std::vector<Spell>> gpus(8, {{3600, 100, 150}});
  gpus[0] = {{3600, 0, 120}};
  const json audit = Audit(gpus);
  EXPECT_EQ(Stop(audit), "");
  const json* unclear = Find(audit["findings"], "cause", "unknown");
  ASSERT_NE(unclear, nullptr);
  EXPECT_NE(unclear->dump().find("GPU 0 is below 30 %"), std::string::npos) << *unclear;
  const json known = Audit(gpus, "--idle-power 100");
  EXPECT_EQ(Stop(known), "");
  EXPECT_NEAR(known["spin_wait_gpu_hours"].get<double>(), 7, 1e-9);
  EXPECT_EQ(Find(known["findings"], "cause", "healthy"), nullptr);
}

TEST_F(ReadingClaims, AStallIsNoIdlePower) {
  std::vector<Spell> spells;
  for (int i = 0; i < 30; ++i) spells.insert(spells.end(), {{40, 100, 400}, {20, 0, 280}});
  const json audit = Audit({spells});
  EXPECT_EQ(audit["spin_wait_lacks"], nullptr) << "at 400 of 700 W a GPU does not wait, whatever it idles at";
  EXPECT_EQ(audit["spin_wait_gpu_hours"], 0.0);
  EXPECT_NEAR(audit["gpu_hours"]["effective"].get<double>(), 1200.0 / 3600, 0.01);
}

TEST_F(ReadingClaims, ZeroAtNearlyFullPowerIsABrokenCounter) {
  const json audit = Audit({{{1200, 0, 650}, {600, 0, 90}}});
  EXPECT_NEAR(audit["unobserved"]["by_reason"]["invalid_counter"].get<double>(), 1200.0 / 3600, 1e-9);
  EXPECT_NEAR(audit["phases"]["idle"]["gpu_hours"].get<double>(), 600.0 / 3600, 1e-9);
  EXPECT_NE(Find(audit["data_quality"], "id", "invalid_utilization"), nullptr);
  EXPECT_EQ(Stop(audit), "");
}

TEST_F(ReadingClaims, StopsWhatWasIdleLongerThanSomebodyWaits) {
  const auto run = [&](std::int64_t minutes, const std::string& flags = "") {
    const json audit = Audit({{{3600, 95, 600}, {minutes * 60, 0, 90}}}, flags);
    const json* stop = Find(audit["recommendations"], "id", "stop_idle");
    return stop == nullptr ? 0.0 : (*stop)["saving"]["high"].get<double>() * static_cast<double>(60 + minutes);
  };
  EXPECT_EQ(run(14), 0);
  EXPECT_NEAR(run(16), 11, 1e-6);  // minutes
  EXPECT_NEAR(run(14, "--idle-after 10m --idle-grace 2m"), 12, 1e-6);
  EXPECT_EQ(run(16, "--idle-after 20m"), 0);
  EXPECT_NEAR(run(40, "--idle-grace 0s"), 40, 1e-6);
  const ProgramRun bad = RunIdleburn("audit " + Write({{{60, 0, 90}}}) + " --idle-after 30s");
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("--idle-after: give at least 1m"), std::string::npos) << bad.err;
}

// Two weeks, of which the picture over time has parts of twenty minutes: runs are known to the second all the same.
TEST_F(ReadingClaims, RunsOfALongLogAreExact) {
  std::vector<Spell> spells;
  for (int i = 0; i < 168; ++i) spells.insert(spells.end(), {{6000, 95, 600}, {1200, 0, 90}});
  const json audit = AuditJsonOf(folder_.Write("gpu.csv", SmiLog({spells}, 60)) + " --price 4");
  const json* stop = Find(audit["recommendations"], "id", "stop_idle");
  ASSERT_NE(stop, nullptr);
  EXPECT_NEAR((*stop)["saving"]["high"].get<double>(), 900.0 / 7200, 1e-6);
}

TEST_F(ReadingClaims, AFewPercentThroughoutIsNotNobody) {
  const json audit = Audit({{{3600, 3, 90, 20}}});
  EXPECT_EQ(audit["idle_empty_gpu_hours"], 0.0);
  EXPECT_EQ(audit["idle_held_gpu_hours"], 0.0);
  EXPECT_NEAR(audit["idle_unknown_gpu_hours"].get<double>(), 1, 1e-9);
  EXPECT_EQ(audit["findings"][0]["cause"], "idle");
  EXPECT_EQ(Stop(audit), "");
  const json empty = Audit({{{3600, 0, 90, 20}}});
  EXPECT_NEAR(empty["idle_empty_gpu_hours"].get<double>(), 1, 1e-9);
  EXPECT_EQ(empty["findings"][0]["status"], "likely") << "no list of processes was read";
}

TEST_F(ReadingClaims, NotebooksAreSaidWhereOneWasSeen) {
  const std::string log = Write({{{3600, 0, 90}}});
  const auto how = [&](const std::string& process) {
    std::string apps = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n";
    for (std::int64_t t = 0; t <= 3600; t += 60) {
      apps += SmiStamp(t) + ", GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000, 4711, " + process + ", 39000 MiB\n";
    }
    const json audit = AuditJsonOf(log + " " + folder_.Write("apps.csv", apps) + " --price 4");
    return (*Find(audit["recommendations"], "id", "stop_idle"))["how"].get<std::string>();
  };
  EXPECT_EQ(how("/opt/conda/bin/python").find("jupyter"), std::string::npos);
  EXPECT_NE(how("/opt/conda/bin/jupyter-lab").find("cull_idle_timeout=600"), std::string::npos);
}

// Culling of notebooks is advised where a notebook was seen to hold a GPU, and nowhere else.
TEST_F(ReadingClaims, OnlyANotebookThatWasSeenIsAdvisedToBeCulled) {
  const std::string gpu = Write({{{600, 95, 600}, {3000, 0, 100}}});
  const auto advice = [&](const std::string& process) {
    std::string apps = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n";
    for (std::int64_t t = 0; t <= 3600; t += 60) {
      apps += SmiStamp(t) + ", GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000, 4711, " + process + ", 30000 MiB\n";
    }
    const std::string files = gpu + (process.empty() ? "" : " " + folder_.Write("apps.csv", apps));
    return Stop(AuditJsonOf(files + " --price 4"));
  };
  for (const char* notebook : {"/opt/conda/bin/jupyter-lab", "python -m ipykernel_launcher"}) {
    EXPECT_NE(advice(notebook).find("cull_idle_timeout"), std::string::npos) << advice(notebook);
  }
  for (const char* other : {"", "python", "/usr/bin/python3"}) {
    EXPECT_NE(advice(other), "");
    EXPECT_EQ(advice(other).find("jupyter"), std::string::npos) << advice(other);
  }
}

// One of the witnesses that healthy needs is SM activity of at least a half, however few scrapes told it.
TEST_F(ReadingClaims, SmActivityOfAHalfIsTheLeastThatShowsWork) {
  const auto causes = [&](const std::string& activity, int scrapes) {
    const std::string labels = "{gpu=\"0\",modelName=\"NVIDIA H100 80GB HBM3\"} ";
    std::string text;
    for (int i = 0; i < scrapes; ++i) {
      const std::string stamp = " " + std::to_string(UnixSeconds(30 * i) * 1000) + "\n";
      text += "DCGM_FI_DEV_GPU_UTIL" + labels + "100" + stamp;
      text += "DCGM_FI_PROF_SM_ACTIVE" + labels + activity + stamp;
    }
    const json audit = AuditJsonOf(folder_.Write("sm.txt", text));
    return audit["findings"][0]["cause"].get<std::string>();
  };
  for (const int scrapes : {2, 60}) {
    EXPECT_EQ(causes("0.5", scrapes), "healthy") << scrapes;
    EXPECT_EQ(causes("0.499", scrapes), "unknown") << scrapes;
  }
}

// Two readings of a minute say nothing of an hour.
TEST_F(ReadingClaims, SmActivityOfAMomentSaysNothingOfTheHour) {
  const std::string labels = "{gpu=\"0\",modelName=\"NVIDIA H100 80GB HBM3\"} ";
  std::string text;
  for (int i = 0; i < 120; ++i) {
    const std::string stamp = " " + std::to_string(UnixSeconds(30 * i) * 1000) + "\n";
    text += "DCGM_FI_DEV_GPU_UTIL" + labels + "100" + stamp;
    if (i < 2) text += "DCGM_FI_PROF_SM_ACTIVE" + labels + "0.95" + stamp;
  }
  const json audit = AuditJsonOf(folder_.Write("sm.txt", text));
  ASSERT_EQ(audit["findings"].size(), 1U);
  EXPECT_EQ(audit["findings"][0]["cause"], "unknown");
  EXPECT_NE(audit["findings"][0]["evidence"].dump().find("busy s (half is needed)"), std::string::npos)
      << audit["findings"][0]["evidence"];
}

}  // namespace
}  // namespace idleburn::testing
