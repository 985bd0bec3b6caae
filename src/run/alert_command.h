#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace idleburn {

// Runs a shell command for each alert, one after another (`--on-alert`, docs/watch.md). The environment holds the
// alert: IDLEBURN_ALERT is the sentence, IDLEBURN_ALERT_KIND is "warn", "checkpoint" or "stop".
//
// A separate process runs the commands. It starts before anything else, so its children do not count as the workload
// and signals of the terminal do not reach them. A command that hangs delays later alerts, and never the workload.
class AlertCommand {
 public:
  // Starts the process. Call it while this process has one thread and blocks no signal. Fails without a free socket
  // or process.
  static Result<std::unique_ptr<AlertCommand>> Start(const std::string& command);
  // Waits until the commands ended, for at most 30 s, the limit of one command. Then they go on alone.
  ~AlertCommand();
  AlertCommand(const AlertCommand&) = delete;
  AlertCommand& operator=(const AlertCommand&) = delete;

  // Passes an alert on and never blocks. The text is cut at 4096 bytes with the kind. False if the process is gone or
  // far behind.
  bool Tell(const std::string& kind, const std::string& text);

 private:
  AlertCommand(pid_t pid, int out) : pid_(pid), out_(out) {}

  pid_t pid_;
  int out_;  // a socket of messages to it: each is a kind, a 0 and a text
};

}  // namespace idleburn
