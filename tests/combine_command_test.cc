// `idleburn combine` as its users meet it: the real program, its output and exit codes.
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "places.h"
#include "support/program.h"
#include "support/read_inputs.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::ProgramRun;
using testing::Shared;
using testing::Unwrapped;

// Both outputs as one, as a terminal shows them: a line too many on either is seen.
ProgramRun RunIdleburn(const std::string& arguments) { return testing::RunIdleburn(arguments + " 2>&1"); }

json CombineToJson(const std::string& arguments) {
  const ProgramRun outcome = RunIdleburn("combine --format json " + arguments);
  EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.out;
  return json::parse(outcome.out, nullptr, false);
}

void ExpectNear(const json& got, const json& want) {
  EXPECT_NEAR(got.get<double>(), want["value"].get<double>(), want["tol"].get<double>());
}

TEST(CombineCommand, NamesAreAsTheyMayBeShown) {
  const std::string given = R"(--fix "$(printf '\377\033[31mx')=.3" --pool p=.3:a=.5 --waste .5)";
  const json got = CombineToJson(given);
  EXPECT_EQ(got["not_in_rule"], json::array({"\xEF\xBF\xBD?[31mx"}));
  const std::string text = RunIdleburn("combine " + given).out;
  EXPECT_NE(text.find("Warning: --fix \xEF\xBF\xBD?[31mx is in no pool"), std::string::npos) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
}

TEST(CombineCommand, OverlappingFixesOfTheTrap) {
  const auto folder = Shared() / "data/traps/16_combining_overlapping_fixes";
  REQUIRE_SHARED(folder / "input.json");
  const json input = json::parse(testing::ReadText(folder / "input.json"));
  const json right = json::parse(testing::ReadText(folder / "case.json"))["right"];
  std::string arguments = "--waste " + input["measured_waste"].dump() + " --rate " + input["rate_cut"].dump();
  for (const json& fix : input["fixes"]) arguments += " --fix " + fix.dump();
  const json got = CombineToJson(arguments);
  ExpectNear(got["fraction_before_cap"], right["uncapped_time_saving"]);
  ExpectNear(got["time_fraction"], right["time_saving"]);
  ExpectNear(got["total_fraction"], right["saving"]);
  EXPECT_EQ(got["rule"], "fraction");
  EXPECT_EQ(got["low"], 0.0);
  EXPECT_TRUE(got["rules"]["lanes"].is_null());
}

// The trap's fixes say what is left of a stage; --lane-fix what is taken away.
std::string LaneFixes(const json& fixes, const std::vector<std::string>& names) {
  std::string flags;
  for (const std::string& name : names) {
    flags += " --lane-fix " + name + "=";
    std::string separator;
    for (const auto& [stage, left] : fixes[name].items()) {
      flags += separator + stage + ":" + std::to_string(1 - left.get<double>());
      separator = ",";
    }
  }
  return flags;
}

TEST(CombineCommand, OverlappedPipelineOfTheTrap) {
  const auto folder = Shared() / "data/traps/17_overlapped_pipeline";
  REQUIRE_SHARED(folder / "input.json");
  const json input = json::parse(testing::ReadText(folder / "input.json"));
  const json right = json::parse(testing::ReadText(folder / "case.json"))["right"];
  std::string lanes;
  std::string serial = " --lane step=";
  std::string between;
  for (const auto& [lane, stages] : input["lanes_ms"].items()) {
    lanes += " --lane " + lane + "=";
    std::string separator;
    for (const auto& [stage, ms] : stages.items()) {
      lanes += separator + stage + ":" + ms.dump();
      serial += between + stage + ":" + ms.dump();
      separator = between = ",";
    }
  }
  const json& fixes = input["fixes"];
  const std::vector<std::string> all = {"dali", "workers", "pin_memory", "cuda_graphs"};
  ExpectNear(CombineToJson(lanes + LaneFixes(fixes, {"dali"}))["total_fraction"], right["dali"]);
  ExpectNear(CombineToJson(lanes + LaneFixes(fixes, {"workers"}))["total_fraction"], right["workers"]);
  ExpectNear(CombineToJson(lanes + LaneFixes(fixes, {"pin_memory", "cuda_graphs"}))["total_fraction"],
             right["pin_memory+cuda_graphs"]);
  ExpectNear(CombineToJson(lanes + LaneFixes(fixes, all))["total_fraction"], right["all"]);
  ExpectNear(CombineToJson(serial + LaneFixes(fixes, all))["total_fraction"], right["all_if_serial"]);
}

// Every "$ idleburn ..." of the page is run; the lines below it must stand in the output.
TEST(CombineCommand, DocumentationTellsTheTruth) {
  std::istringstream page(testing::ReadText(std::filesystem::path(IDLEBURN_ROOT) / "docs/combining.md"));
  constexpr std::string_view kPrompt = "$ idleburn ";
  std::string line;
  std::string output;
  bool inside = false;
  int commands = 0;
  while (std::getline(page, line)) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
    } else if (inside && line.rfind(kPrompt, 0) == 0) {
      const ProgramRun outcome = RunIdleburn(line.substr(kPrompt.size()));
      EXPECT_EQ(outcome.code, 0) << line;
      output = outcome.out;
      ++commands;
    } else if (inside) {
      EXPECT_NE(output.find(line), std::string::npos) << "documented: " << line << "\nprinted:\n" << output;
    }
  }
  EXPECT_GE(commands, 10);
}

TEST(CombineCommand, DecimalsOfTheClaimsStayDecimals) {
  const std::string three = RunIdleburn("combine --format json --fix .35 --fix .30 --fix .25").out;
  EXPECT_NE(three.find("\"total_fraction\": 0.65875,"), std::string::npos) << three;
  EXPECT_NE(three.find("\"naive_sum\": 0.9,"), std::string::npos) << three;
  const std::string two = RunIdleburn("combine --format json --fix .4 --rate .6").out;
  EXPECT_NE(two.find("\"total_fraction\": 0.76,"), std::string::npos) << two;
}

TEST(CombineCommand, NamesWhatARuleLacks) {
  const ProgramRun outcome = RunIdleburn("combine --fix 35% 30% 25%");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.rfind("These fixes together save at most 65.9 %", 0), 0U) << outcome.out;
  EXPECT_NE(outcome.out.find("lanes     not given; needs --lane"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("pools     not given; needs --pool"), std::string::npos) << outcome.out;
}

TEST(CombineCommand, OneFixNeedsNoWarning) {
  EXPECT_EQ(RunIdleburn("combine --fix .3 --waste .5").out.find("Warning"), std::string::npos);
}

TEST(CombineCommand, ThePlainSumIsRefutedByItsOwnCause) {
  struct Case {
    const char* arguments;
    const char* why;
  };
  constexpr std::array<Case, 4> kCases = {
      {{"--fix .2 --waste .1", "no fix on waste saves more than the waste, 10.0 %."},
       {"--fix .2 --fix .1", "the sum counts overlaps twice."},
       {"--fix .2 --rate .5", "a price cut applies only to what the fixes leave."},
       {"--lane load=load:140 --lane gpu=compute:150 --lane-fix dali=load:.5",
        "lanes run in parallel, but the sum adds them up."}}};
  for (const Case& c : kCases) {
    const std::string out = RunIdleburn(std::string("combine ") + c.arguments).out;
    const std::string why = c.why;
    EXPECT_NE(Unwrapped(out).find("It is not a saving: " + why), std::string::npos) << out;
    EXPECT_NE(out.find(why.substr(why.rfind(' ') + 1) + "\n"), std::string::npos) << "the sentence ends its line\n"
                                                                                  << out;
  }
}

TEST(CombineCommand, SaysWhichClaimIsNotInTheFigure) {
  const std::string lanes =
      "--lane load=load:140 --lane gpu=compute:150 --lane-fix dali=load:.5 --fix fp8=.3 --waste .5";
  const std::string out = RunIdleburn("combine " + lanes).out;
  EXPECT_NE(out.find("Warning: --fix fp8 is in no lane and not in this figure.\n"), std::string::npos) << out;
  EXPECT_EQ(CombineToJson(lanes)["not_in_rule"], json({"fp8"}));
  EXPECT_EQ(CombineToJson("--fix .3")["not_in_rule"], json::array());
}

TEST(CombineCommand, SpotThatDoesNotPayIsACost) {
  const ProgramRun outcome = RunIdleburn("combine --rate .5 --overhead 1.2");
  EXPECT_EQ(outcome.out.rfind("These fixes together cost 10.0 % more", 0), 0U) << outcome.out;
}

TEST(CombineCommand, IsTheSameEveryTime) {
  const std::string arguments = "combine --format json --pool a=.3:x=.5,y=.4 --fix .2 --cheaper .5:2 --waste .4";
  EXPECT_EQ(RunIdleburn(arguments).out, RunIdleburn(arguments).out);
}

TEST(CombineCommand, WrongUseIsOneLineAndExitCodeTwo) {
  for (const char* arguments :
       {"", "--waste .5", "--fix 1.2", "--fix -0.1", "--fix abc", "--fix ''", ".4", "--fix .3 --rate 1", "--pool a=.3",
        "--lane-fix x=load:.5", "--fix a=.3 --substitutes a,b", "--cheaper .5:1 --waste .2", "--fix .3 --format xml",
        "--fix .3 --independent-steps 0", "--fix .3 --rat .5"}) {
    const ProgramRun outcome = RunIdleburn(std::string("combine ") + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.out.rfind("idleburn: combine: ", 0), 0U) << arguments << ": " << outcome.out;
    EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << arguments << ": " << outcome.out;
  }
}

}  // namespace
}  // namespace idleburn
