// `idleburn plan --probe`, --launch and --errors with real processes and the stand-in for the driver.
#include <gtest/gtest.h>

#include <filesystem>

#include "places.h"
#include "support/live_command.h"
#include "support/read_inputs.h"
#include "support/sqlite_file.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// One GPU that holds 17 GiB from the start, whoever asks.
constexpr const char* kGpu = "gpu 0 name=NVIDIA-GeForce-RTX-4090 memory=24564MiB\nat 0 gpu 0 memory=17GiB util=90\n";
const std::string kModel = "--model llama-2-7b --method lora --seq-len 1024 --accumulation 1 ";
// Steps of 20 ms for each sequence of the pass and 20 ms more; ten of them are a tenth of the samples below.
const std::string kTrain =
    "sh -c 'i=0; while [ $i -lt \"$2\" ]; do sleep $(awk \"BEGIN{print 0.02 + 0.02 * $1}\"); i=$((i+1)); echo step "
    "$i; done' train ";

json Document(const ProgramRun& run) {
  json document = json::parse(run.out, nullptr, false);
  EXPECT_TRUE(document.is_object()) << run.out << run.err;
  return document;
}

double Figure(const json& plan, const std::string& quantity, const std::string& key) {
  for (const json& figure : plan.at("forecast").at("figures")) {
    if (figure.at("quantity") == quantity) return figure.at(key).is_null() ? -1 : figure.at(key).get<double>();
  }
  ADD_FAILURE() << "no " << quantity;
  return -1;
}

TEST(PlanProbeTest, SpeedAndMemoryOfTwoProbesAreThePlan) {
  const LiveMachine machine(kGpu);
  const ProgramRun run = machine.Run(
      "$I plan " + kModel + "--micro-batch 4 --samples 1000 --format json --probe --steps 8 --skip-steps 2 -- " +
      kTrain + "'{micro_batch}' 10000");
  ASSERT_EQ(run.code, 0) << run.err;
  const json plan = Document(run);
  EXPECT_EQ(plan.at("throughput").at("basis"), "probe");
  EXPECT_EQ(plan.at("memory").at("basis"), "probe");
  EXPECT_EQ(plan.at("memory").at("bytes"), 17.0 * 1024 * 1024 * 1024);
  const json& probes = plan.at("evidence").at("runs");
  ASSERT_EQ(probes.size(), 2U);
  EXPECT_EQ(probes[0].at("micro_batch"), 4);
  EXPECT_EQ(probes[1].at("micro_batch"), 2);
  for (const json& probe : probes) {
    EXPECT_GE(probe.at("steps").get<int>(), 8);
    const double batch = probe.at("micro_batch");
    EXPECT_NEAR(probe.at("tokens_per_s_per_gpu").get<double>() * probe.at("step_s").get<double>(), batch * 1024, 1e-6);
    EXPECT_GT(probe.at("step_s").get<double>(), 0.02 + 0.02 * batch);  // it slept for so long at least
  }
  EXPECT_NEAR(plan.at("time").at("hours").get<double>(),
              1000 * 1024 / plan.at("throughput").at("tokens_per_s_per_gpu").get<double>() / 3600, 1e-9);
  EXPECT_NE(plan.at("evidence").at("text").get<std::string>().find("probe of 20"), std::string::npos);
  EXPECT_EQ(plan.at("memory").at("fits")[0].at("gpu").is_string(), true);
}

// What sleeps prints steps too: no speed of a GPU follows from that.
TEST(PlanProbeTest, WithoutAGpuAtWorkAProbeIsRefused) {
  const LiveMachine machine("gpu 0 name=NVIDIA-GeForce-RTX-4090 memory=24564MiB\nat 0 gpu 0 memory=17GiB util=0\n");
  const std::string probe = "$I plan " + kModel + "--no-history --probe --steps 60 --skip-steps 1 -- " + kTrain;
  const std::pair<std::string, std::string> cases[] = {
      {kNoGpu + probe, "first probe: no GPU was measured, so the speed is not that of a GPU"},
      {probe, "first probe: every GPU stayed at 0 % while the command ran"},
  };
  for (const auto& [command, refusal] : cases) {
    const ProgramRun run = machine.Run(command + "0 10000");
    EXPECT_EQ(run.code, 1) << run.err;
    EXPECT_EQ(LinesWith(run.err, refusal), 1) << run.err;
    EXPECT_EQ(run.out, "") << run.out;
  }
}

TEST(PlanProbeTest, AVariableTellsTheCommandToo) {
  const LiveMachine machine(kGpu);
  const ProgramRun run =
      machine.Run("$I plan " + kModel +
                  "--micro-batch 2 --format json --probe --probe-vary micro_batch=6 --probe-env BATCH --steps 4 "
                  "--skip-steps 1 -- sh -c 'echo $BATCH >> $F/said; i=0; while :; do sleep 0.03; i=$((i+1)); echo step "
                  "$i; done'");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(ReadText(machine.Path("said")), "2\n6\n");
  EXPECT_EQ(Document(run).at("evidence").at("runs")[1].at("micro_batch"), 6);
}

// The samples that it says are believed, whatever the plan says of its batch.
TEST(PlanProbeTest, AnExampleTrainerIsProbedByItsMarkers) {
  if (RunShell("python3 -c 0").code != 0) GTEST_SKIP() << "no python3";
  const LiveMachine machine(kGpu);
  const std::string trainer =
      "-- python3 " IDLEBURN_ROOT "/examples/restart_safe_trainer.py --folder $F --step-seconds 0.03";
  const std::string plan =
      "$I plan " + kModel + "--no-history --micro-batch 8 --format json --probe --steps 6 --skip-steps 2 ";
  const ProgramRun run = machine.Run(plan + trainer + " --batch '{micro_batch}'");
  ASSERT_EQ(run.code, 0) << run.err;
  const json probes = Document(run).at("evidence").at("runs");
  ASSERT_EQ(probes.size(), 2U);
  EXPECT_EQ(probes[1].at("micro_batch"), 4);
  EXPECT_EQ(LinesWith(run.err, "samples a step"), 0) << run.err;
  for (const json& probe : probes) {
    const double batch = probe.at("micro_batch");
    EXPECT_NEAR(probe.at("tokens_per_s_per_gpu").get<double>() * probe.at("step_s").get<double>(), batch * 1024, 1);
  }
  const ProgramRun other = machine.Run(plan + trainer + " --batch 2");
  EXPECT_EQ(LinesWith(other.err, "takes 2 samples a step, but the plan says 8"), 1) << other.err;
  const json first = Document(other).at("evidence").at("runs")[0];
  EXPECT_NEAR(first.at("tokens_per_s_per_gpu").get<double>() * first.at("step_s").get<double>(), 2 * 1024, 1);
}

// Without --gpu the plan is for the one that was measured.
TEST(PlanProbeTest, TheGpuThatWasMeasuredIsThePlans) {
  const LiveMachine machine(kGpu);
  const ProgramRun run = machine.Run("$I plan --full " + kModel + "--no-history --probe --steps 12 --skip-steps 1 -- " +
                                     kTrain + "2 10000");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(Unwrapped(run.out).find(" on RTX-4090 (24 GiB usable)"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("llama-2-7b needs 17 GiB per GPU, 17 GiB to 18 GiB"), 0U) << run.out;
  EXPECT_NE(run.out.find("Basis: probe of 20"), std::string::npos) << run.out;
}

TEST(PlanProbeTest, ASignalEndsTheProbeAndLeavesNothing) {
  const LiveMachine machine(kGpu);
  const ProgramRun run =
      machine.Run(kNoGpu + ("$I plan " + kModel) +
                  "--no-history --probe -- sh -c 'echo $$ > $F/pid; exec sleep 60' & p=$!; while [ ! "
                  "-s $F/pid ]; do sleep 0.05; done; kill -TERM $p; wait $p");
  EXPECT_EQ(run.code, 143) << run.err;
  EXPECT_EQ(run.out, "");
  const std::string pid = ReadText(machine.Path("pid"));
  EXPECT_FALSE(std::filesystem::exists("/proc/" + pid.substr(0, pid.find('\n'))));
}

// What a probe cannot use is one line that says why; where only the second fails, the first stands.
TEST(PlanProbeTest, WhatTellsNothingIsOneClearLine) {
  const LiveMachine machine(kGpu);
  const std::pair<std::string, std::string> wrong[] = {
      {"--probe --patience 300ms -- sleep 30", "reported no progress"},
      {"--probe -- sh -c 'echo step 1; echo out of memory; exit 3'", "ended with exit 3"},
      {"--probe --skip-steps 5 -- sh -c 'echo step 1; echo step 2; echo step 3'", "too few to measure"},
      {"--probe -- /proc/no/such/program", "/proc/no/such/program"},
      {"--probe", "no command; put it after two dashes"},
      {"--launch", "no command; put it after two dashes"},
      {"-- sleep 1", "a command needs --probe"},
      {"--steps 3 --gpu l4", "--steps needs --probe"},
      {"--probe --probe-vary micro_batch=8 -- sleep 1", "has no {micro_batch}"},
      {"--probe --probe-vary rank=8 -- sleep 1", "write micro_batch=8"},
      {"--launch -- sleep 1", "nothing to forecast"},
      {"--launch --samples 9 --gpu l4 --format json -- sleep 1", "name a file with -o"},
  };
  for (const auto& [flags, part] : wrong) {
    const ProgramRun run = machine.Run(kNoGpu + ("$I plan " + kModel) + "--no-history " + flags);
    EXPECT_TRUE(run.code == 1 || run.code == 2) << flags << "\n" << run.err;
    EXPECT_EQ(LinesWith(run.err, part), 1) << flags << "\n" << run.err;
    EXPECT_EQ(run.out, "") << flags;
  }
  const ProgramRun half =
      machine.Run("$I plan " + kModel +
                  "--micro-batch 4 --no-history --probe --steps 4 --skip-steps 1 -- sh -c '[ $1 = 4 ] || exit 9; i=0; "
                  "while :; do sleep 0.02; i=$((i+1)); echo step $i; done' train '{micro_batch}'");
  EXPECT_EQ(half.code, 0) << half.err;
  EXPECT_EQ(LinesWith(half.err, "second probe: the command ended with exit 9"), 1) << half.err;
  EXPECT_EQ(LinesWith(half.err, "the plan uses only the first"), 1) << half.err;
}

// 20 samples at a stated speed; the run is `run`'s own: output, exit code, history.
const std::string kStated = "--gpu rtx4090 --samples 20 --tokens-per-s 20480 --price 3600 ";

TEST(PlanLaunchTest, TheForecastIsKeptAndHeldAgainstWhatCame) {
  const LiveMachine machine(kGpu);
  const ProgramRun run = machine.Run("$I plan " + kModel + kStated + "--format json -o $F/plan --launch -- " + kTrain +
                                     "1 20; echo code $?; $I plan --errors --format csv; $I plan --errors");
  EXPECT_NE(run.out.find("step 1\nstep 2\n"), std::string::npos) << "the command's own output: " << run.out;
  EXPECT_NE(run.out.find("step 20\ncode 0\n"), std::string::npos) << run.out;
  const json plan = machine.Json("plan");
  EXPECT_NEAR(Figure(plan, "hours", "forecast"), 1.0 / 3600, 1e-12);  // 20 x 1024 tokens at 20480 a second
  EXPECT_NEAR(Figure(plan, "cost", "forecast"), 1, 1e-9);             // a second of one GPU at 3600 an hour
  EXPECT_GT(Figure(plan, "hours", "actual") * 3600, 20 * 0.04);
  EXPECT_LT(Figure(plan, "tokens_per_s_per_gpu", "actual"), 1.2 * 1024 / 0.04);  // it is read ten times a second
  EXPECT_GT(Figure(plan, "tokens_per_s_per_gpu", "actual"), 0);
  EXPECT_TRUE(plan.at("forecast").at("partial").is_null()) << plan.at("forecast");
  EXPECT_EQ(LinesWith(run.err, "Forecast against actual"), 1) << run.err;
  EXPECT_NE(run.out.find(",hours,1,,,,,"), std::string::npos) << "one run: " << run.out;
  EXPECT_NE(run.out.find("A cell with n has too few runs"), std::string::npos) << run.out;
}

TEST(PlanLaunchTest, ACommandThatFailsKeepsItsCodeAndIsNotCompared) {
  const LiveMachine machine(kGpu);
  const ProgramRun run = machine.Run("$I plan " + kModel + kStated + "--launch -- sh -c 'echo step 1; exit 7'");
  EXPECT_EQ(run.code, 7) << run.err;
  EXPECT_EQ(LinesWith(run.err, "are not compared: the command ended with exit 7"), 1) << run.err;
  const ProgramRun missing = machine.Run("$I plan " + kModel + kStated + "--launch -- /proc/no/such/program");
  EXPECT_EQ(missing.code, 127);
  const ProgramRun killed = machine.Run("$I plan " + kModel + kStated + "--launch -- sh -c 'kill -9 $$'");
  EXPECT_EQ(killed.code, 137);
}

TEST(PlanLaunchTest, WhatIsTooDearDoesNotStart) {
  const LiveMachine machine(kGpu);
  const ProgramRun run =
      machine.Run("$I plan " + kModel + kStated + "--budget 0.5 --fail-on over-budget --launch -- touch $F/started");
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_FALSE(std::filesystem::exists(machine.Path("started")));
}

// Forecast, gate and run are counted at one price, wherever it comes from.
TEST(PlanLaunchTest, ThePriceOfTheForecastIsThatOfTheGateAndOfTheRun) {
  const std::string stated = "--gpu rtx4090 --samples 20 --tokens-per-s 20480 ";
  const std::pair<const char*, const char*> priced[] = {
      {"IDLEBURN_CFG_PRICE_RATE=3600 $I plan ", ""},
      {"$I plan ", "--price 4090=3600 "},
      {"printf 'name,applies_to,per_gpu_hour\\nc,RTX 4090,3600\\n' > $F/c.csv; $I plan ", "--contracts $F/c.csv "},
      {"$I plan ", "--owned capex=31536000,life=1,gpus=1 "}};
  for (const auto& [before, price] : priced) {
    const LiveMachine machine(kGpu);
    const std::string plan = before + kModel + stated + price;
    const ProgramRun dear = machine.Run(plan + "--budget 0.5 --fail-on over-budget --launch -- touch $F/started");
    EXPECT_EQ(dear.code, 3) << price << dear.err;
    EXPECT_NE(dear.err.find("the cost forecast is 100.0 % beyond its cap"), std::string::npos) << dear.err;
    EXPECT_FALSE(std::filesystem::exists(machine.Path("started")));
    const ProgramRun run = machine.Run(plan + "--budget 2 --fail-on over-budget --format json -o $F/plan --launch -- " +
                                       kTrain + "0 20 >/dev/null; $I history list --format json");
    const json document = machine.Json("plan");
    EXPECT_NEAR(Figure(document, "cost", "forecast"), 1, 1e-9) << price;
    const json kept = json::parse(run.out, nullptr, false)["runs"][0];
    EXPECT_EQ(kept["cost"]["rate_per_gpu_hour"], "3600.00") << price << run.err;
  }
}

// Its tags, its report and its limits go to the run, and the history says what was forecast of it.
TEST(PlanLaunchTest, FlagsOfTheRunStandBetweenDashes) {
  const LiveMachine machine(kGpu);
  const ProgramRun run =
      machine.Run("$I plan " + kModel + kStated + "--budget 0.0001 --launch -- --tag team=vision -o $F/report.txt -- " +
                  kTrain + "0 20 >/dev/null; echo code $?; $I history list --format json");
  ASSERT_EQ(run.out.rfind("code 0\n", 0), 0U) << run.out << run.err;
  const json kept = json::parse(run.out.substr(7), nullptr, false)["runs"][0];
  EXPECT_EQ(kept["tags"][0]["key"], "team");
  EXPECT_EQ(kept["tags"][0]["value"], "vision");
  EXPECT_TRUE(std::filesystem::exists(machine.Path("report.txt")));
  EXPECT_NE(run.err.find("budget"), std::string::npos) << "the plan's cap is the run's: " << run.err;
  const json& figures = kept["forecast"]["figures"];
  EXPECT_EQ(figures[0]["quantity"], "hours");
  EXPECT_NEAR(figures[0]["forecast"].get<double>(), 1.0 / 3600, 1e-12);
  EXPECT_GT(figures[0]["actual"].get<double>(), 0);
}

TEST(PlanLaunchTest, FlagsThatAreThePlansOrOfNobody) {
  const LiveMachine machine(kGpu);
  const std::pair<const char*, const char*> said[] = {
      {"--launch -- --price 2 -- true", "--price also affects the plan"},
      {"--launch -- --contracts c.csv -- true", "--contracts also affects the plan"},
      {"--launch -- --tag a=b true", "put flags of run between two pairs of dashes"},
      {"--launch -- --tga a=b -- true", "did you mean --tag?"},
      {"--launch -- --enforce -- true", "--enforce has no limit"},
      {"--launch -- --fail-on nothing -- true", "--fail-on"},
      {"-- --tag a=b -- true", "need --launch"}};
  for (const auto& [flags, says] : said) {
    const ProgramRun run = machine.Run("$I plan " + kModel + kStated + flags);
    EXPECT_EQ(run.code, 2) << flags;
    EXPECT_EQ(LinesWith(run.err, says), 1) << flags << ": " << run.err;
    EXPECT_EQ(LinesWith(run.out + run.err, ""), 1) << flags << ": a plan was printed first: " << run.out << run.err;
  }
  // Nor is anything probed.
  const std::string probed = "$I plan " + kModel + "--samples 100 --probe --launch -- ";
  EXPECT_EQ(machine.Run(probed + "--enforce -- touch $F/started").code, 2);
  EXPECT_EQ(machine.Run(probed + "--help -- touch $F/started").code, 0);
  // A cap that a file names is one.
  const ProgramRun capped = machine.Run("echo 'budget_gpu_hours = 1' > $F/cap.toml; $I plan $F/cap.toml " + kModel +
                                        kStated + "--launch -- --enforce -- true");
  EXPECT_EQ(capped.code, 0) << capped.err;
  EXPECT_FALSE(std::filesystem::exists(machine.Path("started")));
}

TEST(PlanHistoryTest, EarlierRunsAreTheBasisUnlessTheyAreNotWanted) {
  const LiveMachine machine(kGpu);
  // Shorter stretches say nothing of a run's speed.
  const std::string earlier =
      "$I run --tag model=llama-2-7b --tag method=lora --tag seq_len=1024 --tag gpu=rtx4090 -- " + kTrain +
      "12 12 >/dev/null 2>&1; ";
  const ProgramRun run = machine.Run(earlier + "$I plan " + kModel + "--gpu rtx4090 --samples 100 --format json");
  const json plan = Document(run);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(plan.at("throughput").at("basis"), "history") << run.out;
  EXPECT_EQ(plan.at("evidence").at("text").get<std::string>().find("history: 1 run, 20"), 0U);
  const double rate = plan.at("throughput").at("tokens_per_s_per_gpu");
  EXPECT_LT(rate, 1.2 * 1024 / 0.26);  // it slept 260 ms a step; it is read ten times a second
  EXPECT_GT(rate, 0);
  const json without = Document(machine.Run("$I plan " + kModel + "--gpu rtx4090 --no-history --format json"));
  EXPECT_EQ(without.at("throughput").at("basis"), "unknown");
  EXPECT_TRUE(without.at("evidence").is_null());
}

TEST(PlanHistoryTest, AHistoryOfANewerProgramIsNotTouched) {
  const LiveMachine machine(kGpu);
  const std::string history = " --history $F/new.sqlite ";
  ASSERT_EQ(machine.Run(kNoGpu + ("$I run" + history) + "-- true").code, 0);
  test::RunSql(machine.Path("new.sqlite"), "PRAGMA user_version = 99");
  const ProgramRun errors = machine.Run("$I plan --errors" + history);
  EXPECT_EQ(errors.code, 1);
  EXPECT_EQ(LinesWith(errors.err, "written by a newer idleburn (history version 99"), 1) << errors.err;
  const ProgramRun plan = machine.Run("$I plan " + kModel + history);
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(LinesWith(plan.err, "version 99"), 1) << plan.err;
  EXPECT_EQ(LinesWith(plan.err, "planned without earlier runs"), 1) << plan.err;
}

TEST(PlanLaunchTest, AProbeAndThenTheRun) {
  const LiveMachine machine(kGpu);
  const ProgramRun run =
      machine.Run("$I plan " + kModel +
                  "--micro-batch 2 --gpu rtx4090 --samples 20 --price 3600 -o $F/plan --format json --probe --steps 6 "
                  "--skip-steps 2 --launch -- " +
                  kTrain + "'{micro_batch}' 10");
  ASSERT_EQ(run.code, 0) << run.err;
  const json plan = machine.Json("plan");
  EXPECT_EQ(plan.at("throughput").at("basis"), "probe");
  EXPECT_EQ(plan.at("forecast").at("basis"), plan.at("evidence").at("text"));
  EXPECT_GT(Figure(plan, "tokens_per_s_per_gpu", "actual"), 0);
  EXPECT_NEAR(Figure(plan, "tokens_per_s_per_gpu", "forecast"), plan.at("throughput").at("tokens_per_s_per_gpu"), 1e-6);
  EXPECT_EQ(LinesWith(run.out, "step 10"), 1) << "the probes' output is not shown: " << run.out;
}

}  // namespace
}  // namespace idleburn::testing
