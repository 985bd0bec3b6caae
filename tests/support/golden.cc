#include "support/golden.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/digest.h"
#include "places.h"

namespace idleburn::testing {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostBytes = 48'000;  // of an output that is held word for word
constexpr std::size_t kFirstLines = 10;     // of a longer one
constexpr std::size_t kFirstColumns = 160;
constexpr std::int64_t kClock = 1'795'262'400;  // 2026-11-21T12:00:00Z
constexpr std::int64_t kBetween = 60;           // seconds from one command to the next
const std::string kWork = "/proc/self/cwd";     // the folder of a session, wherever it lies

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool IsText(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
  });
}

// Cut where no character of UTF-8 is.
std::string Cut(const std::string& line) {
  std::size_t end = std::min(line.size(), kFirstColumns);
  while (end > 0 && end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  return line.substr(0, end);
}

std::string Marked(std::string_view bytes, const std::string& mark) {
  std::string text;
  const auto add = [&](const std::string& line) { text += mark + (line.empty() ? "" : " ") + line + "\n"; };
  const std::vector<std::string> lines = LinesOf(bytes);
  if (bytes.size() <= kMostBytes && IsText(bytes)) {
    for (const std::string& line : lines) add(line);
    if (!bytes.empty() && bytes.back() != '\n') text += "\\ no newline at the end\n";
    return text;
  }
  const std::size_t shown = IsText(bytes) ? std::min(kFirstLines, lines.size()) : 0;
  for (std::size_t i = 0; i < shown; ++i) add(Cut(lines[i]));
  return text + "\\ " + std::to_string(bytes.size()) + " bytes in all, SHA-256 " + Sha256Hex(bytes) + "\n";
}

// The folder in which the commands of a session run, one after the other.
class SessionFolder {
 public:
  SessionFolder() {
    fs::create_directories(work_);
    fs::create_symlink(IDLEBURN_PROGRAM, top_.path() / "idleburn");
    const fs::path root = IDLEBURN_ROOT;
    fs::create_directory_symlink(root / "examples", work_ / "examples");
    fs::create_directory_symlink(root / "fuzz", work_ / "fuzz");
    fs::create_directory_symlink(root / "tests/golden/captures", work_ / "captures");
  }

  ProgramRun Run(const std::string& command) {
    const std::string top = top_.path().string();
    const std::string script = top_.Write("command", command + "\n");
    // The C library's exp and log differ in the last digit by processor: those of the baseline are the same on all.
    const std::string environment =
        "env -i GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F PATH=" + top +
        ":/usr/bin:/bin HOME=" + kWork + " XDG_CONFIG_HOME=" + kWork + "/config XDG_DATA_HOME=" + kWork +
        "/data LC_ALL=C.UTF-8 TZ=UTC IDLEBURN_NVML_LIBRARY=/proc/no/such/library.so" +
        " LD_PRELOAD=" IDLEBURN_FIXED_WORLD " FIXED_CLOCK=" + std::to_string(kClock + kBetween * commands_++);
    ProgramRun run = RunShell("cd " + work_.string() + " && " + environment + " timeout 60 sh " + script);
    EXPECT_EQ((run.out + run.err).find(top), std::string::npos) << command << " tells where it ran";
    return run;
  }

 private:
  TempFolder top_;
  fs::path work_ = top_.path() / "session";
  std::int64_t commands_ = 0;
};

bool IsCommand(const std::string& line) { return line.rfind("$ ", 0) == 0; }

}  // namespace

std::vector<fs::path> GoldenFiles(const fs::path& root) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".session") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Outcome(const ProgramRun& run) {
  return "= exit " + std::to_string(run.code) + "\n" + Marked(run.err, "!") + Marked(run.out, "|");
}

std::string PlayedAnew(std::string_view session) {
  SessionFolder folder;
  std::string anew;
  for (const std::string& line : LinesOf(session)) {
    if (line.rfind('#', 0) == 0 || line.empty()) anew += line + "\n";
    if (IsCommand(line)) anew += line + "\n" + Outcome(folder.Run(line.substr(2)));
  }
  return anew;
}

std::string FirstDifference(std::string_view held, std::string_view now) {
  if (held == now) return "";
  const std::vector<std::string> before = LinesOf(held);
  const std::vector<std::string> after = LinesOf(now);
  std::string command;
  std::size_t i = 0;
  for (; i < before.size() && i < after.size() && before[i] == after[i]; ++i) {
    if (IsCommand(before[i])) command = before[i];
  }
  const auto at = [&](const std::vector<std::string>& lines) { return i < lines.size() ? lines[i] : "(the end)"; };
  return command + "\n  line " + std::to_string(i + 1) + "\n  held  " + at(before) + "\n  now   " + at(after) + "\n";
}

}  // namespace idleburn::testing
