#include "audit/open_input.h"

#include <algorithm>
#include <filesystem>

#include "import/column_map.h"
#include "import/importer.h"
#include "os/folder.h"
#include "telemetry/recording.h"
#include "text/number.h"
#include "text/strings.h"

// Finds out what an input is. Its content decides, never its name: logs are renamed, compressed and piped. The first 64
// KiB are looked at and then handed to the reader (PeekSource), so a pipe loses nothing. A file that no reader knows is
// an error, because a report that misses one of its inputs would look complete.

namespace idleburn {
namespace {

// The names of all formats, for the error of an unknown one.
std::string KnownFormats() {
  return ListText(Importers(), ", ", &Importer::name) + ", " +
         ListText(ProfileImporters(), ", ", &ProfileImporter::name);
}

// Reads --unit, such as "ratio,DCGM_FI_DEV_GPU_UTIL=percent", into ImportOptions::units. A unit without a name is for
// all fields and has the key "".
Result<std::map<std::string, PercentUnit>> ParseUnits(const std::string& text) {
  std::map<std::string, PercentUnit> units;
  for (const std::string_view part : Split(text, ',')) {
    const std::size_t equals = part.rfind('=');
    const std::string_view unit = Trim(equals == std::string_view::npos ? part : part.substr(equals + 1));
    if (unit != "ratio" && unit != "percent") {
      return FailUsage("--unit " + Printable(part) + ": say ratio or percent, or NAME=ratio");
    }
    const std::string name(equals == std::string_view::npos ? "" : Trim(part.substr(0, equals)));
    units[name] = unit == "ratio" ? PercentUnit::kOne : PercentUnit::kHundred;
  }
  return units;
}

// No machine has more GPUs. A larger --gpus is a mistake, such as a number of readings.
constexpr std::int64_t kMostGpus = 1024;

// Reads --start, in the user's zone if the text names none.
Result<Instant> StartOf(const std::string& text, const std::optional<TimeZone>& zone) {
  std::string_view rest = text;
  CivilTime civil;
  bool zoned = false;
  if (!TakeCivilTime(rest, &civil, &zoned) || !rest.empty()) {
    return FailUsage("--start: '" + Printable(text.substr(0, 40)) + "' is not a time; write 2026-07-03T22:22:01Z");
  }
  return zoned || !zone ? InUtc(civil) : zone->MeaningOf(civil).first;
}

}  // namespace

Result<ImportOptions> ImportOptionsFrom(const Settings& settings) {
  ImportOptions options;
  if (settings.Has("import.timezone")) {
    options.timezone = TRY(TimeZone::Load(settings.Text("import.timezone")));
  }
  if (settings.Has("import.columns")) {
    options.columns = TRY(ParseColumns(settings.Text("import.columns")));
  }
  if (settings.Has("import.unit")) {
    options.units = TRY(ParseUnits(settings.Text("import.unit")));
  }
  options.metric = settings.Text("import.metric");
  if (settings.Has("import.period")) options.period = *ParseDuration(settings.Text("import.period"));
  if (settings.Has("import.max_gap")) options.max_gap = *ParseDuration(settings.Text("import.max_gap"));
  if (settings.Has("import.start")) {
    options.start = TRY(StartOf(settings.Text("import.start"), options.timezone));
  }
  if (settings.Has("import.gpus")) {
    const std::int64_t gpus = ParseScaled(settings.Text("import.gpus"), 0).value;
    if (gpus > kMostGpus) return FailUsage("--gpus: one machine has at most " + std::to_string(kMostGpus) + " GPUs");
    options.gpus = static_cast<int>(gpus);
  }
  options.gpu_model = settings.Text("import.gpu_model");
  if (settings.Has("import.power_limit")) {
    options.power_limit_mw = ParseScaled(settings.Text("import.power_limit"), 3).value;
  }
  options.threads =
      static_cast<int>(std::clamp<std::int64_t>(ParseScaled(settings.Text("import.threads"), 0).value, 1, 64));
  return options;
}

Result<std::map<std::string, std::string>> TakeHosts(std::vector<std::string>& inputs) {
  std::map<std::string, std::string> hosts;
  for (std::string& input : inputs) {
    const std::size_t equals = input.find('=');
    std::error_code error;
    // A "/" before the "=" belongs to a path, so such a word is no NODE=FILE.
    const bool named = equals != std::string::npos && equals > 0 && equals + 1 < input.size() &&
                       input.find('/') > equals && !std::filesystem::exists(input, error);
    if (!named) continue;
    const std::string host = Printable(input.substr(0, equals));
    input.erase(0, equals + 1);
    const auto [said, fresh] = hosts.emplace(input, host);
    if (!fresh && said->second != host) {
      return FailUsage(input + " has two nodes, " + said->second + " and " + host + "; give one");
    }
  }
  return hosts;
}

Result<KnownInput> OpenKnownInput(const std::string& given, const ImportOptions& options, Progress* progress) {
  const std::string path = RecordingOf(given);
  std::unique_ptr<ByteSource> file = TRY(OpenInput(path, CountedBy(progress)));
  KnownInput opened;
  opened.source = std::make_unique<PeekSource>(std::move(file));
  if (const auto host = options.hosts.find(path); host != options.hosts.end()) opened.host = host->second;
  const std::string_view head = TRY(opened.source->Peek(kSniffBytes));
  if (const std::string_view advice = ArchiveFor(head); !advice.empty()) {
    return Fail(opened.source->name() + ": " + std::string(advice));
  }
  opened.profiler = TRY(FindProfileImporter(opened.source->name(), head));
  if (opened.profiler != nullptr) return opened;
  for (const Importer& importer : Importers()) {
    // A foreign table can only be read with --columns, which says what its columns mean.
    if (importer.by_columns && options.columns.empty()) continue;
    if (importer.sniff(head)) {
      opened.importer = &importer;
      return opened;
    }
  }
  if (head.empty()) {
    return Fail(opened.source->name() + ": its compressed data is cut off before the first byte; copy the file again");
  }
  if (const std::string_view advice = MistakenFor(head); !advice.empty()) {
    return Fail(opened.source->name() + ": " + std::string(advice));
  }
  const bool text = head.find('\0') == std::string_view::npos;
  return Fail(
      opened.source->name() + ": " +
      (text ? "is text in an unknown format" : "is binary data in an unknown format (unpack an archive first)") +
      "; for another CSV give --columns time=...,util=...; idleburn reads " + KnownFormats());
}

namespace {

// How many names of a folder an error shows.
constexpr std::size_t kNamesShown = 8;

bool IsFolder(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_directory(path, unknown);
}

bool IsFile(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown);
}

// A folder holds a recording and its journal, and both stand for the recording.
void AddOnce(std::vector<std::string>& paths, const std::string& path) {
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
}

// Adds the files of a folder that some importer knows. The others go to `files.left` and are named in the report: a log
// that was not recognised must not vanish silently.
Result<void> TakeFolder(const std::string& folder, ImportOptions& options, InputFiles& files) {
  const auto host = options.hosts.find(folder);
  std::vector<std::string> names = NamesIn(folder);
  bool any = false;
  for (const std::string& name : names) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    const std::string file = RecordingOf(path);
    if (!IsFile(path) || !OpenKnownInput(file, options)) {
      files.left.push_back(path);
      continue;
    }
    any = true;
    if (host != options.hosts.end()) options.hosts[file] = host->second;
    AddOnce(files.read, file);
  }
  if (any) return {};
  names.resize(std::min(names.size(), kNamesShown));
  return Fail(folder + ": no file in a known format" +
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
