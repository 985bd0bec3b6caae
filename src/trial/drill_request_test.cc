#include "trial/drill_request.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(DrillRequestTest, DefaultsAreACloudsNoticeAtARandomTime) {
  const Result<DrillSpec> spec = DrillRequest{}.Spec({"train"}, 1'234'567'890);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->leg.interruption.signal, SIGTERM);
  EXPECT_EQ(spec->leg.interruption.grace, Nanos(30 * kNanosPerSecond));
  EXPECT_EQ(spec->after->low, Nanos(10 * kNanosPerSecond));
  EXPECT_EQ(spec->after->high, Nanos(30 * kNanosPerSecond));
  EXPECT_EQ(spec->seed, 567'890U);
  EXPECT_EQ(spec->rounds, 3);
  EXPECT_EQ(spec->resume, std::vector<std::string>{"train"});
}

TEST(DrillRequestTest, CloudsSignalsAndSpans) {
  DrillRequest request;
  request.cloud = "aws";
  EXPECT_EQ(request.Spec({"t"}, 0)->leg.interruption.grace, Nanos(120 * kNanosPerSecond));
  request.grace = "5s";
  EXPECT_EQ(request.Spec({"t"}, 0)->leg.interruption.grace, Nanos(5 * kNanosPerSecond));
  request.signal = "sigint";
  EXPECT_EQ(request.Spec({"t"}, 0)->leg.interruption.signal, SIGINT);
  request.after_steps = "5..9";
  const Result<DrillSpec> spec = request.Spec({"t"}, 0);
  EXPECT_FALSE(spec->after);
  EXPECT_EQ(spec->after_steps->low, 5);
  EXPECT_EQ(spec->after_steps->high, 9);
  request.after = "2s";
  request.resume = "t --from 'the last'";
  EXPECT_EQ(request.Spec({"t"}, 0)->after->high, Nanos(2 * kNanosPerSecond));
  EXPECT_EQ(request.Spec({"t"}, 0)->resume, (std::vector<std::string>{"t", "--from", "the last"}));
}

}  // namespace
}  // namespace idleburn
