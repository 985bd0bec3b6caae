// Work done as real programs report it: printed lines, the Python package, the C header.
#include <gtest/gtest.h>

#include "places.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/terminal_session.h"

namespace idleburn::testing {
namespace {

const std::string kRoot = IDLEBURN_ROOT;

// What the probe says after the program ended: its lines that begin with `what`.
std::string Told(const std::string& end_file, const std::string& what) {
  const std::string text = ReadText(end_file);
  const std::size_t at = text.find(what + ": ");
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

struct FormatRow {
  const char* format;
  const char* told;
};
constexpr FormatRow kFormats[] = {
    {"tqdm", "lines: steps 60 samples - tokens - epochs -"},
    {"trainer", "lines: steps 90 samples - tokens - epochs 3"},
    {"lightning", "lines: steps 60 samples - tokens - epochs 3"},
    {"keras", "lines: steps 120 samples - tokens - epochs 3"},
    {"plain", "lines: steps 100 samples - tokens - epochs -"},
    {"nothing", "lines: steps - samples - tokens - epochs -"},
};

TEST(WorkReportsTest, ProgressOfEveryFormatIsReadThroughPipes) {
  for (const FormatRow& row : kFormats) {
    const TempFolder folder;
    const std::string end = (folder.path() / "end").string();
    RunShell(std::string(IDLEBURN_WORKLOAD_PROBE) + " watched " + end + " python3 " + kRoot +
             "/tests/programs/progress_formats.py " + row.format);
    EXPECT_EQ(Told(end, "lines"), row.told) << row.format;
  }
}

// On a terminal, bars and logs share one pseudo-terminal and mix.
TEST(WorkReportsTest, ProgressOfEveryFormatIsReadOnATerminal) {
  for (const FormatRow& row : kFormats) {
    const TempFolder folder;
    const std::string end = (folder.path() / "end").string();
    TerminalSession session({IDLEBURN_WORKLOAD_PROBE, "watched", end, "python3",
                             kRoot + "/tests/programs/progress_formats.py", row.format});
    EXPECT_EQ(session.WaitForEnd(), 0);
    EXPECT_EQ(Told(end, "lines"), row.told) << row.format;
  }
}

TEST(WorkReportsTest, ThePythonPackageKeepsItsTests) {
  const ProgramRun run = RunShell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + kRoot +
                                  "/python python3 -m unittest discover -s " + kRoot + "/python/tests");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("OK"), std::string::npos);
}

TEST(WorkReportsTest, MarkersOfPythonRanksArrive) {
  const TempFolder folder;
  const std::string end = (folder.path() / "end").string();
  const std::string script = folder.Write("rank.py",
                                          "import idleburn, os\n"
                                          "for i in range(1000): idleburn.step(samples=4, tokens=100)\n"
                                          "if os.environ['RANK'] == '1': os.kill(os.getpid(), 9)\n");
  RunShell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + kRoot + "/python " + IDLEBURN_WORKLOAD_PROBE + " plain " + end +
           " sh -c 'RANK=0 python3 " + script + "; RANK=1 python3 " + script + "; true'");
  EXPECT_EQ(Told(end, "rank 0"), "rank 0: steps 1000 samples 4000 tokens 100000 epochs -");
  EXPECT_NE(Told(end, "rank 1"), "") << "killed, but its first line stays";
}

// As torch.multiprocessing.spawn starts them: nothing in the environment tells them apart.
TEST(WorkReportsTest, ProcessesWithoutARankCountTheirStepsOnce) {
  const TempFolder folder;
  const std::string end = (folder.path() / "end").string();
  const std::string script = folder.Write("spawn.py",
                                          "import idleburn, multiprocessing\n"
                                          "def train(rank, barrier):\n"
                                          "  for _ in range(50):\n"
                                          "    barrier.wait()\n"
                                          "    idleburn.step(samples=4, epoch=1)\n"
                                          "    barrier.wait()\n"
                                          "if __name__ == '__main__':\n"
                                          "  spawn = multiprocessing.get_context('spawn')\n"
                                          "  barrier = spawn.Barrier(4)\n"
                                          "  all = [spawn.Process(target=train, args=(i, barrier)) for i in range(4)]\n"
                                          "  for one in all: one.start()\n"
                                          "  for one in all: one.join()\n");
  RunShell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + kRoot + "/python " + IDLEBURN_WORKLOAD_PROBE + " plain " + end +
           " env -u RANK -u LOCAL_RANK python3 " + script);
  EXPECT_EQ(Told(end, "rank 0"), "rank 0: steps 50 samples 800 tokens - epochs 1");
}

TEST(WorkReportsTest, TheCHeaderWorksInCAndCxx) {
  const TempFolder folder;
  const std::string source =
      "#include \"idleburn.h\"\n#include <sys/wait.h>\n"
      "int main(void) {\n"
      "  struct idleburn work = idleburn_begin();\n"
      "  idleburn_resumed(&work, 100);\n"
      "  for (int i = 0; i < 400; ++i) idleburn_step(&work, 8, 0, i / 100);\n"
      "  for (int i = 400; i < 500; ++i) idleburn_step_at(&work, 8, 0, i / 100, i * 8);\n"
      "  idleburn_checkpoint_begin(&work, 600);\n"
      "  idleburn_checkpoint_end(&work, 600, 4096);\n"
      "  pid_t child = fork();\n"  // it inherits no count
      "  if (child == 0) { idleburn_step(&work, 1, 0, -1); idleburn_end(&work); _exit(0); }\n"
      "  waitpid(child, NULL, 0);\n"
      "  idleburn_end(&work);\n"
      "  idleburn_step(&work, 8, 0, 0);\n"
      "  return 0;\n"
      "}\n";
  const std::string flags = " -Wall -Wextra -Wpedantic -Werror -I" + kRoot + "/include -o " + folder.path().string();
  const std::string strict =
      "cc -std=c99 -fsyntax-only -Werror -I" + kRoot + "/include " + folder.Write("c99.c", source);
  EXPECT_NE(RunShell(strict).err.find("idleburn.h needs POSIX"), std::string::npos);
  MustRunTool(strict + " -D_POSIX_C_SOURCE=200809L");
  MustRunTool("cc -std=gnu99" + flags + "/in_c " + folder.Write("in_c.c", source));
  MustRunTool("c++ -std=c++11" + flags + "/in_cxx " + folder.Write("in_cxx.cc", source));
  for (const std::string name : {"/in_c", "/in_cxx"}) {
    const std::string end = (folder.path() / "end").string();
    const std::string program = folder.path().string() + name;
    EXPECT_EQ(RunShell("PMI_RANK=2 " + std::string(IDLEBURN_WORKLOAD_PROBE) + " plain " + end + " " + program).code, 0);
    EXPECT_EQ(Told(end, "rank 2"), "rank 2: steps 500 samples 4001 tokens 0 epochs 4");
    // A launcher that names no rank of the whole job: Lightning's.
    const std::string node = "NODE_RANK=1 LOCAL_RANK=3 ";
    RunShell(node + "LOCAL_WORLD_SIZE=8 " + IDLEBURN_WORKLOAD_PROBE + " plain " + end + " " + program);
    EXPECT_EQ(Told(end, "rank 11"), "rank 11: steps 500 samples 4001 tokens 0 epochs 4");
    RunShell(node + IDLEBURN_WORKLOAD_PROBE + " plain " + end + " " + program);
    EXPECT_NE(Told(end, "rank 3"), "");
    EXPECT_EQ(RunShell(program).code, 0);
    EXPECT_EQ(RunShell("IDLEBURN_MARKERS=/proc/no/such/file " + program).code, 0);
  }
}

}  // namespace
}  // namespace idleburn::testing
