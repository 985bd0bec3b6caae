#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "run/output_relay.h"
#include "run/work_lane.h"

namespace idleburn {

// Reads the progress that a workload prints, and keeps its last line for when something goes wrong.
class OutputReader final : public OutputWatcher {
 public:
  void OnOutput(int stream, std::string_view bytes) override;
  // The last line, as far as it was printed. To be called from any thread.
  [[nodiscard]] std::string LastLine() const;

  ProgressWatcher progress;

 private:
  mutable std::mutex mutex_;
  std::string line_;
  std::string last_;
};

}  // namespace idleburn
