// `idleburn run` from end to end: simulated training that knows its own truth, the stand-in for the driver, and what
// the program reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/money.h"
#include "os/input_file.h"
#include "places.h"
#include "support/live_command.h"
#include "support/live_log.h"
#include "support/read_inputs.h"
#include "support/recorded_log.h"
#include "telemetry/recording.h"
#include "telemetry/run_facts.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

struct ModeRow {
  const char* mode;
  const char* flags;   // of the simulated training
  const char* phase;   // in which it is throughout
  double power_share;  // of what lies between idle and the limit, while busy
};
constexpr ModeRow kModes[] = {
    {"starved", "--batch-cpu 0.12 --kernel 0.06 --data " IDLEBURN_ROOT "/LICENSE", "underutilized", 0.9},
    {"small-batch", "", "underutilized", 0.2},
    {"compute-bound", "", "compute_bound", 0.9},
    {"idle-held", "", "idle", 0},
    {"spin-wait", "", "compute_bound", 0.08},
};

struct ModeRun {
  LiveMachine machine{"gpu 0\n", true};
  std::future<ProgramRun> run;
  json truth;
  json live;
  json replayed;
  std::string err;

  // The run is longer than the training by so many seconds: programs start and end, the slower the busier this machine
  // is, and a reading more or less.
  [[nodiscard]] double Ends() const {
    return Seconds(live["gpu_hours"]["window"]) - truth["seconds"].get<double>() + 0.2;
  }
};

// All modes at once, each on a machine of its own.
class RunTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runs_ = new std::map<std::string, ModeRun>;
    for (const ModeRow& row : kModes) {
      const std::string name = row.mode;
      (*runs_)[name].run = (*runs_)[name].machine.Begin(
          "printf '[classify]\\nspin_seconds = \"2\"\\n' > idleburn.toml; timeout 100 $I run --price 3600 --format "
          "json "
          "-o $F/live --recording $F/kept.idleburn -- $T " +
          name + " 5 --truth $F/truth " + row.flags +
          "; code=$?; $I audit --price 3600 --format json -o $F/replayed $F/kept.idleburn || exit 99; exit $code");
    }
    for (auto& [name, mode] : *runs_) {
      const ProgramRun ended = mode.run.get();
      EXPECT_EQ(ended.code, 0) << name << ended.err;
      EXPECT_EQ(ended.out, "");
      mode.err = ended.err;
      mode.truth = mode.machine.Json("truth");
      mode.live = mode.machine.Json("live");
      mode.replayed = mode.machine.Json("replayed");
    }
  }
  static void TearDownTestSuite() {
    delete runs_;
    runs_ = nullptr;
  }
  static std::map<std::string, ModeRun>* runs_;
};
std::map<std::string, ModeRun>* RunTest::runs_ = nullptr;

TEST_F(RunTest, PhasesAreThoseOfTheTruth) {
  for (const ModeRow& row : kModes) {
    const ModeRun& run = (*runs_)[row.mode];
    const double seconds = run.truth.at("seconds");
    const double in_phase = run.truth["phases_s"][row.phase];  // nearly all of it, where the machine is not too busy
    const double measured = Seconds(run.live["phases"][row.phase]["gpu_hours"]);
    EXPECT_GE(measured, in_phase - 1) << row.mode;
    EXPECT_LE(measured, in_phase + 1 + run.Ends()) << row.mode;
    const double elsewhere = Seconds(run.live["gpu_hours"]["window"]) - measured;
    EXPECT_LE(elsewhere, seconds - in_phase + 1 + run.Ends()) << row.mode;
    EXPECT_LE(Seconds(run.live["gpu_hours"]["unobserved"]), 0.3 + run.Ends()) << row.mode;  // until the driver answers
  }
}

TEST_F(RunTest, BusyTimeAndEnergyAreThoseOfTheTruth) {
  for (const ModeRow& row : kModes) {
    const ModeRun& run = (*runs_)[row.mode];
    const double busy = run.truth["busy_s"];
    const double measured = Seconds(run.live["gpu_hours"]["effective"]);
    EXPECT_GE(measured, 0.98 * busy - 0.4) << row.mode;
    EXPECT_LE(measured, 1.02 * busy + 0.4 + run.Ends() * busy / run.truth["seconds"].get<double>()) << row.mode;
    const double joules = run.live["energy_kwh"].get<double>() * 3.6e6;
    const double idle_joules = 70 * run.truth["seconds"].get<double>();
    EXPECT_NEAR(joules, idle_joules + row.power_share * 630 * busy, 70 * (1 + run.Ends()) + row.power_share * 630 * 0.3)
        << row.mode;
  }
}

TEST_F(RunTest, CostAddsUpAndIsThatOfTheWindow) {
  for (const auto& [name, run] : *runs_) {
    const auto money = [](const json& text) { return Money::Parse(text.get<std::string>())->nano(); };
    std::int64_t sum = money(run.live["unobserved"]["cost_exact"]);
    for (const auto& phase : run.live["phases"]) sum += money(phase["cost_exact"]);
    const std::int64_t total = money(run.live["cost"]["total_exact"]);
    EXPECT_EQ(sum, total) << name;
    EXPECT_NEAR(static_cast<double>(total) / 1e9, Seconds(run.live["gpu_hours"]["window"]), 1e-6) << name;
  }
}

// The simulated training prints every tenth step.
TEST_F(RunTest, StepsAreReadFromProgressLines) {
  for (const ModeRow& row : kModes) {
    const ModeRun& run = (*runs_)[row.mode];
    const std::int64_t steps = run.truth["steps"].get<std::int64_t>() / 10 * 10;
    EXPECT_EQ(LinesWith(run.err, "step "), steps / 10) << row.mode;
    const json& cost = run.live["cost"];
    if (steps < 20) {
      EXPECT_EQ(cost["per_step"], nullptr) << row.mode;
      continue;
    }
    const std::int64_t total = Money::Parse(cost["total_exact"].get<std::string>())->nano();
    const std::int64_t each = Money::Parse(cost["per_step_exact"].get<std::string>())->nano();
    const std::int64_t off = std::abs(each * steps - total);  // rounded once, half to even
    EXPECT_LE(2 * off, steps) << row.mode << " " << steps;
    EXPECT_TRUE(2 * off < steps || each % 2 == 0) << row.mode << " " << steps;
  }
}

TEST_F(RunTest, SpinWaitIsNamedAndNothingElseIs) {
  for (const ModeRow& row : kModes) {
    const ModeRun& run = (*runs_)[row.mode];
    const bool spins = row.mode == std::string("spin-wait");
    bool named = false;
    for (const json& finding : run.live["findings"]) named = named || finding["cause"] == "spin_wait";
    EXPECT_EQ(named, spins) << row.mode << run.live["findings"];
    const double seconds = Seconds(run.live["spin_wait_gpu_hours"]);
    const double bound = run.truth["phases_s"]["compute_bound"];
    EXPECT_GE(seconds, spins ? bound - 2 : 0);
    EXPECT_LE(seconds, spins ? bound + 1 + run.Ends() : 0);
  }
}

TEST_F(RunTest, HeldMemoryIsSeen) {
  const ModeRun& run = (*runs_)["idle-held"];
  EXPECT_GE(Seconds(run.live["idle_held_gpu_hours"]), 0.5);
  EXPECT_LE(Seconds(run.live["idle_empty_gpu_hours"]), 1 + run.Ends());  // memory is read once a second
}

TEST_F(RunTest, TheAuditOfTheRecordingIsTheLiveAudit) {
  for (auto& [name, run] : *runs_) {
    EXPECT_EQ(json::diff(run.live, run.replayed), json::array()) << name;
  }
}

// Ranks of one job on two GPUs, numbered anew by CUDA_VISIBLE_DEVICES. The third is measured and is not part of the
// job. CUDA counts in the order of the PCI bus, which is not the driver's order here: CUDA's 2 is GPU 0. At one money
// unit a second a GPU's cost in billionths is its nanoseconds.
TEST(RunWindowTest, EveryGpuLastsAsLongAsTheCommandHoweverSeldomItIsRead) {
  const std::string gauges = "gpu 0 samples=0 window=1s\ngpu 1 samples=0 window=1s\nat 0s gpu 0 util=60 power=100\n";
  const struct {
    std::string gpus;
    std::string words;
  } cases[] = {
      {gauges, "--hz 1 -- sleep 2.7"},
      {gauges, "--hz 1 -- sleep 0.6"},
      {"gpu 0\ngpu 1\n", "-- sleep 0.25"},
      {"gpu 0\ngpu 1\n", "-- true"},
      {"gpu 0\ngpu 1\nat 1s gpu 1 lost=1\n", "-- sleep 2.3"},
  };
  for (const auto& c : cases) {
    const LiveMachine machine(c.gpus);
    const ProgramRun run =
        machine.Run("$I run --price 3600 --format json -o $F/live --recording $F/kept.idleburn " + c.words);
    const RecordedLog kept(machine.Path("kept.idleburn"));
    const auto at = [&](const char* fact) { return std::stoll(kept.log.Fact(fact).value_or("0")); };
    const std::int64_t lasted = at(RunWindow::kEndFact) - at(RunWindow::kStartFact);
    for (const json& audit : {machine.Json("live"), machine.Audit("kept.idleburn")}) {
      ASSERT_EQ(audit["per_gpu"].size(), 2U) << c.words << run.err;
      EXPECT_EQ(Money::Parse(audit["cost"]["total_exact"].get<std::string>())->nano(), 2 * lasted) << c.words;
    }
    EXPECT_EQ(machine.Audit("kept.idleburn")["per_gpu"], machine.Json("live")["per_gpu"]) << c.words;
  }
}

TEST(RunRanksTest, EachGpuIsThatOfItsRankAndTheHiddenOneIsLeftOut) {
  const LiveMachine machine("gpu 0 bus=00000000:90:00.0\ngpu 1 bus=00000000:50:00.0\ngpu 2 bus=00000000:10:00.0\n",
                            true);
  const std::string ranks =
      "'LOCAL_RANK=0 $T compute-bound 4 --device 0 --truth $F/0 & LOCAL_RANK=1 $T idle-held 4 --device 1 "
      "--truth $F/1 & wait'";
  const ProgramRun run = machine.Run(
      "CUDA_VISIBLE_DEVICES=2,1 $I run --price 3600 --format json -o $F/live --recording $F/kept.idleburn "
      "-- sh -c " +
      ranks);
  ASSERT_EQ(run.code, 0) << run.err;
  const json live = machine.Json("live");
  const json replayed = machine.Audit("kept.idleburn");
  EXPECT_EQ(replayed["per_gpu"], live["per_gpu"]);
  EXPECT_EQ(replayed["cost"], live["cost"]);
  EXPECT_EQ(live["per_gpu"].size(), 2U);
  EXPECT_NEAR(Seconds(live["gpu_hours"]["window"]), 2 * Seconds(live["per_gpu"][0]["gpu_hours"]["window"]), 1e-6);
  const json& quality = live["data_quality"];
  const auto left_out =
      std::find_if(quality.begin(), quality.end(), [](auto& q) { return q["id"] == "gpus_left_out"; });
  ASSERT_NE(left_out, quality.end()) << quality;
  EXPECT_EQ((*left_out)["names"], json::array({"GPU 2 hidden by CUDA_VISIBLE_DEVICES=2,1"}));
  const json gpus = machine.Audit("kept.idleburn", "--all-gpus --price 3600")["per_gpu"];
  ASSERT_EQ(gpus.size(), 3U);
  const double busy = machine.Json("0")["busy_s"];
  for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(gpus[i]["index"], i);
  const double ends = Seconds(gpus[0]["gpu_hours"]["window"]) - machine.Json("0")["seconds"].get<double>();
  EXPECT_GE(Seconds(gpus[0]["gpu_hours"]["effective"]), 0.98 * busy - 0.4);
  EXPECT_LE(Seconds(gpus[0]["gpu_hours"]["effective"]), 1.02 * busy + 0.6 + ends);
  EXPECT_GE(Seconds(gpus[1]["idle_held_gpu_hours"]), 3);
  EXPECT_EQ(gpus[1]["gpu_hours"]["effective"], 0);
  EXPECT_GE(Seconds(gpus[2]["idle_empty_gpu_hours"]), 3);
}

// Everything a recording tells in words.
std::string WordsOf(const LiveLog& log) {
  std::string words;
  for (const RunFact& fact : log.facts) words += fact.key + "=" + fact.value + "\n";
  for (const Note& note : log.notes) words += note.text + "\n";
  return words;
}

TEST(RunFactsTest, OnlyAllowedVariablesAreKeptAndNoSecrets) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run(
      "cd $F && SLURM_JOB_ID=4711 WANDB_RUN_ID=brave-sun WANDB_API_KEY=hush-hush MY_PASSWORD=hush-hush "
      "$I run --recording kept.idleburn -- sh -c 'sleep 0.5; exit 3' x --hf-token hush-hush "
      "https://me:hush-hush@host/ --key=hush-hush 'A_PASSWORD=hush-hush x'");
  EXPECT_EQ(run.code, 3);
  const auto source = OpenInput(machine.Path("kept.idleburn"));
  ASSERT_TRUE(source);
  DeviceTable devices;
  DataQuality quality;
  LiveLog log;
  const auto summary = ReadRecording(**source, devices, quality, log);
  ASSERT_TRUE(summary);
  EXPECT_TRUE(summary->closed);
  EXPECT_EQ(log.Fact("env.SLURM_JOB_ID"), "4711");
  EXPECT_EQ(log.Fact("env.WANDB_RUN_ID"), "brave-sun");
  EXPECT_EQ(log.Fact("command"),
            "sh -c 'sleep 0.5; exit 3' x --hf-token [redacted] https://me:[redacted]@host/ --key=[redacted] "
            "A_PASSWORD=[redacted]");
  EXPECT_EQ(log.Fact("cwd"), std::filesystem::canonical(machine.Path(".")).string());
  EXPECT_EQ(log.Fact("exit"), "exit 3");
  EXPECT_NE(log.Fact("host").value_or(""), "");
  EXPECT_EQ(WordsOf(log).find("hush"), std::string::npos);
  EXPECT_EQ(ReadText(machine.Path("kept.idleburn")).find("hush"), std::string::npos);
  EXPECT_EQ(log.Notes(NoteKind::kWorkloadEnded), std::vector<std::string>{"exit 3"});
}

// Work told by words of the shell, as cost per unit; both live and from the recording.
json CostOfWork(const std::string& flags, const std::string& command) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" IDLEBURN_ROOT
                                     "/python $I run --price 3600 --format json -o $F/live --recording "
                                     "$F/kept.idleburn " +
                                     flags + " -- " + command);
  EXPECT_EQ(run.code, 0) << run.err;
  json cost = machine.Json("live")["cost"];
  if (flags.empty()) {
    EXPECT_EQ(machine.Audit("kept.idleburn")["cost"], cost);
  }
  return cost;
}

void ExpectDone(const json& cost, const std::string& unit, double count) {
  ASSERT_TRUE(cost["per_unit"].contains(unit)) << cost["per_unit"];
  const double total = std::stod(cost["total_exact"].get<std::string>());
  EXPECT_NEAR(total / std::stod(cost["per_unit"][unit].get<std::string>()), count, count * 1e-6);
}

TEST(RunWorkTest, MarkersOfPythonWinOverLines) {
  const json cost = CostOfWork("",
                               "python3 -c 'import idleburn, time\n"
                               "for i in range(40): print(\"step\", 10 * i); idleburn.step(samples=8); "
                               "time.sleep(0.03)'");
  ExpectDone(cost, "step", 40);
  ExpectDone(cost, "sample", 320);
}

// What lines said before the first marker is forgotten, whichever rank writes it.
TEST(RunWorkTest, LinesBeforeTheMarkersOfAnotherRankDoNotCount) {
  const json cost = CostOfWork("",
                               "sh -c 'for i in 100 200 300; do echo step $i consumed samples: ${i}0 done; done; "
                               "sleep 1; RANK=1 python3 -c \"import idleburn, time; "
                               "[idleburn.step(samples=5) for i in range(7)]; time.sleep(0.5)\"'");
  ExpectDone(cost, "step", 7);
  ExpectDone(cost, "sample", 35);
}

TEST(RunWorkTest, ALastLineWithoutAnEndCounts) {
  ExpectDone(CostOfWork("", "sh -c 'printf \"step 10\\nstep 20\\n\"; sleep 0.5; printf \"step 30 loss 1\"'"), "step",
             30);
}

TEST(RunWorkTest, PlainReadsNoLinesAndWhatIsStatedWins) {
  const std::string lines = "sh -c 'sleep 0.5; seq -f \"step %g\" 10 10 500'";
  ExpectDone(CostOfWork("", lines), "step", 500);
  EXPECT_EQ(CostOfWork("--plain", lines)["per_step"], nullptr);
  ExpectDone(CostOfWork("--work steps=123", lines), "step", 123);
}

}  // namespace
}  // namespace idleburn::testing
