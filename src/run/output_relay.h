#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "run/served_command.h"

namespace idleburn {

// Sees what a workload prints, after it went on to the user. Called from the copying threads, one call at a time.
class OutputWatcher {
 public:
  OutputWatcher() = default;
  OutputWatcher(const OutputWatcher&) = delete;
  OutputWatcher& operator=(const OutputWatcher&) = delete;
  virtual ~OutputWatcher() = default;
  // `stream`: 1 for standard output, 2 for standard error; 1 where both go to the same place.
  virtual void OnOutput(int stream, std::string_view bytes) = 0;
};

// Stands between a workload's output and ours, and copies every byte on as it is.
//
//   ours is a terminal   the workload writes to a pseudo-terminal of the same size that changes no byte; the user's
//                        terminal does all processing, as without us
//   anything else        the workload writes to a pipe: isatty() says what it would say without us
//
// Standard output and error that go to the same place share one pipe or pseudo-terminal, which keeps their order.
// Only these two descriptors are replaced: the workload reads the user's input itself, and keeps its controlling
// terminal, session and process group, so that Ctrl-C, Ctrl-Z, fg and bg work as ever. Modes that it sets of its
// pseudo-terminal are set of the user's terminal, and taken back (TerminalModes). If we are killed, an heir of each
// channel, a tiny process that waits for nothing else, takes them back and goes on copying: without a reader the
// workload's next line would kill it.
class OutputRelay {
 public:
  // `watcher` and `served`, where all is written down that who goes on copying after us needs, outlive the relay. A
  // stream that is closed, or closes as a program starts, is not replaced. `into`: an open descriptor that both streams
  // go to instead of to ours, as one; -1: each to ours.
  static Result<std::unique_ptr<OutputRelay>> Open(OutputWatcher& watcher, ServedCommand& served, int into = -1);
  // Goes on, unwatched, with what another image of this process began. Null if there is nothing to copy.
  static std::unique_ptr<OutputRelay> TakeUp(ServedCommand& served);
  ~OutputRelay();
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;

  // The heirs: processes of ours that are no part of the workload. After Start.
  [[nodiscard]] std::vector<pid_t> helpers() const;
  // True if this process, which was waited for, was an heir.
  bool HeirEnded(pid_t pid);
  // What becomes the workload's standard output and error; -1: stays as ours is.
  [[nodiscard]] int child_out() const { return child_[0]; }
  [[nodiscard]] int child_err() const { return child_[1]; }
  // The workload runs, or will not: begins to copy. While this process has one thread that forks. Where no thread can
  // be had, the heirs copy from the beginning, unwatched.
  void Start();
  // The user's window changed its size. False if no pseudo-terminal is between.
  [[nodiscard]] bool CopyWindowSize() const;
  // The workload stops, and goes on: what it has written is copied, unless the terminal takes nothing, and meanwhile
  // the user's terminal has its own modes.
  void Settle() const;
  void TakeBackModes() const;
  void ResumeModes() const;
  // The workload ended: what it has written is still copied.
  void Finish();
  // Readable once everything is copied.
  [[nodiscard]] int done_fd() const;
  // After everything is copied: processes that the workload left running, and that still write to where it wrote,
  // get a process that goes on copying until the last of them ends. Without it their next line would kill them.
  void LeaveCopiers();
  // The reader of our output does not read, and the user will not wait: leaves the rest uncopied.
  void Abandon();
  // Why output could not be passed on; empty if it was, or if its reader went away first.
  [[nodiscard]] std::string failure() const;

 private:
  struct Shared;
  struct Channel {
    int from = -1;       // our end
    int to = -1;         // ours, where it goes
    int child_end = -1;  // the workload's end
    int stream = 1;
    std::shared_ptr<TerminalModes> modes;  // null: it is no terminal
    std::size_t heir = 0;                  // its place in Shared, and that of the channel in what is served
  };

  explicit OutputRelay(ServedCommand& served, OutputWatcher* watcher);
  Result<void> AddChannel(int stream, int to);
  void StartCopying();
  void AppointHeirs();
  void HandOver();
  void AwaitHeirs();
  static void CloseChildEnd(Channel& channel);
  static void FollowModes(const Channel& channel);
  static void Show(int stream, std::string_view bytes, Shared& shared);
  static void Copy(Channel channel, const std::shared_ptr<Shared>& shared);

  ServedCommand& served_;
  int child_[2] = {-1, -1};
  int life_ = -1;  // open for as long as we live, however that ends
  std::vector<Channel> channels_;
  std::vector<std::thread> threads_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace idleburn
