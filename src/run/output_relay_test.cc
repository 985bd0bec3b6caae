#include "run/output_relay.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

namespace idleburn {
namespace {

struct CountingWatcher final : OutputWatcher {
  void OnOutput(int /*stream*/, std::string_view bytes) override {
    ++calls;
    seen += bytes.size();
  }
  std::size_t calls = 0;
  std::size_t seen = 0;
};

// A terminal whose user reads everything.
class ReadTerminal {
 public:
  ReadTerminal() {
    EXPECT_EQ(openpty(&ours_, &program_, nullptr, nullptr, nullptr), 0);
    reading_ = std::thread([this] {
      std::array<char, 65536> block;
      for (ssize_t n = 1; n > 0;) {
        n = read(ours_, block.data(), block.size());
        shown_ += n > 0 ? static_cast<std::size_t>(n) : 0;
      }
    });
  }
  // All that was shown, once nobody has the terminal any more.
  std::size_t Close() {
    close(program_);
    reading_.join();
    close(ours_);
    return shown_;
  }
  [[nodiscard]] int program() const { return program_; }

 private:
  int ours_ = -1;
  int program_ = -1;
  std::size_t shown_ = 0;
  std::thread reading_;
};

// Each line is a write of its own, as programs print to terminals. What a reading costs us (seven system calls, and to
// be woken) is shared by many of them, or the command would wait for us.
TEST(OutputRelayTest, ManyShortLinesAreReadAtOnce) {
  constexpr int kLines = 100'000;
  constexpr std::string_view kLine = "line 1234567 output\n";
  ReadTerminal terminal;
  CountingWatcher watcher;
  Result<std::unique_ptr<OutputRelay>> relay = OutputRelay::Open(watcher, *ServedCommand::Make(), terminal.program());
  ASSERT_TRUE(relay);
  const pid_t writer = fork();
  if (writer == 0) {
    for (int i = 0; i < kLines; ++i) {
      if (write((*relay)->child_out(), kLine.data(), kLine.size()) < 0) _exit(1);
    }
    _exit(0);
  }
  (*relay)->Start();
  int status = 0;
  ASSERT_EQ(waitpid(writer, &status, 0), writer);
  EXPECT_EQ(status, 0);
  (*relay)->Finish();
  pollfd done{(*relay)->done_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&done, 1, 60'000), 1);
  relay->reset();
  EXPECT_EQ(watcher.seen, kLines * kLine.size());
  EXPECT_EQ(terminal.Close(), kLines * (kLine.size() + 1));  // the terminal adds returns
  // Many lines a reading; how many, up to the 4095 bytes of a terminal, is up to the speed of the writer.
  EXPECT_GE(watcher.seen / watcher.calls, 400U);
}

// A watcher that fails is no reason to hold output back.
TEST(OutputRelayTest, OutputGoesOnWithoutItsWatcher) {
  struct FailingWatcher final : OutputWatcher {
    void OnOutput(int /*stream*/, std::string_view /*bytes*/) override {
      ++calls;
      throw std::bad_alloc();
    }
    int calls = 0;
  };
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  FailingWatcher watcher;
  Result<std::unique_ptr<OutputRelay>> relay = OutputRelay::Open(watcher, *ServedCommand::Make(), ends[1]);
  ASSERT_TRUE(relay);
  const pid_t writer = fork();
  if (writer == 0) {
    for (int i = 0; i < 3; ++i) {
      if (write((*relay)->child_out(), "word\n", 5) < 0) _exit(1);
      usleep(20'000);
    }
    _exit(0);
  }
  (*relay)->Start();
  waitpid(writer, nullptr, 0);
  (*relay)->Finish();
  pollfd done{(*relay)->done_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&done, 1, 60'000), 1);
  relay->reset();
  close(ends[1]);
  std::string shown(100, ' ');
  shown.resize(static_cast<std::size_t>(read(ends[0], shown.data(), shown.size())));
  close(ends[0]);
  EXPECT_EQ(shown, "word\nword\nword\n");
  EXPECT_EQ(watcher.calls, 1);
}

}  // namespace
}  // namespace idleburn
