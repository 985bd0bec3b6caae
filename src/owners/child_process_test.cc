#include "owners/child_process.h"

#include <gtest/gtest.h>

#include <chrono>

namespace idleburn {
namespace {

constexpr Nanos kPatience{20 * kNanosPerSecond};
constexpr std::size_t kMost = 1 << 20;

Result<std::string> Shell(const std::string& words, Nanos timeout = kPatience) {
  return OutputOf({"/bin/sh", "-c", words}, timeout, kMost);
}

TEST(ChildProcessTest, ReturnsTheOutput) {
  EXPECT_EQ(*Shell("printf 'a\\nb'; echo noise >&2"), "a\nb");
  EXPECT_EQ(*Shell("cat; echo $LC_ALL"), "C\n");
  EXPECT_EQ(Shell("head -c 1000000 /dev/zero")->size(), 1'000'000U);
}

TEST(ChildProcessTest, NamesFailuresInOneLine) {
  EXPECT_EQ(Shell("echo 'slurm is \033[31mdown' >&2; echo more >&2; exit 3").error().message,
            "sh ended with 3: slurm is ?[31mdown");
  EXPECT_EQ(Shell("kill -9 $$").error().message, "sh was killed by signal 9");
  EXPECT_EQ(OutputOf({"/proc/no such tool"}, kPatience, kMost).error().message,
            "no such tool was not started: No such file or directory");
  EXPECT_EQ(Shell("head -c 3000000 /dev/zero; sleep 60").error().message, "sh wrote more than 1 MiB");
}

// A tool that hangs is killed with its children, whether or not it closes its output.
TEST(ChildProcessTest, KillsWhatHangs) {
  const auto start = std::chrono::steady_clock::now();
  const Nanos timeout(300'000'000);
  EXPECT_EQ(Shell("sleep 60 & sleep 60", timeout).error().message, "sh gave no answer within 300 ms");
  EXPECT_EQ(Shell("exec >&- 2>&-; sleep 60", timeout).error().message, "sh gave no answer within 300 ms");
  EXPECT_EQ(Shell("trap '' TERM; while :; do sleep 1; done", timeout).error().message,
            "sh gave no answer within 300 ms");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(ChildProcessTest, FindsPrograms) {
  EXPECT_TRUE(IsProgram("sh"));
  EXPECT_TRUE(IsProgram("/bin/sh"));
  EXPECT_FALSE(IsProgram("/etc/passwd"));
  EXPECT_FALSE(IsProgram("no such tool"));
  EXPECT_FALSE(IsProgram(""));
}

}  // namespace
}  // namespace idleburn
