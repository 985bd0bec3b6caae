// `idleburn claim` and `idleburn compare` from end to end: what files on two sides say of a saving.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "places.h"
#include "support/compared_files.h"
#include "support/documented_keys.h"
#include "support/live_command.h"
#include "support/read_inputs.h"
#include "support/shared_data.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

const std::string kTraps = test::SharedPath("data/traps").string();
const std::string kTraces = test::SharedPath("data/profiler_traces").string();

using CompareTest = ComparedFiles;

TEST_F(CompareTest, StepsOf200And130MillisecondsSaveThirtyFivePercent) {
  const std::string before = Three("before", 0.2, false);
  const std::string claim = Claim(before, "--price 2 --cashable --predicted 40%");
  const json document = Compare(before + " --vs" + Three("after", 0.13, true) + " --claim " + claim);
  EXPECT_EQ(document.at("verdict"), "VERIFIED") << document.dump(1);
  EXPECT_NEAR(document.at("saving").at("fraction"), 0.35, 0.002);
  EXPECT_LT(document.at("saving").at("high").get<double>() - document.at("saving").at("low").get<double>(), 0.01);
  EXPECT_EQ(document.at("unit"), "sample");
  EXPECT_EQ(document.at("plan"), "claimed");
  EXPECT_EQ(document.at("claim").at("predicted"), 0.4);
  EXPECT_EQ(document.at("claim").at("sha256").get<std::string>().size(), 64U);
  EXPECT_EQ(document.at("runs"), json({{"before", 3}, {"after", 3}}));
  EXPECT_TRUE(document.at("guard").at("same_side"));
  // 600 steps of 0.07 s less, at $2 an hour.
  EXPECT_NEAR(document.at("gpu_seconds_avoided").at("estimate"), 42, 0.2);
  EXPECT_NEAR(std::stod(document.at("cashable_exact").get<std::string>()), 42.0 / 3600 * 2, 2e-4);
  EXPECT_EQ(document.at("freed_capacity"), 0);
}

TEST_F(CompareTest, TheSameWithoutAClaimIsIndicatedAtMost) {
  const json document = Compare(Three("before", 0.2, false) + " --vs" + Three("after", 0.13, true));
  EXPECT_EQ(document.at("verdict"), "INDICATED");
  EXPECT_EQ(document.at("plan"), "retrospective");
  EXPECT_TRUE(HasReason(document, "retrospective"));
  EXPECT_TRUE(document.at("claim").is_null());
}

TEST_F(CompareTest, AClaimOfAfterTheChangeIsRetrospective) {
  const std::string before = Three("before", 0.2, false);
  const std::string claim = Claim(before);
  std::string after;
  for (int i = 0; i < 3; ++i) {
    WorkLog log;
    log.start = static_cast<double>(Now() - 3600 + i * 600);
    log.step = 0.13 * (1 + 0.0004 * i);
    after += " " + Put(fmt::format("after{}.csv", i), log);
  }
  const json document = Compare(before + " --vs" + after + " --claim " + claim);
  EXPECT_EQ(document.at("verdict"), "INDICATED") << document.dump(1);
  EXPECT_EQ(document.at("plan"), "retrospective");
}

TEST_F(CompareTest, OtherBaselineRunsThanTheClaimsAreNamed) {
  const std::string before = Three("before", 0.2, false);
  const std::string claim = Claim(before);
  const json document =
      Compare(Three("other", 0.21, false) + " --vs" + Three("after", 0.13, true) + " --claim " + claim);
  EXPECT_TRUE(HasReason(document, "baseline_differs_from_claim"));
  EXPECT_NE(document.at("verdict"), "VERIFIED");
}

TEST_F(CompareTest, DearerStepsAreARegression) {
  const std::string before = Three("before", 0.2, false);
  const std::string arguments =
      before + " --vs" + Three("after", 0.25, true) + " --claim " + Claim(before, "--price 2 --cashable");
  const json document = Compare(arguments);
  EXPECT_EQ(document.at("verdict"), "REGRESSION") << document.dump(1);
  EXPECT_NEAR(document.at("saving").at("fraction"), -0.25, 0.002);
  EXPECT_EQ(document.at("cashable").get<std::string>().front(), '-');
  EXPECT_EQ(RunIdleburn("compare " + arguments + " --fail-on regression").code, 3);
  EXPECT_EQ(RunIdleburn("compare " + arguments + " --fail-on not-verified").code, 3);
  EXPECT_EQ(RunIdleburn("compare " + arguments + " --fail-on invalid").code, 0);
}

// Recordings: utilisation says nothing of the work.
TEST_F(CompareTest, MoreUtilisationAtTheSameStepTimeSavesNothing) {
  MadeRecording before;
  before.start = Instant::FromNanos((Now() - 7200) * kNanosPerSecond);
  MadeRecording after = before;
  after.start = after.start + Nanos(600 * kNanosPerSecond);
  after.utilization = 88;
  const std::string a = Record("before.idleburn", before);
  const std::string b = Record("after.idleburn", after);
  const json document = Compare(a + " --vs " + b);
  EXPECT_EQ(document.at("verdict"), "NOT_SHOWN") << document.dump(1);
  EXPECT_NEAR(document.at("saving").at("fraction"), 0, 1e-9);
  EXPECT_EQ(document.at("inputs").at(0).at("kind"), "recording");
  EXPECT_EQ(document.at("inputs").at(0).at("work"), 300 * 32);
  EXPECT_NEAR(document.at("inputs").at(0).at("gpu_seconds"), 60, 1e-6);
  EXPECT_EQ(document.at("inputs").at(0).at("observed_fraction"), 1);
}

TEST_F(CompareTest, RecordingsOf200And130MillisecondsSaveThirtyFivePercent) {
  MadeRecording before;
  before.start = Instant::FromNanos((Now() - 7200) * kNanosPerSecond);
  before.gpus = 2;
  before.seconds = 104;
  MadeRecording after = before;
  after.start = after.start + Nanos(600 * kNanosPerSecond);
  after.step_seconds = 0.13;
  const json document = Compare(Record("b.idleburn", before) + " --vs " + Record("a.idleburn", after));
  EXPECT_EQ(document.at("verdict"), "INDICATED") << document.dump(1);  // one run a side
  EXPECT_NEAR(document.at("saving").at("fraction"), 0.35, 0.001);
  EXPECT_TRUE(HasReason(document, "run_to_run_noise_not_seen"));
}

TEST_F(CompareTest, TwiceTheWorkInTheSameHoursIsHalfPerSample) {
  MadeRecording before;
  before.start = Instant::FromNanos((Now() - 7200) * kNanosPerSecond);
  MadeRecording after = before;
  after.start = after.start + Nanos(600 * kNanosPerSecond);
  after.samples_per_step = 64;
  const std::string files = Record("b.idleburn", before) + " --vs " + Record("a.idleburn", after);
  const json document = Compare(files);
  EXPECT_EQ(document.at("unit"), "sample");
  EXPECT_NEAR(document.at("saving").at("fraction"), 0.5, 1e-9);
  EXPECT_NEAR(Compare(files + " --unit step").at("saving").at("fraction"), 0, 1e-9);  // a step is another thing
}

TEST_F(CompareTest, AChangedFactorWithoutAnAdjustmentIsInvalid) {
  MadeRecording before;
  before.start = Instant::FromNanos((Now() - 7200) * kNanosPerSecond);
  MadeRecording after = before;
  after.start = after.start + Nanos(600 * kNanosPerSecond);
  after.step_seconds = 0.13;
  after.facts = {{"command", "python train.py --fast"}, {"driver", "570.86"}};
  const std::string files = Record("b.idleburn", before) + " --vs " + Record("a.idleburn", after);
  const json invalid = Compare(files);
  EXPECT_EQ(invalid.at("verdict"), "INVALID");
  EXPECT_TRUE(HasReason(invalid, "static_factor_changed"));
  EXPECT_TRUE(invalid.at("saving").at("low").is_null());
  EXPECT_EQ(invalid.at("reason_sentences").dump().find("command"), std::string::npos);  // how it was called
  EXPECT_EQ(RunIdleburn("compare " + files + " --fail-on invalid").code, 3);
  EXPECT_EQ(Compare(files + " --nra driver=550.54:570.86::nobody").at("verdict"), "INVALID");
  const json adjusted = Compare(files + " --nra 'driver=550.54:570.86:-3:ran again with 550'");
  EXPECT_EQ(adjusted.at("verdict"), "INDICATED") << adjusted.dump(1);
  EXPECT_EQ(adjusted.at("adjustments").at(0).at("gpu_seconds"), -3);
  EXPECT_LT(adjusted.at("saving").at("fraction"), 0.35);
  EXPECT_EQ(Compare(files + " --changes driver").at("verdict"), "INDICATED");
}

TEST_F(CompareTest, WhatARecordingLosesIsInvalid) {
  MadeRecording before;
  before.start = Instant::FromNanos((Now() - 7200) * kNanosPerSecond);
  const std::string whole = Record("b.idleburn", before);
  const auto reason_of = [&](MadeRecording after, const char* name) {
    if (after.start == before.start) after.start = after.start + Nanos(600 * kNanosPerSecond);
    const json document = Compare(whole + " --vs " + Record(name, after));
    EXPECT_EQ(document.at("verdict"), "INVALID") << name;
    return document.at("reasons").dump();
  };
  MadeRecording restarted = before;
  restarted.restarts_at = 30;
  EXPECT_NE(reason_of(restarted, "restarted.idleburn").find("work_counter_restarted"), std::string::npos);
  MadeRecording silent = before;
  silent.silent_from = 20;
  silent.silent_to = 30;
  EXPECT_NE(reason_of(silent, "silent.idleburn").find("observed_below_95"), std::string::npos);
  MadeRecording brief = before;
  brief.seconds = 20;
  EXPECT_NE(reason_of(brief, "brief.idleburn").find("few_rows"), std::string::npos);
  MadeRecording uncounted = before;
  uncounted.counts_steps = false;
  uncounted.samples_per_step = 0;
  EXPECT_NE(reason_of(uncounted, "uncounted.idleburn").find("no_work_count"), std::string::npos);
  MadeRecording meanwhile = before;
  meanwhile.start = before.start + Nanos(30 * kNanosPerSecond);
  EXPECT_NE(reason_of(meanwhile, "meanwhile.idleburn").find("overlap"), std::string::npos);
  MadeRecording stepped = before;
  stepped.clock_back_at = 30;
  EXPECT_NE(reason_of(stepped, "stepped.idleburn").find("clock_steps"), std::string::npos);
  MadeRecording failed = before;
  failed.exit = "exit 1";
  EXPECT_NE(reason_of(failed, "failed.idleburn").find("unfit_run"), std::string::npos);
}

// An attempt that failed cost GPU time and did no work that was kept.
TEST_F(CompareTest, TimeOfAFailedAttemptCountsAndItsWorkDoesNot) {
  MadeRecording run;
  run.start = Instant::FromNanos((Now() - 7200) * kNanosPerSecond);
  const std::string before = Record("b.idleburn", run);
  run.start = run.start + Nanos(600 * kNanosPerSecond);
  run.exit = "signal 9 (SIGKILL)";
  const std::string failed = Record("failed.idleburn", run);
  run.start = run.start + Nanos(600 * kNanosPerSecond);
  run.exit = "exit 0";
  const std::string well = Record("well.idleburn", run);
  const std::string files = before + " --vs " + failed + " " + well;
  const json document = Compare(files);
  EXPECT_NEAR(document.at("saving").at("fraction"), -1, 1e-9);  // 120 GPU-s for the work of 60
  EXPECT_EQ(document.at("runs").at("after"), 1);
  EXPECT_TRUE(document.at("inputs").at(1).at("work").is_null());
  EXPECT_NE(document.at("inputs").at(1).at("note").get<std::string>().find("SIGKILL"), std::string::npos);
  EXPECT_NEAR(Compare(files + " --kept").at("saving").at("fraction"), 0, 1e-9);
}

TEST_F(CompareTest, UtilisationWithoutWorkIsInvalid) {
  const std::string before = folder_.Write("before.csv", "time_s,gpu_seconds,utilization\n1,1,55\n2,1,55\n");
  const std::string after = folder_.Write("after.csv", "time_s,gpu_seconds,utilization\n1,1,88\n2,1,88\n");
  const json document = Compare(before + " --vs " + after);
  EXPECT_EQ(document.at("verdict"), "INVALID");
  EXPECT_TRUE(HasReason(document, "no_work_count"));
  EXPECT_TRUE(document.at("unit").is_null());
}

TEST_F(CompareTest, OtherUnitsAndTooFewRowsAreNoVerdict) {
  WorkLog log;
  const std::string samples = Put("samples.csv", log);
  log.unit = "tokens";
  const json units = Compare(samples + " --vs " + Put("tokens.csv", log));
  EXPECT_EQ(units.at("verdict"), "INVALID");
  EXPECT_TRUE(HasReason(units, "unequal_units"));
  log.unit = "samples";
  log.rows = 1;
  const json few = Compare(Put("one.csv", log) + " --vs " + samples);
  EXPECT_EQ(few.at("verdict"), "NOT_SHOWN") << few.dump(1);
  EXPECT_TRUE(HasReason(few, "few_segments"));
}

TEST_F(CompareTest, LogsOfTheSameTimeOverlap) {
  WorkLog log;
  log.start = 1.7e9;
  const std::string before = Put("before.csv", log);
  log.start += 10;
  const json document = Compare(before + " --vs " + Put("after.csv", log));
  EXPECT_EQ(document.at("verdict"), "INVALID");
  EXPECT_TRUE(HasReason(document, "overlap"));
}

TEST_F(CompareTest, WhatIsLeftOutIsListedAndLimited) {
  const std::string before = Three("before", 0.2, false);
  const std::string after = Three("after", 0.13, true);
  const std::string bad = Path("after1.csv");
  const json document = Compare(before + " --vs" + after + " --exclude '" + bad + "=a disk failed'");
  EXPECT_EQ(document.at("verdict"), "INVALID");  // a sixth of the data
  EXPECT_TRUE(HasReason(document, "excluded_too_much"));
  EXPECT_EQ(document.at("excluded").at(0).at("reason"), bad + ": a disk failed");
  EXPECT_NEAR(document.at("excluded").at(0).at("share"), 0.13 / 0.99, 1e-3);
  WorkLog brief;
  brief.start = static_cast<double>(Now() + 9000);
  brief.rows = 10;
  const std::string small = Put("small.csv", brief);
  const json allowed = Compare(before + " --vs" + after + " " + small + " --exclude '" + small + "=warm-up only'");
  EXPECT_EQ(allowed.at("verdict"), "INDICATED");
  EXPECT_EQ(allowed.at("runs").at("after"), 3);
}

// Alternated in drawn order, with a drift of 20 % over the whole that no other design would see through.
TEST_F(CompareTest, ASwitchbackSeesThroughDrift) {
  std::string text = "time_s,gpu_seconds,samples,arm,block\n";
  double at = static_cast<double>(Now() + 600);
  const std::string order = "ABBABAABABBABAABBAAB";
  int row = 0;
  for (const char arm : order) {
    for (int i = 0; i < 60; ++i, ++row) {
      const double step = (arm == 'A' ? 0.2 : 0.18) * (1 + 0.2 * row / 1200.0) * (1 + 0.02 * std::sin(7.7 * row));
      at += step;
      text += fmt::format("{:.6f},{:.9f},32,{},{}\n", at, step, arm, row / 60);
    }
  }
  const std::string log = folder_.Write("alternated.csv", text);
  const std::string claim = Claim("", "--unit sample --switchback");
  const json document = Compare(log + " --claim " + claim);
  EXPECT_EQ(document.at("verdict"), "VERIFIED") << document.dump(1);
  EXPECT_NEAR(document.at("saving").at("fraction"), 0.1, 0.01);
  EXPECT_EQ(document.at("pairs"), 10);
  EXPECT_EQ(document.at("layout"), "switchback");
  EXPECT_EQ(Compare(log + " --switchback").at("verdict"), "INDICATED");
  EXPECT_NEAR(Compare(log + " --switchback --arms B,A").at("saving").at("fraction"), -1 / 0.9 + 1, 0.01);
  Refused("compare " + log, 2, "add --switchback");
}

// The same with a file for each block.
TEST_F(CompareTest, FilesMayAlternate) {
  std::string sides[2];
  const std::string order = "ABBABAABABBABAAB";
  for (std::size_t i = 0; i < order.size(); ++i) {
    WorkLog log;
    log.start = static_cast<double>(Now() + 600 + static_cast<std::int64_t>(i) * 60);
    log.step = order[i] == 'A' ? 0.2 : 0.15;
    log.noise = 0.01;
    sides[order[i] == 'A' ? 0 : 1] += " " + Put(fmt::format("block{}.csv", i), log);
  }
  const std::string claim = Claim("", "--unit sample --switchback");
  const json document = Compare(sides[0] + " --vs" + sides[1] + " --claim " + claim);
  EXPECT_EQ(document.at("verdict"), "VERIFIED") << document.dump(1);
  EXPECT_EQ(document.at("pairs"), 8);
  EXPECT_NEAR(document.at("saving").at("fraction"), 0.25, 0.005);
}

TEST_F(CompareTest, RateAndTimeArePartsOfTheDollars) {
  const std::string before = Three("before", 0.2, false);
  const std::string claim = Claim(before, "--price 4 --rate-after 2.5 --cashable");
  const json money = Compare(before + " --vs" + Three("after", 0.14, true) + " --claim " + claim).at("money");
  const double hours = 600 * 0.2 / 3600;  // 600 steps on one GPU
  EXPECT_NEAR(std::stod(money.at("time_exact").get<std::string>()), hours * 0.3 * 4, 2e-5);
  EXPECT_NEAR(std::stod(money.at("rate_exact").get<std::string>()), hours * 0.7 * 1.5, 2e-5);
  EXPECT_NEAR(std::stod(money.at("total_exact").get<std::string>()), hours * (4 - 0.7 * 2.5), 2e-5);
}

TEST_F(CompareTest, AProjectionIsALineOfItsOwnAndOnlyIfAsked) {
  const std::string files = Three("before", 0.2, false) + " --vs" + Three("after", 0.1, true);
  EXPECT_TRUE(Compare(files).at("projection").is_null());
  const json projection = Compare(files + " --projection 720").at("projection");
  EXPECT_NEAR(projection.at("gpu_hours"), 720, 3);  // an hour saved for each hour spent
  EXPECT_EQ(projection.at("hours"), 720);
  const ProgramRun text = RunIdleburn("compare --full" + files + " --projection 720");
  EXPECT_NE(text.out.find("if the next 720 h do the same work"), std::string::npos) << text.out;
}

// Trap 19: 600 steps a side whose neighbours share their fate, no effect.
TEST_F(CompareTest, AutocorrelatedStepsAreWorthFewerThanTheyAre) {
  const std::string folder = kTraps + "/19_autocorrelated_before_after/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const json right = json::parse(*test::ReadShared("data/traps/19_autocorrelated_before_after/case.json")).at("right");
  const json document = Compare(folder + "before.csv --vs " + folder + "after.csv");
  const auto holds = [&](const char* name, double answer) {
    EXPECT_NEAR(answer, right.at(name).at("value"), right.at(name).at("tol")) << name;
  };
  holds("neff_before", document.at("effective_samples").at("before"));
  holds("neff_after", document.at("effective_samples").at("after"));
  holds("point_saving", document.at("saving").at("fraction"));
  const double low = document.at("saving").at("low");
  const double high = document.at("saving").at("high");
  holds("interval95_half_width", (high - low) / 2);
  EXPECT_EQ(low < 0 && high > 0, right.at("interval95_contains_zero").at("equals"));
  EXPECT_EQ(document.at("verdict"), right.at("verdict").at("equals"));
}

// Trap 22: 30 % fewer GPU-seconds on a reserved cluster whose freed GPUs stay idle, in three runs a side.
TEST_F(CompareTest, FreedCapacityIsNotCash) {
  if (!std::filesystem::exists(kTraps)) GTEST_SKIP() << kTraps << " is not there";
  const json trap = json::parse(*test::ReadShared("data/traps/22_freed_is_not_cash/case.json")).at("right");
  const json input = json::parse(*test::ReadShared("data/traps/22_freed_is_not_cash/input.json"));
  const double hours = input.at("gpus").get<double>() * input.at("hours").get<double>();
  std::string sides[2];
  for (const int after : {0, 1}) {
    const double spent = after == 1 ? 1 - std::stod(input.at("avoided_fraction").get<std::string>()) : 1;
    for (int i = 0; i < 3; ++i) {
      const std::string name = fmt::format("{}{}.csv", after, i);
      sides[after] +=
          " " + folder_.Write(name, fmt::format("time_s,gpu_seconds,epochs\n{},{:.3f},100\n",
                                                1'700'000'000 + (after * 3 + i) * 1'000'000, hours * 3600 / 3 * spent));
    }
  }
  const std::string rate = input.at("rate_usd_per_gpu_hour");
  const json document = Compare(sides[0] + " --vs" + sides[1] + " --price " + rate +
                                " --tier reserved=" + fmt::format("{}", hours) + ":" + rate);
  EXPECT_EQ(document.at("cashable"), "0.00");
  EXPECT_EQ(document.at("freed_capacity"), trap.at("freed_gpu_hours").at("value"));
  EXPECT_EQ(std::stod(document.at("money").at("bill_before").get<std::string>()), trap.at("bill_usd").at("value"));
  EXPECT_EQ(document.at("money").at("bill_after"), document.at("money").at("bill_before"));
}

// The one public pair: data loader workers 0 -> 4 on the same GPU.
TEST_F(CompareTest, CapturesAreJudgedByTheirSteps) {
  if (!std::filesystem::exists(kTraces)) GTEST_SKIP() << kTraces << " is not there";
  const std::string files = kTraces + "/D01_resnet50_nw0_a.json.gz --vs " + kTraces + "/D02_resnet50_nw4_a.json.gz";
  const json document = Compare(files);
  EXPECT_EQ(document.at("verdict"), "NOT_SHOWN");  // six steps a side
  EXPECT_TRUE(HasReason(document, "few_steps"));
  EXPECT_TRUE(HasReason(document, "not_cashable_from_capture"));
  EXPECT_NEAR(document.at("saving").at("fraction"), 0.284, 0.0005);  // 0.282 with the first and last steps
  const json pair = document.at("captures").at(0);
  EXPECT_NEAR(pair.at("bound"), 0.3358, 1e-3);
  EXPECT_NEAR(pair.at("recovered"), 0.84, 0.01);
  EXPECT_NEAR(pair.at("median_step_after_ms"), 126.55, 0.01);
  EXPECT_EQ(pair.at("next"), "launch_bound");
  EXPECT_TRUE(document.at("cashable").is_null());
  Refused("compare " + files + " " + Put("log.csv", {}), 2, "give one kind");
}

// Thirty steps of a profiler: the loader for `loader` us, a little more or less in turn, then a kernel of 5 ms.
std::string CaptureText(double loader, std::int64_t start_s, int rank = -1, double kernel_late = 0) {
  std::string text = fmt::format("{{\"schemaVersion\":1,\"baseTimeNanoseconds\":{},", start_s * 1'000'000'000);
  if (rank >= 0) text += fmt::format(R"("distributedInfo":{{"rank":{},"world_size":3}},)", rank);
  text += "\"traceEvents\":[";
  double at = 0;
  for (int i = 0; i < 30; ++i) {
    const double waits = loader * (1 + 0.01 * std::sin(12.9898 * (i + 1) + static_cast<double>(start_s)));
    const auto event = [&](const char* kind, const char* name, double from, double length, const char* more) {
      text += fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{:.3f},"dur":{:.3f},)", kind, name,
                          from, length);
      text += fmt::format(R"("args":{{{}"correlation":{}}}}},)", more, i + 1);
    };
    event("user_annotation", fmt::format("ProfilerStep#{}", i).c_str(), at, waits + 5'020, "");
    event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, waits, "");
    event("cuda_runtime", "cudaLaunchKernel", at + waits, 10, "");
    event("kernel", "sgemm", at + waits + 10 + kernel_late, 5'000, R"("device":0,"stream":7,)");
    at += waits + 5'020;
  }
  text.back() = ']';
  return text + "}";
}

// Three a side, around the present: the arguments of `compare`.
std::string ThreeCaptures(const TempFolder& folder) {
  std::string sides[2];
  for (const int after : {0, 1}) {
    for (int i = 0; i < 3; ++i) {
      const std::string text = CaptureText(after == 1 ? 1'000 : 5'000, Now() + (after == 1 ? 3600 : -7200) + 600 * i);
      sides[after] += " " + folder.Write(fmt::format("{}{}.json", after, i), text);
    }
  }
  return sides[0] + " --vs" + sides[1];
}

// A capture is dated: three a side, and a claim between them, are as good as three logs.
TEST_F(CompareTest, DatedCapturesAndAClaimBeforeThemVerify) {
  const std::string captures = ThreeCaptures(folder_);
  const json document = Compare(captures + " --claim " + Claim("", "--unit step"));
  EXPECT_EQ(document.at("verdict"), "VERIFIED") << document.dump(1);
  EXPECT_NEAR(document.at("saving").at("fraction"), 1 - 6'020.0 / 10'020, 0.003);
  EXPECT_EQ(document.at("plan"), "claimed");
  EXPECT_TRUE(document.at("guard").at("same_side"));
}

// The same captures, by a claim that asks for more than they give.
TEST_F(CompareTest, AClaimAsksOfCapturesWhatItAsksOfRuns) {
  const std::string captures = ThreeCaptures(folder_);
  const auto judged = [&](const std::string& baseline, const std::string& terms, const std::string& flags) {
    std::filesystem::remove(Path("claim.json"));
    return Compare(captures + " --claim " + Claim(baseline, terms) + flags);
  };
  const json others = judged(Three("before", 0.2, false), "--unit step --work steps=200", "");
  EXPECT_EQ(others.at("verdict"), "INDICATED") << others.dump(1);
  EXPECT_TRUE(HasReason(others, "baseline_differs_from_claim"));
  const json samples = judged(Three("before", 0.2, false), "", "");
  EXPECT_EQ(samples.at("verdict"), "INVALID") << samples.dump(1);
  EXPECT_TRUE(HasReason(samples, "unequal_units"));
  const json worst = judged("", "--unit step --picked worst", "");
  EXPECT_EQ(worst.at("verdict"), "INDICATED") << worst.dump(1);
  EXPECT_TRUE(HasReason(worst, "chosen_for_being_bad"));
  const json said = judged("", "--unit step", " --chosen-for-being-bad");
  EXPECT_TRUE(HasReason(said, "chosen_for_being_bad"));
  const json fewer = judged("", "--unit step", " --exclude '" + Path("11.json") + "=slow'");
  EXPECT_EQ(fewer.at("verdict"), "INVALID") << fewer.dump(1);
  EXPECT_TRUE(HasReason(fewer, "excluded_too_much"));
  EXPECT_NEAR(fewer.at("excluded").at(0).at("share"), 1.0 / 6, 1e-9);
}

// Ranks wait for each other: three files of one run say no more of other runs than one does.
TEST_F(CompareTest, RanksOfAJobAreOneRun) {
  std::string sides[2];
  for (const int after : {0, 1}) {
    for (int rank = 0; rank < 3; ++rank) {
      sides[after] += " " + folder_.Write(fmt::format("{}{}.json", after, rank),
                                          CaptureText(after == 1 ? 1'000 : 5'000, 1'700'000'000 + 9'000 * after, rank));
    }
  }
  const json document = Compare(sides[0] + " --vs" + sides[1]);
  EXPECT_EQ(document.at("runs"), json({{"before", 1}, {"after", 1}}));
  EXPECT_EQ(document.at("verdict"), "INDICATED");
  EXPECT_TRUE(HasReason(document, "few_captures"));
  ASSERT_EQ(document.at("excluded").size(), 4U) << document.dump(1);
  EXPECT_NE(document.at("excluded").at(0).at("reason").get<std::string>().find("rank 1 of a job; rank 0"),
            std::string::npos);
}

// All kernels run after the last step: the steps are short because nothing waits for the device.
TEST_F(CompareTest, StepsWithoutTheirWorkAreNotComparable) {
  const std::string before = folder_.Write("before.json", CaptureText(5'000, 1'700'000'000));
  const std::string after = folder_.Write("after.json", CaptureText(1'000, 1'700'000'900, -1, 1e6));
  const json document = Compare(before + " --vs " + after);
  EXPECT_EQ(document.at("verdict"), "INVALID");
  EXPECT_TRUE(HasReason(document, "unequal_work"));
}

// Kernels of other work have other steps: no figure may look like a saving.
TEST_F(CompareTest, CapturesOfOtherWorkRealiseNothing) {
  if (!std::filesystem::exists(kTraces)) GTEST_SKIP() << kTraces << " is not there";
  const json document =
      Compare(kTraces + "/D01_resnet50_nw0_a.json.gz --vs " + kTraces + "/D03_bert_small_h100.json.gz");
  EXPECT_EQ(document.at("verdict"), "INVALID");
  EXPECT_TRUE(HasReason(document, "unequal_work"));
  EXPECT_TRUE(document.at("captures").at(0).at("realised").is_null()) << document.at("captures").dump();
  EXPECT_TRUE(document.at("captures").at(0).at("recovered").is_null());
  EXPECT_TRUE(document.at("mean_step_fraction").is_null());
  EXPECT_EQ(document.at("runs"), json({{"before", 1}, {"after", 1}}));
  const ProgramRun unmarked = RunIdleburn("compare " + kTraces + "/D08_nsys_mfu_before.sqlite --vs " + kTraces +
                                          "/D09_nsys_healthy_min.sqlite");
  EXPECT_NE(unmarked.out.find("marks no steps"), std::string::npos) << unmarked.out;
}

// What was measured cannot be had again, so no report may take its place.
TEST_F(CompareTest, AReportTakesNoInputsPlace) {
  const std::string before = Three("before", 0.2, false);
  const std::string after = Three("after", 0.13, true);
  const std::string claim = Claim(before);
  const auto text = [](const std::string& path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::filesystem::create_symlink(Path("after1.csv"), Path("link.csv"));
  for (const char* name : {"before0.csv", "after1.csv", "claim.json", "link.csv"}) {
    const std::string held = text(Path(name));
    Refused("compare" + before + " --vs" + after + " --claim " + claim + " -o " + Path(name), 1, "is also an input");
    EXPECT_EQ(text(Path(name)), held) << name;
  }
  const std::string log =
      folder_.Write("gpu.csv", "timestamp, index, utilization.gpu [%]\n2026/01/01 00:00:00, 0, 50 %\n");
  Refused("audit " + log + " -o " + log, 1, "is also an input");
  const std::string scenario = folder_.Write("tco.toml", "");
  Refused("tco " + scenario + " -o " + scenario, 1, "is also an input");
  Refused("plan " + scenario + " -o " + scenario, 1, "is also an input");
}

// What was asked for and does not fit is said, never left aside.
TEST_F(CompareTest, WhatIsSaidOfRunsMustFitThem) {
  const std::string before = Three("before", 0.2, false);
  const std::string files = before + " --vs" + Three("after", 0.13, true);
  const json document = Compare(files + " --unit step");
  EXPECT_EQ(document.at("verdict"), "INVALID") << "by samples, though steps were asked for";
  EXPECT_TRUE(HasReason(document, "unequal_units") || HasReason(document, "no_work_count"));
  Refused("compare" + files + " --work nobody.csv:samples=5", 2, "no run has this name");
  Refused("compare" + files + " --arms A,B", 2, "no run before the change has one");
  const std::string twice = folder_.Write("twice.csv", "time_s,gpu_seconds,samples,samples\n1,1,32,64\n");
  Refused("compare" + before + " --vs " + twice, 1, "twice.csv:1: two columns are named 'samples'");
  Refused("claim" + before + " -o " + Path("c.json") + " --boundary b --measure m --work nobody.csv:steps=5", 2,
          "no run has this name");
  std::filesystem::copy_file(Path("before0.csv"), Path("same.csv"));
  Refused("claim" + before + " " + Path("same.csv") + " -o " + Path("c.json") + " --boundary b --measure m", 2,
          "are the same run");
  EXPECT_FALSE(std::filesystem::exists(Path("c.json")));
  const std::string newer = folder_.Write("newer.json", R"({"schema":"idleburn.claim/2","more":1})");
  Refused("compare" + files + " --claim " + newer, 1, "judge it with the idleburn that wrote it");
  const ProgramRun text = RunIdleburn("compare" + Three("before", 0.2, false) + " --vs " +
                                      folder_.Write("none.csv", "time_s,gpu_seconds\n1,1\n2,1\n"));
  EXPECT_EQ(text.out.find("unit of works"), std::string::npos) << text.out;
  Refused("ledger show", 2, "unknown action 'show'");
}

TEST_F(CompareTest, AClaimIsWrittenOnceAndChecked) {
  const std::string before = Three("before", 0.2, false);
  const std::string claim = Claim(before, "--factor precision=bf16");
  Refused("claim" + before + " -o " + claim + " --boundary b --measure m", 1, "already exists");
  // Anybody can check the hash.
  const ProgramRun python =
      RunShell("python3 -c \"import json, hashlib; d = json.load(open('" + claim +
               "')); s = d.pop('sha256'); print(s == hashlib.sha256(json.dumps(d, sort_keys=True, "
               "separators=(',', ':'), ensure_ascii=False).encode()).hexdigest())\"");
  EXPECT_EQ(python.code == 0 ? python.out : "True\n", "True\n");  // where there is a Python
  std::string text = *[&] {
    std::ifstream in(claim);
    return std::optional(std::string(std::istreambuf_iterator<char>(in), {}));
  }();
  text.replace(text.find("\"smallest_effect\": 0.01"), 23, "\"smallest_effect\": 0.00");
  const std::string altered = folder_.Write("altered.json", text);
  const std::string files = before + " --vs" + Three("after", 0.13, true) + " --claim ";
  Refused("compare" + files + altered, 1, "altered.json: was changed after it was written");
  Refused("compare" + files + claim + " --level 90%", 2, "--claim fixes");
  Refused("compare" + files + Path("before0.csv"), 1, "not a JSON object");
}

TEST_F(CompareTest, ABaselineOfTwoKindsIsNoBaseline) {
  MadeRecording run;
  run.start = Instant::FromNanos((Now() - 7200) * kNanosPerSecond);
  const std::string a = Record("a.idleburn", run);
  run.start = run.start + Nanos(600 * kNanosPerSecond);
  run.facts = {{"command", "python train.py"}, {"driver", "570.86"}};
  const std::string b = Record("b.idleburn", run);
  Refused("claim " + a + " " + b + " -o " + Path("c.json") + " --boundary b --measure m", 1,
          "the baseline runs differ in driver: '550.54'");
  EXPECT_FALSE(std::filesystem::exists(Path("c.json")));
  const ProgramRun claimed =
      RunIdleburn("claim " + a + " -o " + Path("c.json") + " --boundary b --measure m --changes command");
  ASSERT_EQ(claimed.code, 0) << claimed.err;
  std::ifstream in(Path("c.json"));
  const json claim = json::parse(in);
  EXPECT_EQ(claim.at("factors").at("command"), "python train.py");
  EXPECT_EQ(claim.at("factors").at("driver"), "550.54");
  EXPECT_EQ(claim.at("factors").at("gpu.model"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(claim.at("factors").at("gpu.count"), "1");
  Refused("claim " + a + " -o " + Path("d.json") + " --boundary b --measure m --changes precision", 2,
          "has no such factor");
}

// Recordings of `idleburn run` itself, on the stand-in's GPU.
TEST_F(CompareTest, ARecordedRunTellsItsWorkAndItsFactors) {
  if (RunShell("git --version").code != 0) GTEST_SKIP() << "no git";
  const LiveMachine machine("gpu 0\n", true);
  const std::string steps = " -- sh -c 'i=0; while [ $i -lt 20 ]; do sleep 0.1; i=$((i+1)); echo step $i/20; done'";
  const ProgramRun run = machine.Run(
      "cd $F && git init -q && echo x > code && git add code && git -c user.name=a -c user.email=a@b commit -q -m x && "
      "git rev-parse HEAD > said && $I run --price 1 -o $F/r1 --recording $F/a.idleburn" +
      steps + " && $I run --price 1 -o $F/r2 --recording $F/b.idleburn" + steps);
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string a = machine.Path("a.idleburn");
  const std::string b = machine.Path("b.idleburn");
  const ProgramRun claimed = RunIdleburn("claim " + a + " -o " + Path("claim.json") + " --boundary b --measure m");
  ASSERT_EQ(claimed.code, 0) << claimed.err;
  std::ifstream in(Path("claim.json"));
  const json claim = json::parse(in);
  EXPECT_EQ(claim.at("unit"), "step");
  EXPECT_EQ(claim.at("factors").at("git.commit").get<std::string>() + "\n",
            RunShell("cat " + machine.Path("said")).out);
  EXPECT_EQ(claim.at("factors").at("git.tree"), "clean");
  EXPECT_EQ(claim.at("factors").at("command").get<std::string>().substr(0, 5), "sh -c");
  EXPECT_EQ(claim.at("factors").at("gpu.count"), "1");
  EXPECT_FALSE(claim.at("factors").at("gpu.model").get<std::string>().empty());
  EXPECT_FALSE(claim.at("factors").at("driver").get<std::string>().empty());
  const json document = Compare(a + " --vs " + b);
  EXPECT_EQ(document.at("verdict"), "INVALID");  // two seconds of telemetry
  EXPECT_TRUE(HasReason(document, "few_rows"));
  EXPECT_EQ(document.at("inputs").at(0).at("work"), 20) << document.dump(1);
  EXPECT_GT(document.at("inputs").at(0).at("gpu_seconds"), 2);
  EXPECT_TRUE(document.at("inputs").at(0).at("note").is_null());
}

TEST_F(CompareTest, BadInputGetsOneLine) {
  const std::string good = Put("good.csv", {});
  const auto bad = [&](const char* rows) {
    return "compare " + good + " --vs " + folder_.Write("bad.csv", std::string("time_s,gpu_seconds,samples\n") + rows);
  };
  Refused(bad("1,1,1\n2,x,1\n"), 1, "bad.csv:3: gpu_seconds: 'x' is not a number");
  Refused(bad("2,1,1\n1,1,1\n"), 1, "bad.csv:3: time_s: '1' is not later than the row before");
  Refused(bad("1,-1,1\n"), 1, "bad.csv:2: gpu_seconds: '-1' is negative");
  Refused(bad(""), 1, "bad.csv: has no rows");
  Refused("compare " + good, 2, "no runs after the change");
  Refused("compare --vs " + good, 2, "before is missing");
  Refused("compare " + good + " --vs " + good, 2, "is given twice");
  Refused("compare " + good + " --vs " + Put("copy.csv", {}), 2, "are the same file");
  Refused("compare " + good + " --vs /proc/nowhere.csv", 1, "/proc/nowhere.csv");
  WorkLog other;
  other.step = 0.3;
  const std::string two = "compare " + good + " --vs " + Put("other.csv", other);
  Refused(two + " --unit joule", 2, "is not one of step, sample");
  Refused(two + " --fail-on maybe", 2, "is not one of regression, not-verified, invalid");
  Refused(two + " --nra driver", 2, "is not FACTOR=");
  Refused(two + " --exclude other.csv", 2, "gives no reason");
  Refused(two + " --exclude other.csv=bad", 2, "no run has this name");
  Refused(two + " --tier a=b", 2, "is not NAME=");
  Refused(two + " --level 20%", 2, "is below 50%");
  Refused(two + " --format pdf", 2, "--format");
  Refused(two + " --projection soon", 2, "is not a number of hours");
}

// Telemetry that counts no work is known by its totals; the work is stated.
TEST_F(CompareTest, StatedWorkGivesTotals) {
  MadeRecording run;
  run.counts_steps = false;
  run.samples_per_step = 0;
  std::string sides[2];
  for (int i = 0; i < 6; ++i) {
    run.start = Instant::FromNanos((Now() - 7200 + 100 * i) * kNanosPerSecond);
    sides[i / 3] += " " + Record(fmt::format("{}.idleburn", i), run);
  }
  const json document =
      Compare(sides[0] + " --vs" + sides[1] + " --work samples=1000 --work " + Path("5.idleburn") + ":samples=2000");
  EXPECT_EQ(document.at("verdict"), "NOT_SHOWN") << document.dump(1);
  EXPECT_NEAR(document.at("saving").at("fraction"), 0.25, 1e-9);  // three times 60 s for 4,000 samples, not 3,000
  EXPECT_EQ(document.at("sides").at("before").at("rows"), 0);
}

TEST_F(CompareTest, EveryFormatSaysTheSameVerdict) {
  const std::string before = Three("before", 0.2, false);
  const std::string files = "compare" + before + " --vs" + Three("<after>", 0.13, true) + " --claim " +
                            Claim(before, "--price 2 --cashable") + " --format ";
  for (const char* format : {"text", "json", "html", "csv", "markdown"}) {
    const ProgramRun run = RunIdleburn(files + format);
    EXPECT_EQ(run.code, 0) << format << run.err;
    EXPECT_NE(run.out.find("VERIFIED"), std::string::npos) << format << "\n" << run.out;
    EXPECT_EQ(run.err, "") << format;
  }
  const std::string html = RunIdleburn(files + "html").out;
  EXPECT_EQ(html.find("<after>"), std::string::npos);
  EXPECT_NE(html.find("&lt;after&gt;"), std::string::npos);
  EXPECT_EQ(html.find("http://"), std::string::npos);
  const std::string text = RunIdleburn(files + "text --full").out;
  std::size_t at = 0;
  for (const char* part : {"VERIFIED", "avoided", "saved", "dollars", "cash", "freed", "left out", "runs",
                           "independent", "guard", "claim ", "confidence"}) {
    const std::size_t found = text.find(part, at);
    EXPECT_NE(found, std::string::npos) << part << " is not in its place\n" << text;
    at = found == std::string::npos ? at : found;
  }
}

// As a page shows it: indented, up to the line that is `end`.
std::string Indented(const std::string& text, const std::string& end) {
  std::string shown;
  std::istringstream lines(text.substr(0, text.find("\n" + end + "\n")));
  for (std::string line; std::getline(lines, line);) shown += line.empty() ? "\n" : "    " + line + "\n";
  return shown;
}

TEST_F(CompareTest, ThePagesShowWhatIsPrinted) {
  const ProgramRun run = RunShell("cd " IDLEBURN_ROOT " && " IDLEBURN_PROGRAM
                                  " compare examples/switchback_workers.csv.gz --switchback --price 2.50 --full");
  const std::string verdict = Indented(run.out, "GPU-seconds per sample");
  const std::string figures = Indented(run.out, "Runs");
  ASSERT_GT(verdict.size(), 100U) << run.out << run.err;
  ASSERT_GT(figures.size(), verdict.size() + 400);
  EXPECT_NE(ReadText(IDLEBURN_ROOT "/README.md").find(verdict), std::string::npos) << verdict;
  EXPECT_NE(ReadText(IDLEBURN_ROOT "/docs/claim-and-compare.md").find(figures), std::string::npos) << figures;
}

class DocumentedCompareTest : public ComparedFiles {
 protected:
  // Runs of growing size, of which a line is fitted, each long enough for a switchback that never was.
  [[nodiscard]] std::string LinearDocument() const {
    std::string sides[2];
    for (int i = 0; i < 16; ++i) {
      WorkLog log;
      log.start = static_cast<double>(Now() - 72000 + 3000 * i);
      log.rows = 800 + 60 * i;
      log.noise = 0.01;
      sides[i < 12 ? 0 : 1] += " '" + Put(fmt::format("line{}.csv", i), log) + "'";
    }
    return RunIdleburn("compare" + sides[0] + " --vs" + sides[1] + " --linear --format json").out;
  }
};

TEST_F(DocumentedCompareTest, EveryKeyIsDocumented) {
  const std::string before = Three("before", 0.2, false);
  const std::string after = Three("after", 0.13, true);
  std::vector<std::string> documents = {
      RunIdleburn("compare" + before + " --vs" + after + " --claim " +
                  Claim(before, "--price 2 --cashable --predicted .3") +
                  " --projection 720 --nra a=b:c:1:d --tier reserved=100:2 --format json")
          .out,
      RunIdleburn("compare" + before + " --vs" + after + " --exclude '" + Path("after1.csv") + "=x' --format json").out,
      RunIdleburn("compare" + before + " --vs" + after + " --untouched-before" + Three("u", 0.3, false) +
                  " --untouched-after" + Three("v", 0.3, true) + " --jobs " +
                  folder_.Write("jobs.csv", "job,before,after,selected\na,1,2,no\nb,2,3,no\nc,3,3,no\nd,1,2,yes\n") +
                  " --format json")
          .out,
      LinearDocument()};
  MadeRecording run;
  run.start = Instant::FromNanos((Now() - 7200) * kNanosPerSecond);
  const std::string a = Record("a.idleburn", run);
  run.facts.insert(run.facts.end(), {{"run.id", "0f3a"}, {"env.PBS_JOBID", "9"}, {"env.WANDB_PROJECT", "bert"}});
  run.start = run.start + Nanos(600 * kNanosPerSecond);
  run.exit = "exit 1";
  documents.push_back(RunIdleburn("compare " + a + " --vs " + Record("b.idleburn", run) + " --format json").out);
  WorkLog few;
  few.rows = 8;
  few.noise = 0.1;
  const std::string few_before = Put("few.csv", few);
  few.start = 100;
  documents.push_back(
      RunIdleburn("compare " + few_before + " --vs " + Put("few_after.csv", few) + " --format json").out);
  if (std::filesystem::exists(kTraces)) {
    documents.push_back(RunIdleburn("compare " + kTraces + "/D01_resnet50_nw0_a.json.gz --vs " + kTraces +
                                    "/D02_resnet50_nw4_a.json.gz --format json")
                            .out);
  } else {
    GTEST_SKIP() << kTraces << " is not there";
  }
  test::ExpectDocumented("idleburn.compare/1", documents);
}

}  // namespace
}  // namespace idleburn::testing
