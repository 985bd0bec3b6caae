#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"

namespace idleburn {

// Forms in which commands write what they found.
enum class ReportFormat : std::uint8_t { kText, kJson, kHtml, kCsv, kMarkdown, kParquet };

// "text, json or markdown".
std::string NamesOf(std::span<const ReportFormat> formats);

// The form of a command's output, of those that it `writes`, its own first: --format, which must be one of them; else
// what the ending of the output file says, which only .txt and .md may say in vain, as text is readable there, and
// which must be known or .log; else the setting output.format, which is for all commands and counts where the command
// can write it; else its own.
Result<ReportFormat> ChooseFormat(const Settings& settings, std::string_view command, const std::string& output,
                                  std::span<const ReportFormat> writes);

}  // namespace idleburn
