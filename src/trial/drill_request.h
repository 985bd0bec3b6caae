#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/common_flags.h"
#include "trial/drill.h"

namespace idleburn {

// How a cloud takes capacity back, as far as a process sees it. docs/drill.md argues each row.
struct CloudNotice {
  std::string_view id;  // of --as
  std::string_view says;
  Nanos grace;
};
inline constexpr std::array<CloudNotice, 3> kCloudNotices = {{
    {"aws", "AWS, 2 min from the notice", Nanos(120 * kNanosPerSecond)},
    {"gcp", "Google Cloud, 30 s", Nanos(30 * kNanosPerSecond)},
    {"azure", "Azure, 30 s", Nanos(30 * kNanosPerSecond)},
}};

// The flags of `idleburn drill` as they were written.
struct DrillRequest {
  // Adds the flags; this must stay where it is until they were read.
  void AddTo(CommandFlags& flags);
  // What is to be done with `command`, without what the world adds: folder, output, environment. `seed` is used where
  // none was given.
  [[nodiscard]] Result<DrillSpec> Spec(const std::vector<std::string>& command, std::uint64_t seed) const;
  // Absent: not said.
  [[nodiscard]] Result<std::optional<Nanos>> Uptime() const;
  [[nodiscard]] Result<std::int64_t> Nodes() const;
  // Whether a verdict of FAIL is exit code 3.
  [[nodiscard]] Result<bool> FailsOnFail() const;

  std::string resume;
  std::string rounds;
  std::string cloud;
  std::string signal;
  std::string grace;
  std::string after;
  std::string after_steps;
  std::string seed;
  std::string timeout;
  std::string checkpoint;
  std::string copy;
  std::string uptime;
  std::string nodes;
  std::string fail_on;
  std::string output;
  bool mid_checkpoint = false;
  bool scratch = false;
  bool show_output = false;
  bool quiet = false;
};

}  // namespace idleburn
