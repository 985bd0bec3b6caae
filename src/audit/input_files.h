#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/importer.h"

namespace idleburn {

// The recording that a journal belongs to, where it lies beside it; any other path as it is.
std::string RecordingOf(const std::string& path);

struct InputFiles {
  std::vector<std::string> read;  // files to read, and what is no file as it was given ("-")
  std::vector<std::string> left;  // of a folder: what is of no known kind
};
// Puts in place of a folder its files of known kinds, in order of their names, and in place of a journal its recording,
// once. Folders inside a folder are left. The files of a folder are of the machine that `options.hosts` names for it.
// Fails where a folder has no file of a known kind.
Result<InputFiles> FindInputFiles(const std::vector<std::string>& inputs, ImportOptions& options);

}  // namespace idleburn
