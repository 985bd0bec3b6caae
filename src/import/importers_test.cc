#include <gtest/gtest.h>

#include <string>

#include "import/importer.h"

namespace idleburn {
namespace {

TEST(MistakenInputTest, SaysWhatWasGivenAndWhatToDoInstead) {
  const auto says = [](std::string_view head, std::string_view what) {
    return MistakenFor(head).find(what) != std::string_view::npos;
  };
  EXPECT_TRUE(says("Fri Jul  3 22:22:01 2026\n+----+\n| NVIDIA-SMI 590.48.01   Driver Version: 590.48.01 |\n",
                   "--query-gpu=timestamp"));
  EXPECT_TRUE(says("\n==============NVSMI LOG==============\n\nTimestamp : Fri Jul  3\n", "-q -x"));
  EXPECT_TRUE(says("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "driver"));
  EXPECT_TRUE(says("Failed to initialize NVML: Driver/library version mismatch\n", "driver"));
  EXPECT_TRUE(says("No devices were found\n", "no GPU"));
  EXPECT_TRUE(says("Field \"utilisation.gpu\" is not a valid field to query.\n", "--help-query-gpu"));
  EXPECT_TRUE(says("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} =>\n10 @[1783117320.25]\n", "promtool query instant -o json"));
  EXPECT_TRUE(says("<!DOCTYPE html>\n<html><body>404</body></html>\n", "web page"));
  EXPECT_TRUE(says("BilledCost,ChargePeriodStart,ServiceCategory\n1.5,2026-07-01,Compute\n", "--actuals"));
  EXPECT_TRUE(says("JobID|User|AllocTRES|Elapsed\n17|ada|gres/gpu=8|01:00:00\n", "sacct"));
  EXPECT_TRUE(says("2026/07/03 22:22:01.444, 0, 12 %, 78.28 W\n", "time=#1,gpu=#2,util=#3"));
  EXPECT_TRUE(says("2026-07-03T22:22:01Z,0,12\n", "noheader"));
}

TEST(MistakenInputTest, AnArchiveIsNoLogWhateverLiesInIt) {
  std::string tar = "gpu.csv" + std::string(250, '\0') + "ustar" + std::string(250, '\0') +
                    "timestamp, index, utilization.gpu [%]\n2026/07/03 22:22:01.444, 0, 97 %\n";
  EXPECT_NE(ArchiveFor(tar).find("tar archive"), std::string_view::npos);
  EXPECT_NE(ArchiveFor("PK\x03\x04zip").find("zip archive"), std::string_view::npos);
  EXPECT_NE(ArchiveFor("BZh91AY").find("bunzip2"), std::string_view::npos);
  EXPECT_NE(ArchiveFor("\x1F\x8B\x08").find("packed twice"), std::string_view::npos);
  for (const char* head : {"", "P", "timestamp, index\n", "PAR1", "BZ"}) EXPECT_EQ(ArchiveFor(head), "") << head;
}

TEST(MistakenInputTest, IsSilentOfWhatItDoesNotKnow) {
  for (const char* head : {"", "\n", "a,b\n1,2\n", "2026/07/03 22:22:01 the trainer starts\n", "hello\n"}) {
    EXPECT_EQ(MistakenFor(head), "") << head;
  }
}

}  // namespace

}  // namespace idleburn
