#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common_flags.h"
#include "cli/report_run.h"
#include "measure/live_gpus.h"

namespace idleburn {

// What the commands that measure live have in common.
struct LiveFlags {
  LiveFlags();
  // Appends the flags; this must stay where it is until they were read.
  void AppendTo(std::vector<Flag>& flags);
  // Only the flag of `detect_cloud`; AppendTo has it too.
  void AppendDetectCloud(std::vector<Flag>& flags);
  // How GPUs are sampled, by --hz and the environment.
  [[nodiscard]] Result<LiveGpuOptions> GpuOptions() const;

  SettingFlags settings;
  ReportRequest report;
  std::string hz;
  bool detect_cloud = false;
  bool no_history = false;
  std::vector<std::string> tags;  // --tag, as given
};

// A variable of our environment, which is a workload's too.
std::optional<std::string> OwnVariable(std::string_view name);

// The text of --for; nothing where it was not given.
Result<std::optional<Nanos>> ParseFor(const std::string& text);

}  // namespace idleburn
