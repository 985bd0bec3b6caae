// `idleburn` without a command: what it finds around it, and whether what it offers works there.
#include <gtest/gtest.h>

#include "places.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

const std::string kNoDriver = "export XDG_DATA_HOME=$PWD/data IDLEBURN_NVML_LIBRARY=/proc/no/such/library; ";
const std::string kProgram = IDLEBURN_PROGRAM;

void ExpectHas(const ProgramRun& run, const std::string& part) {
  EXPECT_NE(run.out.find(part), std::string::npos) << run.out << run.err << "\nlacks: " << part;
}

TEST(WelcomeTest, InAnEmptyFolderItOffersTheDemoAndFailsLikeAWrongUse) {
  const ProgramRun run = RunShell(kNoDriver + kProgram);
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err, "");
  for (const char* part : {"no NVIDIA driver found\n", "none in this folder\n", "no runs yet\n", "  idleburn demo  "}) {
    ExpectHas(run, part);
  }
  // It only looks.
  EXPECT_EQ(RunShell(kNoDriver + "mkdir here; cd here; " + kProgram + " > /dev/null; ls -A; ls -d ../data 2>&1").out,
            "ls: cannot access '../data': No such file or directory\n");
  // What it offers works everywhere.
  EXPECT_EQ(RunIdleburn("plan --model llama-3.1-8b").code, 0);
}

TEST(WelcomeTest, FindsLogsByTheirContentAndTheNewestFirst) {
  const std::string log = IDLEBURN_ROOT "/tests/golden/captures/two_gpus.csv";
  const ProgramRun run =
      RunShell(kNoDriver + "cp " + log + " 'old log.csv'; touch -d 2020-01-01 old*; gzip < " + log +
               " > new.csv.gz; echo 1,2 > other.csv; cp " + log + " code.py; mkfifo pipe.csv; " + kProgram);
  ExpectHas(run, "  GPU logs  new.csv.gz, old log.csv\n");
  ExpectHas(run, "  idleburn audit new.csv.gz  ");
  const ProgramRun one = RunShell(kNoDriver + "cp " + log + " 'a log.csv'; " + kProgram +
                                  " | sed -n 's/^  \\(idleburn audit [^.]*.csv.\\)   .*/\\1/p' | sed s.idleburn." +
                                  kProgram + ". > step; sh step > report && cat step report");
  ExpectHas(one, " audit 'a log.csv'\n");
  ExpectHas(one, "GPU-hours");
}

TEST(WelcomeTest, FindsTheDriverTheScriptAndTheRuns) {
  const ProgramRun run =
      RunShell("export XDG_DATA_HOME=$PWD/data IDLEBURN_NVML_LIBRARY=" + std::string(IDLEBURN_STANDIN) +
               "; touch train.py; " + kProgram + " run --quiet true; " + kProgram + " run --quiet true; " + kProgram);
  ExpectHas(run, "  GPU       NVIDIA driver found: ");
  ExpectHas(run, "  history   2 runs\n");
  ExpectHas(run, "  idleburn run -- python train.py  ");
  ExpectHas(run, "  idleburn history list  ");
}

// The history is opened by the command that needs it, which may set a damaged one aside.
TEST(WelcomeTest, LeavesADamagedHistoryAsItIs) {
  const ProgramRun run = RunShell(kNoDriver + "mkdir -p data/idleburn; echo damaged > data/idleburn/history.sqlite; " +
                                  kProgram + "; cat data/idleburn/*");
  ExpectHas(run, "  history   not read: ");
  ExpectHas(run, "\ndamaged\n");
}

}  // namespace
}  // namespace idleburn::testing
