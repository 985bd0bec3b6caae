#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"

namespace idleburn {

// The formats in which commands write. Each command writes some of them.
enum class ReportFormat : std::uint8_t { kText, kJson, kHtml, kCsv, kMarkdown, kParquet };

// "text, json or markdown", for help and errors.
std::string NamesOf(std::span<const ReportFormat> formats);

// The format of a command's output, one of `writes`, whose first is the command's own. The first of these decides:
//  1. --format, which must be one of `writes`;
//  2. the extension of the output file. An extension that names a format which the command cannot write is an error,
//  except
//     .txt and .md, which may hold any text. An unknown extension is an error, except .log;
//  3. the setting output.format, if the command can write it. It is meant for all commands, so a format that this one
//  cannot
//     write is skipped, and so is Parquet on standard output;
//  4. the command's own format.
// Example: `-o report.md` writes Markdown where the command can, and else counts as no extension.
Result<ReportFormat> ChooseFormat(const Settings& settings, std::string_view command, const std::string& output,
                                  std::span<const ReportFormat> writes);

}  // namespace idleburn
