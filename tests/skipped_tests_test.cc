// `make test` says by name what was not tested, and ends as the tests did.
#include <gtest/gtest.h>

#include "places.h"
#include "support/program.h"

namespace idleburn {
namespace {

using testing::ProgramRun;
using testing::TempFolder;

TEST(SkippedTests, DISABLED_ThatNeedsWhatIsNotHere) { GTEST_SKIP() << "data/'no' <such> & \"file\" is missing"; }
TEST(SkippedTests, DISABLED_ThatPasses) {}

// A ctest that runs those two of this program and ends with the code it is told.
ProgramRun RunTests(const TempFolder& folder, const std::string& code) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string ctest = folder.Write(
      "ctest", "#!/bin/sh\necho \"$@\"\nunset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX\n" + program +
                   " --gtest_also_run_disabled_tests --gtest_filter='SkippedTests.DISABLED_*' --gtest_brief=1 "
                   "--gtest_output=xml:" +
                   folder.path().string() + "/build/test_results/all.xml >/dev/null\nexit " + code + "\n");
  testing::MustRunTool("chmod +x " + ctest);
  return testing::RunShell("PATH=" + folder.path().string() + ":$PATH " IDLEBURN_ROOT "/tools/run_tests.sh " +
                           folder.path().string() + "/build --parallel 2");
}

TEST(SkippedTests, AreNamedWithTheirReason) {
  const TempFolder folder;
  const ProgramRun run = RunTests(folder, "0");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "--test-dir " + folder.path().string() +
                         "/build --output-on-failure --parallel 2\nSkipped, 1 in all:\n"
                         "  SkippedTests.DISABLED_ThatNeedsWhatIsNotHere: data/'no' <such> & \"file\" is missing\n");
  const ProgramRun failed = RunTests(folder, "8");
  EXPECT_EQ(failed.code, 8);
  EXPECT_EQ(failed.out, run.out);
}

}  // namespace
}  // namespace idleburn
