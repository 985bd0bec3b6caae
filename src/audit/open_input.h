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

namespace idleburn {
// How inputs are read, by the settings import.*.
Result<ImportOptions> ImportOptionsFrom(const Settings& settings);

// An input and what reads it: one of the two.
struct KnownInput {
  std::unique_ptr<PeekSource> source;
  const Importer* importer = nullptr;         // readings over time
  const ProfileImporter* profiler = nullptr;  // a profiler's file
  std::string host;                           // of its GPUs, as was said with it; empty if it was not
};

// Takes the names of machines off inputs that are written NODE=FILE; by input. A file of that whole name is no such
// input. Fails where one file is of two nodes.
Result<std::map<std::string, std::string>> TakeHosts(std::vector<std::string>& inputs);

// Opens a file ("-": standard input; a journal: its recording) and finds its format by its content. A format that is
// not known is an error that lists those that are. `show_progress`: on standard error, while it is read.
Result<KnownInput> OpenKnownInput(const std::string& path, const ImportOptions& options, bool show_progress);

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
