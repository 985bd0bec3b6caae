#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report_table.h"

namespace idleburn {

// A report that is sentences and tables only, for every writer for people. Strings may hold names as the inputs
// spelled them; each writer escapes every string it prints.
struct ReportPage {
  std::string heading;              // what kind of report it is: "GPU saving"
  std::string title;                // of what
  std::string verdict;              // one sentence
  std::vector<std::string> why;     // one line each
  std::vector<std::string> next;    // what to do
  std::vector<ReportTable> tables;  // one without rows is a list of its notes
};

// `width` columns; colour only if asked for.
std::string PageText(const ReportPage& page, int width, bool color);
std::string PageMarkdown(const ReportPage& page);
// One self-contained file: no network, no script.
std::string PageHtml(const ReportPage& page);

}  // namespace idleburn
