#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "measure/provenance.h"

namespace idleburn {

// A running process that `record --pid` is about, with all that it starts.
class RecordedProcess {
 public:
  // Absent if nothing is named.
  static Result<std::optional<RecordedProcess>> Named(const std::string& text);

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Whether it has not ended; not another process that got its pid.
  [[nodiscard]] bool Runs() const;
  // Its environment as it was started with. That of our parent, where it started us with its own, as that is now.
  [[nodiscard]] VariableLookup Variables() const;

 private:
  RecordedProcess(pid_t pid, std::int64_t start_ticks) : pid_(pid), start_ticks_(start_ticks) {}

  pid_t pid_;
  std::int64_t start_ticks_;
};

}  // namespace idleburn
