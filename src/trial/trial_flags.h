#pragma once

#include <string>
#include <vector>

#include "config/common_flags.h"
#include "trial/work_rate.h"

namespace idleburn {

// The flags that bound one measured run of a command, as they were written.
struct TrialFlags {
  // `bounds`: where neither --for nor --steps is given, and of the others each that is not.
  explicit TrialFlags(const TrialBounds& bounds) : usual(bounds) {}

  // `each`: what is bounded, "run".
  void AddTo(CommandFlags& flags, const std::string& each);
  [[nodiscard]] Result<TrialBounds> Bounds(const char* command) const;
  // The first that was given; empty: none.
  [[nodiscard]] std::string Given() const;

  TrialBounds usual;
  std::string time;
  std::string steps;
  std::string skip_steps;
  std::string patience;
  std::string grace;
};

}  // namespace idleburn
