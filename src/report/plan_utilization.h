#pragma once

#include <string>
#include <vector>

#include "base/run_ids.h"
#include "config/common_flags.h"

namespace idleburn {

// The flags of a question about a step's utilization alone, as they were written.
struct StepFlags {
  std::string from;  // "45%@220ms"
  std::string to;    // "80%" or "88%@130ms"
  std::string of;    // "10h"

  void AddTo(CommandFlags& flags);
  [[nodiscard]] bool asked() const { return !from.empty() || !to.empty() || !of.empty(); }
};

// What a target utilization takes, or what a measured change saved: for people, or as docs/json.md describes it, schema
// idleburn.utilization/1.
Result<std::string> UtilizationAnswer(const StepFlags& flags, bool json, const RunIds& ids = {});

}  // namespace idleburn
