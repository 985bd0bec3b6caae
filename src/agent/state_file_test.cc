#include "agent/state_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace idleburn {
namespace {

class StateFileTest : public ::testing::Test {
 protected:
  StateFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "idleburn-state-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~StateFileTest() override { std::filesystem::remove_all(folder_); }

  StateFile Opened() {
    bool held = false;
    Result<StateFile> file = StateFile::Open(folder_, &held);
    EXPECT_TRUE(file) << file.error().message;
    return std::move(*file);
  }
  std::string folder_;
  std::string why_;
};

TEST_F(StateFileTest, BringsBackTheNewestState) {
  {
    StateFile file = Opened();
    EXPECT_FALSE(file.Resume("boot", &why_));
    EXPECT_EQ(why_, "");
    for (const char* state : {"one", "two", "three"}) EXPECT_TRUE(file.Store(state, "boot"));
  }
  EXPECT_EQ(Opened().Resume("boot", &why_), "three");
}

TEST_F(StateFileTest, AStateOfAnotherBootCountsOnlyAfterAnOrderlyEnd) {
  {
    StateFile file = Opened();
    file.Resume("boot 1", &why_);
    file.Store("one", "boot 1");
  }
  EXPECT_FALSE(Opened().Resume("boot 2", &why_));
  EXPECT_NE(why_.find("without an orderly end"), std::string::npos) << why_;
  {
    StateFile file = Opened();
    file.Resume("boot 2", &why_);
    file.Store("two", "boot 2");
    file.EndInOrder();
  }
  {
    StateFile file = Opened();
    EXPECT_EQ(file.Resume("boot 3", &why_), "two");
  }
  // Resumed in boot 3, and the power was cut before a newer state was stored.
  EXPECT_FALSE(Opened().Resume("boot 4", &why_));
}

TEST_F(StateFileTest, ATornWriteFallsBackToTheStateThatWasExposedLast) {
  {
    StateFile file = Opened();
    file.Resume("boot", &why_);
    file.Store("exposed", "boot");
    file.Store("never exposed", "boot");
  }
  // The newest state is in the first slot, because its sequence is even.
  std::fstream bytes(folder_ + "/agent.state", std::ios::in | std::ios::out | std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(bytes)), {});
  const std::size_t at = all.find("never exposed");
  ASSERT_NE(at, std::string::npos);
  bytes.seekp(static_cast<std::streamoff>(at));
  bytes.put('X');
  bytes.close();
  EXPECT_EQ(Opened().Resume("boot", &why_), "exposed");
}

TEST_F(StateFileTest, ASecondAgentIsRefused) {
  const StateFile first = Opened();
  bool held = false;
  EXPECT_FALSE(StateFile::Open(folder_, &held));
  EXPECT_TRUE(held);
}

TEST_F(StateFileTest, AFolderThatIsMissingIsNamed) {
  bool held = true;
  const Result<StateFile> file = StateFile::Open(folder_ + "/none", &held);
  ASSERT_FALSE(file);
  EXPECT_FALSE(held);
  EXPECT_NE(file.error().message.find("/none/agent.state"), std::string::npos);
}

TEST_F(StateFileTest, AStateThatIsTooLargeIsNotStored) {
  StateFile file = Opened();
  file.Resume("boot", &why_);
  EXPECT_TRUE(file.Store("small", "boot"));
  EXPECT_FALSE(file.Store(std::string(std::size_t{1} << 20, 'x'), "boot"));
}

// A child stores rising numbers as fast as it can, and tells each number after it was stored, as an exposition would.
// Killed at any moment, the state is never older than what it told.
TEST_F(StateFileTest, KillNeverLosesWhatWasExposed) {
  for (int round = 0; round < 50; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      bool held = false;
      std::string why;
      Result<StateFile> file = StateFile::Open(folder_, &held);
      if (!file) _exit(1);
      file->Resume("boot", &why);
      for (std::int64_t number = round * 1'000'000;; ++number) {
        std::string state = std::to_string(number);
        state += std::string(50'000, ' ');
        file->Store(state, "boot");
        if (write(pipe_ends[1], &number, sizeof number) != sizeof number) _exit(2);
      }
    }
    close(pipe_ends[1]);
    std::int64_t told = -1;
    for (int i = 0; i < 20 + round; ++i) ASSERT_EQ(read(pipe_ends[0], &told, sizeof told), ssize_t{sizeof told});
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (std::int64_t more = 0; read(pipe_ends[0], &more, sizeof more) == ssize_t{sizeof more};) told = more;
    close(pipe_ends[0]);
    StateFile file = Opened();
    const std::optional<std::string> state = file.Resume("boot", &why_);
    ASSERT_TRUE(state) << why_;
    EXPECT_GE(std::stoll(*state), told);
  }
}

}  // namespace
}  // namespace idleburn
