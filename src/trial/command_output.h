#pragma once

namespace idleburn {

// Where the output of a command goes that is run for its own sake: to standard error, or nowhere.
class CommandOutput {
 public:
  explicit CommandOutput(bool shown);
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace idleburn
