// What top shows of GPUs whose phases are known, in pipes and on a terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <regex>
#include <sstream>

#include "places.h"
#include "support/live_command.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/terminal_session.h"

namespace idleburn::testing {
namespace {

const std::string kTwoGpus =
    "gpu 0\ngpu 1\nat 0s gpu 0 util=85 sm=60 power=400 memory=20GiB procs=11:1GiB,12:1GiB\n"
    "at 0s gpu 1 util=40 sm=20 power=200 memory=20GiB\n";

class TopTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string Words(const std::string& script, const std::string& arguments) const {
    return "IDLEBURN_NVML_LIBRARY=" + std::string(IDLEBURN_STANDIN) +
           " IDLEBURN_STANDIN_SCRIPT=" + folder_.Write("script", script) + " " + IDLEBURN_PROGRAM + " top " + arguments;
  }
  // The line of `text` that begins with `start`, from `from` on.
  static std::string LineOf(const std::string& text, const std::string& start) {
    const std::size_t at = text.rfind("\n" + start);
    return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  }
  static std::vector<double> NumbersOf(const std::string& line) {
    std::vector<double> numbers;
    const std::regex number("[0-9]+\\.[0-9]{4}");
    for (std::sregex_iterator i(line.begin(), line.end(), number), end; i != end; ++i) {
      numbers.push_back(std::stod(i->str()));
    }
    return numbers;
  }
  TempFolder folder_;
};

TEST_F(TopTest, OneLookSaysPhasesReadingsAndDollars) {
  const auto began = std::chrono::steady_clock::now();
  const ProgramRun run = RunShell(Words(kTwoGpus, "--once --price 36"));  // a cent a second
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("$36.00 a GPU-hour (--price 36)"), std::string::npos) << run.out;
  const std::regex now0("GPU 0 +productive +85 % +60 % +400 W +20 GiB of 80 GiB +2 +36\\.00");
  const std::regex now1("GPU 1 +underutilized +40 % +20 % +200 W +20 GiB of 80 GiB +\\? +36\\.00");
  EXPECT_TRUE(std::regex_search(run.out, now0)) << run.out;
  EXPECT_TRUE(std::regex_search(run.out, now1)) << run.out;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("- +- +1 +- +underutilized +36\\.00  unknown: memory is held\n")));
  // Idle, underutilized, productive, bound, unobserved, all: whole seconds at a cent each.
  const std::vector<double> first = NumbersOf(LineOf(run.out, "GPU 0"));
  const std::vector<double> second = NumbersOf(LineOf(run.out, "GPU 1"));
  const std::vector<double> all = NumbersOf(LineOf(run.out, "all GPUs"));
  ASSERT_EQ(first.size(), 6U) << run.out;
  ASSERT_EQ(second.size(), 6U);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_GE(first[2], 0.0199);
  EXPECT_LE(first[2], 0.01 * (took.count() + 2));  // whole seconds, of which the first and the last are begun
  EXPECT_GE(second[1], 0.0199);
  for (const auto& row : {first, second, all}) {
    EXPECT_NEAR(row[0] + row[1] + row[2] + row[3] + row[4], row[5], 1e-9) << run.out;
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(first[i] + second[i], all[i], 1e-9) << run.out;
}

TEST_F(TopTest, EachGpuCostsItsOwnPrice) {
  const std::string script =
      "gpu 0\ngpu 1 uuid=GPU-77777777-0000-4000-8000-000000000001\nat 0s gpu 0 util=85\n"
      "at 0s gpu 1 util=40\n";
  const ProgramRun run = RunShell(Words(script, "--once --price 36 --price GPU-7777=72"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("several rates (--price 36; --price GPU-7777=72)"), std::string::npos) << run.out;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("GPU 0 +productive .* 36\\.00"))) << run.out;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("GPU 1 +underutilized .* 72\\.00"))) << run.out;
  const std::vector<double> first = NumbersOf(LineOf(run.out, "GPU 0"));
  const std::vector<double> second = NumbersOf(LineOf(run.out, "GPU 1"));
  ASSERT_EQ(first.size(), second.size()) << run.out;
  ASSERT_FALSE(first.empty()) << run.out;
  EXPECT_GT(second.back(), first.back()) << run.out;
  const ProgramRun host = RunShell("P=$(hostname)=5; " + Words(script, "--once --price $P"));
  EXPECT_NE(host.out.find("$5.00 a GPU-hour"), std::string::npos) << host.out << host.err;
  // One list of prices for several machines, as `run` takes it.
  const ProgramRun other = RunShell(Words(script, "--once --price A100=1.5 --price H100=4"));
  EXPECT_TRUE(std::regex_search(other.out, std::regex("GPU 0 +productive .* 4\\.00"))) << other.out;
  EXPECT_EQ(LinesWith(other.err, "no GPU of this run is called A100"), 1) << other.err;
}

TEST_F(TopTest, InAPipeEachSecondIsALineAGpu) {
  const ProgramRun run = RunShell(Words(kTwoGpus, "--for 3s --price 2"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
  const std::string last = run.out.substr(run.out.rfind("procs 2"));  // of GPU 0, in the last second
  EXPECT_TRUE(
      std::regex_search(last, std::regex("\n[-0-9T:]+Z GPU 1 underutilized util 40 % SM 20 % power 200 W memory "
                                         "20 GiB of 80 GiB procs \\? \\$2\\.00/h, \\$0\\.00[0-9]+ so far\n")))
      << run.out;
}

TEST_F(TopTest, AsJsonEachSecondIsADocumentOnALine) {
  const ProgramRun run = RunShell(Words(kTwoGpus, "--for 4s --price 36 --format json"));
  ASSERT_EQ(run.code, 0) << run.err;
  std::istringstream lines(run.out);
  std::vector<nlohmann::json> documents;
  for (std::string line; std::getline(lines, line);) documents.push_back(nlohmann::json::parse(line, nullptr, false));
  ASSERT_GE(documents.size(), 2U) << run.out;
  for (const nlohmann::json& document : documents) {
    ASSERT_TRUE(document.is_object()) << run.out;
    EXPECT_EQ(document["schema"], "idleburn.top/1");
    ASSERT_EQ(document["gpus"].size(), 2U);
  }
  const nlohmann::json& first = documents.back()["gpus"][0];
  EXPECT_EQ(first["phase"], "productive");
  EXPECT_EQ(first["utilization_percent"], 85);
  EXPECT_EQ(first["power_w"], 400);
  EXPECT_EQ(first["per_hour"], "36.00");
  // A cent a second.
  const nlohmann::json& since = documents.back()["whole"];
  EXPECT_NEAR(std::stod(since["cost"]["total_exact"].get<std::string>()),
              since["gpu_seconds"]["total"].get<double>() / 100, 1e-6);
  EXPECT_LT(documents.front()["time"], documents.back()["time"]);
  const ProgramRun once = RunShell(Words(kTwoGpus, "--once --price 36 --format json"));
  EXPECT_EQ(std::count(once.out.begin(), once.out.end(), '\n'), 1) << once.out;
  EXPECT_EQ(nlohmann::json::parse(once.out)["gpus"][1]["phase"], "underutilized");
}

// nohup and shells tell us to let a signal pass.
TEST_F(TopTest, AnIgnoredHangupDoesNotEndIt) {
  const ProgramRun run = RunShell("(trap '' HUP; " + Words(kTwoGpus, "--for 8s --price 2") +
                                  ") & us=$!; sleep 1.2; kill -HUP $us " + "$(ps -o pid= --ppid $us); wait $us");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_GE(LinesWith(run.out, " GPU 0 productive"), 2) << run.out;
}

TEST_F(TopTest, WithoutAPriceThereAreSecondsAndNoDollars) {
  const ProgramRun run = RunShell(Words("gpu 0 name=Unheard_of\n", "--once"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("no price is known: give one with --price"), std::string::npos) << run.out;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("GPU 0 +[1-9][0-9]*\\.0 s +0\\.0 s"))) << run.out;
}

TEST_F(TopTest, WhatIsNotReadIsNotZero) {
  const ProgramRun run =
      RunShell(Words("gpu 0 gpm=0\nfail nvmlDeviceGetSamples 3\n"
                     "fail nvmlDeviceGetUtilizationRates 3\n",
                     "--once --price 36"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("GPU 0 +unobserved \\(unsupported\\) +\\? +\\? "))) << run.out;
  const std::vector<double> row = NumbersOf(LineOf(run.out, "GPU 0"));
  ASSERT_EQ(row.size(), 6U) << run.out;
  EXPECT_EQ(row[0], 0);
  EXPECT_GT(row[4], 0);
  EXPECT_EQ(row[4], row[5]);
}

TEST_F(TopTest, AMigBoardIsSplitAmongItsInstances) {
  const ProgramRun run =
      RunShell(Words("gpu 0\nmig 0 gi=7 profile=1g.10gb slices=1 memory=10GiB\n", "--once --price 7"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(
      std::regex_search(run.out, std::regex("GPU 0 +split .* 6\\.00\nGPU 0 MIG 1g\\.10gb #7 +idle .* 1\\.00\n")))
      << run.out;
}

// Real processes hold GPUs: one alone on two of them, two together on a third, one that nobody here sees; the fifth GPU
// is free.
class TopProcessesTest : public ::testing::Test {
 protected:
  [[nodiscard]] ProgramRun Run(const std::string& arguments) const {
    return machine_.Run(
        "sleep 30 & a=$!; sleep 31 & b=$!; "
        "echo \"at 0s gpu 0 util=80 memory=3GiB procs=$a:3GiB\nat 0s gpu 1 util=40 memory=2GiB procs=$a:2GiB\n"
        "at 0s gpu 2 util=95 procs=$a:1GiB,$b:?\nat 0s gpu 3 procs=2000000000:1GiB\" >> $F/gpus; "
        "$I top --price 36 " +
        arguments + "; code=$?; echo $a $b $(id -un) > $F/who; kill $a $b; exit $code");
  }
  // "PID PID USER" of the processes above.
  [[nodiscard]] std::vector<std::string> Who() const {
    std::istringstream words(ReadText(machine_.Path("who")));
    return {std::istream_iterator<std::string>(words), {}};
  }
  const LiveMachine machine_{"gpu 0\ngpu 1\ngpu 2\ngpu 3\ngpu 4\n"};
};

TEST_F(TopProcessesTest, EachProcessIsNamedWithItsGpusAndItsPrice) {
  const ProgramRun run = Run("--once");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto who = Who();
  ASSERT_EQ(who.size(), 3U);
  // The phases of several GPUs take several lines, and no column is left out.
  const std::regex alone(who[0] + " +" + who[2] + " +0,1,2 +6 GiB +1 compute_bound,.* +72\\.00 \\+ shared  sleep 30\n");
  EXPECT_GE(LinesWith(run.out, "underutilized"), 2) << run.out;  // of the GPU, and of the process
  const std::regex other(who[1] + " +" + who[2] + " +2 +\\? +compute_bound +shared  sleep 31\n");
  EXPECT_TRUE(std::regex_search(run.out, alone)) << run.out;
  EXPECT_TRUE(std::regex_search(run.out, other)) << run.out;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("2000000000 +unknown +3 +1 GiB +idle +36\\.00  unknown\n")))
      << run.out;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("- +- +4 +- +idle +36\\.00  no process\n"))) << run.out;
  EXPECT_EQ(LinesWith(run.out, "shared: several processes hold the GPU, so idleburn cannot split its time"), 1);
  EXPECT_EQ(LinesWith(run.out, "unknown: the driver lists a process that is not in /proc"), 1);
}

TEST_F(TopProcessesTest, InAPipeEachIsALine) {
  const ProgramRun run = Run("--for 2s");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto who = Who();
  const std::string start = "Z process " + who.at(0) + " user " + who.at(2) + " GPU 0,1,2 ";
  EXPECT_GE(LinesWith(run.out, start), 1) << run.out;
  EXPECT_GE(LinesWith(run.out, " memory 6 GiB 72.00 USD/h + shared sleep 30"), 1) << run.out;
  EXPECT_GE(LinesWith(run.out, "Z process 2000000000 user unknown GPU 3 "), 1) << run.out;
}

TEST(TopProcessesAloneTest, PidsOfAnotherNamespaceAreNobodyHere) {
  const LiveMachine machine("gpu 0\nat 0s gpu 0 procs=1:1GiB,2000000000:1GiB,2000000001:1GiB\n");
  const ProgramRun run = machine.Run("$I top --once");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("\n +1 +unknown .* unknown\n"))) << run.out;
  EXPECT_EQ(LinesWith(run.out, "unknown: most process ids of the driver are not visible here"), 1) << run.out;
}

TEST(TopProcessesAloneTest, ADriverThatListsNoneIsNotAGpuWithoutProcesses) {
  const LiveMachine machine(
      "gpu 0\nfail nvmlDeviceGetComputeRunningProcesses_v3 4\nfail nvmlDeviceGetComputeRunningProcesses 4\n");
  const ProgramRun run = machine.Run("$I top --once --price 36");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("- +- +0 +- +idle +36\\.00  unknown: no list\n"))) << run.out;
}

TEST_F(TopTest, WithoutAGpuOneLineSaysWhy) {
  const ProgramRun run = RunShell("IDLEBURN_NVML_LIBRARY= " + std::string(IDLEBURN_PROGRAM) + " top --once");
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err.rfind("idleburn: top: no NVIDIA GPU can be measured", 0), 0U) << run.err;
  EXPECT_NE(run.err.find("see idleburn doctor\n"), std::string::npos);
}

TEST_F(TopTest, ADriverThatHasNotAnsweredDoesNotKeepItFromEnding) {
  const auto began = std::chrono::steady_clock::now();
  const ProgramRun run =
      RunShell(Words("gpu 0\nhang nvmlInit_v2\n", "--price 2") + " & us=$!; sleep 1; kill $us; wait $us");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_LE(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));  // it waits for a minute
}

TEST_F(TopTest, AWrongUseIsSaidBeforeAnythingIsMeasured) {
  EXPECT_EQ(RunIdleburn("top --once --for 3s").code, 2);
  EXPECT_EQ(RunIdleburn("top --price nothing").code, 2);
  EXPECT_EQ(RunIdleburn("top --for soon").code, 2);
}

// On a terminal, ended in one of three ways: it is as before, and the last figures stand on it.
class TopOnTerminal : public TopTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(TopOnTerminal, RefreshesInPlaceAndGivesTheTerminalBack) {
  const std::string before = (folder_.path() / "before").string();
  const std::string after = (folder_.path() / "after").string();
  const std::string pid = (folder_.path() / "pid").string();
  const bool by_signal = GetParam() == "TERM";
  const std::string words = Words(kTwoGpus, "--price 2");
  const std::string run = by_signal
                              ? "export " + words.substr(0, words.find(IDLEBURN_PROGRAM)) + "; sh -c 'echo $$ > " +
                                    pid + "; exec " + words.substr(words.find(IDLEBURN_PROGRAM)) + "'"
                              : words;
  TerminalSession session(
      {"sh", "-c", "trap : INT; stty -a > " + before + "; " + run + "; echo code $?; stty -a > " + after});
  ASSERT_TRUE(session.Expect("\x1b[?1049h"));
  ASSERT_TRUE(session.Expect("productive"));
  ASSERT_TRUE(session.Expect("\x1b[H"));  // in place
  if (by_signal) {
    kill(std::stoi(ReadText(pid)), SIGTERM);
  } else {
    session.Type(GetParam());
  }
  ASSERT_TRUE(session.Expect("\x1b[?25h\x1b[?1049l")) << session.shown();
  EXPECT_TRUE(session.Expect("GPU 1  underutilized")) << session.shown();
  EXPECT_TRUE(session.Expect("code 0")) << session.shown();
  session.WaitForEnd();
  EXPECT_EQ(ReadText(before), ReadText(after));
  EXPECT_NE(ReadText(after), "");
}

TEST_F(TopTest, ATerminalThatIsDumbGetsLines) {
  TerminalSession session({"sh", "-c", "TERM=dumb " + Words(kTwoGpus, "--for 2s --price 2")});
  EXPECT_EQ(session.WaitForEnd(), 0);
  EXPECT_EQ(session.shown().find('\x1b'), std::string::npos) << session.shown();
  EXPECT_NE(session.shown().find(" GPU 1 underutilized util 40 %"), std::string::npos) << session.shown();
}

// Of a window that is too narrow a line takes one row nevertheless.
TEST_F(TopTest, ANarrowWindowShowsTheStartOfEachLine) {
  TerminalSession session({"sh", "-c", Words(kTwoGpus, "--for 3s --price 2")});
  session.Resize(5, 20);
  EXPECT_EQ(session.WaitForEnd(), 0);
  EXPECT_NE(session.shown().find("\x1b[?1049h\x1b[?25l\x1b[?7l"), std::string::npos);
  EXPECT_NE(session.shown().find("\x1b[?7h\x1b[?25h\x1b[?1049l"), std::string::npos);
  const std::size_t last = session.shown().rfind("\x1b[H");
  const std::string screen = session.shown().substr(last, session.shown().find("\x1b[J", last) - last);
  EXPECT_EQ(std::count(screen.begin(), screen.end(), '\n'), 4) << screen;  // no sixth row
}

INSTANTIATE_TEST_SUITE_P(Ways, TopOnTerminal, ::testing::Values("q", "\x03", "TERM"));

}  // namespace
}  // namespace idleburn::testing
