#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audit/run_inputs.h"
#include "base/result.h"
#include "os/output_file.h"

namespace idleburn {

// `idleburn run --profile-steps N`: asks the Python package in the command (python/idleburn/_profile.py) for a trace of
// N steady steps. The package answers if the program reports its steps with idleburn.step() and has imported torch.
// Each of its processes writes a file of its own.
class StepProfile {
 public:
  // Reads the flag; absent if it was not given. Fails with a usage error on anything but 1 to 10,000, and if there is
  // no folder for the traces.
  static Result<std::optional<StepProfile>> From(const std::string& steps);

  // Adds the variables by which the package knows what is asked.
  void AddTo(std::vector<std::pair<std::string, std::string>>& environment) const;
  // After the command: reads the traces into the run. Without one, it says on standard error what the program lacks. A
  // trace that cannot be read is said too; the run keeps its report.
  void ReadInto(RunInputs& run) const;

 private:
  StepProfile(std::int64_t steps, ScratchFolder folder) : steps_(steps), folder_(std::move(folder)) {}

  std::int64_t steps_;
  ScratchFolder folder_;
};

}  // namespace idleburn
