#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"

namespace idleburn {

// The formats in which commands write. Each command writes some of them.
enum class ReportFormat : std::uint8_t { kText, kJson, kHtml, kCsv, kMarkdown, kParquet, kPerfetto };

// "text, json or markdown", for help and errors.
std::string NamesOf(std::span<const ReportFormat> formats);

// The extension of a format's files: ".json".
std::string_view FileEndingOf(ReportFormat format);

// Chooses the format of a command's output, one of `writes`. The first of `writes` is the command's own format. The
// first of these that applies decides:
//     1. --format. It must be one of `writes`.
//     2. The extension of the output file. A known format that the command cannot write is an error, except .txt and
//        .md, which may hold any text. An unknown extension is an error, except .log.
//     3. The setting output.format. It is meant for all commands, so one that cannot write it skips it. Parquet is
//        also skipped on standard output.
//     4. The command's own format.
// Example: the file name `report` with .md writes Markdown if the command can, and otherwise counts as no extension.
//
// `command` starts the messages of errors; empty for none.
Result<ReportFormat> ChooseFormat(const Settings& settings, std::string_view command, const std::string& output,
                                  std::span<const ReportFormat> writes);

}  // namespace idleburn
