#include <gtest/gtest.h>

#include "report/plan_output.h"
#include "support/documented_keys.h"

namespace idleburn {
namespace {

std::string Answer(const StepFlags& flags, bool json = false) {
  const Result<StepAnswer> answer = ReadStepFlags(flags);
  EXPECT_TRUE(answer) << answer.error().message;
  return json ? StepJson(*answer) : PageText(StepPage(*answer), 140, false);
}

// docs/plan-options.md, "A step's utilization alone": 45 % at 220 ms, target 80 %.
TEST(PlanUtilizationTest, WhatATargetTakes) {
  const std::string text = Answer({"45%@220ms", "80%", ""});
  for (const char* part :
       {"busy for 99 ms", "at most 124 ms", "1.78 times", "43.8 % fewer", "cached tokenisation",
        "8 or more loader workers instead of 2", "pinned memory", "prefetch", "persistent workers"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

// docs/plan-options.md, "A step's utilization alone": 55 % at 200 ms becomes 88 % at 130 ms.
TEST(PlanUtilizationTest, WhatAChangeSaved) {
  const std::string text = Answer({"55%@200ms", "88%@130ms", "10h"});
  for (const char* part :
       {"1.54 times", "35.0 % fewer", "10 h become 6 h 30 min", "from 110 ms to 114 ms", "125 ms", "1.6 times"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(PlanUtilizationTest, WhatIsMissingIsNamed) {
  const std::pair<StepFlags, const char*> wrong[] = {{{"45%@220ms", "", ""}, "go together"},
                                                     {{"45%", "80%", ""}, "the length of the step"},
                                                     {{"0%@220ms", "80%", ""}, "without GPU use"},
                                                     {{"45%@220", "80%", ""}, "--step"},
                                                     {{"45%@220ms", "180%", ""}, "--step-to"}};
  for (const auto& [flags, part] : wrong) {
    const Result<StepAnswer> answer = ReadStepFlags(flags);
    ASSERT_FALSE(answer) << flags.from;
    EXPECT_NE(answer.error().message.find(part), std::string::npos) << answer.error().message;
  }
}

TEST(PlanUtilizationTest, DocumentAndWriterAgree) {
  test::ExpectDocumented("idleburn.utilization/1",
                         std::vector<std::string>{Answer({"55%@200ms", "88%@130ms", "10h"}, true),
                                                  Answer({"45%@220ms", "80%", ""}, true)});
}

}  // namespace
}  // namespace idleburn
