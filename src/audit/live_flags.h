#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/audit_plan.h"
#include "config/common_flags.h"
#include "measure/live_gpus.h"

namespace idleburn {

// What the commands that measure live have in common.
struct LiveFlags {
  // Of the settings that these commands have flags for.
  static std::vector<std::string> SettingKeys() {
    return {"price.",  "advice.", "energy.", "classify.idle_power", "classify.idle_after", "classify.idle_grace",
            "output.", "history."};
  }
  // Adds the flags; this must stay where it is until they were read.
  void AddTo(CommandFlags& flags);
  // Only the flag of `detect_cloud`; AddTo has it too.
  void AddDetectCloud(CommandFlags& flags);
  // How GPUs are sampled, by --hz and the environment. A driver is waited for until the run ends.
  [[nodiscard]] Result<LiveGpuOptions> GpuOptions() const;

  ReportRequest report;
  std::string hz;
  bool detect_cloud = false;
  bool no_history = false;
  std::vector<std::string> tags;  // --tag, as given
};

// For somebody who waits for GPUs and nothing else: a driver that loads for eight of them takes half a minute.
inline constexpr Nanos kDriverPatience{60 * kNanosPerSecond};

// A variable of our environment, which is a workload's too.
std::optional<std::string> OwnVariable(std::string_view name);

// The text of --for; nothing where it was not given.
Result<std::optional<Nanos>> ParseFor(const std::string& text);

}  // namespace idleburn
