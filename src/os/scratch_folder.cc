#include "os/scratch_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "os/temporary_file.h"

namespace idleburn {

Result<ScratchFolder> ScratchFolder::Make(const std::string& copy_of) {
  std::error_code failed;
  if (!copy_of.empty() && !std::filesystem::is_directory(copy_of, failed)) return Fail(copy_of + ": is no folder");
  std::string path = TemporaryFolder() + "/idleburn-scratch.XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Fail(path + ": cannot be made: " + std::strerror(errno) + "; set TMPDIR to a folder that can be written");
  }
  ScratchFolder scratch(std::move(path));
  if (copy_of.empty()) return scratch;
  const auto options = std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks;
  std::filesystem::copy(copy_of, scratch.path(), options, failed);
  if (failed) return Fail(copy_of + ": cannot be copied to " + scratch.path() + ": " + failed.message());
  return scratch;
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace idleburn
