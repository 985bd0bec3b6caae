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

// Sees what a workload prints, after the user got it. The copying threads call it, one at a time. Whatever it does
// delays the output, so it must be quick. If it throws, it is not called any more.
class OutputWatcher {
 public:
  OutputWatcher() = default;
  OutputWatcher(const OutputWatcher&) = delete;
  OutputWatcher& operator=(const OutputWatcher&) = delete;
  virtual ~OutputWatcher() = default;
  // `stream` is 1 for standard output and 2 for standard error. It is 1 if both go to the same place.
  virtual void OnOutput(int stream, std::string_view bytes) = 0;
};

// Copies a workload's output to idleburn's output, byte for byte.
//
//   output is a terminal   The workload writes to a pseudo-terminal of the same size. It changes no byte; the user's
//                          terminal does all processing.
//   anything else          The workload writes to a pipe, so isatty() returns what it would return without idleburn.
//
// If standard output and standard error go to the same place, they share one pipe or pseudo-terminal. This keeps
// their order. Only these two descriptors are replaced. The workload reads the user's input itself and keeps its
// controlling terminal, session and process group. Ctrl-C, Ctrl-Z, fg and bg therefore work as usual. TerminalModes
// copies the modes that it sets.
//
// A session of its own on a pseudo-terminal, as script(1) makes it, was no choice: idleburn would then have to copy
// input and do job control in place of the shell.
//
// Each channel has an heir, a tiny process. If idleburn is killed, the heir restores the terminal and continues to
// copy. Without a reader the workload's next line would kill it.
class OutputRelay {
 public:
  // `watcher` and `served` must outlive the relay. `served` records what a successor needs to continue. A stream that
  // is closed, or that closes on exec, is not replaced. `into` is an open descriptor that gets both streams instead of
  // idleburn's own output; -1: none.
  static Result<std::unique_ptr<OutputRelay>> Open(OutputWatcher& watcher, ServedCommand& served, int into = -1);
  // Continues, without a watcher, what an earlier image of this process began. Null if there is nothing to copy.
  static std::unique_ptr<OutputRelay> TakeUp(ServedCommand& served);
  ~OutputRelay();
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;

  // The heirs, which do not belong to the workload. Valid after Start.
  [[nodiscard]] std::vector<pid_t> helpers() const;
  // Whether this process, which has ended, was an heir.
  bool HeirEnded(pid_t pid);
  // The descriptors for the workload's standard output and error; -1: it inherits idleburn's.
  [[nodiscard]] int child_out() const { return child_[0]; }
  [[nodiscard]] int child_err() const { return child_[1]; }
  // Begins to copy, after the workload was started or failed to start. Only one thread of this process may fork
  // meanwhile. If no thread can be created, the heirs copy from the beginning, without a watcher.
  void Start();
  // Copies the new size of the user's window. False if there is no pseudo-terminal.
  [[nodiscard]] bool CopyWindowSize() const;
  // Waits until the output of a stopped workload is copied, unless the terminal accepts nothing.
  void Settle() const;
  // Restores the modes of the user's terminal while the workload is stopped.
  void TakeBackModes() const;
  // Applies the workload's modes again when it continues.
  void ResumeModes() const;
  // The workload ended. Copies what it has written, up to a mebibyte, and then stops. It does not wait; see done_fd.
  void Finish();
  // A descriptor that is readable once everything is copied.
  [[nodiscard]] int done_fd() const;
  // Starts a process that copies for programs that the workload left running, until the last of them ends. Without it
  // their next line would kill them. Call it after everything is copied.
  void LeaveCopiers();
  // Gives up the rest: the reader of idleburn's output blocks, and the user will not wait.
  void Abandon();
  // Why output could not be copied. Empty if it was, or if its reader closed it first, as head(1) does.
  [[nodiscard]] std::string failure() const;

 private:
  struct Shared;
  struct Channel {
    int from = -1;       // idleburn's end
    int to = -1;         // idleburn's own output
    int child_end = -1;  // the workload's end
    int stream = 1;
    std::shared_ptr<TerminalModes> modes;  // null: no terminal
    std::size_t heir = 0;                  // index of the heir in Shared, and of the channel in ServedCommand
  };

  explicit OutputRelay(ServedCommand& served, OutputWatcher* watcher);
  // Opens the channel of a stream whose bytes go to `to`.
  Result<void> AddChannel(int stream, int to);
  // Starts a thread for each channel, or hands over to the heirs.
  void StartCopying();
  // Starts the heirs.
  void AppointHeirs();
  void HandOver();
  void AwaitHeirs();
  static void CloseChildEnd(Channel& channel);
  static void FollowModes(const Channel& channel);
  static void Show(int stream, std::string_view bytes, Shared& shared);
  static void Copy(Channel channel, const std::shared_ptr<Shared>& shared);

  ServedCommand& served_;
  int child_[2] = {-1, -1};
  int life_ = -1;  // the kernel closes it when idleburn dies, however it dies
  std::vector<Channel> channels_;
  std::vector<std::thread> threads_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace idleburn
