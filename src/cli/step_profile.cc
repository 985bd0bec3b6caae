#include "cli/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "audit/open_input.h"
#include "os/input_file.h"
#include "terminal/output.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kMostProfiledSteps = 10'000;
constexpr std::size_t kLongestReason = 1024;

// Files of the folder with that ending, by name. Nothing if it cannot be listed.
std::vector<std::string> FilesEnding(const std::string& folder, std::string_view ending) {
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string path = entry.path().string();
    if (path.ends_with(ending) && path.find(".part.") == std::string::npos) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<void> ReadTrace(const std::string& path, RunInputs& run) {
  const ImportOptions options;
  KnownInput input = TRY(OpenKnownInput(path, options));
  if (input.profiler == nullptr) return Fail(path + ": is no trace of a profiler");
  Profile profile = TRY(input.profiler->read(*input.source, run.quality));
  profile.file = std::filesystem::path(path).filename().string();
  run.profiles.push_back(std::move(profile));
  return {};
}

}  // namespace

Result<std::optional<StepProfile>> StepProfile::From(const std::string& steps) {
  if (steps.empty()) return std::optional<StepProfile>();
  const std::optional<std::int64_t> count = ParseInteger(steps);
  if (!count || *count < 1 || *count > kMostProfiledSteps) {
    return FailUsage(fmt::format("run: --profile-steps '{}' is not a number of steps from 1 to {}; write 20",
                                 steps.substr(0, 20), kMostProfiledSteps));
  }
  ScratchFolder folder = TRY(ScratchFolder::Make(""));
  return std::optional(StepProfile(*count, std::move(folder)));
}

void StepProfile::AddTo(std::vector<std::pair<std::string, std::string>>& environment) const {
  environment.emplace_back("IDLEBURN_PROFILE_STEPS", std::to_string(steps_));
  environment.emplace_back("IDLEBURN_PROFILE_FOLDER", folder_.path());
}

void StepProfile::ReadInto(RunInputs& run) const {
  const std::vector<std::string> traces = FilesEnding(folder_.path(), ".json.gz");
  for (const std::string& path : traces) {
    if (const Result<void> read = ReadTrace(path, run); !read) Say("--profile-steps: " + read.error().message);
  }
  if (!traces.empty()) return;
  std::string why = "the command did not call idleburn.step() of the Python package";
  for (const std::string& path : FilesEnding(folder_.path(), ".why")) {
    const Result<std::optional<std::string>> said = ReadFileIfThere(path, kLongestReason);
    if (said && *said) why = Printable(Trim(**said));
  }
  Say(
      fmt::format("--profile-steps: no trace of {} steps: {}; in the training loop of a PyTorch program: import "
                  "idleburn, then idleburn.step() after each step",
                  steps_, why));
}

}  // namespace idleburn
