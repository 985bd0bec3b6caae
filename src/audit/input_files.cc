#include "audit/input_files.h"

#include <algorithm>
#include <filesystem>

#include "audit/open_input.h"
#include "os/folder.h"
#include "telemetry/recording.h"
#include "text/escape.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::size_t kNamesShown = 8;

bool IsFolder(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_directory(path, unknown);
}

bool IsFile(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown);
}

void AddOnce(std::vector<std::string>& paths, const std::string& path) {
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
}

Result<void> TakeFolder(const std::string& folder, ImportOptions& options, InputFiles& files) {
  const auto host = options.hosts.find(folder);
  std::vector<std::string> names = NamesIn(folder);
  bool any = false;
  for (const std::string& name : names) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    const std::string file = RecordingOf(path);
    if (!IsFile(path) || !OpenKnownInput(file, options, false)) {
      files.left.push_back(path);
      continue;
    }
    any = true;
    if (host != options.hosts.end()) options.hosts[file] = host->second;
    AddOnce(files.read, file);
  }
  if (any) return {};
  names.resize(std::min(names.size(), kNamesShown));
  return Fail(folder + ": holds no file of a known kind" +
              (names.empty() ? "" : " (saw " + Printable(ListText(names)) + ")") +
              "; give a folder of nvidia-smi logs, Prometheus answers, recordings or profiles");
}

}  // namespace

std::string RecordingOf(const std::string& path) {
  if (!path.ends_with(kJournalSuffix)) return path;
  const std::string recording = path.substr(0, path.size() - kJournalSuffix.size());
  return IsFile(recording) ? recording : path;
}

Result<InputFiles> FindInputFiles(const std::vector<std::string>& inputs, ImportOptions& options) {
  InputFiles files;
  for (const std::string& input : inputs) {
    if (IsFolder(input)) {
      TRY(TakeFolder(input, options, files));
    } else if (const std::string recording = RecordingOf(input); recording != input) {
      AddOnce(files.read, recording);
    } else {
      files.read.push_back(input);
    }
  }
  return files;
}

}  // namespace idleburn
