// `idleburn compare` beyond two plain sides: looks more than once, untouched jobs, jobs that were picked, a line as the
// baseline, tiers of capacity.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "support/compared_files.h"
#include "support/documented_keys.h"
#include "support/shared_data.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// A switchback of `pairs` pairs in one file: B takes `saved` less than A, each block a little more or less.
std::string Alternated(int pairs, double saved) {
  std::string text = "time_s,gpu_seconds,samples,arm,block\n";
  double at = static_cast<double>(Now() + 600);
  for (int block = 0; block < 2 * pairs; ++block) {
    const int pair = block / 2;
    const bool first_is_a = std::sin(37.0 * pair + 1) > 0;
    const bool is_a = (block % 2 == 0) == first_is_a;
    const double level = 0.2 * (is_a ? 1 : 1 - saved) * (1 + 0.01 * std::sin(12.9898 * (block + 1)));
    for (int row = 0; row < 40; ++row) {
      const double step = level * (1 + 0.01 * std::sin(78.233 * (40 * block + row)));
      at += step;
      text += fmt::format("{:.6f},{:.9f},32,{},{}\n", at, step, is_a ? 'A' : 'B', block);
    }
  }
  return text;
}

// Half the width of the interval of ln R after to R before.
double HalfWidth(const json& document) {
  const json& saving = document.at("saving");
  return std::log((1 - saving.at("low").get<double>()) / (1 - saving.at("high").get<double>())) / 2;
}

using CompareDesignTest = ComparedFiles;

TEST_F(CompareDesignTest, ASequentialSwitchbackPaysForItsLooks) {
  const std::string early = folder_.Write("early.csv", Alternated(19, 0.1));
  const std::string later = folder_.Write("later.csv", Alternated(24, 0.1));
  EXPECT_EQ(Compare(early + " --switchback").at("verdict"), "INDICATED");
  const json waits = Compare(early + " --switchback --sequential");
  EXPECT_EQ(waits.at("pairs"), 19);
  EXPECT_EQ(waits.at("verdict"), "NOT_SHOWN");
  EXPECT_TRUE(HasReason(waits, "before_first_look"));
  const json fixed = Compare(later + " --switchback");
  const json looked = Compare(later + " --switchback --sequential");
  EXPECT_EQ(looked.at("saving").at("fraction"), fixed.at("saving").at("fraction"));
  // Both are the standard deviation of 24 pairs times a number: Student's t of 23 degrees by the root of 24, and the
  // normal mixture with rho .3.
  const double spread = 24 * 0.3 * 0.3;
  const double mixture = std::sqrt(2 * (spread + 1) / (24 * spread) * std::log(std::sqrt(spread + 1) / 0.05));
  EXPECT_NEAR(HalfWidth(looked) / HalfWidth(fixed), mixture / (2.0687 / std::sqrt(24)), 1e-3);
  EXPECT_GT(HalfWidth(looked), 1.3 * HalfWidth(fixed));
  const std::string claim = Claim("", "--unit sample --switchback --sequential");
  // A claim fixes the rule of stopping, whatever else holds these blocks back.
  EXPECT_NEAR(HalfWidth(Compare(later + " --claim " + claim)), HalfWidth(looked), 1e-12);
  EXPECT_NE(Compare(early + " --claim " + claim).at("verdict"), "VERIFIED");
  Refused("claim -o " + Path("c.json") + " --boundary b --measure m --unit sample --sequential", 2,
          "--sequential needs --switchback");
}

// 24 pairs of blocks of 60 steps that do not hang together, claimed before: looked at twice, and VERIFIED.
TEST_F(CompareDesignTest, ASequentialSwitchbackIsVerified) {
  const std::string claim = Claim("", "--unit sample --switchback --sequential --price 2 --cashable");
  const auto log = [](int pairs) {
    std::mt19937 random(5);
    std::string text = "time_s,gpu_seconds,samples,arm,block\n";
    double at = static_cast<double>(Now() + 600);
    bool second = false;
    for (int block = 0; block < 2 * pairs; ++block) {
      second = block % 2 == 1 ? !second : random() % 2 == 0;
      for (int row = 0; row < 60; ++row) {
        const double step = (second ? 0.18 : 0.2) * (0.95 + 0.0001 * static_cast<double>(random() % 1000));
        at += step;
        text += fmt::format("{:.6f},{:.9f},32,{},{}\n", at, step, second ? 'B' : 'A', block);
      }
    }
    return text;
  };
  const json early = Compare(folder_.Write("early.csv", log(12)) + " --claim " + claim);
  EXPECT_EQ(early.at("verdict"), "NOT_SHOWN");
  EXPECT_TRUE(HasReason(early, "before_first_look"));
  const json looked = Compare(folder_.Write("later.csv", log(24)) + " --claim " + claim);
  EXPECT_EQ(looked.at("verdict"), "VERIFIED") << looked.dump(1);
  EXPECT_EQ(looked.at("pairs"), 24);
  EXPECT_EQ(looked.at("plan"), "claimed");
  EXPECT_NEAR(looked.at("saving").at("fraction"), 0.1, 0.01);
}

// Runs after one baseline may be looked at as often as one likes, from the 20th on; it proves nothing.
TEST_F(CompareDesignTest, RunsAfterOneBaselineMayBeLookedAtAgain) {
  const std::string before = Three("before", 0.2, false);
  std::string after;
  for (int i = 0; i < 20; ++i) {
    WorkLog log;
    log.start = static_cast<double>(Now() + 3600 + i * 600);
    log.step = 0.13 * (1 + 0.001 * (i % 3));
    after += " '" + Put(fmt::format("after{}.csv", i), log) + "'";
    if (i != 18) continue;
    EXPECT_TRUE(HasReason(Compare(before + " --vs" + after + " --sequential"), "before_first_look"));
  }
  const json looked = Compare(before + " --vs" + after + " --sequential");
  EXPECT_EQ(looked.at("verdict"), "INDICATED") << looked.dump(1);
  EXPECT_TRUE(HasReason(looked, "sequential_needs_switchback"));
  EXPECT_NEAR(looked.at("saving").at("fraction"), 0.35, 0.002);
  EXPECT_GT(HalfWidth(looked), HalfWidth(Compare(before + " --vs" + after)));
}

// How the baseline was picked is written down with the claim. A table of jobs says what the pick alone does.
TEST_F(CompareDesignTest, ABaselineThatWasPickedForBeingBad) {
  const std::string before = Three("before", 0.2, false);
  const std::string sides = before + " --vs" + Three("after", 0.13, true);
  const std::string worst = Claim(before, "--picked worst");
  const json said = Compare(sides + " --claim " + worst);
  EXPECT_EQ(said.at("verdict"), "INDICATED");
  EXPECT_TRUE(HasReason(said, "chosen_for_being_bad"));
  EXPECT_TRUE(said.at("reversion").is_null());

  // Work a GPU-hour of other jobs: those that began a quarter below were a tenth better the next time.
  std::string table = "job,before,after,selected\n";
  for (int i = 0; i < 40; ++i) {
    const double first = std::exp(0.2 * std::sin(2.4 * i));
    table += fmt::format("u{},{:.9f},{:.9f},no\n", i, 100 * first, 100 * std::pow(first, 0.5) * (1 + 0.001 * (i % 3)));
  }
  for (int i = 0; i < 4; ++i) table += fmt::format("s{},{:.9f},{:.9f},yes\n", i, 75.0, 90.0);
  const std::string jobs = " --jobs " + folder_.Write("jobs.csv", table);
  const json taken = Compare(sides + " --claim " + worst + jobs);
  // The line of after on before has slope 0.5, so that ln 0.75 comes half way back to the mean of 0.
  EXPECT_NEAR(taken.at("reversion").get<double>(), 1 - std::sqrt(0.75), 0.01) << taken.dump(1);
  EXPECT_NEAR(taken.at("saving").at("fraction").get<double>(), 1 - 0.65 / std::sqrt(0.75), 0.01);
  EXPECT_EQ(taken.at("verdict"), "VERIFIED") << taken.dump(1);
  EXPECT_FALSE(HasReason(taken, "chosen_for_being_bad"));
  Refused("compare " + sides + " --switchback" + jobs, 2, "has no effect on a switchback");
  Refused("compare " + sides + " --jobs " + folder_.Write("zero.csv", "job,before,after,selected\na,0,1,yes\n"), 1,
          "not above 0");
  Refused("claim -o " + Path("c.json") + " --boundary b --measure m --unit sample --picked best", 2, "neither all");
}

// A quarter off on the changed jobs, a fifth on all others: 1 - .65 / .8 of it is the change's own.
TEST_F(CompareDesignTest, WhatUntouchedJobsDidIsTakenOff) {
  const std::string before = Three("before", 0.2, false);
  const std::string after = Three("after", 0.13, true);
  const std::string others = " --untouched-before" + Three("other", 0.3, false) + " --untouched-after";
  const std::string claimed = before + " --vs" + after + " --claim " + Claim(before);
  const json document = Compare(claimed + others + Three("later", 0.24, true));
  EXPECT_NEAR(document.at("saving").at("fraction"), 1 - 0.65 / 0.8, 0.002);
  EXPECT_EQ(document.at("verdict"), "VERIFIED") << document.dump(1);
  const json all = Compare(claimed + others + Three("same", 0.3 * 0.65, true));  // as much as the changed ones
  EXPECT_NEAR(all.at("saving").at("fraction"), 0, 0.002);
  EXPECT_EQ(all.at("verdict"), "NOT_SHOWN");
  const json few =
      Compare(claimed + " --untouched-before " + Path("other0.csv") + " --untouched-after " + Path("later0.csv"));
  EXPECT_TRUE(HasReason(few, "comparators_not_used"));
  EXPECT_NEAR(few.at("saving").at("fraction"), 0.35, 0.002);
}

TEST_F(CompareDesignTest, RunsThatWereChosenForBeingBadVerifyNothing) {
  const std::string before = Three("before", 0.2, false);
  const std::string claimed = before + " --vs" + Three("after", 0.13, true) + " --claim " + Claim(before);
  EXPECT_EQ(Compare(claimed).at("verdict"), "VERIFIED");
  const json document = Compare(claimed + " --chosen-for-being-bad");
  EXPECT_EQ(document.at("verdict"), "INDICATED");
  EXPECT_TRUE(HasReason(document, "chosen_for_being_bad"));
}

// Trap 18: the worst tenth of 200 jobs, nothing changed.
TEST_F(CompareDesignTest, TheWorstJobsImproveByThemselves) {
  const auto jobs = test::ReadShared("data/traps/18_regression_to_the_mean/jobs.csv");
  if (!jobs) GTEST_SKIP() << "data/traps/18_regression_to_the_mean is not there";
  const json right = json::parse(*test::ReadShared("data/traps/18_regression_to_the_mean/case.json")).at("right");
  std::istringstream in(*jobs);
  std::string line;
  std::getline(in, line);
  std::vector<std::pair<double, std::string>> rows;
  while (std::getline(in, line)) rows.emplace_back(std::stod(line.substr(line.find(',') + 1)), line);
  std::sort(rows.begin(), rows.end());
  std::string text = "job,before,after,selected\n";
  for (std::size_t i = 0; i < rows.size(); ++i) text += rows[i].second + (i < 20 ? ",yes\n" : ",no\n");
  const std::string file = "--jobs " + folder_.Write("jobs.csv", text);
  const json document = Compare(file);
  const auto holds = [&](const char* name, const json& answer) {
    EXPECT_NEAR(answer.get<double>(), right.at(name).at("value"), right.at(name).at("tol")) << name;
  };
  holds("raw_change_points", document.at("raw_change"));
  holds("week_to_week_slope", document.at("slope").at("estimate"));
  holds("slope_se", document.at("slope").at("standard_error"));
  holds("expected_null_change_points", document.at("expected_change").at("estimate"));
  holds("net_change_points", document.at("net_change").at("estimate"));
  holds("net_change_se_points", document.at("net_change").at("standard_error"));
  EXPECT_EQ(document.at("verdict"), right.at("verdict").at("equals"));
  test::ExpectDocumented("idleburn.reversion/1", std::vector<std::string>{document.dump()});
  const ProgramRun shown = RunIdleburn("compare " + file);
  EXPECT_EQ(shown.out.substr(0, 10), "NOT_SHOWN:");
  for (const char* figure : {"+7.93", "+0.671", "+10.3", "-2.35", "3.53"}) {
    EXPECT_NE(shown.out.find(figure), std::string::npos) << figure << "\n" << shown.out;
  }
  EXPECT_EQ(RunIdleburn("compare " + file + " --fail-on not-verified").code, 3);
  Refused("compare " + file + " --format csv", 2, "text, json, html or markdown");
  Refused("compare " + file + " --cashable", 2, "--jobs alone allows only --level");
  Refused("compare --vs a.csv " + file, 2, "remove the flags about runs");
  Refused("compare --jobs " + folder_.Write("few.csv", "job,before,after,selected\na,1,2,yes\nb,2,2,no\n"), 1,
          "3 untouched jobs");
}

// Per hour 100 GPUs reserved at $2 and 20 on demand at $4, of which 30 % fewer are needed: $80 cash, 16 GPUs freed.
TEST_F(CompareDesignTest, TheCancellableTierIsEmptiedFirst) {
  std::string sides[2];
  for (int i = 0; i < 6; ++i) {
    const double hours = i < 3 ? 40 : 28;
    sides[i / 3] +=
        " " + folder_.Write(fmt::format("hour{}.csv", i), fmt::format("time_s,gpu_seconds,epochs\n{},{},100\n",
                                                                      1'700'000'000 + i * 3600, hours * 3600));
  }
  const json document =
      Compare(sides[0] + " --vs" + sides[1] + " --price 2 --tier reserved=100:2 --tier demand=20:4:cancellable");
  EXPECT_EQ(document.at("cashable"), "80.00");
  EXPECT_EQ(document.at("freed_capacity"), 16);
  EXPECT_EQ(document.at("money").at("bill_before"), "280.00");
  EXPECT_EQ(document.at("money").at("bill_after"), "200.00");
}

// Jobs with a fixed cost of 500 GPU-s each, twice as large after the change, and a tenth saved: a ratio calls the size
// a saving too.
TEST_F(CompareDesignTest, ALineTellsLessWorkFromCheaperWork) {
  std::string sides[2];
  double needed = 0;
  double spent = 0;
  for (int i = 0; i < 28; ++i) {
    const bool after = i >= 14;
    const double work = (after ? 1400 : 1000) + 100 * (i % 7);
    const double line = 500 + work;
    const double cost = line * (after ? 0.9 : 1) * (1 + 0.002 * std::sin(12.9898 * (i + 1)));
    if (after) needed += line;
    if (after) spent += cost;
    const std::int64_t end = Now() + (after ? 7200 : -90'000) + i * 4000;
    sides[after ? 1 : 0] +=
        " " + folder_.Write(fmt::format("job{}.csv", i),
                            fmt::format("time_s,gpu_seconds,samples\n{},{:.6f},{}\n", end, cost, work));
  }
  const std::string files = sides[0] + " --vs" + sides[1];
  EXPECT_GT(Compare(files).at("saving").at("fraction"), 0.13);
  const json flag = Compare(files + " --linear");
  EXPECT_NEAR(flag.at("saving").at("fraction"), 1 - spent / needed, 0.002);
  const json claimed = Compare(files + " --claim " + Claim(sides[0], "--linear"));
  EXPECT_EQ(claimed.at("saving"), flag.at("saving"));
  EXPECT_EQ(claimed.at("verdict"), "VERIFIED") << claimed.dump(1);
  const json few = Compare(Three("few", 0.2, false) + " --vs" + Three("later", 0.13, true) + " --linear");
  EXPECT_TRUE(HasReason(few, "baseline_model_fell_back"));
}

TEST_F(CompareDesignTest, TheClaimsPriceIsSaidToWin) {
  const std::string before = Three("before", 0.2, false);
  const std::string files = "compare" + before + " --vs" + Three("after", 0.13, true) + " --claim " +
                            Claim(before, "--price 2 --cashable") + " --format json --price ";
  const ProgramRun other = RunIdleburn(files + "3");
  EXPECT_EQ(other.code, 0);
  EXPECT_NE(other.err.find("3 of --price has no effect: the claim fixes $2.00 a GPU-hour"), std::string::npos);
  EXPECT_EQ(std::count(other.err.begin(), other.err.end(), '\n'), 1) << other.err;
  EXPECT_EQ(json::parse(other.out).at("money").at("rate_before"), "2.00");
  EXPECT_EQ(RunIdleburn(files + "2.0").err, "");
}

}  // namespace
}  // namespace idleburn::testing
