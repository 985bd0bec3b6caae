#include "cli/welcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "audit/open_input.h"
#include "cli/command.h"
#include "config/settings.h"
#include "history/runs.h"
#include "history/users_history.h"
#include "os/folder.h"
#include "os/sqlite.h"
#include "text/strings.h"

// `idleburn` without a command. Someone who types only the name wants to know what to do next. The answer depends on
// where they are: on a machine with GPUs, in a folder with logs, or with runs from before. So it looks, and offers
// three commands that work right here.

namespace idleburn {
namespace {

namespace fs = std::filesystem;

// Folders that may hold the driver's library besides those of LD_LIBRARY_PATH: Debian, Red Hat, WSL, containers.
constexpr auto kLibraryFolders = std::to_array<std::string_view>({
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/run/opengl-driver/lib",
});
constexpr std::string_view kLibrary = "libnvidia-ml.so.1";

// Endings of files that are worth opening. Source code and weights are not.
constexpr auto kLogEndings =
    std::to_array<std::string_view>({".csv", ".gz", ".idleburn", ".json", ".jsonl", ".lp", ".log", ".parquet", ".pb",
                                     ".prom", ".sqlite", ".tsv", ".txt", ".xml", ".xz", ".zst"});
// A folder may hold thousands of files. More than these few dozen milliseconds of looking are not worth an answer.
constexpr std::size_t kMostOpened = 64;
constexpr std::size_t kLogsShown = 3;

bool Exists(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The file that shows an NVIDIA driver. The library stands first, because idleburn measures through it.
std::string FindDriver() {
  if (const std::string named = Variable("IDLEBURN_NVML_LIBRARY"); !named.empty()) return Exists(named) ? named : "";
  const std::string path = Variable("LD_LIBRARY_PATH");
  std::vector<std::string_view> folders = Split(path, ':');
  folders.insert(folders.end(), kLibraryFolders.begin(), kLibraryFolders.end());
  for (const std::string_view folder : folders) {
    if (folder.empty()) continue;
    const fs::path library = fs::path(folder) / kLibrary;
    if (Exists(library)) return library.string();
  }
  return Exists("/dev/nvidiactl") ? "/dev/nvidiactl" : "";
}

bool MayBeLog(const std::string& name) {
  const std::string ending = Lower(fs::path(name).extension().string());
  return std::find(kLogEndings.begin(), kLogEndings.end(), ending) != kLogEndings.end();
}

// The files of the current folder that an audit can read, the newest first. Their first bytes decide.
std::vector<std::string> FindLogs(const std::vector<std::string>& names) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::size_t opened = 0;
  for (const std::string& name : names) {
    std::error_code fault;
    // A pipe would block, and a name with control characters cannot be offered.
    if (!MayBeLog(name) || Printable(name) != name || !fs::is_regular_file(name, fault)) continue;
    if (++opened > kMostOpened) break;
    if (!OpenKnownInput(name, {})) continue;
    found.emplace_back(fs::last_write_time(name, fault), name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> logs;
  for (auto& [time, name] : found) logs.push_back(std::move(name));
  return logs;
}

// "train.py", or the first script whose name begins so.
std::string FindScript(const std::vector<std::string>& names) {
  const auto script = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("train") && name.ends_with(".py") && Printable(name) == name;
  });
  const bool usual = std::find(names.begin(), names.end(), "train.py") != names.end();
  return usual ? "train.py" : script == names.end() ? "" : *script;
}

// Reads only. A history that is damaged or of an older version is left as it is, for the command that needs it.
Result<std::int64_t> CountHistory() {
  const Settings settings = TRY(Settings::Load("", {}));
  const std::string file = HistoryFile(settings);
  if (file.empty() || !Exists(file)) return std::int64_t{0};
  const SqliteDatabase history = TRY(SqliteDatabase::OpenToRead(file, file));
  return CountRuns(history);
}

// A command to copy, and what it answers.
struct NextStep {
  bool fits;
  std::string command;
  std::string_view answers;
};

// What fits here, the most useful first. The first three are shown.
std::vector<NextStep> StepsFor(const Surroundings& here) {
  const bool gpu = !here.driver.empty();
  const bool logs = !here.logs.empty();
  const bool runs = here.runs && *here.runs > 0;
  const std::string log = logs ? ShellWord(here.logs.front()) : "";
  return {
      {logs, "idleburn audit " + log, "what it cost, why, and what would help"},
      {gpu && !here.script.empty(), "idleburn run -- python " + ShellWord(here.script),
       "runs it and says what it cost and why"},
      {gpu && here.script.empty(), "idleburn record --for 1m", "records this machine for a minute, then audits it"},
      {runs, "idleburn history list", "what your runs cost"},
      {gpu, "idleburn top", "what the GPUs do and cost, live"},
      {logs, "idleburn audit " + log + " -o audit.html", "the same as a page to pass on"},
      {runs, "idleburn history show last", "the newest run: what it cost, why, what would help"},
      {!gpu && !logs && !runs, "idleburn demo", "audits an invented recording: the product without a GPU"},
      {true, "idleburn doctor", "what can be measured here, what cannot and why"},
      {true, "idleburn plan --model llama-3.1-8b", "predicts memory and time of a training run before it starts"},
  };
}

std::string LogsText(const std::vector<std::string>& logs) {
  if (logs.empty()) return "none in this folder";
  const std::size_t shown = std::min(logs.size(), kLogsShown);
  const std::string names = ListText(std::span(logs).first(shown));
  return logs.size() > shown ? fmt::format("{} and {} more", names, logs.size() - shown) : names;
}

std::string RunsText(const Result<std::int64_t>& runs) {
  if (!runs) return "not read: " + Printable(runs.error().message);
  if (*runs == 0) return "no runs yet";
  return fmt::format("{} run{}", *runs, *runs == 1 ? "" : "s");
}

}  // namespace

Surroundings LookAround() {
  const std::vector<std::string> names = NamesIn(".");
  return {FindDriver(), FindLogs(names), FindScript(names), CountHistory()};
}

std::string ShellWord(const std::string& name) {
  const auto plain = [](char c) {
    return IsAlnum(c) || std::string_view("._-/+=:,@%").find(c) != std::string_view::npos;
  };
  // "-x.csv" would be a flag.
  const std::string word = name.starts_with('-') ? "./" + name : name;
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string WelcomeText(const Surroundings& here) {
  std::string text = "idleburn: " + std::string(kWhatItIs) + "\n\n";
  text +=
      "  GPU       " + (here.driver.empty() ? "no NVIDIA driver found" : "NVIDIA driver found: " + here.driver) + "\n";
  text += "  GPU logs  " + LogsText(here.logs) + "\n";
  text += "  history   " + RunsText(here.runs) + "\n\nnext:\n";
  std::vector<NextStep> steps = StepsFor(here);
  std::erase_if(steps, [](const NextStep& step) { return !step.fits; });
  steps.resize(3);
  std::size_t width = 0;
  for (const NextStep& step : steps) width = std::max(width, step.command.size());
  for (const NextStep& step : steps) text += fmt::format("  {:<{}}   {}\n", step.command, width, step.answers);
  return text + "\nidleburn help lists all commands\n";
}

}  // namespace idleburn
