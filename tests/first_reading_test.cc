// Sentences that a first reader took for something else, or that another sentence of the same screen contradicted.
#include <gtest/gtest.h>

#include <string>

#include "places.h"
#include "support/program.h"
#include "support/smi_log.h"

namespace idleburn::testing {
namespace {

// A text without the line breaks that a page puts into sentences.
std::string OneLine(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  std::string out;
  for (const char c : text) {
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  }
  return out;
}

bool Says(const ProgramRun& run, const std::string& words) {
  return OneLine(run.out + run.err).find(words) != std::string::npos;
}

// One job holds two nodes and works on the first only.
std::string HalfOfAJob() {
  std::string text;
  for (int t = 0; t < 240; ++t) {
    for (int node = 0; node < 2; ++node) {
      const std::string labels = "{gpu=\"0\",UUID=\"GPU-" + std::to_string(node) +
                                 "\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node" + std::to_string(node) +
                                 "\",hpc_job=\"7\"} ";
      const std::string stamp = " " + std::to_string(1'783'000'000'000 + t * 30'000) + "\n";
      text += "DCGM_FI_DEV_GPU_UTIL" + labels + (node == 0 ? "99" : "0") + stamp;
      text += "DCGM_FI_DEV_FB_USED" + labels + (node == 0 ? "30000" : "0") + stamp;
    }
  }
  return text;
}

// The evidence says that the job would stop with its GPU. The next step must not say otherwise.
TEST(FirstReading, NobodyIsToldToReleaseAGpuOfAJobThatWorks) {
  const TempFolder folder;
  const std::string path = folder.Write("half.prom", HalfOfAJob());
  const ProgramRun run = RunIdleburn("audit " + path + " --price 2.50 --full");
  EXPECT_TRUE(Says(run, "idleburn does not advise to stop this GPU")) << run.out;
  EXPECT_TRUE(Says(run, "run the job on fewer GPUs, then idleburn compare")) << run.out;
  EXPECT_FALSE(Says(run, "release the GPU")) << run.out;
}

TEST(FirstReading, AClaimInFullIsAtMostWhatIsSaved) {
  EXPECT_TRUE(Says(RunIdleburn("combine --fix .3 --waste .5"), "save at most 30.0 % of the bill"));
  EXPECT_TRUE(Says(RunIdleburn("combine --rate .6"), "save 60.0 % of the bill")) << "a price cut is exact";
}

TEST(FirstReading, CombineHasOneScreenAndAFullPage) {
  const ProgramRun screen = RunIdleburn("combine --fix .3 --fix .2 --waste .5");
  EXPECT_TRUE(Says(screen, "All figures: --full.")) << screen.out;
  EXPECT_FALSE(Says(screen, "10,000 draws")) << screen.out;
  const ProgramRun full = RunIdleburn("combine --fix .3 --fix .2 --waste .5 --full");
  EXPECT_TRUE(Says(full, "of 10,000 draws with seed 1; the median is ")) << full.out;
  EXPECT_FALSE(Says(full, "All figures: --full.")) << full.out;
}

// The table has the hours of every GPU, so no line may call the time unknown.
TEST(FirstReading, TheTimeOfAPlanIsNotUnknownBesideItsTable) {
  const ProgramRun run = RunIdleburn("plan --model llama-3.1-8b --method lora --samples 100000");
  EXPECT_TRUE(Says(run, "h p50")) << run.out;
  EXPECT_TRUE(Says(run, "Time and throughput depend on the GPU.")) << run.out;
  EXPECT_FALSE(Says(run, "Time: unknown")) << run.out;
}

TEST(FirstReading, APlanStatesThatItTrainsAllWeights) {
  const ProgramRun run = RunIdleburn("plan --model llama-3.1-8b --full");
  EXPECT_TRUE(Says(run, "Assumed: training of all weights (default; --method);")) << run.out;
  EXPECT_TRUE(Says(run, "mostly the larger of two: forward and backward ")) << run.out;
  EXPECT_FALSE(Says(RunIdleburn("plan --model llama-3.1-8b --method full --full"), "training of all weights"));
}

// More time is not less time with a minus sign, and a job that needs more frees nothing.
TEST(FirstReading, ARegressionFreesNothing) {
  const std::string captures = IDLEBURN_ROOT "/tests/golden/captures/";
  const ProgramRun run = RunIdleburn("compare " + captures + "after1.csv " + captures + "after2.csv --vs " + captures +
                                     "before1.csv " + captures + "before2.csv --work steps=100 --price 2 --no-history");
  EXPECT_TRUE(Says(run, "REGRESSION")) << run.out;
  EXPECT_TRUE(Says(run, " by more time at $2.00 per GPU-hour")) << run.out;
  EXPECT_TRUE(Says(run, "none: the same work needs ")) << run.out;
  EXPECT_FALSE(Says(run, "by less time")) << run.out;
}

// Milliseconds of a capture are no bill.
TEST(FirstReading, ATraceWithoutAPriceHasSharesAndNoGpuHours) {
  const ProgramRun run = RunIdleburn("audit " IDLEBURN_ROOT "/examples/starved_loader.pt.trace.json.gz");
  EXPECT_TRUE(Says(run, "40.3 % of the traced window")) << run.out;
  EXPECT_FALSE(Says(run, "GPU-hours, ")) << run.out;
}

// Twenty minutes of an H100 at 1,400 of 1,980 MHz, held back by a power cap; with `limits`, by its own limit.
std::string CappedLog(bool limits) {
  std::string log = "timestamp, index, name, utilization.gpu [%], clocks.current.sm [MHz], clocks_event_reasons.active";
  log += limits ? ", power.limit [W], power.default_limit [W]\n" : "\n";
  for (int s = 0; s < 1200; ++s) {
    log += SmiStamp(s) + ", 0, NVIDIA H100 80GB HBM3, 99 %, 1400 MHz, 0x0000000000000004";
    log += limits ? ", 700.00 W, 700.00 W\n" : "\n";
  }
  return log;
}

// A clock 29 % below its maximum is a loss of clock. Only a cap at the board's own limit is nobody's fault, and without
// both limits idleburn cannot tell which cap it was.
TEST(FirstReading, APowerCapOfUnknownLimitIsNotCalledHarmless) {
  const TempFolder folder;
  const std::string words = "A lowered limit is possible: power.limit or power.default_limit was not read.";
  const std::string audit = "audit --full --timezone UTC --price 2 ";
  const ProgramRun unknown = RunIdleburn(audit + folder.Write("unknown.csv", CappedLog(false)));
  EXPECT_TRUE(Says(unknown, "Clocks held back: 0.333 GPU-hours")) << unknown.out;
  EXPECT_TRUE(Says(unknown, words)) << unknown.out;
  EXPECT_FALSE(Says(unknown, "no slowdown or lowered power limit costs")) << unknown.out;
  const ProgramRun known = RunIdleburn(audit + folder.Write("known.csv", CappedLog(true)));
  EXPECT_TRUE(Says(known, "Clocks held back: 0.333 GPU-hours")) << known.out;
  EXPECT_FALSE(Says(known, words)) << known.out;
}

}  // namespace
}  // namespace idleburn::testing
