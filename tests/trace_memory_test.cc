// What the audit of a profiler's file may hold: 48 bytes a device event, 32 a launch record, 16 a united host range,
// and 64 MiB for all else, however many idle gaps there are.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "places.h"
#include "support/program.h"
#include "support/sqlite_file.h"

namespace idleburn {
namespace {

using testing::ProgramRun;
using testing::RunShell;
using testing::TempFolder;

constexpr std::int64_t kKernels = 400'000;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;  // what is freed stays resident
#else
constexpr bool kSanitized = false;
#endif

// Peak resident bytes of an audit. A child's peak starts at that of the program that starts it, so a shell stands in
// between: it starts a small interpreter, and that the audit.
std::int64_t PeakOf(const std::string& file) {
  const ProgramRun run = RunShell(
      "python3 -c \"import resource, subprocess, sys\n"
      "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
      "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\" " IDLEBURN_BUILD
      "/idleburn audit --quiet --price 4 --format json " +
      file);
  EXPECT_EQ(run.out.substr(0, 2), "0 ") << run.out << run.err;
  return std::atoll(run.out.c_str() + 2);
}

void ExpectWithin(std::int64_t peak, std::int64_t host_ranges) {
  EXPECT_GT(peak, kKernels * 80) << "nothing was measured";
  EXPECT_LT(peak, (std::int64_t{64} << 20) + kKernels * (48 + 32) + host_ranges * 16);
}

// Every device event stands alone behind a gap, with an operator and a launch before it, in 50 steps.
std::string Gaps(const std::string& event, const std::string& call) {
  std::string text = R"({"deviceProperties":[{"id":0,"name":"NVIDIA H100"}],"traceEvents":[)";
  text.reserve(kKernels * 320);
  for (std::int64_t i = 0; i < kKernels; ++i) {
    const std::string at = std::to_string(1'000'000 + 20 * i);
    const std::string launch = std::to_string(1'000'001 + 20 * i);
    const std::string start = std::to_string(1'000'009 + 20 * i);
    const std::string id = R"("args":{"bytes":4096,"correlation":)" + std::to_string(i) + "}},\n";
    if (i % 8000 == 0) {
      text += R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#)" + std::to_string(i / 8000) +
              R"(","pid":1,"tid":1,"ts":)" + at + ",\"dur\":159999},\n";
    }
    text += R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":)" + at + ".25,\"dur\":0.5},\n";
    text += R"({"ph":"X","cat":"cuda_runtime",)" + call + R"(,"pid":1,"tid":1,"ts":)" + launch + ",\"dur\":4," + id;
    text += R"({"ph":"X",)" + event + R"(,"pid":0,"tid":7,"ts":)" + start + ",\"dur\":5," + id;
  }
  return text + R"({"ph":"i","name":"end"}]})";
}

void ExpectGapsWithin(const std::string& event, const std::string& call) {
  const TempFolder folder;
  ExpectWithin(PeakOf(folder.Write("gaps.json", Gaps(event, call))), kKernels);
}

TEST(TraceMemoryTest, GapsOfAPyTorchTraceTakeNoMemoryOfTheirOwn) {
  if (kSanitized) GTEST_SKIP() << "sanitizers hold what was freed";
  ExpectGapsWithin(R"("cat":"kernel","name":"gemm")", R"("name":"cudaLaunchKernel")");
}

// Nor where the device never computes, so that nothing tells where one slice of its time might end.
TEST(TraceMemoryTest, NeitherDoTheGapsBetweenCopies) {
  if (kSanitized) GTEST_SKIP() << "sanitizers hold what was freed";
  ExpectGapsWithin(R"_("cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)")_", R"("name":"cudaMemcpyAsync")");
}

TEST(TraceMemoryTest, GapsOfNsightTakeNoMemoryOfTheirOwn) {
  if (kSanitized) GTEST_SKIP() << "sanitizers hold what was freed";
  const std::string series = "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i + 1 < " +
                             std::to_string(kKernels) + ") INSERT INTO CUPTI_ACTIVITY_KIND_";
  const test::SqliteFile file(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER, "
      "correlationId INTEGER, demangledName INTEGER, shortName INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, globalTid INTEGER, correlationId "
      "INTEGER, nameId INTEGER);" +
      series + "KERNEL SELECT 9000 + 20000 * i, 14000 + 20000 * i, 0, 7, i, 1, 1 FROM s;" + series +
      "RUNTIME SELECT 1000 + 20000 * i, 5000 + 20000 * i, 16777217, i, 2 FROM s;");
  ExpectWithin(PeakOf(file.path()), 0);
}

}  // namespace
}  // namespace idleburn
