#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "import/importer.h"
#include "os/input_file.h"
#include "profile/profile_importers.h"
#include "terminal/progress.h"

namespace idleburn {
// Builds the options of importers from the settings import.*. Fails with a usage error on a bad value.
Result<ImportOptions> ImportOptionsFrom(const Settings& settings);

// An opened input with its reader. Exactly one of `importer` and `profiler` is set.
struct KnownInput {
  std::unique_ptr<PeekSource> source;
  const Importer* importer = nullptr;         // readings over time
  const ProfileImporter* profiler = nullptr;  // a profiler's file
  std::string host;                           // of its GPUs, as was said with it; empty if it was not
};

// Splits inputs that are written NODE=FILE. Leaves FILE in `inputs` and returns NODE by FILE. A file that exists under
// the whole name is taken as a file. Fails if one file is given for two nodes.
Result<std::map<std::string, std::string>> TakeHosts(std::vector<std::string>& inputs);

// Opens a file and finds its format by its content. "-" is standard input, and a journal stands for its recording. An
// unknown format is an error that lists the known ones. What is read of it counts in `progress`, if that is not null,
// which must outlive the input.
Result<KnownInput> OpenKnownInput(const std::string& path, const ImportOptions& options, Progress* progress = nullptr);

// Returns the recording that a journal belongs to, if it lies beside it. Any other path is returned unchanged.
std::string RecordingOf(const std::string& path);

// The files that a command line stands for.
struct InputFiles {
  std::vector<std::string> read;  // files to read, and what is no file as it was given ("-")
  std::vector<std::string> left;  // of a folder: what is of no known kind
};
// Replaces folders by their files of known kinds, in order of their names. Folders within a folder are skipped.
// Replaces a journal by its recording, so that a run is read once. The files of a folder get the host that
// `options.hosts` has for the folder. Fails if a folder has no file of a known kind.
Result<InputFiles> FindInputFiles(const std::vector<std::string>& inputs, ImportOptions& options);

}  // namespace idleburn
