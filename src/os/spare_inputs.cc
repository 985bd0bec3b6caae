#include "os/spare_inputs.h"

#include <filesystem>

namespace idleburn {

Result<void> SpareInputs(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(output, error)) return {};
  for (const std::string& input : inputs) {
    // By device and inode, so that another path or a link to the same file counts too.
    if (std::filesystem::equivalent(input, output, error)) {
      return Fail(output + ": is the input too; choose another file with -o");
    }
  }
  return {};
}

Result<void> CheckFolder(const std::string& output) {
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return FailUsage("-o " + output + ": there is no folder " + folder.string() + "; make it first");
}

}  // namespace idleburn
