// What the pages of a fleet say of its GPUs beside the bill.
#include "report/fleet_gpus_output.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

std::string SizeText(const FleetRightSizing& sizing) {
  FleetReport report;
  report.right_sizing = sizing;
  ReportPage page;
  AddGpuTables(report, &page);
  return PageText(page, 160, false);
}

TEST(FleetGpusOutputTest, ABucketThatHeldGpusHasAWordForPeople) {
  FleetRightSizing sizing;
  SizeCandidate& one = sizing.candidates.emplace_back();
  one.kind = "smaller_gpu";
  one.model = "H100";
  one.target = "L40S-48GB";
  one.team = "_unknown";
  one.job = "_unknown";
  one.gpus = {{"n", "GPU-1"}};
  const std::string text = SizeText(sizing);
  EXPECT_EQ(text.find("_unknown"), std::string::npos) << text;
  EXPECT_NE(text.find("unknown"), std::string::npos) << text;
}

TEST(FleetGpusOutputTest, GpusWithLittleDataAreCounted) {
  FleetRightSizing sizing;
  sizing.little_data = 3;
  const std::string text = SizeText(sizing);
  EXPECT_NE(text.find("too little data for 3 GPUs"), std::string::npos) << text;
}

}  // namespace
}  // namespace idleburn
