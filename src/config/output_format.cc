#include "config/output_format.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

namespace idleburn {
namespace {

// A .log file may hold text in any format, so it decides nothing.
constexpr std::string_view kLogEnding = ".log";  // of text too

// A format with its name and its extension.
struct FormatName {
  ReportFormat format;
  std::string_view name;
  std::string_view ending;
  bool read_as_text;  // a file of that ending may hold any text
};
// The first rows are in the order of ReportFormat, because NamesOf and EndingsOf index them by format. Further
// extensions of a format follow.
constexpr auto kFormats = std::to_array<FormatName>({{ReportFormat::kText, "text", ".txt", true},
                                                     {ReportFormat::kJson, "json", ".json", false},
                                                     {ReportFormat::kHtml, "html", ".html", false},
                                                     {ReportFormat::kCsv, "csv", ".csv", false},
                                                     {ReportFormat::kMarkdown, "markdown", ".md", true},
                                                     {ReportFormat::kParquet, "parquet", ".parquet", false},
                                                     {ReportFormat::kPerfetto, "perfetto", ".perfetto.json", false},
                                                     {ReportFormat::kJson, "json", ".jsonl", false}});

const FormatName* Named(std::string_view name) {
  const auto* found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const FormatName& f) { return f.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

// The format of a file's extension; null if it names none. A file whose whole name is ".json" has no extension.
const FormatName* EndingOf(std::string_view output) {
  const FormatName* longest = nullptr;  // ".perfetto.json" ends with ".json" too
  for (const FormatName& f : kFormats) {
    const bool ends = output.size() > f.ending.size() && output.ends_with(f.ending);
    if (ends && (longest == nullptr || f.ending.size() > longest->ending.size())) longest = &f;
  }
  return longest;
}

// Whether the file name seems to name a format: ".pdf" does, ".5" of "run-2.5" does not.
bool EndsUnknown(const std::string& output) {
  const std::string ending = std::filesystem::path(output).extension().string();
  const auto letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  return ending.size() > 1 && letter(static_cast<unsigned char>(ending[1])) && ending != kLogEnding;
}

// The extensions that a command can write, for an error message.
std::string EndingsOf(std::span<const ReportFormat> formats) {
  std::string endings;
  for (const ReportFormat format : formats) {
    endings += std::string(kFormats[static_cast<std::size_t>(format)].ending) + ", ";
  }
  return endings + std::string(kLogEnding);
}

}  // namespace

std::string NamesOf(std::span<const ReportFormat> formats) {
  std::string names;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    names += i == 0 ? "" : i + 1 == formats.size() ? " or " : ", ";
    names += kFormats[static_cast<std::size_t>(formats[i])].name;
  }
  return names;
}

std::string_view FileEndingOf(ReportFormat format) { return kFormats[static_cast<std::size_t>(format)].ending; }

Result<ReportFormat> ChooseFormat(const Settings& settings, std::string_view command, const std::string& output,
                                  std::span<const ReportFormat> writes) {
  const auto can = [&](const FormatName* f) {
    return f != nullptr && std::find(writes.begin(), writes.end(), f->format) != writes.end();
  };
  const std::string start = command.empty() ? std::string() : std::string(command) + ": ";
  const Settings::Value& asked = settings.Get("output.format");
  const FormatName* named = Named(asked.text);
  // Asked for this command, so it must be possible.
  if (asked.origin == "--format") {
    if (can(named)) return named->format;
    return FailUsage(start + "--format is " + NamesOf(writes) + ", not '" + asked.text.substr(0, 20) + "'");
  }
  if (!asked.text.empty() && named == nullptr) {
    return FailUsage(asked.origin + ": output.format is text, json, html, csv, markdown, parquet or perfetto, not '" +
                     asked.text.substr(0, 20) + "'");
  }
  if (const FormatName* ending = EndingOf(output); ending != nullptr) {
    if (can(ending)) return ending->format;
    if (!ending->read_as_text) {
      return FailUsage(start + "-o " + output + ": " + std::string(ending->name) +
                       ": unsupported format; this command writes " + NamesOf(writes) +
                       "; change the extension, or use --format");
    }
  }
  if (EndingOf(output) == nullptr && EndsUnknown(output)) {
    return FailUsage(start + "-o " + output + ": unsupported extension; use " + EndingsOf(writes) +
                     ", or give --format");
  }
  const bool to_stdout = output.empty() || output == "-";
  // A setting for all commands is skipped where it does not fit.
  const bool counts = can(named) && !(to_stdout && named->format == ReportFormat::kParquet);  // which needs a file
  return counts ? named->format : writes.front();
}

}  // namespace idleburn
