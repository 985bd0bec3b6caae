#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace idleburn {

// Runs a shell command for each alert, with the alert in its environment: IDLEBURN_ALERT is the sentence,
// IDLEBURN_ALERT_KIND "warn", "checkpoint" or "stop". One after the other, in a process of its own that was made
// before anything else, so that what they start is nobody's workload and no signal of the terminal meets them.
class AlertCommand {
 public:
  // To be called while this process has one thread and holds no signal back.
  static Result<std::unique_ptr<AlertCommand>> Start(const std::string& command);
  // Waits until the commands have ended, but no longer than one of them may take (30 s).
  ~AlertCommand();
  AlertCommand(const AlertCommand&) = delete;
  AlertCommand& operator=(const AlertCommand&) = delete;

  // Never blocks. False if the alert cannot be passed on: the process is gone, or far behind.
  bool Tell(const std::string& kind, const std::string& text);

 private:
  AlertCommand(pid_t pid, int out) : pid_(pid), out_(out) {}

  pid_t pid_;
  int out_;  // a socket of messages to it: each is a kind, a 0 and a text
};

}  // namespace idleburn
